"""The paper's protocol: learn a round, store its items, ask that round's queries.

Queries are asked against everything stored so far, and both rankings of the codes are
measured. What a round cost is recorded beside how well it finds.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes, pack
from ..datasets.base import Round, Rows, Stream, View
from ..hashers.base import Hasher
from ._kernels import Floats
from ._ranking import AsymmetricRanking, HammingRanking, Ranking
from .metrics import evaluate, mean, measure


@dataclass(frozen=True)
class RoundResult:
    """One round: how well it finds and what it cost.

    Attributes
    ----------
    number : int
        From 1.
    n_train, n_queries, n_database, n_categories : int
        Items learned and asked in this round; items stored and categories allowed so far.
    hamming, asymmetric : dict of str to float
        Each measure's mean over the queries; NaN if nothing was asked or nothing is stored.
    learn_seconds, store_seconds, encode_seconds : float
        To learn the round, to make its items' codes, and to encode its queries.
    state_bytes : int
        The arrays of the hasher's state.
    peak_bytes : int
        The most memory that the process has had so far.
    """

    number: int
    n_train: int
    n_queries: int
    n_database: int
    n_categories: int
    hamming: dict[str, float]
    asymmetric: dict[str, float]
    learn_seconds: float
    store_seconds: float
    encode_seconds: float
    state_bytes: int
    peak_bytes: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A round's queries, each on its own, for what means do not tell.

    Attributes
    ----------
    number : int
        Of the round, from 1.
    queries : array of int
        Which items of the data were asked.
    rankings : dict of str to Ranking
    query_labels, database_labels : 0/1 arrays of shape (n, n_categories)
    values : dict of str to dict of str to array of shape (n_queries,)
        Of each ranking, each measure of every query.
    """

    number: int
    queries: Rows
    rankings: dict[str, Ranking]
    query_labels: NDArray[np.uint8]
    database_labels: NDArray[np.uint8]
    values: dict[str, dict[str, Floats]]


@dataclass
class Run:
    """One hasher on one stream: the rounds that are finished."""

    method: str
    n_bits: int
    data: str
    scenario: str
    seed: int
    rounds: list[RoundResult] = field(default_factory=list)


def run(
    hasher: Hasher,
    stream: Stream,
    *,
    method: str | None = None,
    metrics: Sequence[str] = ("map",),
    progress: Callable[[Run], None] | None = None,
    observe: Callable[[Asked], None] | None = None,
) -> Run:
    """Run a hasher through a stream.

    Parameters
    ----------
    hasher : Hasher
        Not yet fitted; it is left as the last round made it.
    stream : Stream
    method : str, optional
        What tables and figures call the hasher; its class's name if left out.
    metrics : names of measures, see `omhash.evaluation.metrics`
    progress : callable, optional
        Gets the `Run` so far after every round. Who keeps it has the finished rounds
        also when the run is interrupted.
    observe : callable, optional
        Gets each round's queries, one by one; see `rounds`.
    """
    record = Run(
        method=method or type(hasher).__name__,
        n_bits=hasher.n_bits,
        data=stream.data.name,
        scenario=stream.scenario,
        seed=stream.seed,
    )
    for result in rounds(hasher, stream, metrics=metrics, observe=observe):
        record.rounds.append(result)
        if progress is not None:
            progress(record)
    return record


def rounds(
    hasher: Hasher,
    stream: Stream,
    *,
    metrics: Sequence[str] = ("map",),
    observe: Callable[[Asked], None] | None = None,
) -> Iterator[RoundResult]:
    """Run a hasher through a stream, and yield each round as it is finished.

    A hasher with a true attribute `recodes_database` (its codes of old items change as it
    learns) has all stored items encoded anew from their views in every round; any other
    hasher's stored codes stay as they are. `observe` gets every round's queries before the
    round is yielded, where any were asked.
    """
    hasher.check_parameters()
    for name in metrics:
        measure(name)
    database = _Database(hasher, stream)
    for number, this in enumerate(stream.rounds, start=1):
        learn_seconds = store_seconds = 0.0
        if len(this.train):
            learn_seconds = database.learn(this)
            store_seconds = database.store(this)
        nothing = dict.fromkeys(metrics, np.nan)
        means = {"hamming": nothing, "asymmetric": nothing}
        encode_seconds = 0.0
        if len(this.queries) and len(database.rows):
            asked, encode_seconds = database.ask(this, number, metrics)
            means = {
                name: {metric: mean(values) for metric, values in measured.items()}
                for name, measured in asked.values.items()
            }
            if observe is not None:
                observe(asked)
        yield RoundResult(
            number=number,
            n_train=len(this.train),
            n_queries=len(this.queries),
            n_database=len(database.rows),
            n_categories=len(this.categories),
            hamming=means["hamming"],
            asymmetric=means["asymmetric"],
            learn_seconds=learn_seconds,
            store_seconds=store_seconds,
            encode_seconds=encode_seconds,
            state_bytes=_state_bytes(hasher) if len(database.rows) else 0,
            peak_bytes=_peak_bytes(),
        )


class _Database:
    """The items stored so far, and the hasher that codes them."""

    def __init__(self, hasher: Hasher, stream: Stream) -> None:
        self.hasher, self.data = hasher, stream.data
        self.rows: Rows = np.zeros(0, dtype=np.intp)
        self.codes: Codes = np.zeros((0, hasher.n_bits // 8), dtype=np.uint8)

    def views(self, rows: Rows) -> dict[str, View]:
        return {modality: view[rows] for modality, view in self.data.views.items()}

    def labels(self, rows: Rows, this: Round) -> NDArray[np.uint8]:
        """Labels of items among the categories allowed in this round."""
        return self.data.labels[np.ix_(rows, this.categories)]

    def learn(self, this: Round) -> float:
        views, labels = self.views(this.train), self.labels(this.train, this)
        names = [self.data.categories[column] for column in this.categories]
        start = time.perf_counter()
        self.hasher.partial_fit(views, labels, categories=names)
        return time.perf_counter() - start

    def store(self, this: Round) -> float:
        self.rows = np.concatenate((self.rows, this.train))
        if getattr(self.hasher, "recodes_database", False):
            views = self.views(self.rows)
            start = time.perf_counter()
            self.codes = self.hasher.encode(views)
            return time.perf_counter() - start
        views, labels = self.views(this.train), self.labels(this.train, this)
        names = [self.data.categories[column] for column in this.categories]
        start = time.perf_counter()
        codes = self.hasher.item_codes(views, labels, categories=names)
        seconds = time.perf_counter() - start
        self.codes = np.concatenate((self.codes, codes))
        return seconds

    def ask(self, this: Round, number: int, metrics: Sequence[str]) -> tuple[Asked, float]:
        """What the round's queries find, and the seconds to encode them."""
        views = self.views(this.queries)
        start = time.perf_counter()
        projections = self.hasher.project(views)
        codes = pack(projections)
        seconds = time.perf_counter() - start
        labels = self.labels(this.queries, this), self.labels(self.rows, this)
        rankings = {
            "hamming": HammingRanking(codes, self.codes),
            "asymmetric": AsymmetricRanking(projections, self.codes),
        }
        values = {name: evaluate(ranking, *labels, metrics) for name, ranking in rankings.items()}
        return Asked(number, this.queries, rankings, *labels, values), seconds


def _state_bytes(hasher: Hasher) -> int:
    arrays = (value for value in hasher.get_state().values() if isinstance(value, np.ndarray))
    return sum(array.nbytes for array in arrays)


def _peak_bytes() -> int:
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
