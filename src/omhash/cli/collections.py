"""Commands on a collection as a whole, and taking items out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from .. import open as open_collection
from ..collection import Collection
from ..copying import copy as copy_collection
from ..errors import DamagedError, ParameterError
from ..hashers.base import N_BITS
from ..store import problems
from .output import AsJson, CollectionPath, say, say_values

Modalities: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--modality", metavar="NAME=WIDTH", help="A modality and how many values an item has."
    ),
]
Bits: TypeAlias = Annotated[
    int | None, typer.Option(help=f"Length of the codes, {N_BITS.words}.", show_default="64")
]


def create(
    path: CollectionPath,
    modality: Modalities = None,
    bits: Bits = None,
    sketch_bits: Annotated[
        int, typer.Option(help="Bits of an item's sketch for each modality; 0 keeps none.")
    ] = 128,
    seed: Annotated[int, typer.Option(help="Of the method and the sketches.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make an empty collection."""
    widths = modality_widths(modality)
    if not widths:
        raise ParameterError("--modality: name at least one, like --modality image=1280")
    with Collection.create(
        path, modalities=widths, n_bits=bits, sketch_bits=sketch_bits, seed=seed
    ) as collection:
        say_values(collection.status(), as_json=as_json)


def status(path: CollectionPath, as_json: AsJson = False) -> None:
    """Tell what a collection holds."""
    with open_collection(path) as collection:
        say_values(collection.status(), as_json=as_json)


def delete(
    path: CollectionPath,
    keys: Annotated[
        list[str],
        typer.Argument(metavar="KEYS...", help="Keys of items, or - to read one a line."),
    ],
    as_json: AsJson = False,
) -> None:
    """Take items out; what they taught stays learned."""
    wanted = _lines() if keys == ["-"] else keys
    with open_collection(path) as collection:
        deleted = collection.delete(wanted)
    told = {"deleted": deleted, "not_there": len(set(wanted)) - deleted}
    say_values(told, as_json=as_json)


def check(
    path: CollectionPath,
    repair: Annotated[
        bool, typer.Option("--repair", help="Rebuild what follows from the rest.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Look at every file of a collection; exit code 1 if something is wrong."""
    found = _problems(path, repair=repair)
    left = _problems(path) if repair and found else found
    repaired = found if repair and not left else []
    if as_json:
        say_values({"whole": not left, "problems": left, "repaired": repaired}, as_json=True)
    else:
        lines = [f"problem: {one}" for one in left] + [f"repaired: {one}" for one in repaired]
        say("\n".join([*lines, "damaged" if left else "whole"]))
    if left:
        raise typer.Exit(1)


def backup(
    path: CollectionPath,
    target: Annotated[str, typer.Argument(metavar="BACKUP", help="A new folder.")],
    as_json: AsJson = False,
) -> None:
    """Copy a collection, as it is now, to a new folder."""
    with open_collection(path) as collection:
        collection.backup(target)
    say_values({"collection": path, "backup": target}, as_json=as_json)


def restore(
    source: Annotated[str, typer.Argument(metavar="BACKUP", help="The backup's folder.")],
    path: Annotated[str, typer.Argument(metavar="COLLECTION", help="A new folder.")],
    as_json: AsJson = False,
) -> None:
    """Make a collection from a backup, once that is known to be whole."""
    with Collection.restore(source, path) as collection:
        say_values(collection.status(), as_json=as_json)


def copy(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A collection's address.")],
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Where there is none yet.")],
    as_json: AsJson = False,
) -> None:
    """Copy a collection between folders and Milvus, and compare the copy with it.

    Run again after an interruption, it goes on after the rounds that are there.
    """
    report = copy_collection(source, target)
    told = {"collection": source, "copy": target, **asdict(report), "verified": True}
    say_values(told, as_json=as_json)


def compact(path: CollectionPath, as_json: AsJson = False) -> None:
    """Give the space of items that were taken out back to the disk."""
    with open_collection(path) as collection:
        before = collection.status()["bytes_on_disk"]
        complete = collection.compact()
        after = collection.status()["bytes_on_disk"]
    told = {"complete": complete, "bytes_before": before, "bytes_after": after}
    say_values(told, as_json=as_json)


def modality_widths(given: Sequence[str] | None) -> dict[str, int]:
    """What `--modality NAME=WIDTH` says, as often as it is there."""
    widths: dict[str, int] = {}
    for text in given or []:
        name, _, width = text.rpartition("=")
        if not name or not width.isdecimal() or len(width) > 9 or not int(width):
            raise ParameterError(
                f"--modality: write a name and how many values an item has, like image=1280, "
                f"not {text!r}"
            )
        widths[name] = int(width)
    return widths


def _problems(path: str, *, repair: bool = False) -> list[str]:
    try:
        with open_collection(path) as collection:
            return collection.check(repair=repair)
    except DamagedError as error:  # too damaged to be opened
        return [str(error)] if "://" in path else problems(Path(path), repair=repair)


def _lines() -> list[str]:
    lines = typer.get_text_stream("stdin", encoding="utf-8").read().split("\n")
    return [line.removesuffix("\r") for line in lines if line.strip()]
