"""What is measured of one query: plain functions of arrays.

Ranks count from 1 and are those of the relevant items, in ascending order. Without a
relevant item every measure is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Numbers(NamedTuple):
    """Tables for `average_precision`: looking a reciprocal up is faster than dividing.

    Attributes
    ----------
    counts : array
        1, 2, 3 …
    reciprocals : array
        1/r at r.
    """

    counts: NDArray[np.float64]
    reciprocals: NDArray[np.float64]

    @classmethod
    def up_to(cls, n: int) -> Numbers:
        """The tables for `n` items."""
        counts = np.arange(1.0, n + 1)
        return cls(counts, np.concatenate(([np.inf], 1 / counts)))


def average_precision(ranks: NDArray[np.integer], numbers: Numbers, k: int | None = None) -> float:
    """Mean precision at the ranks (from 1, ascending) of the relevant items.

    Examples
    --------
    >>> import numpy as np
    >>> average_precision(np.array([1, 4]), Numbers.up_to(4))
    0.75
    """
    wanted = len(ranks)
    if k is not None:
        wanted = min(k, wanted)
        ranks = ranks[ranks <= k]
    if not wanted:
        return 0.0
    return float(numbers.counts[: len(ranks)] @ numbers.reciprocals[ranks] / wanted)


def tied_average_precision(levels: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """Average precision expected when equal levels are in random order.

    Parameters
    ----------
    levels : array of shape (n_items,)
        Rank levels in ascending order.
    relevant : array of bool, shape (n_items,)

    Notes
    -----
    Take a tie of T items, r of them relevant, after n items with m relevant ones. Its
    p-th place is relevant with probability r/T, and then m + 1 + (p - 1) s relevant items
    are expected up to it, s = (r - 1) / (T - 1). Divided by the rank n + p and summed over
    p, with h = 1/(n+1) + … + 1/(n+T), that is r/T (s T + (m + 1 - (n + 1) s) h).

    Examples
    --------
    >>> import numpy as np
    >>> tied_average_precision(np.array([3, 3]), np.array([True, False]))
    0.75
    """
    if not relevant.any():
        return 0.0
    starts = np.flatnonzero(np.concatenate(([True], levels[1:] != levels[:-1])))
    sizes = np.diff(starts, append=len(levels))
    hits = np.add.reduceat(relevant, starts, dtype=np.int64)
    hits_before = np.cumsum(hits) - hits
    reciprocals = np.add.reduceat(1 / np.arange(1.0, len(levels) + 1), starts)
    slope = (hits - 1) / np.maximum(sizes - 1, 1)
    expected = slope * sizes + (hits_before + 1 - (starts + 1) * slope) * reciprocals
    return float((hits / sizes * expected).sum() / hits.sum())


def precision(ranks: NDArray[np.integer], k: int) -> float:
    """Share of the first `k` that is relevant, from the ranks of the relevant items.

    Examples
    --------
    >>> import numpy as np
    >>> precision(np.array([1, 4]), 2)
    0.5
    """
    return float(np.count_nonzero(ranks <= k) / k)


def recall(ranks: NDArray[np.integer], k: int) -> float:
    """Share of the relevant items that is among the first `k`, from their ranks.

    Examples
    --------
    >>> import numpy as np
    >>> recall(np.array([1, 4, 5]), 4)
    0.6666666666666666
    """
    return float(np.count_nonzero(ranks <= k) / max(len(ranks), 1))


def ndcg(gains: NDArray[Any], k: int | None = None) -> float:
    """Discounted gain of items in ranked order, relative to the best order's.

    Examples
    --------
    >>> import numpy as np
    >>> ndcg(np.array([2, 0, 1]))
    0.950...
    """
    best = np.sort(gains)[::-1][:k]
    discounts = 1 / np.log2(np.arange(2, len(best) + 2))
    ideal = float((best * discounts).sum())
    return float((gains[:k] * discounts).sum()) / ideal if ideal else 0.0


def precision_within(distances: NDArray[Any], relevant: NDArray[np.bool_], radius: int) -> float:
    """Share of the items within `radius` that is relevant; 0 if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> precision_within(np.array([1, 5, 2]), np.array([True, True, False]), 2)
    0.5
    """
    found = relevant[distances <= radius]
    return float(np.count_nonzero(found) / max(len(found), 1))
