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
    """

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

    def distances(self, queries: slice) -> NDArray[np.unsignedinteger]:
        """Hamming distance of every item to each of these queries, shape (queries, items)."""
        return count_bits(np.bitwise_xor, self._queries[:, queries, None], self._database)

    @abstractmethod
    def levels(self, queries: slice) -> NDArray[Any]:
        """Rank levels, shape (queries, items): lower is nearer, equal is a tie."""

    @abstractmethod
    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, nearest first, for each row of `levels`."""


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
        """Hamming distances."""
        return self.distances(queries)

    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, nearest first; a radix sort, because distances are small integers."""
        return np.argsort(levels, axis=1, kind="stable")


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
        self._item_bits = self.n_items.bit_length()
        score_bits = min(_DOUBLE_BITS, _KEY_BITS - self._item_bits)
        self._grid = _on_grid(values, score_bits - n_bits.bit_length())
        codes, self._inverse = distinct(database_codes)
        self._signs = unpack(codes, np.float64).T

    def levels(self, queries: slice) -> NDArray[np.int64]:
        """Negated scores, as integers; scored for distinct codes and then spread to the items."""
        scores = (-self._grid[queries] @ self._signs).astype(np.int64)
        return scores.take(self._inverse, axis=1)

    def order(self, levels: NDArray[Any]) -> NDArray[np.intp]:
        """Item numbers, best first: sorting (level, item) as one integer beats an argsort."""
        keys = levels << self._item_bits
        keys |= np.arange(self.n_items)
        keys.sort(axis=1)
        keys &= (1 << self._item_bits) - 1
        return keys


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
