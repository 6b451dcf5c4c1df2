"""Whether two methods differ by more than the choice of queries explains."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

N_DRAWS = 50_000
_BLOCK = 500


@dataclass(frozen=True)
class Comparison:
    """One method against another, over the same queries.

    Attributes
    ----------
    first, second : str
    difference : float
        The mean of the first minus that of the second.
    p : float
        Of the two-sided test, corrected for the number of comparisons.
    n_queries : int
    """

    first: str
    second: str
    difference: float
    p: float
    n_queries: int


def compare(values: Mapping[str, NDArray[np.float64]]) -> list[Comparison]:
    """Compare every two methods by a paired randomisation test with Holm's correction.

    If two methods are equally good, it is chance which of them got which value of a query.
    So the sign of each query's difference is drawn anew, 50,000 times, and p is the share of
    draws whose mean differs as much as the true one (that one counted among them). The draws
    are always the same.

    Parameters
    ----------
    values : mapping of name to array of shape (n_queries,)
        The same queries in the same order for all.

    Examples
    --------
    >>> import numpy as np
    >>> better = np.linspace(0.4, 0.9, 50)
    >>> (found,) = compare({"a": better, "b": better - 0.1})
    >>> round(found.difference, 3), found.p < 0.001
    (0.1, True)
    """
    pairs = list(itertools.combinations(values, 2))
    if not pairs:
        return []
    differences = np.column_stack([values[one] - values[other] for one, other in pairs])
    means = differences.mean(axis=0)
    rng = np.random.default_rng(0)
    as_far = np.ones(len(pairs))
    for start in range(0, N_DRAWS, _BLOCK):
        n_draws = min(_BLOCK, N_DRAWS - start)
        signs = rng.integers(0, 2, (n_draws, len(differences)), dtype=np.int8) * 2.0 - 1.0
        drawn = np.abs(signs @ differences) / len(differences)
        as_far += (drawn >= np.abs(means) - 1e-12).sum(axis=0)
    corrected = holm(as_far / (N_DRAWS + 1))
    return [
        Comparison(one, other, float(mean), float(p), len(differences))
        for (one, other), mean, p in zip(pairs, means, corrected, strict=True)
    ]


def holm(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Holm's step-down correction for several tests.

    Examples
    --------
    >>> import numpy as np
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def by_item(
    queries: Sequence[Sequence[int]], values: Sequence[Sequence[float]]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Each item that was a query, and its mean value over the seeds that asked it.

    An item that several seeds ask counts once: its values are not independent.

    Examples
    --------
    >>> by_item([[3, 5], [5, 8]], [[0.0, 0.5], [1.0, 0.25]])
    (array([3, 5, 8]), array([0.  , 0.75, 0.25]))
    """
    items, places = np.unique(
        np.concatenate([np.asarray(own) for own in queries]), return_inverse=True
    )
    flat = np.concatenate([np.asarray(own, dtype=np.float64) for own in values])
    return items, np.bincount(places, flat) / np.bincount(places)
