"""Exact search: every code is looked at, and nothing is left to chance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..codes import Codes
from ._postings import Pool, Rows, find
from ._scan import Items, Space
from ._search import CHUNK, Asked, Best, search
from .base import Found, Index, Kept, Numbers, Present, Queries, checked_numbers
from .table import Table, as_words

_QUERIES = 16
"""Queries that a thread takes at a time; fewer do not pay for a second thread."""

_FEW = 1 << 16
"""So few items that a filter keeps are copied, so that they lie together."""

_ALL = np.empty(0, np.bool_)


class ExactIndex(Index):
    """Scans the distinct codes, then scores what can be among the best.

    Items of the same code are found together, so the cost of a search follows the number of
    distinct codes. Searches may run in several threads at once, while nothing is added or
    removed.

    Examples
    --------
    >>> import numpy as np
    >>> index = ExactIndex(n_bits=8)
    >>> index.add(np.array([0, 1, 5]), np.array([[7], [0], [7]], dtype=np.uint8))
    >>> found = index.search(Queries.of(np.array([[-1.0, -1, -1, -1, -1, 1, 1, 1]])), k=2)
    >>> found[0].numbers, found[0].distances
    (array([0, 5]), array([0, 0]))
    """

    def __init__(self, n_bits: int, sketches: Mapping[str, int] | None = None) -> None:
        super().__init__(n_bits, sketches)
        self._table = Table(self.n_bits, self.sketches)
        self._spaces: list[Space] = []

    def add(
        self,
        numbers: Numbers,
        codes: Codes,
        sketches: Mapping[str, Codes] | None = None,
        present: Mapping[str, Present] | None = None,
    ) -> None:
        """Add items: see `Index.add`."""
        self._state = object()
        self._table.add(
            self._checked_additions(self._table.last, numbers, codes, sketches, present)
        )

    def remove(self, numbers: Numbers) -> None:
        """Remove items: see `Index.remove`."""
        self._state = object()
        self._table.remove(checked_numbers("numbers", np.sort(numbers)))

    def search(
        self, queries: Queries, k: int, *, keep: Numbers | Kept | None = None
    ) -> list[Found]:
        """The k best items of each query: see `Index.search`."""
        self._check_search(queries, k)
        items, n_items = self._all() if keep is None else self.kept(keep).found
        return self._searched(items, queries, min(k, n_items))

    def __len__(self) -> int:
        return self._table.n_items

    @property
    def n_distinct(self) -> int:
        """The number of distinct codes."""
        return self._table.n_distinct

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index takes, working space included."""
        spaces = sum(array.nbytes for space in self._spaces for array in space)
        return self._table.nbytes + spaces

    def report(self) -> dict[str, Any]:
        """Plain values that tell of the index."""
        return {
            "engine": "exact",
            "items": len(self),
            "distinct_codes": self.n_distinct,
            "bytes": self.nbytes,
        }

    def _all(self) -> tuple[Items, int]:
        """All items by their codes, and how many items there are."""
        table, used = self._table, slice(self._table.n_codes)
        start, length, _, live = (array[used] for array in table.runs)
        numbers, rows, _ = table.slots
        items = Items(
            table.words, start, length, live, _ALL, table.pool, table.words, numbers, rows
        )
        return items, table.n_items

    def _look_up(self, numbers: Numbers) -> tuple[Items, int]:
        """The same of the items that a filter keeps: few in a copy, many by their codes."""
        table = self._table
        rows, places = np.empty(len(numbers), np.int32), np.empty(len(numbers), np.int32)
        n = find(table.slots, table.n_slots, numbers, rows, places)
        rows, places = rows[:n], places[:n]
        if n < min(table.n_codes, _FEW):
            return self._copied(rows, places), n
        mask = np.zeros(len(table.pool.slots), np.bool_)
        mask[places] = True
        live = np.bincount(rows, minlength=table.n_codes).astype(np.int32)
        return self._all()[0]._replace(live=live, mask=mask), n

    def _copied(self, rows: Rows, places: Rows) -> Items:
        """Items with slots of their own, so that what is searched lies together."""
        table = self._table
        order = np.argsort(rows, kind="stable").astype(np.int32)
        codes, start, live = np.unique(rows[order], return_index=True, return_counts=True)
        words = np.ascontiguousarray(table.words[:, codes])
        numbers = table.slots.numbers[table.pool.slots[places]]
        _, sketches, present = table.pool
        pool = Pool(order, sketches[places[order]], present[places[order]])
        own = np.searchsorted(codes, rows).astype(np.int32)
        runs: tuple[Rows, Rows] = (start.astype(np.int32), live.astype(np.int32))
        return Items(words, *runs, runs[1], _ALL, pool, words, numbers, own)

    def _searched(self, items: Items, queries: Queries, k: int) -> list[Found]:
        n, n_entries = len(queries), len(items.start)
        best = Best(np.empty((n, k), np.int64), np.empty((n, k)), np.empty((n, k), np.int64))
        if k:
            asked = self._asked(queries)

            def work(start: int) -> None:
                space = self._space(n_entries)
                search(items, asked, start, min(start + step, n), space, best)
                self._spaces.append(space)

            step = max(_QUERIES, -(-n // (8 * n_threads())))
            if n <= step:
                work(0)
            else:
                with ThreadPoolExecutor(n_threads()) as threads:
                    list(threads.map(work, range(0, n, step)))
        return [Found(*(array[query] for array in best)) for query in range(n)]

    def _asked(self, queries: Queries) -> Asked:
        names = list(self.sketches)
        ends = np.cumsum([0, *self._table.word_counts.values()])
        columns = np.array([names.index(name) for name in queries.sketches], np.int64)
        first = ends[columns]
        sketches = np.zeros((len(queries), 64 * ends[-1]), np.int32)
        for start, grid in zip(first, queries.sketches.values(), strict=True):
            sketches[:, 64 * start : 64 * start + grid.shape[1]] = grid
        return Asked(
            as_words(queries.codes),
            queries.grid,
            queries.lengths,
            sketches,
            queries.weights,
            queries.detail,
            first,
            ends[columns + 1],
            columns,
        )

    def _space(self, n_entries: int) -> Space:
        """Working space that no other thread uses, from an earlier search if there is one."""
        while self._spaces:
            space = self._spaces.pop()
            if len(space.levels) >= n_entries:
                return space
        width = max(len(self._table.words), self._table.pool.sketches.shape[1])
        return Space(
            np.empty(n_entries, np.uint16),
            np.empty(n_entries, np.int32),
            np.empty(n_entries, np.int32),
            np.empty((width, CHUNK), np.uint64),
            np.empty(2 * CHUNK, np.int32),
            np.empty(CHUNK, np.int32),
            np.empty(CHUNK),
            np.empty(CHUNK),
        )


def n_threads() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
