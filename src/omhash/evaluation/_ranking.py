"""Rankings of a database for each of many queries, worked out a block at a time.

No query's result depends on the block it is in: Hamming distances are integers, and
asymmetric scores are made of rounded projections so that every sum is exact, in
whatever order a matrix product adds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..codes import Codes, distinct, pack, unpack
from ..errors import InputError

Words: TypeAlias = NDArray[np.unsignedinteger]

_DOUBLE_BITS = 53
_KEY_BITS = 63


class Ranking(ABC):
    """The database in order of nearness to each query; equally near items in database order.

    Attributes
    ----------
    n_queries, n_items : int
    codes : array of shape (n_items,), or None
        The number of every item's code, where levels are those of distinct codes.
    """

    codes: NDArray[np.intp] | None = None

    def __init__(self, query_codes: Codes, database_codes: Codes) -> None:
        if query_codes.shape[1] != database_codes.shape[1]:
            raise InputError(
                f"queries have {8 * query_codes.shape[1]} bits and the database has "
                f"{8 * database_codes.shape[1]}: encode both with the same hasher"
            )
        self.n_queries = len(query_codes)
        self.n_items = len(database_codes)
        self._queries = words(query_codes)
        self._database = words(database_codes)

    def distances(self, query: int) -> NDArray[np.unsignedinteger]:
        """Hamming distance of every item to a query."""
        return count_bits(np.bitwise_xor, self._queries[:, query], self._database)

    @abstractmethod
    def levels(self, queries: slice) -> NDArray[Any]:
        """A row of rank levels for each of these queries: lower is nearer, equal is a tie.

        One level for each item, or for each distinct code if `codes` numbers the items'.
        """

    def spread(self, levels: NDArray[Any]) -> NDArray[Any]:
        """The level of every item, from one query's levels."""
        return levels if self.codes is None else levels.take(self.codes)

    @abstractmethod
    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, nearest first, from one query's levels."""


class HammingRanking(Ranking):
    """Nearest by Hamming distance.

    Parameters
    ----------
    query_codes, database_codes : array of uint8, shape (n, n_bits / 8)
        Packed codes.
    """

    def __init__(self, query_codes: Codes, database_codes: Codes) -> None:
        super().__init__(_codes("query", query_codes), _codes("database", database_codes))

    def levels(self, queries: slice) -> NDArray[np.unsignedinteger]:
        """Hamming distances; row by row, because combined words of many rows fill no cache."""
        return np.array([self.distances(query) for query in range(self.n_queries)[queries]])

    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, nearest first; a radix sort, because distances are small integers."""
        return np.argsort(levels, kind="stable")


class AsymmetricRanking(Ranking):
    """Best by the score p·b of a query's projection p and an item's signs b.

    Projections are rounded (up to 16 million items by less than 10**-9 of the query's
    largest) so that scores are exact integers: identical codes always tie.

    Parameters
    ----------
    projections : array of shape (n_queries, n_bits)
        The queries' real values before the sign.
    database_codes : array of uint8, shape (n_items, n_bits / 8)
        Packed codes.
    """

    def __init__(self, projections: ArrayLike, database_codes: Codes) -> None:
        values = np.asarray(projections)
        if values.ndim != 2 or values.dtype.kind not in "fiu":
            raise InputError(
                f"projections must be real numbers of shape (n_queries, n_bits), not "
                f"{values.dtype} of shape {values.shape}: pass what `project` returns"
            )
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            raise InputError(f"projections, row {int(np.argmin(finite))}: NaN or infinity")
        database_codes = _codes("database", database_codes)
        super().__init__(pack(values), database_codes)
        n_bits = 8 * database_codes.shape[1]
        score_bits = min(_DOUBLE_BITS, _KEY_BITS - place_bits(self.n_items))
        self._grid = _on_grid(values, score_bits - n_bits.bit_length())
        codes, number = distinct(database_codes)
        # Few codes: scored once each, and then spread to the items.
        self.codes = number if 0 < 2 * len(codes) <= self.n_items else None
        self._signs = unpack(database_codes if self.codes is None else codes, np.float64).T

    def levels(self, queries: slice) -> NDArray[np.int64]:
        """Negated scores, as integers."""
        return (-self._grid[queries] @ self._signs).astype(np.int64)

    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, best first."""
        return sort_levels(self.spread(levels))[1]


def sort_levels(levels: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort each row: its keys in ascending order, and the place in the row that each had.

    A key is the level and, to the right of it, the place, so that the first of equal levels
    comes first. Sorting both as one integer beats an argsort.
    """
    n_bits = place_bits(levels.shape[-1])
    keys = levels << n_bits
    keys |= np.arange(levels.shape[-1])
    keys.sort(axis=-1)
    return keys, keys & ((1 << n_bits) - 1)


def place_bits(n: int) -> int:
    """Bits that hold any place in a row of `n`."""
    return n.bit_length()


def words(packed: NDArray[np.uint8]) -> Words:
    """Packed rows as columns of words, shape (n_words, n), padded with zeros.

    One narrow word if the row fits in it, else words of 64 bits.
    """
    n_bytes = packed.shape[1]
    width = next((width for width in (1, 2, 4) if n_bytes <= width), 8)
    padded = np.zeros((len(packed), max(1, -(-n_bytes // width)) * width), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    return np.ascontiguousarray(padded.view(f"u{width}").T)


def count_bits(combine: np.ufunc, left: Words, right: Words) -> NDArray[np.unsignedinteger]:
    """Bits set in two combined sets of words, in the narrowest integers that hold any count.

    Narrow matters: the radix sort of Hamming distances takes one pass a byte.
    """
    counts: NDArray[np.unsignedinteger] = np.bitwise_count(combine(left[0], right[0]))
    counts = counts.astype(np.min_scalar_type(64 * len(left)), copy=False)
    for one, other in zip(left[1:], right[1:], strict=True):
        counts += np.bitwise_count(combine(one, other))
    return counts


def overlaps(asked: Words, stored: Words) -> NDArray[np.bool_]:
    """Whether packed sets share an element."""
    found: NDArray[np.bool_] = asked[0] & stored[0] != 0
    for one, other in zip(asked[1:], stored[1:], strict=True):
        found |= one & other != 0
    return found


def _codes(whose: str, codes: Codes) -> Codes:
    codes = np.asarray(codes)
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] == 0:
        raise InputError(
            f"{whose} codes must be uint8 of shape (n, n_bits / 8), not {codes.dtype} of shape "
            f"{codes.shape}: pass what `encode` returns"
        )
    return codes


def _on_grid(values: NDArray[Any], n_bits: int) -> NDArray[np.float64]:
    """Each row scaled by a power of two and rounded to integers of at most `n_bits` bits."""
    values = values.astype(np.float64)
    largest = np.abs(values).max(axis=1, initial=0.0, keepdims=True)
    scaled: NDArray[np.float64] = np.ldexp(values, n_bits - np.frexp(largest)[1])
    return np.rint(scaled)
