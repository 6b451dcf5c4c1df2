"""Runs as a table, as JSON, and as a figure: mean and deviation over seeds."""

from __future__ import annotations

import dataclasses
import json
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import ParameterError, UnsupportedError
from .protocol import RoundResult, Run

Reading = Callable[[RoundResult], float]

_SUFFIXES = (".pdf", ".png", ".svg")


@dataclass(frozen=True)
class _Series:
    """Runs that differ only in their seed, and the rounds that all of them finished."""

    data: str
    scenario: str
    method: str
    n_bits: int
    rounds: list[tuple[RoundResult, ...]]

    def over_seeds(self, reading: Reading) -> list[tuple[float, float]]:
        """Mean and sample deviation, for each round; NaN where nothing was measured."""
        return [_mean_and_deviation(map(reading, results)) for results in self.rounds]


def table(runs: Iterable[Run], *, markdown: bool = False, every_round: bool = False) -> str:
    """Runs as a table of text: the last finished round of each, or every round.

    Runs that differ only in their seed share a line, with mean ± sample deviation. The
    seconds are those of the round; `peak` is the process's, so it says most about a
    process that ran only one method.

    Examples
    --------
    >>> from omhash.evaluation import RoundResult, Run
    >>> result = RoundResult(
    ...     number=1, n_train=10, n_queries=5, n_database=10, n_categories=3,
    ...     hamming={"map": 0.75}, asymmetric={"map": 0.8}, learn_seconds=1.0,
    ...     store_seconds=0.0, encode_seconds=0.01, state_bytes=2_000_000,
    ...     peak_bytes=90_000_000,
    ... )
    >>> print(table([Run("HCFW", 32, "flowers", "iid", 0, [result])], markdown=True))
    | data | scenario | method | bits | seeds | round | map | map, asymmetric | learn s |...
    |:--|:--|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|
    | flowers | iid | HCFW | 32 | 1 | 1 | 0.750 | 0.800 | 1.00 | 2000.0 | 2.00 | 90 |
    """
    series = _series(runs)
    metrics = list(dict.fromkeys(name for one in series for name in one.rounds[0][0].hamming))
    readings = _readings(metrics)
    header = ["data", "scenario", "method", "bits", "seeds", "round"]
    header += [name for name, _, _ in readings]
    lines = []
    for one in series:
        columns = [
            [_cell(*value, digits) for value in one.over_seeds(reading)]
            for _, reading, digits in readings
        ]
        for at in range(0 if every_round else len(one.rounds) - 1, len(one.rounds)):
            results = one.rounds[at]
            known = [one.data, one.scenario, one.method, one.n_bits, len(results)]
            lines.append(
                [*map(str, known), str(results[0].number), *(column[at] for column in columns)]
            )
    return _markdown(header, lines) if markdown else _aligned(header, lines)


def to_json(runs: Iterable[Run]) -> str:
    """Everything that runs recorded, as JSON; what was not measured is null.

    Examples
    --------
    >>> from omhash.evaluation import Run
    >>> to_json([Run("HCFW", 32, "flowers", "iid", 0)]).splitlines()[:3]
    ['[', ' {', '  "method": "HCFW",']
    """
    return json.dumps(
        [without_nan(dataclasses.asdict(run)) for run in runs],
        indent=1,
        ensure_ascii=False,
        allow_nan=False,
    )


