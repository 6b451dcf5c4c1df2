"""How good a ranking is: one value a query, and the mean over queries.

An item is relevant to a query when they share at least one category. A query without
a relevant item counts 0 in every measure, and so does an empty database.

======================  =========================================================
``map``                 the paper's rule: the whole database, and items that are
                        equally near stay in database order
``map_ties``            its expectation over all orders of equally near items
``map@k``               over the first k, divided by min(k, number of relevant items)
``precision@k``         share of the first k that is relevant (of k, also where the
                        database holds fewer)
``recall@k``            share of the relevant items that is among the first k
``ndcg``, ``ndcg@k``    discounted gain, where an item gains the number of categories
                        it shares with the query, divided by that of the best order
``precision_within@r``  share of the items within Hamming distance r of the query's
                        code that is relevant; 0 if there are none
======================  =========================================================
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits

from ..errors import LabelError, ParameterError
from ._measures import (
    Numbers,
    average_precision,
    ndcg,
    precision,
    precision_within,
    recall,
    tied_average_precision,
)
from ._ranking import Ranking, Words, count_bits, overlaps, words
from ._runs import Runs

Floats: TypeAlias = NDArray[np.float64]

# Query-item pairs that a thread works on at a time: their scores fill eight megabytes.
_BLOCK_PAIRS = 2**20


class _Ranked:
    """What measures look at: one query's ranked items, each part worked out when asked for."""

    def __init__(
        self,
        ranking: Ranking,
        query: int,
        levels: NDArray[Any],
        asked: Words,
        stored: Words,
        numbers: Numbers,
        known: float,
    ) -> None:
        self._ranking, self._query, self._levels = ranking, query, levels
        self._asked, self._stored = asked, stored
        self._numbers, self._known = numbers, known

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return self._ranking.order(self._levels)

    @cached_property
    def relevant(self) -> NDArray[np.bool_]:
        """Whether an item shares a category with the query, in database order."""
        return overlaps(self._asked, self._stored)

    @cached_property
    def ranked_relevant(self) -> NDArray[np.bool_]:
        return self.relevant.take(self._order)

    @cached_property
    def ranks(self) -> NDArray[np.intp]:
        ranks = np.flatnonzero(self.ranked_relevant)
        ranks += 1
        return ranks

    def average_precision(self) -> float:
        """Over the whole database; known already, unless NaN."""
        return self.average_precision_at(None) if np.isnan(self._known) else self._known

    def average_precision_at(self, k: int | None) -> float:
        return average_precision(self.ranks, self._numbers, k)

    @property
    def levels(self) -> NDArray[Any]:
        return self._ranking.spread(self._levels).take(self._order)

    @cached_property
    def gains(self) -> NDArray[Any]:
        return count_bits(np.bitwise_and, self._asked, self._stored).take(self._order)

    @cached_property
    def distances(self) -> NDArray[np.unsignedinteger]:
        return self._ranking.distances(self._query)


Measure: TypeAlias = Callable[[_Ranked], float]

_PLAIN: dict[str, Measure] = {
    "map": _Ranked.average_precision,
    "map_ties": lambda ranked: tied_average_precision(ranked.levels, ranked.ranked_relevant),
    "ndcg": lambda ranked: ndcg(ranked.gains),
}
_AT: dict[str, Callable[[_Ranked, int], float]] = {
    "map": _Ranked.average_precision_at,
    "precision": lambda ranked, k: precision(ranked.ranks, k),
    "recall": lambda ranked, k: recall(ranked.ranks, k),
    "ndcg": lambda ranked, k: ndcg(ranked.gains, k),
    "precision_within": lambda ranked, r: precision_within(ranked.distances, ranked.relevant, r),
}


def measure(name: str) -> Measure:
    """The measure that a name stands for; a `ParameterError` if there is none."""
    found = re.fullmatch(r"([a-z_]+)(?:@(\d+))?", name)
    if found:
        kind, number = found[1], found[2]
        if number is None and kind in _PLAIN:
            return _PLAIN[kind]
        if number is not None and kind in _AT and (int(number) or kind == "precision_within"):
            at, limit = _AT[kind], int(number)
            return lambda ranked: at(ranked, limit)
    raise ParameterError(
        f"no measure is called {name!r}: write one of {', '.join(_PLAIN)}, "
        f"{', '.join(f'{kind}@10' for kind in _AT)}, with any number from 1 "
        "(a radius, from 0)"
    )


