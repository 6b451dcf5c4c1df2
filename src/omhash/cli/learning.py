"""The command that learns and stores Parquet files on many machines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from ..addresses import is_there
from ..collection import Collection
from ..datasets import Slice, slices
from ..errors import DataFileError, OmhashError, ParameterError, UnsupportedError
from ..results import RoundReport
from .collections import Bits, Modalities, modality_widths
from .output import AsJson, CollectionPath, say_values, watched
from .rounds import ITEMS, opened, summary, widths_of


def learn(
    path: CollectionPath,
    data: Annotated[
        list[str],
        typer.Option(
            metavar="PARQUET", help="A path or URL, which may hold *; may be there more than once."
        ),
    ],
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="A Dask scheduler, like tcp://host:8786.", show_default=False
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Without --scheduler: processes on this machine.", show_default="2"
        ),
    ] = None,
    round_size: Annotated[int, typer.Option(min=1, help="Items in a round.")] = ITEMS,
    new: Annotated[
        bool, typer.Option("--create", help="Make the collection if there is none.")
    ] = False,
    modality: Modalities = None,
    bits: Bits = None,
    as_json: AsJson = False,
) -> None:
    """Learn and store Parquet files on the workers of a Dask cluster.

    The collection becomes what ingest of the same files makes of it. Run again after an
    interruption, it goes on after the rounds that are stored. --modality and --bits are of use
    with --create.
    """
    widths = modality_widths(modality)
    if not new and (widths or bits):
        raise ParameterError("--modality and --bits are of use only with --create")
    if scheduler is not None and workers is not None:
        raise ParameterError("--workers is of use only without --scheduler")
    try:
        from ..distributed import connected, ingest
    except ImportError as error:
        raise UnsupportedError(str(error)) from None
    start = time.perf_counter()
    fresh = new and not is_there(path)
    found = slices(data, round_size, widths=widths)
    if not found:
        raise DataFileError(f"{', '.join(data)}: holds no items")
    with (
        _errors_in_a_line(),
        connected(scheduler, workers=workers or 2) as client,
        _collection(path, found[0], widths, bits, fresh=fresh) as collection,
    ):
        rounds = slices(data, round_size, widths=collection.status()["modalities"])
        reports = _stored(
            lambda progress: ingest(collection, rounds, client=client, progress=progress),
            len(rounds),
            shown=not as_json,
        )
    say_values(
        {
            **summary(reports, as_json=as_json),
            "rounds_stored_before": len(rounds) - len(reports),
            "seconds": round(time.perf_counter() - start, 3),
        },
        as_json=as_json,
    )


@contextmanager
def _errors_in_a_line() -> Iterator[None]:
    """Keep Dask's tracebacks off stderr: what stops the command is told in a line."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def _collection(
    path: str, first: Slice, widths: dict[str, int], bits: int | None, *, fresh: bool
) -> Collection:
    if not fresh:
        return opened(path, widths, bits)
    wide = widths_of(first.url, first.read(), widths)
    return Collection.create(path, modalities=wide, n_bits=bits)


def _stored(
    ingest: Callable[[Callable[[int, int], None]], Iterator[RoundReport]],
    n_rounds: int,
    *,
    shown: bool,
) -> list[RoundReport]:
    """The reports of all rounds that are stored now, with a bar until then."""
    reports: list[RoundReport] = []

    def go_on() -> str:
        return f"{len(reports)} rounds were stored: the same command goes on after them"

    try:
        with watched(shown=shown) as progress:
            bar = progress.add_task("looking", total=None)

            def learned(done: int, total: int) -> None:
                progress.update(bar, description="rounds learned", completed=done, total=total)

            for report in ingest(learned):
                reports += [] if report.repeated else [report]
                progress.update(
                    bar, description="rounds stored", completed=len(reports), total=n_rounds
                )
    except KeyboardInterrupt:
        typer.echo(f"omhash: interrupted: {go_on()}", err=True)
        raise
    except OmhashError as error:
        raise type(error)(f"{error}. {go_on()}") from error
    return reports
