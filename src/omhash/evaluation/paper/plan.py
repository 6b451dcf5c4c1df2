"""What a report is asked for, and what its runs have found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .blocks import Value
from .data import ReportData
from .jobs import Job
from .methods import Method

SCENARIO_NAMES: Mapping[str, str] = {
    "iid": "standard (IID)",
    "overlap": "overlap",
    "non-overlap": "non-overlap",
}


@dataclass(frozen=True, eq=False)
class Plan:
    """One data set's part of a report.

    Attributes
    ----------
    on : ReportData
    bits : tuple of int
        Code lengths, rising.
    n_seeds : int
    embeddings : tuple of str
        Names of the category vectors that the user brought.
    quick : bool
        Fewer values of each parameter.
    """

    on: ReportData
    bits: tuple[int, ...]
    n_seeds: int
    embeddings: tuple[str, ...] = ()
    quick: bool = False

    @property
    def name(self) -> str:
        """Of the data."""
        return self.on.name

    def length(self, printed: int) -> int:
        """The code length of an experiment that the paper does with one: the nearest there is."""
        return min(self.bits, key=lambda n_bits: abs(n_bits - printed))

    def jobs(
        self, scenarios: Iterable[str], methods: Sequence[Method], lengths: Sequence[int]
    ) -> list[Job]:
        """Every method at every length, with every seed."""
        return [
            Job(self.name, scenario, method, n_bits, seed)
            for scenario in scenarios
            for method in methods
            for n_bits in lengths
            for seed in range(self.n_seeds)
        ]


class Found:
    """What runs have found, read over the seeds of a plan."""

    def __init__(self, plan: Plan, results: Mapping[str, dict[str, Any]]) -> None:
        self.plan, self._results = plan, results

    def runs(self, scenario: str, method: Method, n_bits: int) -> list[dict[str, Any]]:
        """The runs of a method, one a seed; those that failed are not there."""
        jobs = self.plan.jobs([scenario], [method], [n_bits])
        found = (self._results.get(job.digest(self.plan.on)) for job in jobs)
        return [one for one in found if one is not None]

    def last(
        self, scenario: str, method: Method, n_bits: int, reading: Callable[[dict[str, Any]], float]
    ) -> Value:
        """Of the last round."""
        runs = self.runs(scenario, method, n_bits)
        return Value.of(reading(run["rounds"][-1]) for run in runs)

    def by_round(
        self, scenario: str, method: Method, n_bits: int, reading: Callable[[dict[str, Any]], float]
    ) -> list[Value]:
        """Of every round."""
        rounds = [run["rounds"] for run in self.runs(scenario, method, n_bits)]
        return [Value.of(map(reading, each)) for each in zip(*rounds, strict=False)]

    def curve(
        self, scenario: str, method: Method, n_bits: int, ranking: str, kind: str
    ) -> list[Value]:
        """Precision or recall after so many items, `k`."""
        curves = [run["curve"][ranking][kind] for run in self.runs(scenario, method, n_bits)]
        return [Value.of(each) for each in zip(*curves, strict=False)]


def hamming(result: dict[str, Any]) -> float:
    """MAP of a round by Hamming distance."""
    found: float = result["hamming"]["map"]
    return found


def asymmetric(result: dict[str, Any]) -> float:
    """MAP of a round by asymmetric score."""
    found: float = result["asymmetric"]["map"]
    return found
