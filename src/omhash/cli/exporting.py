"""The command that writes items out, for other programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer

from .. import open as open_collection
from ..collection import Collection
from ..errors import ParameterError
from .output import AsJson, CollectionPath, say, say_values

_ITEMS = 10_000
"""Items that are written at once."""


def export(
    path: CollectionPath,
    file: Annotated[
        str,
        typer.Argument(metavar="[FILE]", help="A name in .jsonl or .parquet, or - for stdout."),
    ] = "-",
    as_json: AsJson = False,
) -> None:
    """Write all items: key, categories, payload and code, in order of arrival.

    To stdout they always go as JSON lines.
    """
    if file != "-" and Path(file).suffix not in (".jsonl", ".parquet"):
        raise ParameterError(f"{file}: the name must end in .jsonl or .parquet")
    with open_collection(path) as collection:
        if file == "-":
            for rows in _rows(collection):
                say(_lines(rows))
            return
        target = Path(file)
        # The file gets its name when it is whole.
        fresh = target.with_name(f"{target.name}.new")
        try:
            written = _write(collection, fresh, parquet=target.suffix == ".parquet")
            fresh.replace(target)
        finally:
            fresh.unlink(missing_ok=True)
    say_values({"file": file, "items": written}, as_json=as_json)


def _write(collection: Collection, fresh: Path, *, parquet: bool) -> int:
    written = 0
    if not parquet:
        with fresh.open("w", encoding="utf-8") as lines:
            for rows in _rows(collection):
                lines.write(f"{_lines(rows)}\n")
                written += len(rows)
        return written
    schema = pa.schema(
        {
            "key": pa.string(),
            "categories": pa.list_(pa.string()),
            "payload": pa.string(),
            "code": pa.binary(collection.status()["n_bits"] // 8),
        }
    )
    with pq.ParquetWriter(fresh, schema) as writer:
        for rows in _rows(collection):
            for row in rows:  # payloads differ in their fields, so a column holds them as text
                row["payload"] = json.dumps(row["payload"], ensure_ascii=False)
                row["code"] = bytes.fromhex(row["code"])
            writer.write_table(pa.Table.from_pylist(rows, schema))
            written += len(rows)
    return written


def _rows(collection: Collection) -> Iterator[list[dict[str, Any]]]:
    """All items, some at a time."""
    items = collection.items()
    while some := list(islice(items, _ITEMS)):
        yield [
            {
                "key": item.key,
                "categories": list(item.categories),
                "payload": item.payload,
                "code": item.code.tobytes().hex(),
            }
            for item in some
        ]


def _lines(rows: list[dict[str, Any]]) -> str:
    return "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
