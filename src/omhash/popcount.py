"""Counting the set bits of a word in compiled kernels.

NumPy's `bitwise_count` makes an array; inside a compiled loop the processor's own
instruction is wanted, on one word at a time, so that the compiler can also run it on
many words at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic


def _popcount(typingctx: Any, word: Any) -> Any:  # noqa: ARG001 - numba passes its context
    """The number of bits set in an unsigned integer; for compiled functions only.

    Parameters
    ----------
    word : unsigned integer of any width

    Returns
    -------
    int64
        Signed, because numba makes a float of the sum of a uint64 and an int64.

    Examples
    --------
    >>> import numpy as np
    >>> from numba import njit
    >>> @njit
    ... def distance(left, right):
    ...     return popcount(left ^ right)
    >>> distance(np.uint64(7), np.uint64(2**63))
    4
    """
    if word not in types.unsigned_domain:
        raise TypingError(f"popcount needs an unsigned integer, not {word}")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.cast(builder, builder.ctpop(args[0]), word, signature.return_type)

    return types.int64(word), generate


# To numba a definition from the argument's type, to a kernel a function of the word.
popcount = cast("Callable[[np.unsignedinteger], int]", intrinsic(_popcount))
