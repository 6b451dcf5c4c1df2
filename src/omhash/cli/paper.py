"""The command that makes the paper's tables and figures."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import TimeRemainingColumn

from ..datasets import LabelledData
from ..datasets.mirflickr import MIRFLICKR
from ..datasets.nuswide import NUSWIDE
from ..errors import ParameterError
from ..evaluation import paper as reports
from .options import labelled_data, lengths_of, names_in
from .output import AsJson, say, watched

_PAPERS_NAMES = {"MIRFLICKR": MIRFLICKR.name, "NUSWIDE": NUSWIDE.name, "NUS-WIDE": NUSWIDE.name}
_BITS, _QUICK_BITS = "32,64,96,128", "64"

# The first character keeps the lines as they are.
EXAMPLE = """\b
Example:
  omhash paper --data MIRFLICKR=mirflickr/ --data flowers=flowers.npz --out report/
"""


def paper(
    data: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=PATH|PATH|emoji|synthetic",
            help="A file of labelled data, a folder with the paper's MATLAB files, or data that "
            "come with omhash; may be given again.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(metavar="FOLDER", help="Where the report and its runs go.")
    ] = Path("report"),
    only: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Parts of the report: tables and figures of the paper, such as "
            f"table3,figure2, or {', '.join(section.name for section in reports.SECTIONS)}.",
        ),
    ] = "",
    quick: Annotated[
        bool,
        typer.Option("--quick", help=f"A first look: --seeds 1 --bits {_QUICK_BITS}, few θ and δ."),
    ] = False,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs of each, with the seeds 0, 1, … for stream and method; 3 by default.",
            show_default=False,
        ),
    ] = None,
    bits: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS", help=f"Code lengths; {_BITS} by default.", show_default=False
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs at a time, each with one thread; as many as there are cores by default.",
            show_default=False,
        ),
    ] = None,
    embeddings: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="A word2vec or GloVe file with the vectors of the category names, to compare; "
            "may be given again.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make every table and figure of the paper, on any data.

    Writes report.html, report.md and report.json. Finished runs are kept: after ctrl-C the
    same command goes on.
    """
    sections = reports.chosen(names_in(only))
    lengths = lengths_of(bits or (_QUICK_BITS if quick else _BITS))
    files = dict(_named(text, "--embeddings") for text in embeddings or [])
    for name, file in files.items():
        if not file.is_file():
            raise ParameterError(f"--embeddings: {name}: there is no file {file}")
    sources = [_loaded(text) for text in data]
    _check_names([source.name for source in sources])
    plans = [
        reports.Plan(
            reports.ReportData.of(source, files),
            tuple(sorted(lengths)),
            seeds or (1 if quick else 3),
            tuple(files),
            quick,
        )
        for source in sources
    ]
    try:
        with watched(TimeRemainingColumn(), shown=not as_json) as progress:
            bar = progress.add_task("runs")
            outcome = reports.make(
                plans,
                out,
                sections=sections,
                n_processes=jobs or os.cpu_count() or 1,
                progress=lambda done, total, last: progress.update(
                    bar, completed=done, total=total, description=last or "runs"
                ),
            )
    except KeyboardInterrupt:
        typer.echo(
            f"omhash: interrupted: finished runs are in {out / 'runs'}; the same command goes on",
            err=True,
        )
        raise
    for what, why in outcome.failures:
        typer.echo(f"omhash: failed: {what}: {' '.join(why.split())}", err=True)
    if as_json:
        say(json.dumps(outcome.told))
    else:
        n_runs = outcome.told["n_runs"]
        say(f"{out / 'report.html'}: {n_runs} runs, {outcome.n_reused} of them from before")


def _named(text: str, option: str) -> tuple[str, Path]:
    name, mark, path = text.partition("=")
    if not (name and mark and path):
        raise ParameterError(f"{option}: give NAME=FILE, not {text!r}")
    return name, Path(path)


def _loaded(text: str) -> LabelledData:
    if "=" not in text:
        return labelled_data(text)
    name, path = _named(text, "--data")
    loaded = labelled_data(str(path))
    return replace(loaded, name=_PAPERS_NAMES.get(name.upper(), name))


def _check_names(names: Sequence[str]) -> None:
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(
            f"--data: two data sets are called {twice[0]!r}: give each a name, NAME=PATH"
        )
