"""A collection: items that are remembered durably and found at once."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from os import PathLike
from typing import Any, Self, TypeAlias

from ._arguments import (
    checked_index,
    checked_keys,
    checked_round_id,
    checked_seed,
    checked_sketch_bits,
    checked_widths,
    hasher_config,
    texts,
)
from ._coding import CodedRound, Coder, GivenRound, Standing
from ._looking import Looking, sorted_numbers
from .addresses import created, folder, opened
from .encoders import Suite
from .errors import (
    BusyError,
    DamagedError,
    ParameterError,
    UnsupportedError,
)
from .finding import Foreseen
from .hashers.base import Hasher
from .hashers.hcfw import HCFW
from .learning.labels import Labels
from .learning.views import Views, completed, n_rows
from .results import ForgetReport, RoundReport
from .store import Change, Head, Reading, SQLiteStore, problems

Taught: TypeAlias = Mapping[str, Sequence[str]]
"""Rounds that were learned together, each with the categories that it was the first to have."""


class Collection(Looking):
    """Items, their codes, the hasher and the rounds, in a folder or on Milvus.

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
        """Make an empty collection in a new folder, or at an address on Milvus.

        Parameters
        ----------
        path : path, or address
            See `omhash.addresses`.
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
        if getattr(hasher, "recodes_database", False):
            raise UnsupportedError(
                f"{type(hasher).__name__} changes the codes of stored items as it learns, and a "
                "collection never does: use another hasher, such as HCFW"
            )
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
        return cls(created(path, config), hasher)

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
        given = GivenRound.of(
            self._shaped(views), labels, keys=keys, payloads=payloads, categories=categories
        )
        if round_id is not None:
            checked_round_id(round_id)
        with self._store.writing():
            with self._reading() as reading:
                head = reading.head
                name = round_id or _unused_name(reading)
                known = reading.round(name)
            if known is not None:
                return RoundReport.repetition(known, given.digest)
            coder = self._coder()
            teaches = given.labelled > 0 or head.state is None
            if teaches:
                matrices = given.matrices
                if head.state is None:
                    matrices = completed(matrices, self._modalities)
                coder.hasher.partial_fit(matrices, given.read.matrix, categories=given.read.names)
            coder = replace(coder, sketchers=coder.sketchers.fitted(given.matrices))
            added = coder.coded(given)
            new = coder.hasher.categories_[head.counts["categories"] :]
            seconds = time.perf_counter() - start
            coded = CodedRound(name, added, given.digest, given.labelled, new, seconds)
            return self._store_round(head, coded, coder, {name: new} if teaches else {})

    def standing(self) -> Standing:
        """Where the collection stands: for `omhash.distributed`, which learns elsewhere."""
        with self._reading() as reading:
            rounds = reading.rounds()
            coder, head = self._coder(), reading.head
        stored = {told["id"] for told in rounds}
        taught = {
            name: tuple(new) for told in rounds for name, new in told.get("taught", {}).items()
        }
        return Standing(coder, head.files, self._modalities, stored, taught)

    def store_coded(
        self, coded: CodedRound, coder: Coder, *, since: Standing, taught: Taught | None = None
    ) -> RoundReport:
        """Store a round that was coded elsewhere, all of it or nothing.

        Parameters
        ----------
        coder : Coder
            What coded it.
        since : Standing
            Where the collection stood when learning began.
        taught : mapping of round to its new categories
            The rounds that the coder's hasher has learned since, if any: what it learned is
            kept with this round.
        """
        with self._store.writing():
            with self._reading() as reading:
                head, known = reading.head, reading.round(coded.id)
            if (taught or self._centres(coder)) and head.files != since.files:
                raise BusyError(
                    f"{self._store.address}: somebody else taught the collection meanwhile: what "
                    "was learned beside it is given up; do it again"
                )
            if known is not None:
                return RoundReport.repetition(known, coded.digest)
            return self._store_round(head, coded, coder, taught or {})

    def _coder(self) -> Coder:
        """What codes items now; its hasher is a copy that may learn."""
        snapshot = self._snapshot
        return Coder(copy.copy(snapshot.hasher), snapshot.sketchers, snapshot.layout)

    def _centres(self, coder: Coder) -> bool:
        """Whether a coder has sketchers that the collection has not."""
        return len(coder.sketchers.known) > len(self._snapshot.sketchers.known)

    def _store_round(
        self, head: Head, coded: CodedRound, coder: Coder, taught: Taught
    ) -> RoundReport:
        added, hasher = coded.added, coder.hasher
        with self._reading() as reading:
            replaced = reading.numbers_of(added.keys) if head.counts["items"] else {}
        report = RoundReport(
            coded.id,
            len(added.keys),
            len(replaced),
            coded.labelled,
            coded.new_categories,
            coded.seconds,
        )
        state = self._store.save_state("state", hasher.get_state()) if taught else None
        centred = None
        if self._centres(coder):
            centred = self._store.save_state("sketchers", coder.sketchers.to_state())
        first = head.counts["categories"]
        new_codes = dict(
            zip(hasher.categories_[first:], hasher.category_codes_[first:], strict=True)
        )
        change = Change(
            added=added,
            removed=sorted_numbers(replaced.values()),
            categories=new_codes,
            round={**asdict(report), "keys": coded.digest, **_beside(coded.id, taught)},
            state=state,
            sketchers=centred,
        )
        self._commit(head, change, hasher)
        return report

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
                self._commit(head, Change(removed=sorted_numbers(found.values())))
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
                rows = reading.rows(sorted_numbers(found.values()))
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
            self._commit(head, Change(removed=sorted_numbers(found.values()), state=state), hasher)
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
        self._store.backup(folder(path))

    @classmethod
    def restore(
        cls, backup: str | PathLike[str], path: str | PathLike[str], *, hasher: Hasher | None = None
    ) -> Self:
        """Make a collection from a backup, once that is known to be whole."""
        saved, target = folder(backup), folder(path)
        wrong = problems(saved)
        if wrong:
            raise DamagedError(f"the backup is damaged: {'; '.join(wrong)}")
        with closing(SQLiteStore(saved)) as store:
            store.backup(target)
        return cls(SQLiteStore(target), hasher)

    def check(self, *, repair: bool = False) -> list[str]:
        """What is wrong with the collection's files; nothing if it is whole."""
        wrong = self._store.problems(repair=repair)
        with self._reading() as reading:
            learned = self._snapshot.hasher
            told = [code.tobytes() for code in reading.categories().values()]
            if self._snapshot.learned and told != [*map(bytes, learned.category_codes_)]:
                wrong.append(f"{self._store.address}: category codes are not those of the hasher")
        return wrong

    def _commit(self, head: Head, change: Change, hasher: Hasher | None = None) -> None:
        """Commit a change, and take it over at once; `hasher` is the one of a new state."""
        learned = None if change.state is None or hasher is None else (change.state, hasher)
        # Before it is committed: another thread may be the first to see it.
        self._coming = learned, Foreseen(head, change)
        try:
            self._store.commit(head, change)
            with self._reading():
                pass
        finally:
            self._coming = None, None


def open(  # noqa: A001 - omhash.open reads well
    path: str | PathLike[str], *, hasher: Hasher | None = None, patience: float = 5.0
) -> Collection:
    """Open a collection to search it and to write to it.

    Parameters
    ----------
    path : path, or address
        See `omhash.addresses`.
    hasher : Hasher, optional
        Needed where the collection was made with a hasher that a file cannot describe.
    patience : float
        Seconds to wait while somebody else writes, before a `BusyError`.
    """
    return Collection(opened(path, patience=patience), hasher)


def _beside(name: str, taught: Taught) -> dict[str, Taught]:
    """What a round's entry says where other rounds were learned with it."""
    others = {one: new for one, new in taught.items() if one != name}
    return {"taught": others} if others else {}


def _unused_name(reading: Reading) -> str:
    """A name for a round that has none."""
    number = reading.head.counts["rounds"] + 1
    while reading.round(f"round {number}") is not None:
        number += 1
    return f"round {number}"
