"""One state of a collection on Milvus: rows that count, without what was removed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...codes import Codes
from ...errors import StoreError
from ..base import Block, Head, Reading, Row
from ..records import Bytes, Numbers, opened, seal
from ..where import Where, conditions
from .engine import MOST, Engine
from .expressions import Filter, compiled
from .tables import (
    ITEM_FIELDS,
    RECORD_FIELDS,
    Tables,
    damaged,
    documents,
    hashed,
)
from .tail import Tail, log_rows

_AT_ONCE = 500
"""Keys or numbers that are asked for together."""

LONG = 4.0
"""Seconds after which a reader looks whether what it reads is being deleted."""


class MilvusReading(Reading):
    """The state that a head tells of.

    Parameters
    ----------
    levels : two functions of a Milvus collection's name
        The consistency that a read of it needs, and what is called once it was read.
    last_head : function
        The last head that there is.
    """

    def __init__(
        self,
        engine: Engine,
        tables: Tables,
        document: dict[str, Any],
        config: dict[str, Any],
        tail: Tail,
        levels: tuple[Callable[[str], str], Callable[[str], None]],
        last_head: Callable[[], dict[str, Any]],
    ) -> None:
        self._engine, self._tables, self._tail = engine, tables, tail
        self._level, self._settled = levels
        self._last_head = last_head
        self.document, self.name = document, engine.place.address
        told = {**document, "config": config}
        self.head = Head(**{field.name: told[field.name] for field in fields(Head)})
        aborted = document["aborted"]
        self._counted = f"added <= {self.head.generation}"
        self._counted += f" and added not in {aborted}" if aborted else ""
        self._checked = time.monotonic()

    def items_from(self, number: int) -> Iterator[Block]:
        """Items from a number on, in order, each record checked."""
        yield from self._blocks("", number)

    def items(self, numbers: Numbers) -> Block:
        """Items by number, in order, each record checked."""
        rows: list[dict[str, Any]] = []
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE].tolist()
            rows += self._items(f"number in {part}", RECORD_FIELDS)
        return self.block(rows)

    def label_sets(self, start: int = 0) -> dict[int, tuple[int, ...]]:
        """Category numbers of the sets of categories from a number on; 0 is the empty set."""
        sets = self._tail.view(self.document).label_sets
        return {number: sets[number] for number in range(start, len(sets))}

    def categories(self) -> dict[str, Codes]:
        """Category names and their codes, in order."""
        return self._tail.view(self.document).categories

    def rows(self, numbers: Numbers) -> dict[int, Row]:
        """Items by number."""
        found: dict[int, Row] = {}
        for start in range(0, len(numbers), _AT_ONCE):
            part = numbers[start : start + _AT_ONCE].tolist()
            for row in self._items(f"number in {part}", ITEM_FIELDS):
                found[row["number"]] = self._row(row)
        if len(found) != len(numbers):
            raise self._vanished()
        return found

    def numbers_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Numbers of the keys that are there."""
        found: dict[str, int] = {}
        for start in range(0, len(keys), _AT_ONCE):
            part = set(keys[start : start + _AT_ONCE])
            hashes = sorted(map(hashed, part))
            for page in self._pages(f"key_hash in {hashes}", ITEM_FIELDS, 1):
                for row in map(self._row, page):
                    if row.key in part:
                        found[row.key] = row.number
        return found

    def fields(self) -> dict[str, int]:
        """Names of all payload fields, and their numbers."""
        return self._tail.view(self.document).fields

    def removed(self) -> Numbers:
        """Removed items whose rows may still be there, in order."""
        return self._tail.view(self.document).removed

    def inspected(self) -> int:
        """How many items there are, once each row is known to be what was written."""
        n = 0
        for rows in self._pages("", (*ITEM_FIELDS, "record"), 1):
            self.block(rows)
            n += len([self._row(row) for row in rows])
        return n

    def codes_of(self, rows: Sequence[dict[str, Any]]) -> Codes:
        """The codes of some rows."""
        bodies = self.block(rows).bodies
        return bodies[:, : self.head.config["n_bits"] // 8]

    def rounds(self) -> list[dict[str, Any]]:
        """The reports of all rounds, in order."""
        reports = self._reports("")
        if len(reports) != self.head.counts["rounds"]:
            raise damaged(
                self.name,
                f"there are {len(reports)} rounds, not {self.head.counts['rounds']}",
            )
        return reports

    def round(self, round_id: str) -> dict[str, Any] | None:
        """The report of one round, where there is one."""
        found = self._reports(f" and hash == {hashed(round_id)}")
        return next((report for report in found if report["id"] == round_id), None)

    def compiled(self, where: Where) -> Filter:
        """Conditions in Milvus's words; an `InputError` where they make no sense."""
        view = self._tail.view(self.document)
        numbers = {name: place for place, name in enumerate(view.categories)}
        return compiled(conditions(where, view.fields, numbers), view.fields, view.label_sets)

    def n_codes(self) -> int:
        """How many distinct codes there are, those of removed items with them."""
        codes = self._tables.codes
        found = self._engine.count(codes, "", level=self._level(codes))
        self._settled(codes)
        return found

    def nearest(self, codes: Codes, k: int) -> list[tuple[Codes, Numbers]]:
        """For each code the k nearest distinct ones, and their Hamming distances."""
        found = self._engine.nearest(
            self._tables.codes,
            [code.tobytes() for code in codes],
            k,
            level=self._level(self._tables.codes),
        )
        self._settled(self._tables.codes)
        width = codes.shape[1]
        return [
            (
                np.frombuffer(bytes.fromhex("".join(pk for pk, _ in hits)), np.uint8).reshape(
                    -1, width
                ),
                np.array([distance for _, distance in hits], dtype=np.int64),
            )
            for hits in found
        ]

    def of_codes(
        self, codes: Sequence[bytes], most: int, keep: Filter | None
    ) -> dict[bytes, Block]:
        """The first items of some codes: all of a code, or at least `most` of them."""
        found: dict[bytes, list[dict[str, Any]]] = {code: [] for code in codes}
        buckets = {hashed(code): code for code in codes}
        if len(buckets) < len(codes):
            raise StoreError(f"{self.name}: two codes have one hash: copy the collection elsewhere")
        left = [list(buckets)]
        limit = min(max(4 * most, 64), MOST)
        fields = (*RECORD_FIELDS, "bucket")
        while left:
            part = left.pop()
            condition = f"bucket in {part}"
            rows, more = self._page(condition, fields, 1, limit, keep)
            if more and len(part) > 1:
                left += [part[: len(part) // 2], part[len(part) // 2 :]]
                continue
            while more and len(rows) < most:
                further, more = self._page(condition, fields, more, limit, keep)
                rows += further
            for row in rows:
                found[buckets[row["bucket"]]].append(row)
        whole = self.block([row for rows in found.values() for row in rows])
        ends = np.cumsum([len(rows) for rows in found.values()])
        parts = (np.split(one, ends[:-1]) for one in (whole.numbers, whole.labels, whole.bodies))
        return {
            code: Block(*part) for code, part in zip(found, zip(*parts, strict=True), strict=True)
        }

    def matching(self, keep: Filter | None) -> Iterator[Block]:
        """All items that keep a filter, in order."""
        yield from self._blocks("", 0, keep)

    def n_kept(self, keep: Filter) -> int:
        """How many items a filter keeps at most: Milvus counts some that it does not."""
        return self._n_rows(keep.expression)

    def n_rows(self) -> int:
        """How many rows of items there are, those of removed ones with them."""
        return self._n_rows("")

    def _n_rows(self, condition: str) -> int:
        items = self._tables.items
        counted = " and ".join(filter(None, (self._counted, condition)))
        found = self._engine.count(items, counted, level=self._level(items))
        self._settled(items)
        return found

    def block(self, rows: Sequence[dict[str, Any]]) -> Block:
        """Rows as items, each record checked."""
        numbers = np.array([row["number"] for row in rows], dtype=np.int64)
        labels = np.array([row["labels"] for row in rows], dtype=np.int64)
        if not rows:
            return Block(numbers, labels, np.zeros((0, 0), dtype=np.uint8))
        records: Bytes = np.frombuffer(b"".join(row["record"] for row in rows), dtype=np.uint8)
        body, wrong = opened(numbers, labels, records.reshape(len(rows), -1))
        if len(wrong):
            raise damaged(self.name, f"item number {wrong[0]} is not what was written")
        return Block(numbers, labels, body)

    def _blocks(self, condition: str, start: int, keep: Filter | None = None) -> Iterator[Block]:
        for rows in self._pages(condition, RECORD_FIELDS, start, keep):
            if rows:
                yield self.block(rows)

    def _items(self, condition: str, fields: Sequence[str]) -> list[dict[str, Any]]:
        """Items of a condition that no more than a page can keep."""
        return self._page(condition, fields, 0, MOST, None)[0]

    def _pages(
        self, condition: str, fields: Sequence[str], start: int, keep: Filter | None = None
    ) -> Iterator[list[dict[str, Any]]]:
        limit = 1000 if "payload" in fields else MOST
        while True:
            rows, more = self._page(condition, fields, start, limit, keep)
            yield rows
            if not more:
                return
            start = more

    def _page(
        self, condition: str, fields: Sequence[str], start: int, limit: int, keep: Filter | None
    ) -> tuple[list[dict[str, Any]], int]:
        """Some items from a number on, in order, and where those that follow begin, or 0."""
        parts = [self._counted, condition, f"number >= {start}" if start > 1 else ""]
        parts.append(keep.expression if keep else "")
        if keep and keep.checks:
            fields = [*fields, "fields"]
        rows = self._engine.query(
            self._tables.items,
            " and ".join(part for part in parts if part),
            fields,
            limit=limit,
            level=self._level(self._tables.items),
        )
        self._settled(self._tables.items)
        self._refuse_overtaken()
        more = int(rows[-1]["number"]) + 1 if len(rows) == limit else 0
        removed = self.removed()
        if len(removed) and rows:
            numbers = np.array([row["number"] for row in rows], dtype=np.int64)
            stay = ~np.isin(numbers, removed)
            rows = [row for row, stays in zip(rows, stay.tolist(), strict=True) if stays]
        if keep is not None:
            rows = [row for row in rows if keep.keeps(row)]
        return rows, more

    def _row(self, row: dict[str, Any]) -> Row:
        values = [row[name] for name in ITEM_FIELDS[:-1]]
        if seal(*values) != row["seal"]:
            raise damaged(self.name, f"item number {row['number']} is not what was written")
        number, key, round_number, labels, payload = values
        return Row(number, key, round_number, labels, json.loads(payload))

    def _reports(self, condition: str) -> list[dict[str, Any]]:
        aborted = self.document["aborted"]
        expression = f'kind == "round" and attempt <= {self.head.generation}{condition}'
        expression += f" and attempt not in {aborted}" if aborted else ""
        rows = log_rows(self._engine, self._tables, expression)
        return [content for _, _, content in documents(rows, self.name)]

    def _refuse_overtaken(self) -> None:
        """Rows of an older state are deleted only some time after a head has said so."""
        now = time.monotonic()
        if now - self._checked > LONG:
            if self._last_head()["floor"] > self.head.generation:
                raise self._vanished()
            self._checked = now

    def _vanished(self) -> StoreError:
        if self._last_head()["floor"] > self.head.generation:
            return StoreError(
                f"{self.name}: the collection was compacted while it was read: begin again"
            )
        return damaged(self.name, "items are missing")
