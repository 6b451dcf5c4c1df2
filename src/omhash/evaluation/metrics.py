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
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import LabelError, ParameterError
from . import _kernels as kernels
from ._kernels import Floats, Gains, Numbers, Words
from ._measures import (
    average_precision,
    ndcg,
    precision,
    precision_within,
    recall,
    tied_average_precision,
)
from ._ranking import Kinds, Levels, Ranking, words

# Query-item pairs that a thread works on at a time, to stay in a core's cache.
_BLOCK_PAIRS = 2**18


class _Block:
    """What measures look at: some queries' rankings, each part worked out when asked for.

    One row a query; columns are kinds, or items in ranked order.
    """

    def __init__(
        self, ranking: Ranking, kinds: Kinds, queries: slice, asked: Words, reciprocals: Floats
    ) -> None:
        self._ranking, self._kinds, self._queries = ranking, kinds, queries
        self._asked, self._reciprocals = asked, reciprocals

    @cached_property
    def _gains(self) -> Gains:
        return self._kinds.gains(self._asked)

    @cached_property
    def _levels(self) -> Levels:
        return self._ranking.levels(self._queries, self._kinds)

    @cached_property
    def _ranked(self) -> Numbers:
        """The kinds of the items, in ranked order."""
        ranked = np.empty((len(self._asked), self._ranking.n_items), np.uint32)
        kernels.rank_by_counting(*self._levels, self._kinds.of, self._kinds.sizes, ranked)
        return ranked

    @cached_property
    def gains(self) -> Gains:
        """The categories that the items share with the query, in ranked order."""
        return np.take_along_axis(self._gains, self._ranked, axis=1)

    @property
    def levels(self) -> Numbers:
        """The items' levels, in ranked order."""
        return np.take_along_axis(self._levels.levels, self._ranked, axis=1)

    def average_precision(self) -> Floats:
        return self._ranking.average_precisions(
            self._queries, self._kinds, self._gains, self._reciprocals
        )

    def precision_within(self, radius: int) -> Floats:
        distances = self._ranking.distances(self._queries, self._kinds)
        return precision_within(
            distances[:, self._kinds.of], self._gains[:, self._kinds.of], radius
        )


Measure: TypeAlias = Callable[[_Block], Floats]

_PLAIN: dict[str, Measure] = {
    "map": _Block.average_precision,
    "map_ties": lambda block: tied_average_precision(block.levels, block.gains),
    "ndcg": lambda block: ndcg(block.gains),
}
_AT: dict[str, Callable[[_Block, int], Floats]] = {
    "map": lambda block, k: average_precision(block.gains, k),
    "precision": lambda block, k: precision(block.gains, k),
    "recall": lambda block, k: recall(block.gains, k),
    "ndcg": lambda block, k: ndcg(block.gains, k),
    "precision_within": _Block.precision_within,
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
            return lambda block: at(block, limit)
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
    asked = _packed("query", query_labels, ranking.n_queries)
    stored = _packed("database", database_labels, ranking.n_items)
    if np.shape(query_labels)[1] != np.shape(database_labels)[1]:
        raise LabelError(
            f"query labels have {np.shape(query_labels)[1]} categories and database labels "
            f"{np.shape(database_labels)[1]}: the same columns are needed in both"
        )
    kinds = Kinds.among(ranking.codes, stored)
    asked_words = words(asked)
    reciprocals = 1 / np.arange(1.0, ranking.n_items + 1)
    reciprocals = np.concatenate(([np.inf], reciprocals))
    values = {name: np.empty(ranking.n_queries) for name in measures}

    def work(start: int) -> None:
        queries = slice(start, start + step)
        block = _Block(ranking, kinds, queries, asked_words[queries], reciprocals)
        for name, measure in measures.items():
            values[name][queries] = measure(block)

    step = max(1, _BLOCK_PAIRS // max(ranking.n_items, 1))
    with ThreadPoolExecutor(os.cpu_count()) as threads:
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


def _packed(whose: str, labels: ArrayLike, n: int) -> NDArray[np.uint8]:
    matrix = np.asarray(labels)
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf" or len(matrix) != n:
        raise LabelError(
            f"{whose} labels must be a 0/1 array of shape ({n}, n_categories), not "
            f"{matrix.dtype} of shape {matrix.shape}"
        )
    wrong = ((matrix != 0) & (matrix != 1)).any(axis=1)
    if wrong.any():
        raise LabelError(f"{whose} labels, row {int(np.argmax(wrong))}: neither 0 nor 1")
    return np.packbits(matrix != 0, axis=1)