def figure(runs: Iterable[Run], path: str | Path, *, metric: str = "map") -> None:
    """Draw accuracy and the seconds of learning against rounds, and write the figure.

    Solid lines rank by Hamming distance, broken lines by asymmetric score; bands are the
    deviation over seeds. The same runs give the same bytes.

    Parameters
    ----------
    runs : Run
    path : file name that ends in .svg, .pdf or .png
    metric : str
        A measure that was recorded.
    """
    path = Path(path)
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"{path}: a figure's name ends in {', '.join(_SUFFIXES)}")
    series = _series(runs)
    for one in series:
        if metric not in one.rounds[0][0].hamming:
            raise ParameterError(f"{one.method}: {metric!r} was not recorded in its rounds")
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise UnsupportedError(
            "figures are drawn with matplotlib, which is not installed: "
            "python -m pip install 'omhash[plots]'"
        ) from None
    undated = {".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
    with rc_context({"svg.hashsalt": "omhash", "axes.spines.top": False, "font.size": 9}):
        drawn = Figure(figsize=(9, 3.6), layout="constrained")
        accuracy, seconds = drawn.subplots(1, 2)
        for number, (one, name) in enumerate(zip(series, _names(series), strict=True)):
            colour, mark = f"C{number % 10}", "os^Dv"[number % 5]
            at = [results[0].number for results in one.rounds]
            for axes, reading, style, label in (
                (accuracy, _measured("hamming", metric), "-", name),
                (accuracy, _measured("asymmetric", metric), "--", None),
                (seconds, lambda result: result.learn_seconds, "-", None),
            ):
                values = one.over_seeds(reading)
                axes.plot(
                    at, [mean for mean, _ in values], style, color=colour, marker=mark, label=label
                )
                axes.fill_between(
                    at,
                    [mean - spread for mean, spread in values],
                    [mean + spread for mean, spread in values],
                    color=colour,
                    alpha=0.15,
                    linewidth=0,
                )
        accuracy.set(xlabel="round", ylabel=f"{metric} (solid Hamming, broken asymmetric)")
        seconds.set(xlabel="round", ylabel="seconds to learn the round", ylim=(0, None))
        for axes in (accuracy, seconds):
            axes.xaxis.get_major_locator().set_params(integer=True)
        drawn.legend(loc="outside lower center", ncols=min(4, len(series)), frameon=False)
        try:
            drawn.savefig(path, metadata=undated.get(path.suffix.lower()))
        except OSError as error:
            raise ParameterError(f"{path} cannot be written: {error.strerror}") from error


def _series(runs: Iterable[Run]) -> list[_Series]:
    groups: dict[tuple[str, str, str, int], list[Run]] = {}
    for run in runs:
        if run.rounds:
            key = (run.data, run.scenario, run.method, run.n_bits)
            groups.setdefault(key, []).append(run)
    if not groups:
        raise ParameterError("there is no finished round to report")
    return [
        _Series(*key, list(zip(*(run.rounds for run in group), strict=False)))
        for key, group in groups.items()
    ]


def _readings(metrics: Sequence[str]) -> list[tuple[str, Reading, int]]:
    """Each column's name, where it is read, and its digits."""
    return [
        *(
            (name, _measured(ranking, metric), 3)
            for metric in metrics
            for ranking, name in (("hamming", metric), ("asymmetric", f"{metric}, asymmetric"))
        ),
        ("learn s", lambda result: result.learn_seconds, 2),
        ("encode µs a query", lambda r: 1e6 * r.encode_seconds / max(r.n_queries, 1), 1),
        ("state MB", lambda result: result.state_bytes / 1e6, 2),
        ("peak MB", lambda result: result.peak_bytes / 1e6, 0),
    ]


def _measured(ranking: str, metric: str) -> Reading:
    def reading(result: RoundResult) -> float:
        measured: dict[str, float] = getattr(result, ranking)
        return measured.get(metric, math.nan)

    return reading


def _mean_and_deviation(values: Iterable[float]) -> tuple[float, float]:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return math.nan, math.nan
    return statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else 0.0


def _cell(mean: float, deviation: float, digits: int) -> str:
    if math.isnan(mean):
        return "–"
    spread = f" ± {deviation:.{digits}f}" if deviation else ""
    return f"{mean:.{digits}f}{spread}"


def _names(series: Sequence[_Series]) -> list[str]:
    """What tells the series apart, for a legend."""
    several_data = len({one.data for one in series}) > 1
    several_scenarios = len({one.scenario for one in series}) > 1
    return [
        ", ".join(
            [one.method, f"{one.n_bits} bits"]
            + [one.data] * several_data
            + [one.scenario] * several_scenarios
        )
        for one in series
    ]


def _aligned(header: list[str], lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < 3 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (header, *lines)
    )


def _markdown(header: list[str], lines: list[list[str]]) -> str:
    rule = [":--" if at < 3 else "--:" for at in range(len(header))]
    rows = [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    ]
    return "\n".join([f"| {' | '.join(header)} |", f"|{'|'.join(rule)}|", *rows])


def without_nan(value: object) -> object:
    """A value of JSON: null where nothing was measured."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dict):
        return {name: without_nan(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [without_nan(inner) for inner in value]
    return value
