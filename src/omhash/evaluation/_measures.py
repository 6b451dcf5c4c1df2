"""What is measured of rankings: plain functions of arrays, one row a query.

`gains` are the categories that the items share with the query, in ranked order: an item is
relevant where they are above 0. Without a relevant item every measure is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._kernels import Floats


def average_precision(gains: NDArray[Any], k: int) -> Floats:
    """Mean precision at the relevant items among the first `k`, of the `k` best possible.

    Examples
    --------
    >>> import numpy as np
    >>> average_precision(np.array([[1, 0, 0, 2]]), 4)
    array([0.75])
    """
    relevant = gains[:, :k] > 0
    precisions = np.cumsum(relevant, axis=1) / np.arange(1, relevant.shape[1] + 1)
    wanted = np.minimum(np.count_nonzero(gains, axis=1), k)
    found: Floats = (precisions * relevant).sum(axis=1) / np.maximum(wanted, 1)
    return found


def tied_average_precision(levels: NDArray[Any], gains: NDArray[Any]) -> Floats:
    """Average precision expected when equal levels are in random order.

    Parameters
    ----------
    levels : array of shape (n_queries, n_items)
        Rank levels in ascending order.
    gains : array of shape (n_queries, n_items)

    Examples
    --------
    >>> import numpy as np
    >>> tied_average_precision(np.array([[3, 3]]), np.array([[1, 0]]))
    array([0.75])
    """
    rows = zip(levels, gains > 0, strict=True)
    return np.array([_tied_average_precision(*row) for row in rows], dtype=np.float64)


def _tied_average_precision(levels: NDArray[Any], relevant: NDArray[np.bool_]) -> float:
    """Of one query.

    Notes
    -----
    Take a tie of T items, r of them relevant, after n items with m relevant ones. Its
    p-th place is relevant with probability r/T, and then m + 1 + (p - 1) s relevant items
    are expected up to it, s = (r - 1) / (T - 1). Divided by the rank n + p and summed over
    p, with h = 1/(n+1) + … + 1/(n+T), that is r/T (s T + (m + 1 - (n + 1) s) h).
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


def precision(gains: NDArray[Any], k: int) -> Floats:
    """Share of the first `k` that is relevant.

    Examples
    --------
    >>> import numpy as np
    >>> precision(np.array([[1, 0, 0, 2]]), 2)
    array([0.5])
    """
    found: Floats = np.count_nonzero(gains[:, :k], axis=1) / k
    return found


def recall(gains: NDArray[Any], k: int) -> Floats:
    """Share of the relevant items that is among the first `k`.

    Examples
    --------
    >>> import numpy as np
    >>> recall(np.array([[1, 0, 0, 2]]), 3)
    array([0.5])
    """
    wanted = np.count_nonzero(gains, axis=1)
    found: Floats = np.count_nonzero(gains[:, :k], axis=1) / np.maximum(wanted, 1)
    return found


def ndcg(gains: NDArray[Any], k: int | None = None) -> Floats:
    """Discounted gain, relative to the best order's.

    Examples
    --------
    >>> import numpy as np
    >>> ndcg(np.array([[2, 0, 1]]))
    array([0.950...])
    """
    best = np.sort(gains, axis=1)[:, ::-1][:, :k]
    discounts = 1 / np.log2(np.arange(2, best.shape[1] + 2))
    ideal = (best * discounts).sum(axis=1)
    gained: Floats = (gains[:, :k] * discounts).sum(axis=1)
    return gained / np.where(ideal > 0, ideal, 1)


def precision_within(distances: NDArray[Any], gains: NDArray[Any], radius: int) -> Floats:
    """Share of the items within `radius` that is relevant, in any order; 0 if there are none.

    Examples
    --------
    >>> import numpy as np
    >>> precision_within(np.array([[1, 5, 2]]), np.array([[1, 2, 0]]), 2)
    array([0.5])
    """
    near = distances <= radius
    found: Floats = np.count_nonzero(near & (gains > 0), axis=1) / np.maximum(
        np.count_nonzero(near, axis=1), 1
    )
    return found
