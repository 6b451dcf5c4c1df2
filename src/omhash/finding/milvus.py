"""Finding by Milvus: Hamming search of the distinct codes there, exact scores of the rest here.

The engine gives the codes nearest by Hamming distance, the shortlist. Their items are fetched,
best codes first, and ranked by an index in memory that holds nothing else, so that scores and
ties are those of any collection. What is outside the shortlist is further away than all that is
in it: where that proves that nothing was missed, or can be made to, the answer is exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes
from ..index import ExactIndex, Found, Queries
from ..index.scores import ENOUGH
from ..store.base import Block
from ..store.milvus.engine import MOST
from ..store.milvus.expressions import Filter
from ..store.milvus.reading import MilvusReading
from ..store.records import Layout
from ..store.where import Where
from .base import Finder, Foreseen

SHORTLIST = 1024
"""Distinct codes that are ranked, unless more are needed."""

DETAILED = 16_384
"""Items whose sketches are compared with a query's, at most, and one code's items more."""

FEW = 4096
"""So few items that a filter keeps are all fetched, and no codes are searched."""

_DETAILED_CODES = 64
"""Codes whose items are fetched first where their sketches count."""

_QUERIES = 16
"""Queries that the engine gets together."""

_SAMPLES, _BEST = 16, 10
"""Queries, and codes of each, by which recall is measured."""


class MilvusFinder(Finder[MilvusReading]):
    """Asks the engine, and keeps nothing but what it measured.

    Parameters
    ----------
    shortlist : int
        Distinct codes that are ranked, unless more are needed; at most 16,384.
    """

    def __init__(self, layout: Layout, shortlist: int = SHORTLIST) -> None:
        self._layout, self._shortlist = layout, shortlist
        self._measured: tuple[int, float] | None = None
        self._counted: tuple[int, int] = (-1, 0)

    def ahead(self, reading: MilvusReading, foreseen: Foreseen | None) -> None:  # noqa: ARG002 - others ask it
        """What the log tells; all else the engine has."""
        reading.categories()  # and all that was brought with them: it is remembered

    def follow(self, reading: MilvusReading, ahead: None) -> None:
        """Nothing to do."""

    def search(
        self, reading: MilvusReading, queries: Queries, k: int, where: Where | None
    ) -> list[Found]:
        """The k best items of each query: see `Finder.search`."""
        keep = None if where is None else reading.compiled(where)
        if not reading.head.counts["items"]:
            return [_empty() for _ in range(len(queries))]
        found: list[Found] = []
        if keep is not None and reading.n_kept(keep) <= FEW:
            search = _Search(self._layout, reading, k, keep, 1.0)
            return [search.of_all(queries[row : row + 1]) for row in range(len(queries))]
        usual = reading.head.counts["items"] / max(self._n_codes(reading), 1)
        for start in range(0, len(queries), _QUERIES):
            part = queries[start : start + _QUERIES]
            search = _Search(self._layout, reading, k, keep, usual)
            lists = reading.nearest(part.codes, self._shortlist)
            for row, (codes, distances) in enumerate(lists):
                found.append(search.best(part[row : row + 1], codes, distances, self._shortlist))
        return found

    def report(self, reading: MilvusReading) -> dict[str, Any]:
        """What is known of the search: how many codes are ranked, and how well that does."""
        n_codes, n_items = self._n_codes(reading), reading.head.counts["items"]
        # Codes outlive their items until these are compacted.
        all_ranked = n_codes <= self._shortlist or not n_items
        return {
            "engine": "milvus",
            "items": n_items,
            "distinct_codes": n_codes,
            "shortlist": self._shortlist,
            "recall": 1.0 if all_ranked else self._recall(reading),
        }

    def _n_codes(self, reading: MilvusReading) -> int:
        generation = reading.head.generation
        if self._counted[0] != generation:
            self._counted = generation, reading.n_codes()
        return self._counted[1]

    def _recall(self, reading: MilvusReading) -> float:
        """How many of the best codes by asymmetric ranking are in the shortlist.

        Queries are the signs of stored codes with so much noise that one in six turns around;
        what is best is looked for among the 16,384 nearest codes.
        """
        generation = reading.head.generation
        if self._measured is None or self._measured[0] != generation:
            rng = np.random.default_rng(0)
            start = int(rng.integers(1, reading.head.next_number))
            block = next(reading.items_from(start), None) or next(reading.items_from(1))
            rows = rng.integers(0, len(block.numbers), _SAMPLES)
            codes, _, _ = self._layout.unpacked(block.bodies[rows])
            signs = np.unpackbits(codes, axis=1).astype(np.float64) * 2 - 1
            queries = Queries.of(signs + rng.standard_normal(signs.shape))
            shares = []
            for row, (near, _) in enumerate(reading.nearest(queries.codes, MOST)):
                best, _ = _ranked(near, queries[row : row + 1])
                shares.append(float(np.mean(best[:_BEST] < self._shortlist)))
            self._measured = generation, round(float(np.mean(shares)), 4)
        return self._measured[1]


class _Search:
    """The search of some queries of one state; what is fetched for one serves the others.

    Parameters
    ----------
    usual : float
        Items that a code has on average.
    """

    def __init__(
        self, layout: Layout, reading: MilvusReading, k: int, keep: Filter | None, usual: float
    ) -> None:
        self._layout, self._reading, self._k, self._keep = layout, reading, k, keep
        self._first = min(max(round(k / usual), 1), 256)
        self._items: dict[bytes, Block] = {}
        self._all: Block | None = None

    def best(self, query: Queries, codes: Codes, distances: NDArray[np.int64], asked: int) -> Found:
        """The k best items of a query, from the codes nearest to it."""
        while True:
            found = self._of_codes(query, codes)
            if len(codes) < asked:
                return found  # there are no other codes
            full = len(found.numbers) == self._k
            # By Hamming distance, whatever is as far away as the last code may still be missing.
            if full and (not _by_hamming(query) or found.distances[-1] < distances[-1]):
                return found
            if asked == MOST:
                break
            asked = min(8 * asked, MOST)
            ((codes, distances),) = self._reading.nearest(query.codes, asked)
        return found if full else self.of_all(query)

    def of_all(self, query: Queries) -> Found:
        """The k best of all items that keep the filter."""
        if self._all is None:
            self._all = _joined(list(self._reading.matching(self._keep)))
        return self._ranked(query, [self._all])

    def _of_codes(self, query: Queries, codes: Codes) -> Found:
        """The k best items of some codes, which are fetched in the order of their scores."""
        order, scores = _ranked(codes, query)
        most = max(self._k, DETAILED if query.sketches else 0)
        blocks: list[Block] = []
        n_items, start, step = 0, 0, _DETAILED_CODES if query.sketches else self._first
        while start < len(order):
            part = [codes[place].tobytes() for place in order[start : start + step]]
            blocks += self._fetched(part, most)
            n_items = sum(len(block.numbers) for block in blocks)
            start, step = start + step, step * (2 if n_items else 8)
            if n_items >= self._k and start < len(order):
                found = self._ranked(query, blocks)
                if _highest(query, scores[start]) < found.scores[-1]:
                    return found
                if query.sketches and n_items >= DETAILED:
                    break
        return self._ranked(query, blocks)

    def _fetched(self, codes: list[bytes], most: int) -> list[Block]:
        missing = [code for code in codes if code not in self._items]
        if missing:
            self._items |= self._reading.of_codes(missing, most, self._keep)
        return [self._items[code] for code in codes if len(self._items[code].numbers)]

    def _ranked(self, query: Queries, blocks: list[Block]) -> Found:
        block = _joined(blocks)
        if not len(block.numbers):
            return _empty()
        order = np.argsort(block.numbers)
        index = ExactIndex(self._layout.n_bits, self._layout.sketches)
        index.add(block.numbers[order], *self._layout.unpacked(block.bodies[order]))
        return index.search(query, self._k)[0]


def _ranked(codes: Codes, query: Queries) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Places of codes by falling score of their own, and the scores."""
    index = ExactIndex(query.n_bits)
    index.add(np.arange(len(codes)), codes)
    own = replace(query, sketches={}, weights=np.zeros((1, 0)), detail=0.0)
    (found,) = index.search(own, max(len(codes), 1))
    return found.numbers, found.scores


def _highest(query: Queries, code_score: float) -> float:
    """The highest score that an item of a code can have: see `omhash.index.scores`."""
    if not query.sketches:
        return code_score
    most = sum(
        float(weight) * int(np.abs(grid[0]).sum())
        for weight, grid in zip(query.weights[0], query.sketches.values(), strict=True)
    )
    if most == 0:
        return code_score
    missed = max(1.0 - code_score, 0.0)
    gained = min(most, ENOUGH) ** 2 + max(most - ENOUGH, 0.0) / 4
    return 1.0 - missed**4 / 2 + query.detail * gained + 1e-9  # more than any rounding


def _by_hamming(query: Queries) -> bool:
    return bool((np.abs(query.grid) == 1).all())


def _joined(blocks: list[Block]) -> Block:
    if not blocks:
        none = np.zeros(0, dtype=np.int64)
        return Block(none, none, np.zeros((0, 0), dtype=np.uint8))
    return Block(
        np.concatenate([block.numbers for block in blocks]),
        np.concatenate([block.labels for block in blocks]),
        np.concatenate([block.bodies for block in blocks]),
    )


def _empty() -> Found:
    return Found(np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64))
