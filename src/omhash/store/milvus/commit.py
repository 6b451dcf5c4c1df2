"""One commit: rows that nobody counts yet, then one row, the head, that makes them count.

Attempts are numbered. Who writes first reserves a number, and the numbers of the items, by a row
in the log; then looks whether somebody else did the same. Attempts that were reserved before and
have no head were interrupted: the next head names them, so that whatever may still arrive of
them never counts.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import BusyError, InputError, StoreError
from ..base import Additions, Change
from ..records import Layout, seal, sealed
from .engine import Engine
from .expressions import stored_fields
from .reading import MilvusReading
from .tables import FORMAT, LONGEST, Tables, document_rows, documents, hashed, head_key
from .tail import log_rows

_LARGEST_FIELDS = 60_000
"""Bytes of an item's fields as Milvus takes them."""

_ROWS, _CODES = 10_000, 2_000


def emptied() -> dict[str, Any]:
    """The head of a collection without items."""
    return {
        "format": FORMAT,
        "generation": 0,
        "revision": 0,  # of what else the head tells of the same generation
        "floor": 0,  # states before this one may have lost rows
        "next_number": 1,
        "state": None,
        "sketchers": None,
        "counts": {"items": 0, "label_sets": 0, "categories": 0, "rounds": 0, "fields": 0},
        "aborted": [],
    }


@dataclass(frozen=True)
class Attempt:
    """A number for what is about to be written."""

    number: int
    token: str
    first: int
    aborted: list[int]


