"""The command that measures methods."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from .. import evaluation, semantics
from ..datasets import SCENARIOS, LabelledData
from ..errors import OmhashError, ParameterError, UnsupportedError
from ..evaluation import Run
from ..hashers.base import N_BITS
from ..hashers.named import METHODS
from .options import labelled_data, lengths_of, names_in
from .output import AsJson, say, watched

_PUBLISHED = "-published"
_FIGURES = (".pdf", ".png", ".svg")

# The first character keeps the lines as they are.
EXAMPLE = """\b
Example:
  omhash bench --data flowers.npz --scenario overlap --bits 32,64 \\
    --method hcfw,hcfw-published --figure flowers.svg
"""


def bench(
    data: Annotated[
        str,
        typer.Option(
            metavar="PATH|emoji|synthetic",
            help="A file of labelled data (.npz, .parquet, .jsonl, .mat), a folder with the "
            "paper's MATLAB files, or data that come with omhash.",
        ),
    ] = "synthetic",
    scenario: Annotated[
        str, typer.Option(metavar="|".join(SCENARIOS), help="How the data come as a stream.")
    ] = "iid",
    method: Annotated[
        str, typer.Option(metavar="NAMES", help=f"Methods, of: {', '.join(METHODS)}.")
    ] = "hcfw",
    published: Annotated[
        bool,
        typer.Option(
            "--published", help=f"The paper's settings: --method NAME{_PUBLISHED} for each method."
        ),
    ] = False,
    bits: Annotated[
        str, typer.Option(metavar="NUMBERS", help=f"Code lengths, each {N_BITS.words}.")
    ] = "32,64,96,128",
    seeds: Annotated[
        int,
        typer.Option(min=1, help="Runs of each, with the seeds 0, 1, … for stream and method."),
    ] = 3,
    metric: Annotated[
        str,
        typer.Option(metavar="NAMES", help="Measures beside map, such as map_ties,precision@50."),
    ] = "",
    round_size: Annotated[
        int | None, typer.Option(help="Items learned in a round; iid only.")
    ] = None,
    queries: Annotated[int | None, typer.Option(help="Items asked; iid only.")] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(
            help="word2vec or GloVe file with the vectors of the category names; without it, "
            "those of the data or, if they have none, those that omhash ships."
        ),
    ] = None,
    every_round: Annotated[
        bool, typer.Option("--every-round", help="Show each round, not only the last.")
    ] = False,
    as_json: AsJson = False,
    figure: Annotated[
        Path | None,
        typer.Option(help=f"Draw accuracy and seconds by round ({', '.join(_FIGURES)})."),
    ] = None,
) -> None:
    """Run methods through a stream and show how well they find.

    Prints mean ± deviation over the seeds for the last round: MAP by Hamming distance and
    by asymmetric score, seconds, memory.
    """
    methods = _methods(method, published=published)
    lengths = lengths_of(bits)
    sizes = {"round_size": round_size, "n_queries": queries}
    sizes = {name: size for name, size in sizes.items() if size is not None}
    if scenario not in SCENARIOS:
        raise ParameterError(f"--scenario: {scenario!r} is none of {', '.join(SCENARIOS)}")
    if sizes and scenario != "iid":
        raise ParameterError(
            f"--round-size and --queries belong to iid: the categories decide in {scenario}"
        )
    if embeddings and not any(name.endswith(_PUBLISHED) for name in methods):
        raise ParameterError("--embeddings is of use only with the paper's settings: --published")
    if figure:
        _check_figure(figure)
    items = labelled_data(data)
    streams = [SCENARIOS[scenario](items, seed=seed, **sizes) for seed in range(seeds)]
    source = cache(partial(_category_vectors, items, embeddings))
    for name in methods:  # what is wrong with one is told before any has run
        METHODS[name](lengths[0], 0, source).check_parameters()
    metrics = list(dict.fromkeys(["map", *names_in(metric)]))

    runs: list[Run] = []
    total = len(methods) * len(lengths) * sum(len(stream.rounds) for stream in streams)
    try:
        with _watched(runs, total, shown=not as_json) as after_round:
            for name, n_bits, stream in product(methods, lengths, streams):
                hasher = METHODS[name](n_bits, stream.seed, source)
                evaluation.run(hasher, stream, method=name, metrics=metrics, progress=after_round)
    except (KeyboardInterrupt, OmhashError, MemoryError):
        if runs:
            typer.echo("omhash: interrupted: results so far", err=True)
            whole = [run for run in runs if len(run.rounds) == len(streams[run.seed].rounds)]
            _report(whole or runs, as_json=as_json, every_round=every_round, figure=figure)
        raise
    _report(runs, as_json=as_json, every_round=every_round, figure=figure)


def _methods(text: str, *, published: bool) -> list[str]:
    names = names_in(text)
    if published:
        names = list(dict.fromkeys(name.removesuffix(_PUBLISHED) + _PUBLISHED for name in names))
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        raise ParameterError(
            f"--method: {(unknown or [text])[0]!r} is none of {', '.join(METHODS)}"
        )
    return names


def _check_figure(path: Path) -> None:
    """Refuse before a long run what could not be drawn after it."""
    if path.suffix.lower() not in _FIGURES:
        raise ParameterError(f"--figure: {path}: its name must end in {', '.join(_FIGURES)}")
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ParameterError(
            f"--figure: {path}: cannot be written; check the folder and its rights"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise UnsupportedError(
            "--figure: needs matplotlib, which is not installed: "
            "python -m pip install 'omhash[plots]'"
        )


def _category_vectors(data: LabelledData, embeddings: Path | None) -> semantics.Semantics:
    if embeddings:
        return semantics.from_file(embeddings, data.categories)
    if data.category_vectors is not None:
        return semantics.from_array(data.categories, data.category_vectors)
    return semantics.embedded()


@contextmanager
def _watched(runs: list[Run], total: int, *, shown: bool) -> Iterator[Callable[[Run], None]]:
    """Keep every run from its first round on, and show the rounds in a bar."""
    with watched(shown=shown) as progress:
        bar = progress.add_task("first round", total=total)

        def after_round(run: Run) -> None:
            if len(run.rounds) == 1:
                runs.append(run)
            found = f"MAP {run.rounds[-1].hamming['map']:.3f}"
            told = f"{run.method}, {run.n_bits} bits, seed {run.seed}: {found}"
            progress.update(bar, advance=1, description=told)

        yield after_round


def _report(runs: list[Run], *, as_json: bool, every_round: bool, figure: Path | None) -> None:
    text = evaluation.to_json(runs) if as_json else evaluation.table(runs, every_round=every_round)
    say(text)
    if figure:
        evaluation.figure(runs, figure)
