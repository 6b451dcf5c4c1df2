"""All of a collection that only looks: search, items, rounds."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from ._arguments import (
    checked_k,
    checked_keys,
    configured_hasher,
    texts,
)
from ._sharing import SharedLock
from .codes import pack
from .encoders import EncodedViews, Suite
from .errors import (
    DamagedError,
    InputError,
    NotFittedError,
    UnsupportedError,
)
from .finding import EmbeddedFinder, Finder, Foreseen
from .hashers.base import Hasher
from .index import Found
from .learning.labels import Labels, label_matrix
from .learning.views import Matrix, Views, n_rows, shaped_views
from .results import Explanation, Hit, Item, RoundReport
from .snapshot import Reference, Snapshot
from .store import Reading, Store
from .store.records import Layout, Numbers
from .store.where import Where

_AT_ONCE = 500
"""Items whose keys and payloads are read together."""


class Looking:
    """What a collection can do without changing anything.

    Parameters
    ----------
    store : Store
    hasher : Hasher, optional
        Needed where the collection was made with one that a file cannot describe.
    """

    def __init__(self, store: Store, hasher: Hasher | None = None) -> None:
        self._store = store
        self._lock, self._following = SharedLock(), threading.Lock()
        # Of a commit that is under way: a hasher that need not be loaded, and what it stores.
        self._coming: tuple[tuple[Reference, Hasher] | None, Foreseen | None] = None, None
        with store.reading() as reading:
            config = reading.head.config
            self._modalities: dict[str, int] = config["modalities"]
            self._blank = configured_hasher(config["hasher"], hasher)
            self._encoders: dict[str, dict[str, Any]] | None = config.get("encoders")
            layout = Layout(config["n_bits"], config["sketch_bits"])
            self._snapshot = Snapshot(self._blank, layout, config["seed"])
            self._finder = _finder(store, layout, config["index"])
        with self._reading():
            pass  # loads everything

    def search(
        self,
        views: Views | None = None,
        *,
        key: str | None = None,
        k: int = 10,
        where: Where | None = None,
        rank: str = "asymmetric",
        detail: float = 0.0,
        emphasis: Mapping[str, float] | None = None,
    ) -> list[list[Hit]]:
        """The items most like each query, best first.

        Parameters
        ----------
        views : mapping of modality to array, one row a query
            Modalities may be left out.
        key : str
            Instead of views: more like the item of this key, which is not found itself.
        where : mapping of field to condition, optional
            Only items that keep all conditions are found: ``{"categories": "dog"}``,
            ``{"categories": {"all": ["dog", "ball"]}}``, ``{"price": {"<": 5}}``,
            ``{"colour": {"in": ["red", "blue"]}}``.
        rank : {"asymmetric", "hamming"}
            By the query's real values against the stored bits, or by bits alone.
        detail : float
            How much sketches count: 0 finds the same kind of things, more finds the very one.
        emphasis : mapping of modality to number from 0, optional
            How much each modality of the views counts: 1, also where nothing is said, is as
            learned; 0 leaves it out.

        Returns
        -------
        list of lists of Hit
            One list a query; fewer than `k` hits only where there are no more.
        """
        if (views is None) == (key is None):
            raise InputError("search needs either views or a key")
        k = checked_k(k)
        matrices = None if views is None else self._shaped(views)
        wanted = [] if key is None else texts([key])
        with self._reading() as reading:
            if matrices is not None:
                queries = self._snapshot.asked(matrices, rank, detail, emphasis)
                return self._hits(reading, self._finder.search(reading, queries, k, where))
            number = reading.numbers_of(wanted).get(wanted[0])
            if number is None:
                raise InputError(f"there is no item with the key {key!r}")
            item = reading.items(sorted_numbers([number]))
            queries = self._snapshot.asked_like(item, rank, detail)
            found = self._finder.search(reading, queries, k + 1, where)
            return [hits[:k] for hits in self._hits(reading, [_without(number, f) for f in found])]

    def explain(
        self, views: Views, *, emphasis: Mapping[str, float] | None = None
    ) -> list[Explanation]:
        """What queries become: their codes, and how much each of their modalities counts."""
        matrices = self._shaped(views)
        with self._reading():
            hasher, learned = self._snapshot.hasher, self._snapshot.learned
        if not learned:
            raise NotFittedError("the collection has learned nothing yet: ingest a round first")
        codes = pack(hasher.project_with(matrices, emphasis or {}))
        weights = hasher.modality_weights(matrices, emphasis)
        return [
            Explanation(code, {name: float(shares[row]) for name, shares in weights.items()})
            for row, code in enumerate(codes)
        ]

    def measure(
        self,
        views: Views,
        labels: Labels,
        *,
        keys: Sequence[str],
        categories: Iterable[str] | None = None,
        depth: int = 100,
    ) -> float | None:
        """How well items find others of their kind: mean average precision at a depth.

        Parameters
        ----------
        views, labels, categories : as in `Hasher.partial_fit`
            Items without labels are not asked for.
        keys : one text per item
            An item that is stored is not to find itself.
        depth : int
            How many found items count.

        Returns
        -------
        float or None
            None where nothing can be told: no item is labelled, or none is stored.
        """
        # Not before it is needed: evaluation loads what reads files of data.
        from .evaluation._measures import average_precision

        matrices = self._shaped(views)
        n = n_rows(matrices)
        read, names = label_matrix(labels, n, categories=categories), checked_keys(keys, n)
        depth = checked_k(depth, "depth")
        asked = np.flatnonzero(read.labelled).tolist()
        if not asked or not len(self):
            return None
        wanted = [{read.names[place] for place in places} for places in read.sets(read.names)]
        with self._reading() as reading:
            queries = self._snapshot.asked(
                {name: matrix[asked] for name, matrix in matrices.items()}, "asymmetric", 0.0
            )
            found = self._finder.search(reading, queries, depth + 1, None)
            own = reading.numbers_of([names[place] for place in asked])
            block = reading.items(np.unique(np.concatenate([one.numbers for one in found])))
            sets = [self._snapshot.label_sets[number] for number in block.labels.tolist()]
        kinds = dict(zip(block.numbers.tolist(), sets, strict=True))
        gains = np.zeros((len(asked), depth), dtype=bool)
        for row, (place, one) in enumerate(zip(asked, found, strict=True)):
            others = _without(own.get(names[place], -1), one).numbers[:depth].tolist()
            shared = [not wanted[place].isdisjoint(kinds[number]) for number in others]
            gains[row, : len(shared)] = shared
        return float(average_precision(gains, depth).mean())

    def encoders(self) -> Suite:
        """The encoders that the collection remembers; an error if there are none here."""
        if self._encoders is None:
            raise UnsupportedError(
                "the collection was made without encoders: hand in views, or create one with "
                "encoders=Suite.default()"
            )
        return Suite.from_identity(self._encoders)

    def status(self) -> dict[str, Any]:
        """Plain values that tell of the collection."""
        with self._reading() as reading:
            return {
                "path": self._store.address,
                "generation": reading.head.generation,
                "items": reading.head.counts["items"],
                "categories": reading.head.counts["categories"],
                "rounds": reading.head.counts["rounds"],
                "n_bits": self._snapshot.layout.n_bits,
                "modalities": dict(self._modalities),
                "sketch_bits": dict(self._snapshot.layout.sketches),
                "hasher": reading.head.config["hasher"]["name"],
                "bytes_on_disk": self._store.nbytes,
                "index": self._finder.report(reading),
            }

    def rounds(self) -> list[RoundReport]:
        """The reports of all rounds, in order."""
        with self._reading() as reading:
            return [RoundReport.of(told) for told in reading.rounds()]

    def categories(self) -> tuple[str, ...]:
        """The names of all categories, in order of arrival."""
        with self._reading():
            return tuple(self._snapshot.categories)

    def get(self, keys: Iterable[str]) -> list[Item]:
        """The items of these keys, in their order; keys that are not there are passed over."""
        wanted = texts(keys)
        with self._reading() as reading:
            numbers = reading.numbers_of(wanted)
            if not numbers:
                return []
            there = sorted_numbers(set(numbers.values()))
            rows, sets = reading.rows(there), self._snapshot.label_sets
            codes, _, _ = self._snapshot.layout.unpacked(reading.items(there).bodies)
            coded = dict(zip(there.tolist(), codes, strict=True))
            return [
                Item(row.key, sets[row.labels], row.payload, coded[row.number])
                for row in (rows[numbers[key]] for key in wanted if key in numbers)
            ]

    def items(self, *, after: str | None = None) -> Iterator[Item]:
        """Items in order of arrival, as they were when the iteration began.

        Parameters
        ----------
        after : str, optional
            Only those that came after the item of this key.
        """
        with self._store.reading() as reading:
            start = 0
            if after is not None:
                numbers = reading.numbers_of(texts([after]))
                if after not in numbers:
                    raise InputError(f"there is no item with the key {after!r}")
                start = numbers[after] + 1
            names = list(reading.categories())
            sets = {
                number: tuple(names[place] for place in places)
                for number, places in reading.label_sets().items()
            }
            for block in reading.items_from(start):
                codes, _, _ = self._snapshot.layout.unpacked(block.bodies)
                for at in range(0, len(codes), _AT_ONCE):
                    numbered = block.numbers[at : at + _AT_ONCE]
                    rows = reading.rows(numbered)
                    for number, code in zip(numbered.tolist(), codes[at:], strict=False):
                        row = rows[number]
                        yield Item(row.key, sets[row.labels], row.payload, code)

    def close(self) -> None:
        """Release everything; what was committed is durable with or without it."""
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __len__(self) -> int:
        with self._reading() as reading:
            return reading.head.counts["items"]

    def _shaped(self, views: Views) -> dict[str, Matrix]:
        if isinstance(views, EncodedViews):
            views.check_made_by(self._encoders)
        return shaped_views(views, self._modalities)

    @contextmanager
    def _reading(self) -> Iterator[Reading]:
        """The store and the snapshot in the same state."""
        while True:
            with self._store.reading() as reading:
                self._follow(reading)
                with self._lock.shared():
                    # There may have been a commit, or another thread: then read anew.
                    if self._snapshot.generation == reading.head.generation:
                        yield reading
                        return

    def _follow(self, reading: Reading) -> None:
        snapshot, generation = self._snapshot, reading.head.generation
        if snapshot.generation >= generation:
            return
        with self._following:  # one thread for all that see a commit at the same time
            if snapshot.generation >= generation:
                return
            learned, foreseen = self._coming
            try:
                loaded = snapshot.loaded(reading.head, self._store, self._blank, learned)
            except DamagedError:
                # A later commit removes the files that only earlier ones name.
                if self._store.superseded(reading.head):
                    return
                raise
            ahead = self._finder.ahead(reading, foreseen)
            with self._lock.alone():
                # Whoever is interrupted from here on must look at everything again.
                snapshot.generation = -1
                self._finder.follow(reading, ahead)
                snapshot.follow(reading, loaded)

    def _hits(self, reading: Reading, found: Sequence[Found]) -> list[list[Hit]]:
        if not found:
            return []
        numbers = np.unique(np.concatenate([one.numbers for one in found]))
        rows, sets = reading.rows(numbers), self._snapshot.label_sets
        return [
            [
                Hit(rows[n].key, score, distance, sets[rows[n].labels], rows[n].payload)
                for n, score, distance in zip(
                    one.numbers.tolist(), one.scores.tolist(), one.distances.tolist(), strict=True
                )
            ]
            for one in found
        ]


def _finder(store: Store, layout: Layout, engine: str) -> Finder[Any]:
    if not store.finds:
        return EmbeddedFinder(layout, engine)
    from .finding.milvus import MilvusFinder  # needs a library that only this store needs

    return MilvusFinder(layout)


def _without(number: int, found: Found) -> Found:
    others = found.numbers != number
    return Found(found.numbers[others], found.scores[others], found.distances[others])


def sorted_numbers(numbers: Iterable[int]) -> Numbers:
    """Item numbers in order."""
    return np.array(sorted(numbers), dtype=np.int64)
