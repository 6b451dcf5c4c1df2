"""Rows of an answer, all values read column by column where the library keeps them so.

The library reads a vector when its row is asked for, at some 40 µs each: a hundred times what it
takes to cut the column into pieces. Where its answer is of another form, it does the reading.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def read_rows(found: Any) -> list[dict[str, Any]]:
    """The rows of an answer; binary vectors as bytes."""
    if not len(found):
        return []
    columns = getattr(found, "_lazy_field_data", None)
    values = (
        {} if columns is None else {one.field_name: _values(one, len(found)) for one in columns}
    )
    if columns is None or any(column is None for column in values.values()):
        return [_unwrapped(row) for row in found]
    rows = [dict(row) for row in list.__iter__(found)]
    for name, column in values.items():
        for row, value in zip(rows, column or (), strict=True):
            row[name] = value
    return rows


def _values(column: Any, n: int) -> Iterable[Any] | None:
    """The values of a column; None where they are of a kind that is not known here."""
    kind = column.WhichOneof("field")
    if kind == "vectors" and column.vectors.WhichOneof("data") == "binary_vector":
        raw = column.vectors.binary_vector
        width = len(raw) // n
        return [raw[start : start + width] for start in range(0, n * width, width)]
    if kind == "scalars" and column.scalars.WhichOneof("data") == "json_data":
        return [json.loads(text) for text in column.scalars.json_data.data]
    if kind == "scalars" and column.scalars.WhichOneof("data") == "string_data":
        return list(column.scalars.string_data.data)
    return None


def _unwrapped(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value[0] if isinstance(value, list) and isinstance(value[0], bytes) else value
        for name, value in row.items()
    }