class Commit:
    """Writes changes; the right to do so is somebody else's business."""

    def __init__(self, engine: Engine, tables: Tables, layout: Layout) -> None:
        self._engine, self._tables, self._layout = engine, tables, layout

    def apply(self, reading: MilvusReading, change: Change) -> dict[str, Any]:
        """Write a change on top of a state; the new head."""
        head: dict[str, Any] = json.loads(json.dumps(reading.document))
        rows = _item_rows(change.added) if change.added is not None else []
        attempt = self._reserved(head, len(rows))
        head["aborted"] = attempt.aborted
        brought: dict[str, list[Any]] = {
            "categories": [[name, code.tobytes().hex()] for name, code in change.categories.items()]
        }
        if change.added is not None:
            brought |= self._add(reading, change.added, rows, attempt, head)
        if len(change.removed):
            brought["removed"] = change.removed.tolist()
        head["counts"]["categories"] += len(change.categories)
        head["counts"]["items"] += len(rows) - len(change.removed)
        documents = [
            row
            for kind, content in brought.items()
            if content
            for row in document_rows(_key(attempt, kind), kind, content, attempt=attempt.number)
        ]
        if change.round is not None:
            head["counts"]["rounds"] += 1
            documents += document_rows(
                _key(attempt, "round"),
                "round",
                dict(change.round),
                attempt=attempt.number,
                hash_of=change.round["id"],
            )
        self._engine.upsert(self._tables.log, documents)
        for name in ("state", "sketchers"):
            if getattr(change, name) is not None:
                head[name] = getattr(change, name)
        head["generation"], head["revision"] = attempt.number, 0
        head["next_number"] = attempt.first + len(rows)
        self.publish(head)
        self._confirm(attempt)
        return head

    def publish(self, head: dict[str, Any]) -> None:
        """Write the one row that makes an attempt count."""
        rows = document_rows(head_key(head), "head", head)
        if len(rows) > 1:
            raise StoreError(f"{self._engine.place.address}: too many attempts were interrupted")
        self._engine.upsert(self._tables.log, rows)

    def clean(self, before: dict[str, Any], head: dict[str, Any]) -> None:
        """Delete what a commit left behind: interrupted attempts, the head and states before it.

        By name: a writer that comes too late must not delete what others have begun to write.
        """
        interrupted = sorted({*head["aborted"]} - {*before["aborted"]})
        if interrupted:
            self._engine.delete(self._tables.items, f"added in {interrupted}")
            self._engine.delete(self._tables.log, f"attempt in {interrupted}")
        old = [
            f'(kind == "attempt" and attempt < {head["generation"]})',
            f'(kind == "head" and pk > "{head_key(head)}/999999")',
        ]
        states = _states(before) - _states(head)
        if states:
            old.append(f'(kind == "state" and hash in {sorted(states)})')
        self._engine.delete(self._tables.log, " or ".join(old))

    def sweep(self, head: dict[str, Any]) -> None:
        """Delete all that does not count, states that were saved and never committed too."""
        self.clean({**head, "aborted": []}, head)
        named = sorted(_states(head)) or [0]
        self._engine.delete(self._tables.log, f'kind == "state" and hash not in {named}')

    def _reserved(self, head: dict[str, Any], n_items: int) -> Attempt:
        generation = head["generation"]
        known = self._attempts(head, "Bounded")  # the second look is what counts
        number = max([generation, *(told["number"] for told in known)]) + 1
        first = max([head["next_number"], *(told["next"] for told in known)])
        token = secrets.token_hex(8)
        told = {"number": number, "token": token, "next": first + n_items}
        key = f"attempt/{number:015}/{token}"
        self._engine.upsert(self._tables.log, document_rows(key, "attempt", told, attempt=number))
        interrupted = {told["number"] for told in known}
        others = [told for told in self._attempts(head, "Strong") if told["token"] != token]
        if {told["token"] for told in others} != {told["token"] for told in known}:
            raise self._overtaken()
        return Attempt(number, token, first, sorted({*head["aborted"], *interrupted}))

    def _attempts(self, head: dict[str, Any], level: str) -> list[dict[str, Any]]:
        """Those after a head, which is the last one."""
        rows = log_rows(
            self._engine,
            self._tables,
            f'(kind == "attempt" and attempt > {head["generation"]}) '
            f'or (kind == "head" and pk < "{head_key(head)}")',
            level=level,
        )
        found = list(documents(rows, self._engine.place.address))
        if any(row["kind"] == "head" for _, row, _ in found):
            raise self._overtaken()
        return [content for _, _, content in found]

    def begun(self, head: dict[str, Any]) -> frozenset[str]:
        """Who began to write after a head; a `BusyError` where it is not the last one."""
        return frozenset(told["token"] for told in self._attempts(head, "Strong"))

    def refuse_overtaken(self, head: dict[str, Any], begun: frozenset[str]) -> None:
        """A `BusyError` where somebody began to write since: they took this writer for dead."""
        if self.begun(head) != begun:
            raise self._overtaken()

    def _confirm(self, attempt: Attempt) -> None:
        """Whoever took this writer for dead has reserved an attempt of its own by now."""
        rows = log_rows(
            self._engine,
            self._tables,
            f'kind == "attempt" and attempt >= {attempt.number}',
            level="Strong",
        )
        told = [content["token"] for _, _, content in documents(rows, self._engine.place.address)]
        if told != [attempt.token]:
            raise self._overtaken()

    def _overtaken(self) -> BusyError:
        return BusyError(
            f"{self._engine.place.address}: somebody else began to write meanwhile: try again; "
            "a round that is there already does no harm"
        )

    def _add(
        self,
        reading: MilvusReading,
        added: Additions,
        rows: list[dict[str, Any]],
        attempt: Attempt,
        head: dict[str, Any],
    ) -> dict[str, list[Any]]:
        """Write items and their codes; the documents that go with them."""
        counts = head["counts"]
        sets = {places: number for number, places in reading.label_sets().items()}
        new_sets = [one for one in dict.fromkeys(added.label_sets) if one not in sets]
        sets |= {one: number for number, one in enumerate(new_sets, len(sets))}
        known = reading.fields()
        new_fields = sorted(set(added.fields) - known.keys())
        fields = known | {name: n for n, name in enumerate(new_fields, len(known) + 1)}
        width = self._layout.n_bits // 8
        self._add_codes({code.tobytes() for code in np.unique(added.bodies[:, :width], axis=0)})
        numbers = np.arange(attempt.first, attempt.first + len(rows), dtype=np.int64)
        labels = np.array([sets[places] for places in added.label_sets], dtype=np.int64)
        records = sealed(numbers, labels, added.bodies)
        for start in range(0, len(rows), _ROWS):
            for place in range(start, min(start + _ROWS, len(rows))):
                row, number, label = rows[place], int(numbers[place]), int(labels[place])
                payload = row["payload"]
                told = stored_fields(json.loads(payload), fields) if payload != "{}" else {}
                if len(json.dumps(told).encode()) > _LARGEST_FIELDS:
                    raise _too_long(place)
                plain = (number, row["key"], counts["rounds"] + 1, label, payload)
                row |= {
                    "number": number,
                    "bucket": hashed(records[place, :width].tobytes()),
                    "labels": label,
                    "round": counts["rounds"] + 1,
                    "added": attempt.number,
                    "fields": told,
                    "seal": seal(*plain),
                    "record": records[place].tobytes(),
                }
            self._engine.upsert(self._tables.items, rows[start : start + _ROWS])
        counts["label_sets"] += len(new_sets)
        counts["fields"] += len(new_fields)
        return {"label_sets": [list(one) for one in new_sets], "fields": new_fields}

    def _add_codes(self, codes: set[bytes]) -> None:
        """Write those that are not there: one that is written again is away for a moment."""
        names = sorted(code.hex() for code in codes)
        for start in range(0, len(names), _CODES):
            part = names[start : start + _CODES]
            listed = ",".join(f'"{name}"' for name in part)
            found = self._engine.query(
                self._tables.codes, f"pk in [{listed}]", ["pk"], level="Strong"
            )
            new = sorted(set(part) - {row["pk"] for row in found})
            rows = [{"pk": name, "code": bytes.fromhex(name)} for name in new]
            self._engine.upsert(self._tables.codes, rows)


def _item_rows(added: Additions) -> list[dict[str, Any]]:
    """What of the items is known before they have numbers; nothing is written yet."""
    rows = []
    for place, (key, payload) in enumerate(zip(added.keys, added.payloads, strict=True)):
        if len(key.encode()) > LONGEST or len(payload.encode()) > LONGEST:
            raise _too_long(place)
        rows.append({"key": key, "payload": payload, "key_hash": hashed(key)})
    return rows


def _states(head: dict[str, Any]) -> set[int]:
    """What the rows of a head's states are found by."""
    return {hashed(ref["file"]) for ref in (head["state"], head["sketchers"]) if ref}


def _too_long(place: int) -> InputError:
    return InputError(
        f"item {place}: Milvus takes keys of up to {LONGEST} bytes, and payloads of up to "
        f"{_LARGEST_FIELDS}: keep what is longer elsewhere"
    )


def _key(attempt: Attempt, kind: str) -> str:
    return f"{attempt.number:015}/{kind}"
