"""Finding by an index in memory that follows what a store holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from ..errors import DamagedError
from ..index import ENGINES, Found, Index, Kept, Queries
from ..store import ScannedReading
from ..store.records import Layout, Numbers
from ..store.where import Clause, Where
from .base import Finder, Foreseen

_REMEMBERED = 32
"""Filters whose items are remembered."""


@dataclass(frozen=True, eq=False)
class _Ahead:
    """What was committed since; `removed` is None where all is to be begun anew."""

    removed: Numbers | None
    items: Iterator[Any]


class EmbeddedFinder(Finder[ScannedReading]):
    """Holds all codes and sketches in memory.

    Parameters
    ----------
    layout : Layout
    engine : str
        One of `omhash.index.ENGINES`.
    """

    def __init__(self, layout: Layout, engine: str) -> None:
        self._layout, self._engine = layout, engine
        self._index = self._empty_index()
        self._generation = -1
        self._next_number = 0
        self._matching: dict[Clause, tuple[Kept, int]] = {}
        self._inspected = 0

    def ahead(self, reading: ScannedReading, foreseen: Foreseen | None) -> _Ahead:
        """Removals, and the first of the new items; the many of a beginning are read later."""
        if foreseen is not None:
            before = foreseen.head.generation
            if self._generation == before == reading.head.generation - 1:
                return self._told(foreseen)
        removed = reading.removed_since(self._generation)
        blocks = reading.items_from(0 if removed is None else self._next_number)
        unpacked = ((block.numbers, *self._layout.unpacked(block.bodies)) for block in blocks)
        return _Ahead(removed, chain(list(islice(unpacked, 1)), unpacked))

    def _told(self, foreseen: Foreseen) -> _Ahead:
        added, first = foreseen.change.added, foreseen.head.next_number
        if added is None:
            return _Ahead(foreseen.change.removed, iter(()))
        numbers = np.arange(first, first + len(added.keys), dtype=np.int64)
        items = numbers, *self._layout.unpacked(added.bodies)
        return _Ahead(foreseen.change.removed, iter([items]))

    def follow(self, reading: ScannedReading, ahead: _Ahead) -> None:
        """Take over what was committed since: see `Finder.follow`."""
        # Whoever is interrupted from here on must start anew.
        self._generation = -1
        if ahead.removed is None:
            self._index, self._next_number = self._empty_index(), 0
        else:
            # What was added and removed since was never here.
            self._index.remove(ahead.removed[ahead.removed < self._next_number])
        for numbers, *stored in ahead.items:
            self._index.add(numbers, *stored)
            self._next_number = int(numbers[-1]) + 1
        n_items = reading.head.counts["items"]
        if len(self._index) != n_items:
            raise DamagedError(
                f"{reading.name}: it holds {len(self._index)} items, and {n_items} were committed: "
                "restore the collection from a backup"
            )
        self._generation = reading.head.generation

    def search(
        self, reading: ScannedReading, queries: Queries, k: int, where: Where | None
    ) -> list[Found]:
        """The k best items of each query: see `Finder.search`."""
        keep = None if where is None else self._kept(reading, where)
        return self._index.search(queries, k, keep=keep)

    def report(self, reading: ScannedReading) -> dict[str, Any]:  # noqa: ARG002 - others ask it
        """What the index tells of itself."""
        return self._index.report()

    def _kept(self, reading: ScannedReading, where: Where) -> Kept:
        """The items that keep the conditions, and some that are no longer there.

        An item never changes, so each is asked about once, and filters are remembered.
        """
        end = reading.head.next_number
        if self._inspected < end:
            reading.inspect(self._inspected)
            self._inspected = end
        clause = reading.compiled(where)
        known, start = self._matching.pop(clause, (None, 0))
        numbers = known or np.zeros(0, dtype=np.int64)
        if start < end:
            more = reading.matching(clause, start)
            numbers = more if known is None else np.concatenate([known.numbers, more])
        kept = self._index.kept(numbers)
        while len(self._matching) >= _REMEMBERED:
            self._matching.pop(next(iter(self._matching)), None)
        self._matching[clause] = kept, end
        return kept

    def _empty_index(self) -> Index:
        return ENGINES[self._engine](self._layout.n_bits, self._layout.sketches)
