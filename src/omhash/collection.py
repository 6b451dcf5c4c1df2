"""A collection: items that are remembered durably and found at once."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ._arguments import (
    checked_keys,
    checked_payloads,
    checked_round_id,
    checked_sketch_bits,
    checked_widths,
    configured_hasher,
    hasher_config,
    texts,
)
from ._sharing import SharedLock
from .codes import pack
from .encoders import EncodedViews, Suite
from .errors import DamagedError, InputError, ParameterError, UnsupportedError
from .hashers.base import Hasher
from .hashers.hcfw import HCFW
from .index import Found
from .learning.labels import Labels, label_matrix
from .learning.views import Matrix, Views, completed, n_rows, shaped_views
from .results import ForgetReport, Hit, Item, RoundReport
from .snapshot import Snapshot
from .store import Additions, Change, Reading, SQLiteStore, problems
from .store.records import Layout, Numbers
from .store.where import Where

_REMEMBERED = 32
"""Filters whose items are remembered until the collection changes."""


class Collection:
    """Items, their codes, the hasher and the rounds, in a folder.

    Made by `create`, opened by `omhash.open`. Any number of threads and processes may search
    at once; one may write at a time, and searches go on meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> from omhash.datasets import synthetic
    >>> data = synthetic.make(n_items=200, seed=0)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/things.omhash"
    >>> widths = {name: view.shape[1] for name, view in data.views.items()}
    >>> things = Collection.create(path, n_bits=32, modalities=widths)
    >>> keys = [f"thing {number}" for number in range(200)]
    >>> report = things.ingest(data.views, data.labels, keys=keys, categories=data.categories)
    >>> report.items
    200
    >>> hits = things.search({"image": data.views["image"][:1]}, k=3)[0]
    >>> len(hits), hits[0].score >= hits[1].score
    (3, True)
    >>> things.close()
    >>> folder.cleanup()
    """

    def __init__(self, store: SQLiteStore, hasher: Hasher | None = None) -> None:
        self._store = store
        self._lock = SharedLock()
        self._matching: dict[str, Numbers] = {}
        with store.reading() as reading:
            config = reading.head.config
            self._modalities: dict[str, int] = config["modalities"]
            self._blank = configured_hasher(config["hasher"], hasher)
            self._encoders: dict[str, dict[str, Any]] | None = config.get("encoders")
            layout = Layout(config["n_bits"], config["sketch_bits"])
            self._snapshot = Snapshot(self._blank, layout, config["seed"])
        self._refresh()

    @classmethod
    def create(
        cls,
        path: str | PathLike[str],
        *,
        modalities: Mapping[str, int] | None = None,
        encoders: Suite | None = None,
        n_bits: int | None = None,
        hasher: Hasher | None = None,
        sketch_bits: int | Mapping[str, int] = 128,
        seed: int = 0,
    ) -> Self:
        """Make an empty collection in a new folder.

        Parameters
        ----------
        modalities : mapping of name to width
            May be left out where encoders are given.
        encoders : Suite, optional
            The collection remembers them, and refuses views that others made.
        n_bits : int
            Length of the codes, 64 where nothing is said.
        hasher : Hasher, optional
            One that has learned nothing; HCFW with its defaults where nothing is said. One
            with parameters that JSON cannot hold (a callable) is to be given to `omhash.open`
            again.
        sketch_bits : int, or mapping of modality to int
            Bits of an item's sketch for each modality, a multiple of 8; 0 keeps none.
        seed : int
            Of the sketches' rotation, and of the default hasher.
        """
        if hasher is None:
            hasher = HCFW(64 if n_bits is None else n_bits, random_state=seed)
        elif n_bits is not None and n_bits != hasher.n_bits:
            raise ParameterError(
                f"n_bits={n_bits}, and the hasher has {hasher.n_bits}: leave it out"
            )
        hasher.check_parameters()
        widths = checked_widths(modalities, encoders)
        config = {
            "n_bits": int(hasher.n_bits),
            "modalities": widths,
            "hasher": hasher_config(hasher),
            "sketch_bits": checked_sketch_bits(sketch_bits, widths),
            "seed": seed,
            "encoders": None if encoders is None else encoders.identity(),
        }
        return cls(SQLiteStore.create(Path(path), config), hasher)

    def ingest(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        keys: Sequence[str],
        payloads: Sequence[Mapping[str, Any]] | None = None,
        round_id: str | None = None,
        categories: Iterable[str] | None = None,
    ) -> RoundReport:
        """Learn and store one round, all of it or nothing.

        Parameters
        ----------
        views : mapping of modality to array or sparse matrix
        labels, categories : as in `Hasher.partial_fit`
        keys : one text per item
            An item whose key is there already replaces the one before; what that one taught
            stays learned.
        payloads : one mapping per item, optional
            Anything that JSON can hold, kept with the item.
        round_id : str, optional
            Sending a round again under the same id is harmless.
        """
        start = time.perf_counter()
        matrices = self._shaped(views)
        n = n_rows(matrices)
        if not n:
            raise InputError("the round has no items")
        names = checked_keys(keys, n)
        extras = checked_payloads(payloads, n)
        read = label_matrix(labels, n, categories=categories)
        labelled = int(np.count_nonzero(np.diff(read.matrix.indptr)))
        digest = sha256("\0".join(names).encode()).hexdigest()
        with self._store.writing():
            with self._reading() as reading:
                head = reading.head
                name = f"round {head.counts['rounds'] + 1}" if round_id is None else round_id
                known = reading.round(checked_round_id(name))
                replaced = reading.numbers_of(names)
            if known is not None:
                return RoundReport.repetition(known, digest)
            snapshot = self._snapshot
            hasher = copy.copy(snapshot.hasher)
            teaches = labelled > 0 or head.state is None
            if teaches:
                given = matrices if head.state else completed(matrices, self._modalities)
                hasher.partial_fit(given, labels, categories=categories)
            codes = hasher.item_codes(matrices, labels, categories=categories)
            sketchers = snapshot.sketchers.fitted(matrices)
            values, present = sketchers.projected(matrices, n)
            packed = {name: pack(rows) for name, rows in values.items()}
            new = hasher.categories_[len(snapshot.categories) :]
            report = RoundReport(name, n, len(replaced), labelled, new, time.perf_counter() - start)
            state = self._store.save_state("state", hasher.get_state()) if teaches else None
            more = None
            if len(sketchers.known) > len(snapshot.sketchers.known):
                more = self._store.save_state("sketchers", sketchers.to_state())
            change = Change(
                added=Additions(
                    names,
                    read.sets(hasher.categories_),
                    snapshot.layout.packed(codes, packed, present),
                    extras,
                ),
                removed=np.array(sorted(replaced.values()), dtype=np.int64),
                categories=dict(
                    zip(new, hasher.category_codes_[len(snapshot.categories) :], strict=True)
                ),
                round={**asdict(report), "keys": digest},
                state=state,
                sketchers=self._store.save_state("sketchers", sketchers.to_state())
                if more
                else None,
            )
            self._store.commit(head, change)
            self._refresh((state, hasher) if state else None)
            return report

    def search(
        self,
        views: Views | None = None,
        *,
        key: str | None = None,
        k: int = 10,
        where: Where | None = None,
        rank: str = "asymmetric",
        detail: float = 0.0,
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

        Returns
        -------
        list of lists of Hit
            One list a query; fewer than `k` hits only where there are no more.
        """
        if (views is None) == (key is None):
            raise InputError("search needs either views or a key")
        matrices = None if views is None else self._shaped(views)
        with self._reading() as reading:
            keep = None if where is None else self._kept(reading, where)
            if matrices is not None:
                queries = self._snapshot.asked(matrices, rank, detail)
                return self._hits(reading, self._snapshot.index.search(queries, k, keep=keep))
            number = reading.numbers_of([str(key)]).get(str(key))
            if number is None:
                raise InputError(f"there is no item with the key {key!r}")
            item = reading.items(np.array([number]))
            queries = self._snapshot.asked_like(item, rank, detail)
            found = self._snapshot.index.search(queries, k + 1, keep=keep)
            return [hits[:k] for hits in self._hits(reading, [_without(number, f) for f in found])]

    def delete(self, keys: Iterable[str]) -> int:
        """Take items out of the collection; what they taught stays learned.

        Returns
        -------
        int
            How many there were; keys that are not there are passed over.
        """
        wanted = texts(keys)
        with self._store.writing():
            with self._reading() as reading:
                head, found = reading.head, reading.numbers_of(wanted)
            if found:
                self._store.commit(head, Change(removed=_sorted(found.values())))
                self._refresh()
        return len(found)

    def forget(self, keys: Sequence[str], views: Views) -> ForgetReport:
        """Take items out as if they had never been learned.

        The hash functions and weights become, to rounding, those that never saw the items;
        category codes never change, and stay. Nothing of the items is left in the files.

        Parameters
        ----------
        keys : one text per item
            Keys that are not there are passed over.
        views : mapping of modality to array
            What was learned of these items, in the order of the keys.
        """
        matrices = self._shaped(views)
        names = checked_keys(keys, n_rows(matrices))
        with self._store.writing():
            with self._reading() as reading:
                head, found = reading.head, reading.numbers_of(names)
                rows = reading.rows(_sorted(found.values()))
                labels = [
                    self._snapshot.label_sets[rows[found[key]].labels]
                    for key in names
                    if key in found
                ]
            missing = tuple(key for key in names if key not in found)
            if not found:
                return ForgetReport(0, missing, self._store.purge())
            there = np.array([key in found for key in names])
            hasher = copy.copy(self._snapshot.hasher)
            taught = np.array([bool(categories) for categories in labels])
            state = None
            if taught.any():
                if not hasattr(hasher, "forget"):
                    raise UnsupportedError(
                        f"{type(hasher).__name__} cannot forget: delete the items instead"
                    )
                wanted = np.flatnonzero(there)[taught]
                hasher.forget(
                    {name: matrix[wanted] for name, matrix in matrices.items()},
                    [names for names in labels if names],
                )
                state = self._store.save_state("state", hasher.get_state())
            change = Change(removed=_sorted(found.values()), state=state)
            self._store.commit(head, change)
            self._refresh((state, hasher) if state else None)
            return ForgetReport(len(found), missing, self._store.purge())

    def compact(self) -> None:
        """Give space of removed items back to the disk."""
        with self._store.writing():
            self._store.compact()

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the collection, as it is now, to a new folder; searches go on meanwhile."""
        self._store.backup(Path(path))

    @classmethod
    def restore(
        cls, backup: str | PathLike[str], path: str | PathLike[str], *, hasher: Hasher | None = None
    ) -> Self:
        """Make a collection from a backup, once that is known to be whole."""
        wrong = problems(Path(backup))
        if wrong:
            raise DamagedError(f"the backup is damaged: {'; '.join(wrong)}")
        with closing(SQLiteStore(Path(backup))) as store:
            store.backup(Path(path))
        return cls(SQLiteStore(Path(path)), hasher)

    def check(self, *, repair: bool = False) -> list[str]:
        """What is wrong with the collection's files; nothing if it is whole."""
        wrong = problems(self._store.path, repair=repair)
        with self._reading() as reading:
            learned = self._snapshot.hasher
            told = list(reading.categories().values())
            if self._snapshot.learned and not np.array_equal(told, learned.category_codes_):
                wrong.append(f"{self._store.path}: category codes are not those of the hasher")
        return wrong

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
                "path": str(self._store.path),
                "generation": reading.head.generation,
                "items": reading.head.counts["items"],
                "categories": reading.head.counts["categories"],
                "rounds": reading.head.counts["rounds"],
                "n_bits": self._snapshot.layout.n_bits,
                "modalities": dict(self._modalities),
                "sketch_bits": dict(self._snapshot.layout.sketches),
                "hasher": reading.head.config["hasher"]["name"],
                "bytes_on_disk": self._store.nbytes,
                "index": self._snapshot.index.report(),
            }

    def rounds(self) -> list[RoundReport]:
        """The reports of all rounds, in order."""
        with self._reading() as reading:
            return [RoundReport.of(told) for told in reading.rounds()]

    def items(self) -> Iterator[Item]:
        """All items in order of arrival, as they were when the iteration began."""
        with self._store.reading() as reading:
            names = list(reading.categories())
            sets = {
                number: tuple(names[place] for place in places)
                for number, places in reading.label_sets().items()
            }
            for block in reading.items_from(0):
                codes, _, _ = self._snapshot.layout.unpacked(block.bodies)
                rows = reading.rows(block.numbers)
                for number, code in zip(block.numbers.tolist(), codes, strict=True):
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
                    # Another thread may have led the snapshot on: then read anew.
                    if self._snapshot.generation == reading.head.generation:
                        yield reading
                        return

    def _refresh(self, learned: tuple[dict[str, str], Hasher] | None = None) -> None:
        with self._store.reading() as reading:
            self._follow(reading, learned)

    def _follow(
        self, reading: Reading, learned: tuple[dict[str, str], Hasher] | None = None
    ) -> None:
        snapshot, generation = self._snapshot, reading.head.generation
        if snapshot.generation >= generation:
            return
        loaded = snapshot.loaded(reading.head, self._store, self._blank, learned)
        with self._lock.alone():
            if snapshot.generation < generation:
                snapshot.follow(reading, loaded)
                self._matching.clear()

    def _kept(self, reading: Reading, where: Where) -> Numbers:
        """The items that keep the conditions, remembered until the collection changes."""
        name = json.dumps(where, sort_keys=True, default=repr)
        if name not in self._matching:
            if len(self._matching) >= _REMEMBERED:
                self._matching.clear()
            self._matching[name] = reading.matching(where)
        return self._matching[name]

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


def open(path: str | PathLike[str], *, hasher: Hasher | None = None) -> Collection:  # noqa: A001 - omhash.open reads well
    """Open a collection to search it and to write to it.

    Parameters
    ----------
    hasher : Hasher, optional
        Needed where the collection was made with a hasher that a file cannot describe.
    """
    return Collection(SQLiteStore(Path(path)), hasher)


def _sorted(numbers: Iterable[int]) -> Numbers:
    return np.array(sorted(numbers), dtype=np.int64)


def _without(number: int, found: Found) -> Found:
    others = found.numbers != number
    return Found(found.numbers[others], found.scores[others], found.distances[others])
