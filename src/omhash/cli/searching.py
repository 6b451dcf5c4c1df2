"""The command that finds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any

import typer

from .. import open as open_collection
from ..collection import Collection
from ..errors import ParameterError
from ..results import Hit
from .output import AsJson, CollectionPath, aligned, say
from .rounds import file_parts

_QUERIES = 1000
"""Queries that are asked at once."""


def search(
    path: CollectionPath,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="Queries, one a row: .npz, .parquet, .jsonl, .mat, or - for JSON lines on "
            "standard input.",
            show_default=False,
        ),
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Instead of a file: more like the item of this key.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Items to find for each query.")] = 10,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="""Conditions that items must keep, like '{"categories": "dog"}'.""",
        ),
    ] = None,
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="asymmetric|hamming",
            help="By the query's real values against the stored bits, or by bits alone.",
        ),
    ] = None,
    detail: Annotated[
        float | None,
        typer.Option(help="How much sketches count: 0 finds the same kind, more the very one."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the items most like each query, best first."""
    if (file is None) == (key is None):
        raise ParameterError("search needs either a file of queries or --key")
    options: dict[str, Any] = {"k": k, "where": _conditions(where), "rank": rank, "detail": detail}
    # What is not said is left to the library.
    options = {name: value for name, value in options.items() if value is not None}
    with open_collection(path) as collection:
        found = list(_found(collection, file, key, options))
    if as_json:
        told = [{"query": query, "hits": [asdict(hit) for hit in hits]} for query, hits in found]
        say(json.dumps(told))
    else:
        say(_table(found))


def _found(
    collection: Collection, file: str | None, key: str | None, options: dict[str, Any]
) -> Iterator[tuple[str, list[Hit]]]:
    if file is None:
        yield str(key), collection.search(key=key, **options)[0]
        return
    for part in file_parts(file, _QUERIES, collection.status()["modalities"]):
        items = part.read()
        yield from zip(items.keys, collection.search(items.views, **options), strict=True)


def _conditions(text: str | None) -> Any:
    if text is None:
        return None
    try:
        conditions = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"--where: is not JSON ({error}): {text!r}") from None
    if not isinstance(conditions, dict):
        raise ParameterError(
            f"--where: write an object of conditions, as in the help, not {text!r}"
        )
    return conditions


def _table(found: list[tuple[str, list[Hit]]]) -> str:
    lines: list[list[Any]] = [
        ["query", "rank", "score", "distance", "key", "categories", "payload"]
    ]
    for query, hits in found:
        for place, hit in enumerate(hits, 1):
            payload = json.dumps(hit.payload, ensure_ascii=False) if hit.payload else ""
            score = round(hit.score, 4)
            lines.append([query, place, score, hit.distance, hit.key, hit.categories, payload])
    return aligned(lines)
