"""A collection in a folder: a SQLite database, and files of the hasher's state beside it.

A round is one transaction. The files that it needs are on the disk before it commits, under
names that no commit used before; files that no commit names any more are removed after it.
So whatever is interrupted leaves the state before or the state after, whole.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from ..errors import DamagedError, StoreError
from . import files
from .base import Change, Head, Store
from .connections import Connections, told
from .mark import least_generation, write_mark
from .records import seal
from .sqlite_commit import SCHEMA, apply, emptied
from .sqlite_reading import Known, SQLiteReading

DATABASE, LOCK = "items.sqlite", "lock"


class SQLiteStore(Store):
    """Keeps a collection in a folder.

    Parameters
    ----------
    path : folder
    patience : float
        Seconds to wait while somebody else writes.
    """

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        self.path, self.address = path, str(path)
        self.patience = patience
        self._database = path / DATABASE
        if not path.is_dir():
            what = "is a file, not a collection" if path.exists() else "there is no collection here"
            raise StoreError(f"{path}: {what}: omhash.Collection.create makes one")
        if not self._database.is_file():
            raise StoreError(f"{self._database}: is missing: {path} is no collection, or damaged")
        self._connections = Connections(self._database, patience)
        self._known: Known | None = None
        with self.reading():
            pass  # refuses what cannot be read

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any], **options: Any) -> Self:
        """Make an empty collection in a new folder."""
        document = json.dumps({**emptied(), "config": dict(config)})
        with files.new_folder(path) as fresh, told(fresh / DATABASE):
            with closing(sqlite3.connect(fresh / DATABASE, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.executescript(SCHEMA)
                connection.execute("INSERT INTO head VALUES (0, ?, ?)", (document, seal(document)))
            write_mark(fresh, 0)
        return cls(path, **options)

    @contextmanager
    def reading(self) -> Iterator[SQLiteReading]:
        """A consistent state to read from."""
        with self._connections.one() as connection:
            connection.execute("BEGIN")
            reading = SQLiteReading(connection, self._database, self._known)
            if reading.known is not self._known:
                connection.execute("ROLLBACK")
                least = least_generation(self.path)  # before: a commit in between is no loss
                connection.execute("BEGIN")
                reading = SQLiteReading(connection, self._database)
                lost = least - reading.head.generation
                if lost > 0:
                    raise DamagedError(
                        f"{self._database}-wal: {lost} commits are lost: restore the collection "
                        "from a backup"
                    )
                self._known = reading.known
            yield reading

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to write, of which there is one."""
        self._connections.refuse_closed()
        with files.locked(self.path / LOCK, self.patience, self.address):
            yield

    def commit(self, head: Head, change: Change) -> None:
        """Apply a change durably, all of it or nothing."""
        with self._changing() as (connection, document):
            if document["generation"] != head.generation:
                raise StoreError(f"{self.path}: the collection has changed meanwhile: try again")
            document["generation"] += 1
            apply(connection, document, change)
        with suppress(StoreError):
            write_mark(self.path, document["generation"])
        self._remove_leftovers(document)

    @contextmanager
    def _changing(self) -> Iterator[tuple[sqlite3.Connection, dict[str, Any]]]:
        """A transaction, and the head's document to change."""
        with self._connections.one() as connection:
            connection.execute("BEGIN IMMEDIATE")
            document = SQLiteReading(connection, self._database).document
            yield connection, document
            text = json.dumps(document)
            connection.execute("UPDATE head SET document = ?, seal = ?", (text, seal(text)))
            connection.execute("COMMIT")

    def save_state(self, kind: str, state: Mapping[str, Any]) -> dict[str, str]:
        """Keep arrays and plain values in a new file; it becomes valid with a commit."""
        return files.save_state(self.path, kind, state)

    def load_state(self, reference: Mapping[str, str]) -> dict[str, Any]:
        """What a file keeps."""
        return files.load_state(self.path, reference)

    def purge(self) -> bool:
        """Empty the write-ahead log; False where a reader still needs it."""
        with self._connections.one() as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def compact(self) -> bool:
        """Give free pages back to the disk; False where a reader still needs the log."""
        with self._changing() as (connection, document):
            # Whoever is behind loads everything anew instead.
            document["floor"] = document["generation"]
            connection.execute("DELETE FROM removed")
        self._remove_leftovers(document)
        with self._connections.one() as connection:
            connection.execute("VACUUM")
        return self.purge()

    def problems(self, *, repair: bool = False) -> list[str]:
        """What is wrong with the files: see `omhash.store.problems`."""
        from .sqlite_check import problems  # opens the folder anew, as this class

        return problems(self.path, repair=repair)

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the database."""
        with self._connections.one() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [f"{self._database}: {problem}" for (problem,) in found if problem != "ok"]

    def reindex(self) -> None:
        """Build the database's own indexes anew."""
        with self.writing(), self._connections.one() as connection:
            connection.execute("REINDEX")

    def backup(self, target: Path) -> None:
        """Copy the collection to a new folder; readers and writers go on meanwhile."""
        with files.new_folder(target) as fresh:
            while not self._copied(fresh):
                for path in fresh.iterdir():
                    path.unlink()

    def _copied(self, target: Path) -> bool:
        """Copy one state; False where a commit took its files away before they were copied."""
        with self.reading() as reading:
            try:
                for reference in reading.head.files:
                    shutil.copyfile(self.path / reference["file"], target / reference["file"])
                    files.load_state(target, reference)  # a damaged file is not worth a copy
            except (FileNotFoundError, DamagedError):
                if self.superseded(reading.head):
                    return False
                self.load_state(reference)  # tells what is wrong with it
                raise
            reading.copy_to(target / DATABASE)
            write_mark(target, reading.head.generation)
        return True

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        total = 0
        for path in self.path.iterdir():
            with suppress(FileNotFoundError):  # removed meanwhile
                total += path.stat().st_size
        return total

    def close(self) -> None:
        """Close all connections."""
        self._connections.close()

    def _remove_leftovers(self, document: Mapping[str, Any]) -> None:
        """Remove files that nothing names: older states, and what was interrupted."""
        named = [ref["file"] for ref in (document["state"], document["sketchers"]) if ref]
        with suppress(OSError):
            for path in self.path.iterdir():
                if path.suffix in (files.STATE_ENDING, files.FRESH) and path.name not in named:
                    path.unlink()