def evaluate(
    ranking: Ranking,
    query_labels: ArrayLike,
    database_labels: ArrayLike,
    metrics: Iterable[str] = ("map",),
) -> dict[str, Floats]:
    """Measure a ranking, query by query.

    Memory is bounded by blocks of queries, which are spread over the machine's cores;
    no value depends on the blocks.

    Parameters
    ----------
    ranking : HammingRanking or AsymmetricRanking
    query_labels, database_labels : 0/1 arrays of shape (n, n_categories)
    metrics : names of measures, see the top of this module

    Returns
    -------
    dict of str to float64 array of shape (n_queries,)

    Examples
    --------
    >>> import numpy as np
    >>> from omhash.evaluation import HammingRanking, evaluate
    >>> queries = np.array([[0]], dtype=np.uint8)
    >>> database = np.array([[7], [1]], dtype=np.uint8)
    >>> evaluate(HammingRanking(queries, database), [[1]], [[1], [0]], ["map", "recall@1"])
    {'map': array([0.5]), 'recall@1': array([0.])}
    """
    measures = {name: measure(name) for name in metrics}
    asked = _label_words("query", query_labels, ranking.n_queries)
    stored = _label_words("database", database_labels, ranking.n_items)
    if np.shape(query_labels)[1] != np.shape(database_labels)[1]:
        raise LabelError(
            f"query labels have {np.shape(query_labels)[1]} categories and database labels "
            f"{np.shape(database_labels)[1]}: the same columns are needed in both"
        )
    values = {name: np.empty(ranking.n_queries) for name in measures}

    def work(start: int) -> None:
        block = slice(start, min(start + step, ranking.n_queries))
        levels = ranking.levels(block)
        known = np.full(len(levels), np.nan)
        if runs is not None:
            known = runs.average_precisions(levels, asked[:, block])
        for query, (row, value) in enumerate(zip(levels, known, strict=True), start):
            ranked = _Ranked(ranking, query, row, asked[:, query], stored, numbers, value)
            for name, measure in measures.items():
                values[name][query] = measure(ranked)

    numbers = Numbers.up_to(ranking.n_items)
    runs = None
    if "map" in measures and ranking.codes is not None:
        found = Runs(ranking.codes, stored)
        # Where most items are runs of their own it is faster to rank the items.
        runs = found if 2 * len(found) <= ranking.n_items else None
    step = max(1, _BLOCK_PAIRS // max(ranking.n_items, 1))
    # The blocks keep the cores busy: a matrix product that wants them all would only wait.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(os.cpu_count()) as threads:
        for _ in threads.map(work, range(0, ranking.n_queries, step)):
            pass
    return values


def mean_average_precision(
    ranking: Ranking, query_labels: ArrayLike, database_labels: ArrayLike
) -> float:
    """MAP by the paper's rule; NaN without queries.

    Examples
    --------
    >>> import numpy as np
    >>> from omhash.evaluation import AsymmetricRanking, mean_average_precision
    >>> database = np.array([[0b10000000], [0b01000000]], dtype=np.uint8)
    >>> ranking = AsymmetricRanking([[0.1, 0.9, 0, 0, 0, 0, 0, 0]], database)
    >>> mean_average_precision(ranking, [[1]], [[0], [1]])
    1.0
    """
    return mean(evaluate(ranking, query_labels, database_labels)["map"])


def mean(values: Floats) -> float:
    """The mean over queries; NaN without queries.

    Examples
    --------
    >>> import numpy as np
    >>> mean(np.array([0.5, 1.0])), mean(np.array([]))
    (0.75, nan)
    """
    return float(values.mean()) if len(values) else float("nan")


def _label_words(whose: str, labels: ArrayLike, n: int) -> Words:
    matrix = np.asarray(labels)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or len(matrix) != n:
        raise LabelError(
            f"{whose} labels must be a 0/1 array of shape ({n}, n_categories), not "
            f"{matrix.dtype} of shape {matrix.shape}"
        )
    wrong = ((matrix != 0) & (matrix != 1)).any(axis=1)
    if wrong.any():
        raise LabelError(f"{whose} labels, row {int(np.argmax(wrong))}: neither 0 nor 1")
    return words(np.packbits(matrix != 0, axis=1))
