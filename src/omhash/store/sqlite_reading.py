"""Reading a collection from SQLite: one transaction is one consistent state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..codes import Codes
from ..errors import DamagedError, StoreError
from .base import Block, Head, Reading, Row
from .records import Numbers, opened, seal
from .where import Where, compiled

_FETCH = 1 << 16
_MOST_PARAMETERS = 500

_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into errors that name the file and say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in _DAMAGE or "malformed" in str(error):
            raise DamagedError(f"{path}: {error}: restore the collection from a backup") from error
        advice = {
            sqlite3.SQLITE_FULL: ": make room on the disk; nothing was changed",
            sqlite3.SQLITE_READONLY: ": the folder cannot be written to",
            sqlite3.SQLITE_CANTOPEN: ": is the folder there, and may it be read and written?",
            sqlite3.SQLITE_BUSY: ": somebody else holds it: try again",
        }.get(code, "")
        raise StoreError(f"{path}: {error}{advice}") from error


def damaged(path: Path, what: str) -> DamagedError:
    """The error for a file whose content cannot be what was written."""
    return DamagedError(f"{path}: {what}: restore the collection from a backup")


class SQLiteReading(Reading):
    """A read transaction; it ends with the context that made it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path
        self.document = self._document()
        names = ("generation", "config", "next_number", "state", "sketchers", "counts")
        try:
            self.head = Head(**{name: self.document[name] for name in names})
        except KeyError as error:
            raise damaged(path, f"the head lacks {error}") from None

    def _document(self) -> dict[str, Any]:
        row = self._connection.execute("SELECT document, seal FROM head").fetchone()
        if row is None or not isinstance(row[0], str) or seal(row[0]) != row[1]:
            raise damaged(self._path, "the head is not what was written")
        document: dict[str, Any] = json.loads(row[0])
        return document

    def items_from(self, number: int) -> Iterator[Block]:
        """Items from a number on, in order, each record checked."""
        cursor = self._connection.execute(
            "SELECT number, labels, record FROM items WHERE number >= ? ORDER BY number", (number,)
        )
        while rows := cursor.fetchmany(_FETCH):
            yield self._block(rows)

    def items(self, numbers: Numbers) -> Block:
        """Some items, in order, each record checked."""
        rows = sorted(self._selected("number, labels, record", "number", numbers))
        return self._block(rows)

    def _block(self, rows: Sequence[tuple[int, int, bytes]]) -> Block:
        numbers = np.array([row[0] for row in rows], dtype=np.int64)
        labels = np.array([row[1] for row in rows], dtype=np.int64)
        records = [row[2] for row in rows]
        width = len(records[0]) if records else 0
        if any(len(record) != width for record in records):
            raise damaged(self._path, "records differ in their length")
        sealed = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(len(rows), width)
        body, wrong = opened(numbers, labels, sealed)
        if len(wrong):
            raise damaged(self._path, f"item number {wrong[0]} is not what was written")
        return Block(numbers, labels, body)

    def removed_since(self, generation: int) -> Numbers | None:
        """Items that later commits removed; None where that is no longer known."""
        if generation < self.document["floor"]:
            return None
        rows = self._connection.execute(
            "SELECT number FROM removed WHERE generation > ? ORDER BY number", (generation,)
        )
        return np.array([number for (number,) in rows], dtype=np.int64)

    def label_sets(self) -> dict[int, tuple[int, ...]]:
        """Category numbers of every set of categories, by number."""
        sets: dict[int, tuple[int, ...]] = {0: ()}
        for number, categories, told in self._checked("label_sets", "number, categories, seal"):
            self._check("label_sets", (number, categories), told)
            sets[number] = tuple(json.loads(categories))
        return sets

    def categories(self) -> dict[str, Codes]:
        """Category names and their codes, in order."""
        found: dict[str, Codes] = {}
        for number, name, code, told in self._checked("categories", "number, name, code, seal"):
            self._check("categories", (number, name, code.hex()), told)
            found[name] = np.frombuffer(code, dtype=np.uint8)
        return found

    def rows(self, numbers: Numbers) -> dict[int, Row]:
        """Items by number."""
        found = {}
        for row in self._selected("number, key, round, labels, payload, seal", "number", numbers):
            number, key, round_number, labels, payload, told = row
            self._check("items", (key, round_number, payload), told)
            found[number] = Row(number, key, round_number, labels, json.loads(payload))
        return found

    def numbers_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Numbers of the keys that are there."""
        return dict(self._selected("key, number", "key", keys))

    def matching(self, where: Where) -> Numbers:
        """Numbers of the items that keep all conditions, in order."""
        fields = {name for (name,) in self._connection.execute("SELECT name FROM fields")}
        clause, values = compiled(where, fields, self._category_number)
        rows = self._connection.execute(
            f"SELECT number FROM items WHERE {clause} ORDER BY number",  # noqa: S608 - values are bound
            values,
        )
        return np.array([number for (number,) in rows], dtype=np.int64)

    def rounds(self) -> list[dict[str, Any]]:
        """The reports of all rounds, in order."""
        rows = self._checked("rounds", "number, id, report, seal")
        return [self._report(row) for row in rows]

    def round(self, round_id: str) -> dict[str, Any] | None:
        """The report of one round, where there is one."""
        row = self._connection.execute(
            "SELECT number, id, report, seal FROM rounds WHERE id = ?", (round_id,)
        ).fetchone()
        return None if row is None else self._report(row)

    def _report(self, row: tuple[Any, ...]) -> dict[str, Any]:
        number, name, report, told = row
        self._check("rounds", (number, name, report), told)
        loaded: dict[str, Any] = json.loads(report)
        return loaded

    def _category_number(self, name: str) -> int | None:
        row = self._connection.execute(
            "SELECT number FROM categories WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else int(row[0])

    def _checked(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """A whole small table, in order, as many rows as there must be."""
        query = f"SELECT {columns} FROM {table} ORDER BY number"  # noqa: S608 - no value in it
        rows = self._connection.execute(query).fetchall()
        if len(rows) != self.head.counts[table]:
            raise damaged(
                self._path,
                f"the table {table} has {len(rows)} rows, not {self.head.counts[table]}",
            )
        return rows

    def _check(self, table: str, values: tuple[object, ...], told: int) -> None:
        if seal(*values) != told:
            raise damaged(self._path, f"a row of the table {table} is not what was written")

    def _selected(self, columns: str, by: str, values: Sequence[Any] | Numbers) -> Iterator[Any]:
        """Rows of items whose column `by` has one of the values."""
        listed = values.tolist() if isinstance(values, np.ndarray) else list(values)
        for start in range(0, len(listed), _MOST_PARAMETERS):
            part = listed[start : start + _MOST_PARAMETERS]
            marks = ", ".join("?" * len(part))
            yield from self._connection.execute(
                f"SELECT {columns} FROM items WHERE {by} IN ({marks})",  # noqa: S608 - values are bound
                part,
            )
