"""Commands that go through a file of items: learn and store them, or forget them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from scipy import sparse

from .. import open as open_collection
from ..addresses import folder as only_folder
from ..addresses import is_there
from ..collection import Collection
from ..datasets import Items, Part, jsonlines_parts, parts
from ..encoders import Folder, Skipped, Suite
from ..errors import DataFileError, InputError, OmhashError, ParameterError
from ..measures import Measures, Quality, mean_average_precision
from ..results import RoundReport
from .collections import Bits, Modalities, modality_widths
from .folders import Pictures
from .output import AsJson, CollectionPath, say_values, watched

ItemFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Items: .npz, .parquet, .jsonl, .mat, or - for JSON lines on standard input.",
        show_default=False,
    ),
]

_KNOW_THEIR_WIDTHS = (".npz", ".mat")

ITEMS, _PICTURES = 10_000, 500
"""In a round, where nothing is said."""


def ingest(
    path: CollectionPath,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="Items: .npz, .parquet, .jsonl, .mat, or - for JSON lines on standard input.",
            show_default=False,
        ),
    ] = None,
    folder: Annotated[
        str | None, typer.Option(help="Instead of a file: a folder of pictures.")
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            metavar="JSONL", help="The pictures' words and categories, one JSON object a line."
        ),
    ] = None,
    round_size: Annotated[
        int | None,
        typer.Option(
            min=1, help="Items in a round.", show_default=f"{ITEMS:,}, of pictures {_PICTURES}"
        ),
    ] = None,
    new: Annotated[
        bool, typer.Option("--create", help="Make the collection if there is none.")
    ] = False,
    modality: Modalities = None,
    bits: Bits = None,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure",
            help="Measure how well each round finds its like, before and after; the page shows it.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Learn and store a file of any size, or a folder of pictures, round by round.

    Run again after an interruption, it goes on after the rounds that are stored.
    --modality and --bits are of use with --create.
    """
    widths = modality_widths(modality)
    if not new and (widths or bits):
        raise ParameterError("--modality and --bits are of use only with --create")
    if captions is not None and folder is None:
        raise ParameterError("--captions is of use only with --folder")
    measures = Measures(only_folder(path)) if measure else None
    fresh = new and not is_there(path)
    pictures: Pictures | None = None
    if file is not None and folder is None:
        collection, found = _of_file(path, file, round_size or ITEMS, widths, bits, fresh=fresh)
    elif folder is not None and file is None:
        if widths:
            raise ParameterError("--modality is of no use with --folder: encoders give the widths")
        collection, pictures = _of_folder(path, Folder(folder, captions), bits, fresh=fresh)
        found = pictures.parts(round_size or _PICTURES)
    else:
        raise ParameterError("name a FILE of features or a --folder of pictures")
    with collection:
        told = _Told(file or str(folder))
        _store(collection, found, told, measures, shown=not as_json)
    told.say(pictures.skipped if pictures else [], as_json=as_json)


def _of_folder(
    path: str, folder: Folder, bits: int | None, *, fresh: bool
) -> tuple[Collection, Pictures]:
    """The collection, made if need be, and the pictures of a folder."""
    if fresh:
        collection = Collection.create(path, encoders=Suite.default(), n_bits=bits)
    else:
        collection = opened(path, {}, bits)
    try:
        return collection, Pictures(folder, collection.encoders())
    except OmhashError:
        collection.close()
        raise


def _of_file(
    path: str, file: str, size: int, widths: dict[str, int], bits: int | None, *, fresh: bool
) -> tuple[Collection, Iterator[Part]]:
    """The collection, made if need be, and the parts of a file."""
    if not fresh:
        collection = opened(path, widths, bits)
        return collection, file_parts(file, size, collection.status()["modalities"])
    found = file_parts(file, size, widths)
    first = next(found, None)
    if first is None:
        raise DataFileError(f"{file}: holds no items")
    made = Collection.create(path, modalities=widths_of(file, first.read(), widths), n_bits=bits)
    return made, chain([first], found)


def opened(path: str, widths: Mapping[str, int], bits: int | None) -> Collection:
    """A collection that is there, if it is what the options say."""
    collection = open_collection(path)
    known = collection.status()
    told = {**known["modalities"], **widths}, bits or known["n_bits"]
    if told != (known["modalities"], known["n_bits"]):
        collection.close()
        raise ParameterError(
            f"{path}: is there already, with {known['n_bits']} bits and the modalities "
            f"{', '.join(f'{name}={width}' for name, width in known['modalities'].items())}"
        )
    return collection


