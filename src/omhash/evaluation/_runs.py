"""Average precision where many items share codes and labels: none of them is ranked singly."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._ranking import Words, overlaps, place_bits, sort_levels

# Harmonic numbers are integers in this unit, for exact differences: any n has H(n) < 32.
_HARMONIC_UNIT = 2.0**-58
# Two counts of items in one integer, to be looked up and summed as one.
_COUNT_BITS = 32
# Query-run pairs worked on at a time, so that what is made of them stays in a core's cache.
_BATCH_PAIRS = 2**15


class Runs:
    """Items of the same code and labels that are next to each other in every ranking.

    Parameters
    ----------
    codes : array of shape (n_items,)
        The number of every item's code.
    labels : words of shape (n_words, n_items)
        Every item's packed labels.

    Notes
    -----
    Items of one code stay in database order wherever the code is ranked, so it is enough to
    sort runs. A run of T relevant items after n items, m of them relevant, adds the sum over
    p = 1 … T of (m + p)/(n + p), which is T + (m - n) (H(n + T) - H(n)) with harmonic
    numbers H.
    """

    def __init__(self, codes: NDArray[np.intp], labels: Words) -> None:
        items = np.argsort(codes, kind="stable")
        codes, labels = codes[items], labels[:, items]
        starts = codes[1:] != codes[:-1]
        starts |= (labels[:, 1:] != labels[:, :-1]).any(axis=0)
        first = np.flatnonzero(np.concatenate(([True], starts)))
        self._n_codes = 1 + np.count_nonzero(codes[1:] != codes[:-1])
        self._codes, self._labels = codes[first], labels[:, first]
        self._sizes = np.diff(first, append=len(items))
        reciprocals = 1 / np.arange(1.0, len(items) + 1)
        units = np.rint(reciprocals / _HARMONIC_UNIT).astype(np.int64)
        self._harmonic = np.concatenate(([0], np.cumsum(units)))

    def __len__(self) -> int:
        return len(self._sizes)

    def average_precisions(self, levels: NDArray[np.int64], asked: Words) -> NDArray[np.float64]:
        """Average precision of each query; NaN where items have to be sorted.

        They have to be where different codes tie: their items may have to alternate.

        Parameters
        ----------
        levels : array of shape (n_queries, n_codes)
            Rank levels of the distinct codes.
        asked : words of shape (n_words, n_queries)
            The queries' packed labels.
        """
        step = max(1, _BATCH_PAIRS // len(self))
        starts = range(0, len(levels), step)
        batches = (slice(start, start + step) for start in starts)
        return np.concatenate([self._batch(levels[rows], asked[:, rows]) for rows in batches])

    def _batch(self, levels: NDArray[np.int64], asked: Words) -> NDArray[np.float64]:
        keys, runs = sort_levels(levels.take(self._codes, axis=1))
        keys >>= place_bits(len(self))
        n_levels = 1 + np.count_nonzero(keys[:, 1:] != keys[:, :-1], axis=1)

        # The right half of a count is of items, the left half of relevant ones.
        counts = overlaps(asked[:, :, None], self._labels[:, None]).astype(np.int64)
        counts <<= _COUNT_BITS
        counts |= 1
        counts *= self._sizes
        counts = np.array([row.take(order) for row, order in zip(counts, runs, strict=True)])
        relevant = counts >> _COUNT_BITS != 0
        np.cumsum(counts, axis=1, out=counts)
        ends = counts & (1 << _COUNT_BITS) - 1
        found = counts >> _COUNT_BITS
        wanted = found[:, -1].copy()
        harmonic = self._harmonic.take(ends)
        harmonic[:, 1:] -= harmonic[:, :-1]
        # Both counts are of the run's end, so m - n is their difference.
        found -= ends
        lost = np.einsum("qr,qr,qr->q", found.astype(float), harmonic.astype(float), relevant)
        values: NDArray[np.float64] = (wanted + lost * _HARMONIC_UNIT) / np.maximum(wanted, 1)
        values[n_levels < self._n_codes] = np.nan
        return values
