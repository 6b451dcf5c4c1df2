"""Compiled kernels: numba's `njit`, kept on disk between processes where that can be.

By itself numba refuses to import a kernel when it finds no folder to keep it in, and takes a
kernel from disk that was compiled with what other files held before.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

F = TypeVar("F", bound=Callable[..., Any])

_HERE = Path(__file__).parent


def kernel(function: F) -> F:
    """A compiled function that lets other threads run.

    It may call kernels and use constants of its own folder, and `popcount`.

    Examples
    --------
    >>> @kernel
    ... def doubled(x):
    ...     return 2 * x
    >>> doubled(4)
    8
    """
    # Numba names the file by the function, and looks at the source of its own file only.
    plain = function.__qualname__
    function.__qualname__ = f"{plain}-{_stamp(Path(function.__code__.co_filename).parent)}"
    try:
        return cast("F", njit(nogil=True, cache=True)(function))
    except RuntimeError:  # nowhere to keep it: every process compiles it anew
        function.__qualname__ = plain
        return cast("F", njit(nogil=True)(function))


@cache
def _stamp(folder: Path) -> str:
    """What changes with every source that may be compiled into a kernel of this folder."""
    digest = sha256()
    for path in [_HERE / "popcount.py", *sorted(folder.glob("*.py"))]:
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()[:12]
