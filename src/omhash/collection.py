"""A collection: items that are remembered durably and found at once."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np

from ._arguments import (
    checked_index,
    checked_keys,
    checked_payloads,
    checked_round_id,
    checked_seed,
    checked_sketch_bits,
    checked_widths,
    hasher_config,
    texts,
)
from ._looking import Looking, sorted_numbers
from .codes import pack
from .encoders import Suite
from .errors import (
    DamagedError,
    InputError,
    ParameterError,
    UnsupportedError,
)
from .hashers.base import Hasher
from .hashers.hcfw import HCFW
from .learning.labels import Labels, label_matrix
from .learning.views import Views, completed, n_rows
from .results import ForgetReport, RoundReport
from .store import Additions, Change, Head, Reading, SQLiteStore, problems


class Collection(Looking):
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
                hasher.partial_fit(given, read.matrix, categories=read.names)
            codes = hasher.item_codes(matrices, read.matrix, categories=read.names)
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
                removed=sorted_numbers(replaced.values()),
                categories=dict(zip(new, new_codes, strict=True)),
                round={**asdict(report), "keys": digest},
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

    def _commit(self, head: Head, change: Change, hasher: Hasher | None = None) -> None:
        """Commit a change, and take it over at once; `hasher` is the one of a new state."""
        self._store.commit(head, change)
        learned = None if change.state is None or hasher is None else (change.state, hasher)
        with self._reading(learned):
            pass


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
