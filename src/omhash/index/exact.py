"""Exact search: every code is looked at, and nothing is left to chance."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..codes import Codes
from ._postings import Rows, Runs, find, grouped
from ._scan import BLOCK, Items, Space
from ._search import CHUNK, Asked, Best, search
from .base import Found, Index, Numbers, Present, Queries, checked_numbers
from .table import Table, as_words

_QUERIES = 16
"""Queries that a thread takes at a time; fewer do not pay for a second thread."""

_NONE = np.empty(0, np.int32)


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
        self._table.add(
            self._checked_additions(self._table.last, numbers, codes, sketches, present)
        )

    def remove(self, numbers: Numbers) -> None:
        """Remove items: see `Index.remove`."""
        self._table.remove(checked_numbers("numbers", np.sort(numbers)))

    def search(self, queries: Queries, k: int, *, keep: Numbers | None = None) -> list[Found]:
        """The k best items of each query: see `Index.search`."""
        self._check_search(queries, k)
        items, n_entries, n_items = self._all() if keep is None else self._kept(keep, len(queries))
        return self._searched(items, n_entries, queries, min(k, n_items))

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

    def _all(self) -> tuple[Items, int, int]:
        """All items, how many entries are to be scanned, and how many items there are."""
        table = self._table
        return self._items(table.runs, table.pool), table.n_codes, table.n_items

    def _kept(self, keep: Numbers, n_queries: int) -> tuple[Items, int, int]:
        """The same of the items that a filter keeps: few one by one, many by their codes."""
        table = self._table
        wanted = checked_numbers("keep", keep)
        slots, rows = np.empty(len(wanted), np.int32), np.empty(len(wanted), np.int32)
        used = slice(table.n_slots)
        n = find(table.slots.numbers[used], table.slots.rows[used], wanted, slots, rows)
        slots, rows = slots[:n], rows[:n]
        if n < table.n_codes and n_queries < _QUERIES:
            items = self._items(table.runs, table.pool)
            return items._replace(whole=False, entries=rows, singles=slots), n, n
        runs, pool = grouped(slots, rows, table.n_codes)
        return self._items(runs, pool), table.n_codes, n

    def _items(self, runs: Runs, pool: Rows) -> Items:
        return Items(True, _NONE, _NONE, self._table.words, runs, pool, *self._table.slots)

    def _searched(self, items: Items, n_entries: int, queries: Queries, k: int) -> list[Found]:
        n = len(queries)
        best = Best(np.empty((n, k), np.int64), np.empty((n, k)), np.empty((n, k), np.int64))
        if k:
            asked = self._asked(queries)

            def work(start: int) -> None:
                space = self._space(n_entries)
                search(items, n_entries, asked, start, min(start + step, n), space, best)
                self._spaces.append(space)

            step = max(_QUERIES, -(-n // (8 * _n_threads())))
            if n <= step:
                work(0)
            else:
                with ThreadPoolExecutor(_n_threads()) as threads:
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
        width = max(len(self._table.words), self._table.slots.sketches.shape[1])
        return Space(
            np.empty(n_entries, np.uint16),
            np.empty(n_entries, np.int32),
            np.empty(n_entries, np.int32),
            np.empty((width, BLOCK), np.uint64),
            np.empty(2 * CHUNK, np.int32),
            np.empty(CHUNK, np.int32),
            np.empty(CHUNK),
        )


def _n_threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
