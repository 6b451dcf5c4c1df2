"""The report: runs are done or taken from an earlier time, then told in three files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ...errors import ParameterError
from ..report import without_nan
from .appendix import FAIRNESS, data_table, parameter_table
from .beyond import BEYOND
from .blocks import Figure, Table, names
from .drawing import file_svg, require_drawing
from .files import alone_in, write_whole
from .jobs import Job, kept, versions
from .pages import Chapter, file_name, html, markdown
from .plan import Found, Plan
from .processes import Task, run_all
from .sections import PAPER, Section

SECTIONS: tuple[Section, ...] = PAPER + BEYOND

TITLE = "High-level codes and fine-grained weights for online multi-modal hashing"

Progress = Callable[[int, int, str], None]
"""Gets the number of runs that are done, the number of all, and what the last one was."""


@dataclass
class Outcome:
    """What a report found.

    Attributes
    ----------
    told : dict
        Everything, as in report.json.
    n_reused : int
        Runs that an earlier time had finished.
    failures : list of (what, why)
    """

    told: dict[str, Any] = field(default_factory=dict)
    n_reused: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)


def chosen(only: Sequence[str]) -> list[Section]:
    """The sections that names, or tables and figures of the paper, stand for; all without any.

    Examples
    --------
    >>> [section.name for section in chosen(["table3", "memory"])]
    ['incremental', 'memory']
    """
    known = {name for section in SECTIONS for name in (section.name, *section.paper)}
    unknown = [name for name in only if name not in known]
    if unknown:
        raise ParameterError(
            f"--only: {unknown[0]!r} is none of "
            + ", ".join(name for section in SECTIONS for name in (section.name, *section.paper))
        )
    return [
        section for section in SECTIONS if not only or {section.name, *section.paper} & set(only)
    ]


def make(
    plans: Sequence[Plan],
    folder: Path,
    *,
    sections: Sequence[Section] = SECTIONS,
    n_processes: int = 1,
    progress: Progress = lambda done, total, last: None,  # noqa: ARG005 - shows nothing
) -> Outcome:
    """Make a report in a folder: report.html, report.md with figures, and report.json.

    Runs that the folder has from an earlier time are used again if everything that decides
    them is the same. Each run is kept as soon as it is finished, so that after an
    interruption the same call goes on.
    """
    require_drawing()
    with alone_in(folder):
        results, outcome = _results(plans, sections, folder, n_processes, progress)
        _tell(plans, sections, folder, results, outcome, n_processes)
    return outcome


def _results(
    plans: Sequence[Plan],
    sections: Sequence[Section],
    folder: Path,
    n_processes: int,
    progress: Progress,
) -> tuple[dict[str, dict[str, Any]], Outcome]:
    """Every run's result by its digest."""
    runs, laid_out = folder / "runs", folder / "data"
    runs.mkdir(exist_ok=True)
    results: dict[str, dict[str, Any]] = {}
    tasks: dict[str, Task] = {}
    outcome = Outcome()
    for place, plan in enumerate(plans):
        for job in (job for section in sections for job in section.jobs(plan)):
            digest = job.digest(plan.on)
            if digest in results or digest in tasks:
                continue
            configuration = job.configuration(plan.on)
            path = runs / f"{digest}.json"
            found = kept(path, configuration)
            if found is None:
                tasks[digest] = Task(job, laid_out / str(place), configuration, path)
            else:
                results[digest] = found
    outcome.n_reused = len(results)
    total = len(results) + len(tasks)
    n_done = len(results)
    progress(n_done, total, "")

    def done(task: Task, failure: str | None) -> None:
        nonlocal n_done
        n_done += 1
        if failure is not None:
            outcome.failures.append((str(task.job), failure))
        progress(n_done, total, str(task.job))

    try:
        for place, plan in enumerate(plans):
            if any(task.data == laid_out / str(place) for task in tasks.values()):
                plan.on.write(laid_out / str(place))
        run_all(tasks.values(), n_processes, done)
    finally:
        shutil.rmtree(laid_out, ignore_errors=True)
    for digest, task in tasks.items():
        found = kept(task.to, task.configuration)
        if found is not None:
            results[digest] = found
    return results, outcome


