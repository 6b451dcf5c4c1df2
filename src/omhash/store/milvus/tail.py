"""What commits brought besides items, in memory: categories, sets of them, fields, removals."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...codes import Codes
from ..records import Numbers
from .engine import Engine
from .tables import DOCUMENT_FIELDS, Tables, damaged, documents

KINDS = ("categories", "label_sets", "fields", "removed")

_AT_ONCE = 200
"""Rows that are read together, of up to 64 kB each."""


@dataclass(frozen=True, eq=False)
class Brought:
    """What counts in one generation.

    Attributes
    ----------
    removed : sorted array of item numbers, of rows that may still be there
    """

    categories: dict[str, Codes]
    label_sets: dict[int, tuple[int, ...]]
    fields: dict[str, int]
    removed: Numbers


class Tail:
    """Follows the log: each document is read once."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self._engine, self._tables = engine, tables
        self._lock = threading.Lock()
        self._brought: dict[tuple[int, str], Any] = {}
        self._generation = 0
        self._views: dict[int, Brought] = {}

    def view(self, head: Mapping[str, Any]) -> Brought:
        """What counts where a head is the last."""
        generation = head["generation"]
        with self._lock:
            if generation not in self._views:
                if generation > self._generation:
                    self._follow(generation)
                self._views = {generation: self._made(head)}
            return self._views[generation]

    def _follow(self, generation: int) -> None:
        listed = ",".join(f'"{kind}"' for kind in KINDS)
        rows = log_rows(
            self._engine,
            self._tables,
            f"kind in [{listed}] and attempt > {self._generation} and attempt <= {generation}",
        )
        for _, row, content in documents(rows, self._engine.place.address):
            self._brought[row["attempt"], row["kind"]] = content
        self._generation = generation

    def _made(self, head: Mapping[str, Any]) -> Brought:
        parts: dict[str, list[Any]] = {kind: [] for kind in KINDS}
        for (attempt, kind), content in sorted(self._brought.items()):
            if attempt <= head["generation"] and attempt not in head["aborted"]:
                parts[kind] += content
        for kind in ("categories", "label_sets", "fields"):
            if len(parts[kind]) != head["counts"][kind]:
                raise damaged(
                    self._engine.place.address,
                    f"there are {len(parts[kind])} {kind}, not {head['counts'][kind]}",
                )
        return Brought(
            {
                name: np.frombuffer(bytes.fromhex(code), np.uint8)
                for name, code in parts["categories"]
            },
            {0: (), **{n: tuple(places) for n, places in enumerate(parts["label_sets"], 1)}},
            {name: number for number, name in enumerate(parts["fields"], 1)},
            np.unique(np.array(parts["removed"], dtype=np.int64)),
        )


def log_rows(
    engine: Engine, tables: Tables, expression: str, *, level: str = "Bounded"
) -> list[dict[str, Any]]:
    """All rows of the log that keep an expression."""
    found: list[dict[str, Any]] = []
    after = ""
    while True:
        rows = engine.query(
            tables.log,
            f'({expression}) and pk > "{after}"',
            DOCUMENT_FIELDS,
            limit=_AT_ONCE,
            level=level,
        )
        found += rows
        if len(rows) < _AT_ONCE:
            return found
        after = rows[-1]["pk"]
