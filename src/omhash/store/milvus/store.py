"""A collection on Milvus: see `tables` for what lies where, `commit` for how it is written.

Reads on a server are of three kinds. Whoever writes reads what is certain (``Strong``, some
hundred milliseconds). The first read of each Milvus collection in a new generation is such a
one too; all others (``Bounded``, some milliseconds) see at least what that one saw, and what
others committed at most `STALE` seconds ago.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

from ...errors import DamagedError, FormatError, StoreError, UnsupportedError
from .. import files
from ..base import Change, Head, Store
from ..records import Layout
from . import lite
from .claims import Claims
from .commit import Commit, emptied
from .engine import Engine
from .place import Place
from .purge import delete_removed
from .readers import Readers
from .reading import MilvusReading
from .states import load_state, save_state
from .tables import (
    FORMAT,
    Tables,
    code_schema,
    damaged,
    document_rows,
    documents,
    item_schema,
    log_schema,
)
from .tail import Tail, log_rows

STALE = 5.0
"""Seconds that a server may be behind where nothing more certain is asked for: its default."""


class MilvusStore(Store):
    """Keeps a collection on Milvus.

    Parameters
    ----------
    patience : float
        Seconds to wait while somebody else writes.
    """

    finds = True

    def __init__(self, place: Place, *, patience: float = 5.0) -> None:
        self.address, self.patience = place.address, patience
        self._place, self._tables = place, Tables(place.name)
        if place.file is not None and not place.file.exists():
            raise _nothing_here(place)
        self._engine = Engine(place)
        try:
            self._begin(place)
        except BaseException:
            self._engine.close()
            raise

    def _begin(self, place: Place) -> None:
        if self._tables.log not in self._engine.collections():
            raise _nothing_here(place)
        self._settled: dict[str, int] = {}
        self._writer: int | None = None
        self._sure = False
        self._seeing = threading.Lock()
        self._tail = Tail(self._engine, self._tables)
        self._latest = self._head("Strong")
        self._config = self._configured()
        self._layout = Layout(self._config["n_bits"], self._config["sketch_bits"])
        self._commit = Commit(self._engine, self._tables, self._layout)
        self._claims = Claims(self._engine, self._tables)
        self._readers = lite.readers(place.file) if place.file is not None else Readers()
        with self.reading() as reading:
            found, told = reading.n_rows(), reading.head.counts["items"]
        if found < told:
            raise damaged(self.address, f"{found} items are there, and {told} were committed")

    @classmethod
    def create(cls, place: Place, config: Mapping[str, Any]) -> Self:
        """Make an empty collection; the last thing that is written makes it one."""
        tables = Tables(place.name)
        layout = Layout(config["n_bits"], config["sketch_bits"])
        engine = Engine(place)
        try:
            made = (
                (tables.items, item_schema(layout), "record", "bucket", "key_hash"),
                (tables.codes, code_schema(layout), "code"),
                (tables.log, log_schema(), "nothing"),
            )
            there = engine.collections()
            for name, schema, *_ in made:
                if name in there and engine.fields(name) != {one.name for one in schema.fields}:
                    raise StoreError(
                        f"{place.address}: Milvus has a collection {name} that is not omhash's: "
                        "choose another name"
                    )
            if tables.log in there and _has_head(engine, tables):
                raise StoreError(
                    f"{place.address}: is there already: open it, or choose another name"
                )
            with ThreadPoolExecutor(len(made)) as threads:
                list(threads.map(lambda one: engine.create(*one), made))
            engine.upsert(tables.log, document_rows("config", "config", dict(config)))
            Commit(engine, tables, layout).publish(emptied())
            return cls(place)
        finally:
            engine.close()

    @classmethod
    def is_there(cls, place: Place) -> bool:
        """Whether there is a collection."""
        if place.file is not None and not place.file.exists():
            return False
        engine = Engine(place)
        try:
            tables = Tables(place.name)
            return tables.log in engine.collections() and _has_head(engine, tables)
        finally:
            engine.close()

    @contextmanager
    def reading(self) -> Iterator[MilvusReading]:
        """A consistent state to read from."""
        self._engine.refuse_closed()
        with self._readers.one():
            certain = self._writer == threading.get_ident() and not self._sure
            document = self._head("Strong" if certain else "Bounded")
            document = self._newest(document)
            self._sure = self._sure or certain
            yield self._read(document)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to write, of which there is one."""
        self._engine.refuse_closed()
        with ExitStack() as held:
            file = self._place.file
            if file is None:
                held.enter_context(self._claims.held(self.patience))
            else:
                lock = file.with_name(f".{file.name}.{self._place.name}.writer")
                held.enter_context(files.locked(lock, self.patience, self.address))
            # Its first read is certain; after that, nobody else changes anything.
            self._writer, self._sure = threading.get_ident(), False
            try:
                yield
            finally:
                self._writer = None

    def commit(self, head: Head, change: Change) -> None:
        """Apply a change durably, all of it or nothing."""
        with self.reading() as reading:
            if reading.head.generation != head.generation:
                raise StoreError(f"{self.address}: the collection has changed meanwhile: try again")
            before, document = reading.document, self._commit.apply(reading, change)
        self._newest(document)
        self._commit.clean(before, document)

    def save_state(self, kind: str, state: Mapping[str, Any]) -> dict[str, str]:
        """Keep arrays and plain values in the log; they become valid with a commit."""
        return save_state(self._engine, self._tables, kind, state)

    def load_state(self, reference: Mapping[str, str]) -> dict[str, Any]:
        """What was kept."""
        return load_state(self._engine, self._tables, reference)

    def superseded(self, head: Head) -> bool:
        """Whether there was a commit since: it deletes states that no head names any more."""
        return bool(self._head("Strong")["generation"] != head.generation)

    def purge(self) -> bool:
        """Delete the rows of removed items; False where somebody still reads an older state."""
        head = self._head("Strong")
        if head["floor"] < head["generation"]:
            head["floor"], head["revision"] = head["generation"], head["revision"] + 1
            self._commit.publish(head)
            self._newest(head)
        begun = self._commit.begun(head)
        if not self._readers.gone(self.patience):
            return False
        if not self._engine.lite:
            # Readers elsewhere know by then, or have ended: see `reading.LONG`.
            time.sleep(2 * STALE)
        with self.reading() as reading:
            delete_removed(
                self._engine,
                self._tables,
                reading,
                lambda: self._commit.refuse_overtaken(head, begun),
            )
        return True

    def compact(self) -> bool:
        """Delete the rows of removed items, and let the engine give their space back."""
        done = self.purge()
        self._commit.sweep(self._head("Strong"))
        for name in (self._tables.items, self._tables.codes, self._tables.log):
            self._engine.flush(name)
        return done

    def backup(self, target: Path) -> None:
        """Not possible."""
        raise UnsupportedError(
            f"{self.address}: cannot be backed up to {target}: omhash copy makes a collection in "
            "a folder of it"
        )

    def problems(self, *, repair: bool = False) -> list[str]:  # noqa: ARG002 - nothing follows from the rest
        """What is wrong with the collection; nothing if it is whole."""
        try:
            with self.reading() as reading:
                reading.categories()
                reading.rounds()
                for reference in reading.head.files:
                    self.load_state(reference)
                n_items = reading.inspected()
                told = reading.head.counts["items"]
                if n_items != told:
                    return [f"{self.address}: {n_items} items are there, and {told} were committed"]
        except DamagedError as error:
            return [str(error)]
        return []

    @property
    def nbytes(self) -> int | None:
        """Bytes of the file of Milvus Lite; a server does not say."""
        return None if self._place.file is None else self._place.file.stat().st_size

    def close(self) -> None:
        """Leave Milvus."""
        self._engine.close()

    def _newest(self, document: dict[str, Any]) -> dict[str, Any]:
        """A head, or one that was seen before where that is newer."""
        with self._seeing:
            if _age(document) > _age(self._latest):
                self._latest = document
            return self._latest

    def _read(self, document: dict[str, Any]) -> MilvusReading:
        generation = document["generation"]

        def level(collection: str) -> str:
            if self._settled.get(collection, -1) >= generation:
                return "Bounded"
            return "Strong"

        def settled(collection: str) -> None:
            self._settled[collection] = max(self._settled.get(collection, -1), generation)

        return MilvusReading(
            self._engine,
            self._tables,
            document,
            self._config,
            self._tail,
            (level, settled),
            lambda: self._head("Strong"),
        )

    def _head(self, level: str) -> dict[str, Any]:
        """The last head."""
        rows = self._engine.query(
            self._tables.log,
            'kind == "head"',
            ("pk", "kind", "attempt", "document"),
            limit=1,  # the smallest key, which is that of the last one
            level=level,
        )
        for _, _, document in documents(rows, self.address):
            if document.get("format") != FORMAT:
                raise FormatError(
                    f"{self.address}: written in format {document.get('format')!r}, and this "
                    f"version reads {FORMAT}: use a newer omhash"
                )
            return dict(document)
        raise _nothing_here(self._place)

    def _configured(self) -> dict[str, Any]:
        rows = log_rows(self._engine, self._tables, 'kind == "config"')
        for _, _, config in documents(rows, self.address):
            return dict(config)
        raise DamagedError(f"{self.address}: its configuration is missing")


def _age(document: Mapping[str, Any]) -> tuple[int, int]:
    return document["generation"], document["revision"]


def _has_head(engine: Engine, tables: Tables) -> bool:
    return bool(engine.query(tables.log, 'kind == "head"', ["pk"], limit=1, level="Strong"))


def _nothing_here(place: Place) -> StoreError:
    return StoreError(
        f"{place.address}: there is no collection here: omhash.Collection.create makes one"
    )
