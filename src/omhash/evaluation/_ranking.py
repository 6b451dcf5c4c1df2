"""Rankings of a database for each of many queries, worked out a block of queries at a time.

No query's result depends on the block it is in: Hamming distances are integers, and
asymmetric scores are sums of rounded projections, which are integers as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..codes import Codes, distinct, pack
from ..errors import InputError
from . import _kernels as kernels
from ._kernels import Floats, Gains, Numbers, Words

# A score and the number of a kind in one integer, with room to compare any two of them.
_KEY_BITS = 62
# Below, half a key nearly always tells which of two items is nearer.
_HALF_KEYS_BELOW = 2**16


class Kinds(NamedTuple):
    """A database by kinds: items of the same code and labels, which are equally near to
    any query and equally relevant, so that one of them stands for all.

    Attributes
    ----------
    codes, labels : array of shape (n_words, n_kinds)
    of : array of shape (n_items,)
        The kind of every item.
    sizes : array of shape (n_kinds,)
        The number of items of every kind.
    """

    codes: Words
    labels: Words
    of: Numbers
    sizes: NDArray[np.uint64]

    @classmethod
    def among(cls, codes: Codes, labels: NDArray[np.uint8]) -> Kinds:
        """The kinds in a database; each item its own where that saves little."""
        rows, of = distinct(np.hstack([codes, labels]))
        if 2 * len(rows) > len(codes):
            rows, of = np.hstack([codes, labels]), np.arange(len(codes))
        return cls(
            np.ascontiguousarray(words(rows[:, : codes.shape[1]]).T),
            np.ascontiguousarray(words(rows[:, codes.shape[1] :]).T),
            of.astype(np.uint32),
            np.bincount(of, minlength=len(rows)).astype(np.uint64),
        )

    def gains(self, asked: Words) -> Gains:
        """How many categories each kind shares with each query, given in rows of words."""
        gains = np.empty((len(asked), len(self.sizes)), np.uint16)
        kernels.count_common(asked, self.labels, gains)
        return gains


class Levels(NamedTuple):
    """The level of every kind for each query: lower is nearer, equal is a tie.

    Attributes
    ----------
    levels : array of shape (n_queries, n_kinds)
    n_levels : int
        More than any level.
    """

    levels: Numbers
    n_levels: int


class Ranking(ABC):
    """The database in order of nearness to each query; equally near items in database order.

    Attributes
    ----------
    n_queries, n_items : int
    codes : array of uint8, shape (n_items, n_bits / 8)
        The database.
    """

    def __init__(self, query_codes: Codes, database_codes: Codes) -> None:
        if query_codes.shape[1] != database_codes.shape[1]:
            raise InputError(
                f"queries have {8 * query_codes.shape[1]} bits and the database has "
                f"{8 * database_codes.shape[1]}: encode both with the same hasher"
            )
        self.n_queries = len(query_codes)
        self.n_items = len(database_codes)
        self.codes = database_codes
        self._queries = words(query_codes)

    def distances(self, queries: slice, kinds: Kinds) -> Numbers:
        """Hamming distance of every kind to each of these queries."""
        asked = self._queries[queries]
        distances = np.empty((len(asked), len(kinds.sizes)), np.uint32)
        kernels.count_different(asked, kinds.codes, distances)
        return distances

    @abstractmethod
    def levels(self, queries: slice, kinds: Kinds) -> Levels:
        """The order of nearness to each of these queries."""

    def average_precisions(
        self, queries: slice, kinds: Kinds, gains: Gains, reciprocals: Floats
    ) -> Floats:
        """Average precision of each of these queries, over the whole database.

        Parameters
        ----------
        gains : array of shape (n_queries, n_kinds)
            Above 0 where a kind is relevant.
        reciprocals : array
            1/n at every n up to the number of items.
        """
        values = np.empty(len(gains))
        kernels.precisions_by_counting(
            *self.levels(queries, kinds), gains, kinds.of, kinds.sizes, reciprocals, values
        )
        return values


class HammingRanking(Ranking):
    """Nearest by Hamming distance.

    Parameters
    ----------
    query_codes, database_codes : array of uint8, shape (n, n_bits / 8)
        Packed codes.
    """

    def __init__(self, query_codes: Codes, database_codes: Codes) -> None:
        super().__init__(_codes("query", query_codes), _codes("database", database_codes))

    def levels(self, queries: slice, kinds: Kinds) -> Levels:
        """Hamming distances."""
        return Levels(self.distances(queries, kinds), 8 * self.codes.shape[1] + 1)


class AsymmetricRanking(Ranking):
    """Best by the score p·b of a query's projection p and an item's signs b.

    Projections are rounded (with 128 bits, up to 16 million items by less than 10**-9 of the
    query's largest) so that scores are exact integers: identical codes always tie.

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
        self._place_bits = self.n_items.bit_length()
        grid = _on_grid(values, _KEY_BITS - self._place_bits - n_bits.bit_length())
        # Negated, because the nearest come first; to the right, room for the number of a kind.
        self._costs = np.zeros((self.n_queries, 32 * self._queries.shape[1]), np.int64)
        self._costs[:, :n_bits] = -grid << self._place_bits

    def _keys(self, queries: slice, kinds: Kinds) -> NDArray[np.int64]:
        """Integers in the order of nearness, and last in each the number of its kind."""
        costs = self._costs[queries]
        keys = np.empty((len(costs), len(kinds.sizes)), np.int64)
        keys[:] = np.arange(len(kinds.sizes))
        kernels.add_signed(costs, kinds.codes, keys)
        return keys

    def levels(self, queries: slice, kinds: Kinds) -> Levels:
        """Scores, numbered from the best."""
        keys = self._keys(queries, kinds)
        keys.sort(axis=1)
        levels = np.empty(keys.shape, np.uint32)
        kernels.number_levels(keys, self._place_bits, levels)
        return Levels(levels, keys.shape[1])

    def average_precisions(
        self, queries: slice, kinds: Kinds, gains: Gains, reciprocals: Floats
    ) -> Floats:
        """Average precision of each of these queries, over the whole database."""
        if len(kinds.sizes) < self.n_items or not self.n_items:
            return super().average_precisions(queries, kinds, gains, reciprocals)
        # Items are their own kinds, so all that has to be sorted with a key is its relevance.
        keys = self._keys(queries, kinds)
        if self.n_items >= _HALF_KEYS_BELOW:
            return _precisions_by_sorting(keys, gains, np.uint64, reciprocals)
        values = _precisions_by_sorting(keys, gains, np.uint32, reciprocals)
        again = np.isnan(values)
        values[again] = _precisions_by_sorting(keys[again], gains[again], np.uint64, reciprocals)
        return values


def _precisions_by_sorting(
    keys: NDArray[np.int64], gains: Gains, dtype: type[np.unsignedinteger], reciprocals: Floats
) -> Floats:
    """Average precision; NaN where as much of the keys as the type holds does not tell it."""
    leads = np.empty(keys.shape, dtype)
    kernels.lead(keys, gains, leads, 8 * leads.itemsize)
    leads.sort(axis=1)
    values = np.empty(len(keys))
    kernels.precisions_of_sorted(leads, reciprocals, values)
    return values


def words(packed: NDArray[np.uint8]) -> Words:
    """Packed rows as rows of words, one at least, padded with zeros."""
    n_bytes = packed.shape[1]
    padded = np.zeros((len(packed), max(1, -(-n_bytes // 4)) * 4), dtype=np.uint8)
    padded[:, :n_bytes] = packed
    return padded.view(np.uint32)


def _codes(whose: str, codes: Codes) -> Codes:
    codes = np.asarray(codes)
    if codes.dtype != np.uint8 or codes.ndim != 2 or codes.shape[1] == 0:
        raise InputError(
            f"{whose} codes must be uint8 of shape (n, n_bits / 8), not {codes.dtype} of shape "
            f"{codes.shape}: pass what `encode` returns"
        )
    return codes


def _on_grid(values: NDArray[Any], n_bits: int) -> NDArray[np.int64]:
    """Each row scaled by a power of two and rounded to integers of at most `n_bits` bits."""
    values = values.astype(np.float64)
    largest = np.abs(values).max(axis=1, initial=0.0, keepdims=True)
    scaled: Floats = np.ldexp(values, n_bits - np.frexp(largest)[1])
    return np.rint(scaled).astype(np.int64)