def _tell(
    plans: Sequence[Plan],
    sections: Sequence[Section],
    folder: Path,
    results: dict[str, dict[str, Any]],
    outcome: Outcome,
    n_processes: int,
) -> None:
    """Write the three files."""
    told_sections, chapters = [], []
    for plan in plans:
        found = Found(plan, results)
        chapters.append(
            Chapter(_anchor(plan.name), plan.name, "", "", [data_table(plan, results)], level=2)
        )
        jobs: list[Job] = []
        for section in sections:
            blocks = section.blocks(plan, found)
            jobs += section.jobs(plan)
            remark = " and ".join(re.sub(r"(\d+)", r" \1", name) for name in section.paper)
            chapters.append(
                Chapter(
                    _anchor(f"{plan.name}-{section.name}"),
                    section.title,
                    f"{remark} of the paper" if remark else "",
                    section.about,
                    blocks,
                )
            )
            told_sections.append(
                {
                    "data": plan.name,
                    "section": section.name,
                    "paper": section.paper,
                    "blocks": [
                        {"kind": type(block).__name__.lower(), **asdict(block)} for block in blocks
                    ],
                }
            )
        called = [
            (job.method.name, results[digest])
            for job in jobs
            if (digest := job.digest(plan.on)) in results
        ]
        anchor = _anchor(f"{plan.name}-parameters")
        table = parameter_table(called)
        chapters.append(Chapter(anchor, "Methods and their parameters", "", FAIRNESS, [table]))
    if outcome.failures:
        rows = [names(what, why) for what, why in outcome.failures]
        failed = Table("Runs that failed", ["run", "why"], rows, n_names=2)
        chapters.append(Chapter("failures", "What failed", "", "", [failed], level=2))
    first = plans[0]
    made = {
        "versions": versions(),
        "bits": first.bits,
        "seeds": list(range(first.n_seeds)),
        "quick": first.quick,
        "processes": n_processes,
        "n_runs": len(results),
        "cpu_seconds": sum(run["cpu_seconds"] for run in results.values()),
    }
    outcome.told = _plain(
        {
            **made,
            "data": [
                {"name": plan.name, "digest": plan.on.digest, "vectors": plan.on.vector_digests}
                for plan in plans
            ],
            "sections": told_sections,
            "failures": outcome.failures,
            "runs": {
                digest: {name: value for name, value in run.items() if name not in _LONG}
                for digest, run in results.items()
            },
        }
    )
    about = _about(made)
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    for chapter in chapters:
        for place, block in enumerate(chapter.blocks):
            if isinstance(block, Figure):
                write_whole(figures / file_name(chapter, place), file_svg(block))
    write_whole(folder / "report.md", markdown(TITLE, about, chapters))
    write_whole(folder / "report.html", html(TITLE, about, chapters))
    write_whole(folder / "report.json", json.dumps(outcome.told, indent=1, allow_nan=False))


_LONG = ("queries", "average_precision")
"""What is kept of every query; it stays in the files of the runs."""


def _about(made: Mapping[str, Any]) -> list[str]:
    packages = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    return [
        "Every table and figure of the paper, measured with omhash, beside what the paper prints.",
        f"{made['n_runs']} runs, seeds {', '.join(map(str, made['seeds']))}; "
        f"{made['cpu_seconds']:,.0f} CPU seconds, {made['processes']} runs at a time. {packages}. "
        "Every number is in report.json; runs/ has each query's average precision."
        + " A quick look: few lengths, seeds and parameters."
        * bool(made["quick"]),
    ]


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "data"


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """Without NaN, which JSON does not know."""
    found: dict[str, Any] = without_nan(value)  # type: ignore[assignment]  # a dict stays one
    return found
