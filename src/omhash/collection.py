"""A collection: items that are remembered durably and found at once."""

from __future__ import annotations

import copy
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
    checked_index,
    checked_k,
    checked_keys,
    checked_payloads,
    checked_round_id,
    checked_seed,
    checked_sketch_bits,
    checked_widths,
    configured_hasher,
    hasher_config,
    texts,
)
from ._sharing import SharedLock
from .codes import pack
from .encoders import EncodedViews, Suite
from .errors import (
    DamagedError,
    InputError,
    NotFittedError,
    ParameterError,
    UnsupportedError,
)
from .hashers.base import Hasher
from .hashers.hcfw import HCFW
from .index import Found, Kept
from .learning.labels import Labels, label_matrix
from .learning.views import Matrix, Views, completed, n_rows, shaped_views
from .results import Explanation, ForgetReport, Hit, Item, RoundReport
from .snapshot import Reference, Snapshot
from .store import Additions, Change, Head, Reading, SQLiteStore, problems
from .store.records import Layout, Numbers
from .store.where import Clause, Where

_REMEMBERED = 32
"""Filters whose items are remembered."""

_AT_ONCE = 500
"""Items whose keys and payloads are read together."""


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
        self._matching: dict[Clause, tuple[Kept, int]] = {}
        self._inspected = 0
        with store.reading() as reading:
            config = reading.head.config
            self._modalities: dict[str, int] = config["modalities"]
            self._blank = configured_hasher(config["hasher"], hasher)
            self._encoders: dict[str, dict[str, Any]] | None = config.get("encoders")
            layout = Layout(config["n_bits"], config["sketch_bits"])
            self._snapshot = Snapshot(self._blank, layout, config["seed"], config["index"])
        with self._reading():
            pass  # loads everything

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
        index: str = "exact",
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
        index : {"exact", "ivf"}
            Whether searches find all of the best items, or look only where most of them are:
            see `IVFIndex`. `status` tells how much is found.
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
            "seed": checked_seed(seed),
            "index": checked_index(index),
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
        extras, fields = checked_payloads(payloads, n)
        if round_id is not None:
            checked_round_id(round_id)
        read = label_matrix(labels, n, categories=categories)
        labelled = int(np.count_nonzero(np.diff(read.matrix.indptr)))
        digest = sha256("\0".join(names).encode()).hexdigest()
        with self._store.writing():
            with self._reading() as reading:
                head = reading.head
                name = round_id or _unused_name(reading)
                known = reading.round(name)
                replaced = reading.numbers_of(names) if head.counts["items"] else {}
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
            centred = None
            if len(sketchers.known) > len(snapshot.sketchers.known):
                centred = self._store.save_state("sketchers", sketchers.to_state())
            new_codes = hasher.category_codes_[len(snapshot.categories) :]
            change = Change(
                added=Additions(
                    names,
                    read.sets(hasher.categories_),
                    snapshot.layout.packed(codes, packed, present),
                    extras,
                    fields,
                ),
                removed=_sorted(replaced.values()),
                categories=dict(zip(new, new_codes, strict=True)),
                round={**asdict(report), "keys": digest},
                state=state,
                sketchers=centred,
            )
            self._commit(head, change, hasher)
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
            keep = None if where is None else self._kept(reading, where)
            if matrices is not None:
                queries = self._snapshot.asked(matrices, rank, detail, emphasis)
                return self._hits(reading, self._snapshot.index.search(queries, k, keep=keep))
            number = reading.numbers_of(wanted).get(wanted[0])
            if number is None:
                raise InputError(f"there is no item with the key {key!r}")
            queries = self._snapshot.asked_like(reading.item(number), rank, detail)
            found = self._snapshot.index.search(queries, k + 1, keep=keep)
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
                self._commit(head, Change(removed=_sorted(found.values())))
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
            places = [place for place, key in enumerate(names) if key in found]
            taught = [place for place, names in zip(places, labels, strict=True) if names]
            hasher = copy.copy(self._snapshot.hasher)
            state = None
            if taught:
                if not hasattr(hasher, "forget"):
                    raise UnsupportedError(
                        f"{type(hasher).__name__} cannot forget: delete the items instead"
                    )
                hasher.forget(
                    {name: matrix[taught] for name, matrix in matrices.items()},
                    [names for names in labels if names],
                )
                state = self._store.save_state("state", hasher.get_state())
            self._commit(head, Change(removed=_sorted(found.values()), state=state), hasher)
            return ForgetReport(len(found), missing, self._store.purge())

    def compact(self) -> bool:
        """Give space of removed items back to the disk.

        Returns
        -------
        bool
            Whether the write-ahead log is empty too; False while somebody reads an older state.
        """
        with self._store.writing():
            return self._store.compact()

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
            told = [code.tobytes() for code in reading.categories().values()]
            if self._snapshot.learned and told != [*map(bytes, learned.category_codes_)]:
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

    def categories(self) -> tuple[str, ...]:
        """The names of all categories, in order of arrival."""
        with self._reading():
            return tuple(self._snapshot.categories)

    def get(self, keys: Iterable[str]) -> list[Item]:
        """The items of these keys, in their order; keys that are not there are passed over."""
        wanted = texts(keys)
        with self._reading() as reading:
            numbers = reading.numbers_of(wanted)
            rows, sets = reading.rows(_sorted(numbers.values())), self._snapshot.label_sets
            found = []
            for number in (numbers[key] for key in wanted if key in numbers):
                codes, _, _ = self._snapshot.layout.unpacked(reading.item(number).bodies)
                row = rows[number]
                found.append(Item(row.key, sets[row.labels], row.payload, codes[0]))
            return found

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

    def _commit(self, head: Head, change: Change, hasher: Hasher | None = None) -> None:
        """Commit a change, and take it over at once; `hasher` is the one of a new state."""
        self._store.commit(head, change)
        learned = None if change.state is None or hasher is None else (change.state, hasher)
        with self._reading(learned):
            pass

    def _shaped(self, views: Views) -> dict[str, Matrix]:
        if isinstance(views, EncodedViews):
            views.check_made_by(self._encoders)
        return shaped_views(views, self._modalities)

    @contextmanager
    def _reading(self, learned: tuple[Reference, Hasher] | None = None) -> Iterator[Reading]:
        """The store and the snapshot in the same state."""
        while True:
            with self._store.reading() as reading:
                self._follow(reading, learned)
                with self._lock.shared():
                    # There may have been a commit, or another thread: then read anew.
                    if self._snapshot.generation == reading.head.generation:
                        yield reading
                        return

    def _follow(self, reading: Reading, learned: tuple[Reference, Hasher] | None) -> None:
        snapshot, generation = self._snapshot, reading.head.generation
        if snapshot.generation >= generation:
            return
        try:
            loaded = snapshot.loaded(reading.head, self._store, self._blank, learned)
        except DamagedError:
            # A later commit removes the files that only earlier ones name.
            if self._store.superseded(reading.head):
                return
            raise
        with self._lock.alone():
            if snapshot.generation < generation:
                snapshot.follow(reading, loaded)

    def _kept(self, reading: Reading, where: Where) -> Kept:
        """The items that keep the conditions, and some that are no longer there.

        An item never changes, so each is asked about once, and filters are remembered.
        """
        end = reading.head.next_number
        if self._inspected < end:
            reading.inspect(self._inspected)
            self._inspected = end
        clause = reading.compiled(where)
        known, start = self._matching.pop(clause, (None, 0))
        numbers = known or _sorted(())
        if start < end:
            more = reading.matching(clause, start)
            numbers = more if known is None else np.concatenate([known.numbers, more])
        kept = self._snapshot.index.kept(numbers)
        while len(self._matching) >= _REMEMBERED:
            self._matching.pop(next(iter(self._matching)), None)
        self._matching[clause] = kept, end
        return kept

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


def open(  # noqa: A001 - omhash.open reads well
    path: str | PathLike[str], *, hasher: Hasher | None = None, patience: float = 5.0
) -> Collection:
    """Open a collection to search it and to write to it.

    Parameters
    ----------
    hasher : Hasher, optional
        Needed where the collection was made with a hasher that a file cannot describe.
    patience : float
        Seconds to wait while somebody else writes, before a `BusyError`.
    """
    return Collection(SQLiteStore(Path(path), patience=patience), hasher)


def _unused_name(reading: Reading) -> str:
    """A name for a round that has none."""
    number = reading.head.counts["rounds"] + 1
    while reading.round(f"round {number}") is not None:
        number += 1
    return f"round {number}"


def _sorted(numbers: Iterable[int]) -> Numbers:
    return np.array(sorted(numbers), dtype=np.int64)


def _without(number: int, found: Found) -> Found:
    others = found.numbers != number
    return Found(found.numbers[others], found.scores[others], found.distances[others])
