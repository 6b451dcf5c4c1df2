"""What one commit writes to SQLite, within a transaction that is already open."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from ..codes import Codes
from .base import Additions, Change
from .records import Numbers, seal, sealed

FORMAT = 1

SCHEMA = """
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 0), document TEXT, seal INTEGER);
CREATE TABLE items (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, round INTEGER NOT NULL,
    labels INTEGER NOT NULL, record BLOB NOT NULL, payload TEXT NOT NULL, seal INTEGER NOT NULL
);
CREATE TABLE removed (number INTEGER PRIMARY KEY, generation INTEGER NOT NULL);
CREATE TABLE label_sets (number INTEGER PRIMARY KEY, categories TEXT UNIQUE, seal INTEGER);
CREATE TABLE categories (number INTEGER PRIMARY KEY, name TEXT UNIQUE, code BLOB, seal INTEGER);
CREATE TABLE rounds (number INTEGER PRIMARY KEY, id TEXT UNIQUE, report TEXT, seal INTEGER);
CREATE TABLE fields (number INTEGER PRIMARY KEY, name TEXT UNIQUE, seal INTEGER);
"""


def emptied() -> dict[str, Any]:
    """What the head tells of a collection without items."""
    return {
        "format": FORMAT,
        "generation": 0,
        "floor": 0,  # the generation from which on it is known what was removed
        "next_number": 1,
        "state": None,
        "sketchers": None,
        "counts": {"items": 0, "label_sets": 0, "categories": 0, "rounds": 0, "fields": 0},
    }


def apply(connection: sqlite3.Connection, document: dict[str, Any], change: Change) -> None:
    """Write a change, and bring the head's document up to it."""
    _add_categories(connection, document["counts"], change.categories)
    _remove(connection, document, change.removed)
    if change.added is not None:
        _add(connection, document, change.added)
    if change.round is not None:
        document["counts"]["rounds"] += 1
        values = (document["counts"]["rounds"], change.round["id"], json.dumps(change.round))
        connection.execute("INSERT INTO rounds VALUES (?, ?, ?, ?)", (*values, seal(*values)))
    for name in ("state", "sketchers"):
        if getattr(change, name) is not None:
            document[name] = getattr(change, name)


def _add_categories(
    connection: sqlite3.Connection, counts: dict[str, int], categories: Mapping[str, Codes]
) -> None:
    for number, (name, code) in enumerate(categories.items(), counts["categories"]):
        connection.execute(
            "INSERT INTO categories VALUES (?, ?, ?, ?)",
            (number, name, code.tobytes(), seal(number, name, code.tobytes().hex().upper())),
        )
    counts["categories"] += len(categories)


def _remove(connection: sqlite3.Connection, document: dict[str, Any], numbers: Numbers) -> None:
    generation = document["generation"]
    told = [(number, generation) for number in numbers.tolist()]
    connection.executemany("DELETE FROM items WHERE number = ?", [row[:1] for row in told])
    connection.executemany("INSERT INTO removed VALUES (?, ?)", told)
    document["counts"]["items"] -= len(told)


def _add(connection: sqlite3.Connection, document: dict[str, Any], added: Additions) -> None:
    counts = document["counts"]
    first, n = document["next_number"], len(added.keys)
    sets = _label_set_numbers(connection, counts, added)
    numbers = np.arange(first, first + n, dtype=np.int64)
    labels = np.array([sets[categories] for categories in added.label_sets], dtype=np.int64)
    records = sealed(numbers, labels, added.bodies)
    columns = (
        numbers.tolist(),
        added.keys,
        [counts["rounds"] + 1] * n,
        labels.tolist(),
        added.payloads,
    )
    connection.executemany(
        "INSERT INTO items (number, key, round, labels, payload, record, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        zip(
            *columns,
            _rows(records.tobytes(), records.shape[1]),
            map(seal, *columns),
            strict=True,
        ),
    )
    _add_fields(connection, counts, added.fields)
    document["next_number"] += n
    counts["items"] += n


def _add_fields(
    connection: sqlite3.Connection, counts: dict[str, int], fields: Collection[str]
) -> None:
    known = {name for (name,) in connection.execute("SELECT name FROM fields")}
    for name in sorted(set(fields) - known):
        values = (counts["fields"] + 1, name)
        connection.execute("INSERT INTO fields VALUES (?, ?, ?)", (*values, seal(*values)))
        counts["fields"] += 1


def _label_set_numbers(
    connection: sqlite3.Connection, counts: dict[str, int], added: Additions
) -> dict[tuple[int, ...], int]:
    """The number of every set of categories; new ones are written."""
    numbers: dict[tuple[int, ...], int] = {(): 0}
    for categories in dict.fromkeys(added.label_sets):
        if not categories:
            continue
        text = json.dumps(categories)
        row = connection.execute(
            "SELECT number FROM label_sets WHERE categories = ?", (text,)
        ).fetchone()
        if row is None:
            counts["label_sets"] += 1
            row = (counts["label_sets"],)
            connection.execute(
                "INSERT INTO label_sets VALUES (?, ?, ?)", (row[0], text, seal(row[0], text))
            )
        numbers[categories] = row[0]
    return numbers


def _rows(whole: bytes, width: int) -> Iterator[bytes]:
    for start in range(0, len(whole), width):
        yield whole[start : start + width]
