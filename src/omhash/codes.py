"""Binary codes: signs, packing, Hamming distance, distinct codes.

A code of `n_bits` bits is stored packed in ``n_bits / 8`` bytes, in the order of
`numpy.packbits` (the first bit is the most significant of the first byte). Bit 1
stands for +1, bit 0 for -1.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .errors import InputError

Codes: TypeAlias = NDArray[np.uint8]
"""Packed codes, one row an item."""


def pack(values: NDArray[np.generic]) -> Codes:
    """Pack the signs of real values: bit 1 where a value is above 0.

    Parameters
    ----------
    values : array of shape (n, n_bits)
        Projections, or signs in {-1, 0, +1}. Zero becomes bit 0.

    Returns
    -------
    array of uint8, shape (n, n_bits / 8)

    Examples
    --------
    >>> import numpy as np
    >>> pack(np.array([[1.0, -1, 0, 1, 1, 1, -1, -1]]))
    array([[156]], dtype=uint8)
    """
    return np.packbits(np.asarray(values) > 0, axis=1)


def unpack(codes: Codes, dtype: type[np.number] = np.int8) -> NDArray[np.number]:
    """Unpack codes into signs: -1 or +1 for each bit.

    Examples
    --------
    >>> import numpy as np
    >>> unpack(np.array([[156]], dtype=np.uint8))
    array([[ 1, -1, -1,  1,  1,  1, -1, -1]], dtype=int8)
    """
    signs = np.unpackbits(codes, axis=1).astype(dtype)
    signs *= 2
    signs -= 1
    return signs


def hamming(queries: Codes, database: Codes) -> NDArray[np.uint16]:
    """Hamming distance of every query to every code of the database.

    Examples
    --------
    >>> import numpy as np
    >>> hamming(np.array([[7]], dtype=np.uint8), np.array([[7], [0]], dtype=np.uint8))
    array([[0, 3]], dtype=uint16)
    """
    if queries.shape[1] != database.shape[1]:
        raise InputError(
            f"queries have {8 * queries.shape[1]} bits and the database has "
            f"{8 * database.shape[1]}: encode both with the same hasher"
        )
    distances = np.zeros((len(queries), len(database)), dtype=np.uint16)
    left, right = _words(queries), _words(database)
    for word in range(left.shape[1]):
        distances += np.bitwise_count(left[:, word, None] ^ right[None, :, word])
    return distances


def distinct(codes: Codes) -> tuple[Codes, NDArray[np.intp]]:
    """The distinct codes, and for every item the number of its code among them.

    Examples
    --------
    >>> import numpy as np
    >>> distinct(np.array([[9], [4], [9]], dtype=np.uint8))
    (array([[4],
           [9]], dtype=uint8), array([1, 0, 1]))
    """
    rows = np.ascontiguousarray(codes)
    keys = rows.view(np.dtype((np.void, rows.shape[1]))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse


def _words(codes: Codes) -> NDArray[np.unsignedinteger]:
    """View rows of bytes as the widest words that divide them."""
    rows = np.ascontiguousarray(codes)
    for width, dtype in ((8, np.uint64), (4, np.uint32), (2, np.uint16)):
        if rows.shape[1] % width == 0:
            return rows.view(dtype)
    return rows
