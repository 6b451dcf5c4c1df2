"""Reading a collection from SQLite: one transaction is one consistent state."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from ..codes import Codes
from ..errors import FormatError
from .base import Block, Head, Row, ScannedReading
from .connections import damaged, told
from .records import Numbers, opened, seal
from .sqlite_commit import FORMAT
from .where import Clause, Where, compiled

_FETCH = 1 << 16
_MOST_PARAMETERS = 500
_SEALED = "number, key, round, labels, payload"
"""Columns of an item that its seal is of; the record has its own."""

Known: TypeAlias = tuple[str, dict[str, Any], Head]
"""The head as it is written, and what it says."""


class SQLiteReading(ScannedReading):
    """A read transaction; it ends with the context that made it.

    Parameters
    ----------
    known : tuple, optional
        The `known` of an earlier reading: where nothing was committed since, it is taken over.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, known: Known | None = None
    ) -> None:
        self._connection, self._path, self.name = connection, path, str(path)
        with self._sound("head"):
            ((text, sealed),) = connection.execute("SELECT document, seal FROM head").fetchall()
        if known is None or known[0] != text:
            known = text, *self._opened(text, sealed)
        self.known = known
        _, self.document, self.head = known

    def _opened(self, text: str, sealed: int) -> tuple[dict[str, Any], Head]:
        with self._sound("head"):
            self._check("head", (text,), sealed)
            document: dict[str, Any] = json.loads(text)
        if document.get("format") != FORMAT:
            raise FormatError(
                f"{self._path}: written in format {document.get('format')!r}, and this version "
                f"reads {FORMAT}: use a newer omhash"
            )
        return document, Head(**{field.name: document[field.name] for field in fields(Head)})

    def items_from(self, number: int) -> Iterator[Block]:
        """Items from a number on, in order, each record checked."""
        cursor = self._connection.execute(
            "SELECT number, labels, record FROM items WHERE number >= ? ORDER BY number", (number,)
        )
        last = number - 1
        while rows := cursor.fetchmany(_FETCH):
            block = self._block(rows)
            if (np.diff(block.numbers, prepend=last) <= 0).any():
                raise damaged(self._path, "items are out of order")
            last = int(block.numbers[-1])
            yield block

    def items(self, numbers: Numbers) -> Block:
        """Items by number, in order, each record checked."""
        rows: list[tuple[int, int, bytes]] = []
        for marks, part in _parts(numbers.tolist()):
            rows += self._connection.execute(
                f"SELECT number, labels, record FROM items WHERE number IN ({marks}) "  # noqa: S608 - values are bound
                "ORDER BY number",
                part,
            )
        return self._block(rows)

    def _block(self, rows: Sequence[tuple[int, int, bytes]]) -> Block:
        if not rows:
            none = np.zeros(0, dtype=np.int64)
            return Block(none, none, np.zeros((0, 0), dtype=np.uint8))
        with self._sound("items"):
            numbers = np.array([row[0] for row in rows], dtype=np.int64)
            labels = np.array([row[1] for row in rows], dtype=np.int64)
            records = np.frombuffer(b"".join([row[2] for row in rows]), dtype=np.uint8)
            body, wrong = opened(numbers, labels, records.reshape(len(rows), -1))
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

    def label_sets(self, start: int = 0) -> dict[int, tuple[int, ...]]:
        """Category numbers of the sets of categories from a number on; 0 is the empty set."""
        rows = self._table("label_sets", "number, categories", start)
        empty: dict[int, tuple[int, ...]] = {} if start else {0: ()}
        return empty | {number: tuple(json.loads(categories)) for number, categories in rows}

    def categories(self) -> dict[str, Codes]:
        """Category names and their codes, in order."""
        rows = self._table("categories", "number, name, hex(code)")
        return {name: np.frombuffer(bytes.fromhex(code), np.uint8) for _, name, code in rows}

    def rows(self, numbers: Numbers) -> dict[int, Row]:
        """Items by number."""
        return {row.number: row for row in self._rows("number", numbers.tolist())}

    def numbers_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Numbers of the keys that are there."""
        # The whole row is read, and its checksum: an index alone may be damaged.
        return {row.key: row.number for row in self._rows("key", keys)}

    def compiled(self, where: Where) -> Clause:
        """Conditions in SQL; an `InputError` where they make no sense."""
        names = [name for _, name in self._table("fields", "number, name")]
        numbers = {name: number for number, name in enumerate(self.categories())}
        return compiled(where, names, numbers)

    def matching(self, clause: Clause, start: int) -> Numbers:
        """Numbers, from `start` on, of the items that keep the conditions, in order."""
        condition, values = clause
        rows = self._connection.execute(
            f"SELECT number FROM items WHERE number >= ? AND {condition} ORDER BY number",  # noqa: S608 - values are bound
            (start, *values),
        )
        return np.array([number for (number,) in rows], dtype=np.int64)

    def inspect(self, start: int) -> None:
        """A `DamagedError` where keys or payloads, from a number on, are not as written."""
        cursor = self._connection.execute(
            f"SELECT {_SEALED}, seal FROM items WHERE number >= ?",  # noqa: S608 - no value in it
            (start,),
        )
        for *values, sealed in cursor:
            self._check("items", values, sealed)

    def rounds(self) -> list[dict[str, Any]]:
        """The reports of all rounds, in order."""
        return [json.loads(report) for *_, report in self._table("rounds", "number, id, report")]

    def round(self, round_id: str) -> dict[str, Any] | None:
        """The report of one round, where there is one."""
        for *values, sealed in self._connection.execute(
            "SELECT number, id, report, seal FROM rounds WHERE id = ?", (round_id,)
        ):
            self._check("rounds", values, sealed)
            loaded: dict[str, Any] = json.loads(values[-1])
            return loaded
        return None

    def copy_to(self, path: Path) -> None:
        """Write this state of the database to a new file."""
        with told(path), closing(sqlite3.connect(path)) as copied:
            self._connection.backup(copied)

    def _table(self, table: str, columns: str, start: int = 0) -> list[list[Any]]:
        """A small table from a number on, in order, as many rows as there must be."""
        query = f"SELECT {columns}, seal FROM {table} WHERE number >= ? ORDER BY number"  # noqa: S608 - no value in it
        rows = self._connection.execute(query, (start,)).fetchall()
        n = self.head.counts[table] - max(start - 1, 0)
        if len(rows) != n:
            raise damaged(self._path, f"the table {table} has {len(rows)} rows, not {n}")
        for *values, sealed in rows:
            self._check(table, values, sealed)
        return [list(row[:-1]) for row in rows]

    def _rows(self, by: str, values: Sequence[Any]) -> Iterator[Row]:
        """Items whose column `by` has one of the values."""
        for marks, part in _parts(values):
            for *columns, sealed in self._connection.execute(
                f"SELECT {_SEALED}, seal FROM items WHERE {by} IN ({marks})",  # noqa: S608 - values are bound
                part,
            ):
                self._check("items", columns, sealed)
                number, key, round_number, labels, payload = columns
                yield Row(number, key, round_number, labels, json.loads(payload))

    def _check(self, table: str, values: Sequence[object], sealed: int) -> None:
        if seal(*values) != sealed:
            raise damaged(self._path, f"a row of the table {table} is not what was written")

    @contextmanager
    def _sound(self, table: str) -> Iterator[None]:
        """Damage may turn a value into one of another type or length."""
        try:
            yield
        except (TypeError, ValueError) as error:
            raise damaged(self._path, f"the table {table} is not what was written") from error


def _parts(values: Sequence[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    """As many values at a time as one statement may have, and a mark for each."""
    for start in range(0, len(values), _MOST_PARAMETERS):
        part = values[start : start + _MOST_PARAMETERS]
        yield ", ".join("?" * len(part)), part