def forget(
    path: CollectionPath,
    file: ItemFile,
    key: Annotated[
        list[str] | None,
        typer.Option(help="Only this item of the file; may be there more than once."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Take the items of a file out as if they had never been learned.

    The file holds their keys and the features that were learned of them.
    """
    forgotten, purged = 0, True
    missing = dict.fromkeys(key or [])
    with open_collection(path) as collection:
        for part in file_parts(file, 10_000, collection.status()["modalities"]):
            items = part.read()
            if key:
                items = items.only(np.flatnonzero([name in key for name in items.keys]))
            if items.keys:
                report = collection.forget(items.keys, items.views)
                forgotten, purged = forgotten + report.forgotten, report.purged
                for name in items.keys:
                    missing.pop(name, None)
                missing.update(dict.fromkeys(report.missing))
    told = {"forgotten": forgotten, "not_there": list(missing), "purged": purged}
    say_values(told, as_json=as_json)


def file_parts(file: str, size: int, widths: Mapping[str, int]) -> Iterator[Part]:
    """The parts of a file, or of JSON lines on standard input."""
    if file == "-":
        return jsonlines_parts(Path("stdin"), size, widths, typer.get_binary_stream("stdin"))
    return parts(file, size, widths=widths)


def summary(reports: Sequence[RoundReport], *, as_json: bool) -> dict[str, Any]:
    """What rounds brought together."""
    names = [name for report in reports for name in report.new_categories]
    return {
        "items": sum(report.items for report in reports),
        "rounds": len(reports),
        "labelled": sum(report.labelled for report in reports),
        "replaced": sum(report.replaced for report in reports),
        "new_categories": names if as_json else len(names),
    }


def widths_of(file: str, first: Items, given: Mapping[str, int]) -> dict[str, int]:
    """The widths of a new collection: what is said, or else what the first items have."""
    widths = dict(given)
    for name, view in first.views.items():
        # Lines and columns of a table say where values are, not how many there could be.
        unknown = sparse.issparse(view) and not file.lower().endswith(_KNOW_THEIR_WIDTHS)
        if unknown and name not in given:
            raise ParameterError(
                f"{file}: view {name!r} is sparse, and the file does not say how wide: "
                f"add --modality {name}=WIDTH"
            )
        widths.setdefault(name, view.shape[1])
    return widths


@dataclass
class _Told:
    """What is told of a file when it has been stored, or when something stops that."""

    file: str
    passed: int = 0
    stored_before: int = 0
    resumed_at: int | None = None
    reports: list[RoundReport] = field(default_factory=list)
    quality: Quality = field(default_factory=dict)
    since: float = field(default_factory=time.perf_counter)

    def say(self, skipped: Sequence[Skipped], *, as_json: bool) -> None:
        for one in skipped:
            typer.echo(f"omhash: skipped: {one.reason}", err=True)
        say_values(
            {
                **summary(self.reports, as_json=as_json),
                "rounds_stored_before": self.stored_before,
                "resumed_at_round": self.resumed_at,
                "skipped": [one.file for one in skipped] if as_json else len(skipped),
                **{f"map_of_last_round_{when}": map_ for when, map_ in self.quality.items()},
                "seconds": round(time.perf_counter() - self.since, 3),
            },
            as_json=as_json,
        )


def _store(
    collection: Collection,
    found: Iterator[Part],
    told: _Told,
    measures: Measures | None,
    *,
    shown: bool,
) -> None:
    stored = {report.id for report in collection.rounds()}
    try:
        with watched(counted=False, shown=shown) as progress:
            bar = progress.add_task("first round", total=None)
            for number, part in enumerate(found, 1):
                if part.round_id in stored:
                    told.stored_before += 1
                else:
                    if told.stored_before and not told.reports:
                        told.resumed_at = number
                    _store_part(collection, part, told, measures)
                told.passed = part.stop
                total = None if part.share is None else 1.0
                done = f"{part.stop:,} items"
                progress.update(bar, total=total, completed=part.share or 0, description=done)
    except KeyboardInterrupt:
        typer.echo(f"omhash: interrupted: {_go_on(told)}", err=True)
        raise
    except OmhashError as error:
        if not told.passed:
            raise
        raise type(error)(f"{error}. {_go_on(told)}") from error
    if not told.passed:
        raise DataFileError(f"{told.file}: holds no items")


def _store_part(collection: Collection, part: Part, told: _Told, measures: Measures | None) -> None:
    items = part.read()
    if not items.keys:  # pictures none of which can be read
        return
    given: dict[str, Any] = {
        "views": items.views,
        "labels": items.labels if items.categories else None,
        "categories": items.categories or None,
        "keys": items.keys,
    }
    store = partial(collection.ingest, **given, payloads=items.payloads, round_id=part.round_id)
    try:
        if measures is None:
            report = store()
        else:
            found = partial(mean_average_precision, collection, **given)
            report, quality = measures.around(found, store)
            told.quality = quality or {}
    except InputError as error:
        raise type(error)(f"{told.file}, items {part.start} to {part.stop - 1}: {error}") from error
    told.reports.append(report)


def _go_on(told: _Told) -> str:
    if not told.passed:
        return f"No item of {told.file} is stored yet"
    return (
        f"The first {told.passed} items of {told.file} are stored: the same command goes on "
        "after them"
    )
