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
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from ..errors import DamagedError, FormatError, StoreError
from . import files
from .base import Change, Head, Store
from .records import seal
from .sqlite_commit import SCHEMA, apply, emptied
from .sqlite_reading import SQLiteReading, told

FORMAT = 1
DATABASE, LOCK, GENERATION = "items.sqlite", "lock", "generation"

_MENDED = "omhash check --repair makes it anew"


class SQLiteStore(Store):
    """Keeps a collection in a folder.

    Parameters
    ----------
    path : folder
    patience : float
        Seconds to wait while somebody else writes.
    """

    def __init__(self, path: Path, *, patience: float = 5.0) -> None:
        self.path = path
        self.patience = patience
        self._database = path / DATABASE
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        if not path.is_dir():
            what = "is a file, not a collection" if path.exists() else "there is no collection here"
            raise StoreError(f"{path}: {what}: omhash.Collection.create makes one")
        if not self._database.is_file():
            raise StoreError(f"{path}: not a collection: it holds no {DATABASE}")
        with self.reading() as reading:
            if reading.document.get("format") != FORMAT:
                raise FormatError(
                    f"{path}: written in format {reading.document.get('format')!r}, and this "
                    f"version reads {FORMAT}: use a newer omhash"
                )

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any], **options: Any) -> Self:
        """Make an empty collection in a new folder."""
        with files.told(path, "create a collection here"):
            path.mkdir(parents=True)
        document = {"format": FORMAT, "config": dict(config), **emptied()}
        # The database gets its name when it is whole: a folder without it is no collection.
        fresh = path / f"{DATABASE}.new"
        with told(fresh):
            connection = sqlite3.connect(fresh, isolation_level=None)
            try:
                connection.executescript(SCHEMA)
                text = json.dumps(document)
                connection.execute("INSERT INTO head VALUES (0, ?, ?)", (text, seal(text)))
            finally:
                connection.close()
        with files.told(fresh, "write"):
            files.sync(fresh)
            fresh.rename(path / DATABASE)
            files.sync(path)
            files.sync(path.parent)
        return cls(path, **options)

    @contextmanager
    def reading(self) -> Iterator[SQLiteReading]:
        """A consistent state to read from."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            reading = SQLiteReading(connection, self._database)
            self._refuse_lost_commits(reading.head.generation)
            yield reading

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to write, of which there is one."""
        self._refuse_closed()
        with files.locked(self.path / LOCK, self.patience):
            yield

    def commit(self, head: Head, change: Change) -> None:
        """Apply a change durably, all of it or nothing."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            document = SQLiteReading(connection, self._database).document
            if document["generation"] != head.generation:
                raise StoreError(f"{self.path}: the collection has changed meanwhile: try again")
            document["generation"] += 1
            apply(connection, document, change)
            text = json.dumps(document)
            connection.execute("UPDATE head SET document = ?, seal = ?", (text, seal(text)))
            connection.execute("COMMIT")
        self._mark_generation(document["generation"])
        self._remove_unnamed(document)

    def save_state(self, kind: str, state: Mapping[str, Any]) -> dict[str, str]:
        """Keep arrays and plain values in a new file; it becomes valid with a commit."""
        return files.save_state(self.path, kind, state)

    def load_state(self, reference: Mapping[str, str]) -> dict[str, Any]:
        """What a file keeps."""
        path = self.path / reference["file"]
        try:
            return files.load_state(self.path, reference)
        except FileNotFoundError:
            raise DamagedError(f"{path}: is missing: restore it from a backup") from None
        except OSError as error:
            raise StoreError(f"{path}: cannot read: {error.strerror}") from error

    def purge(self) -> bool:
        """Empty the write-ahead log; False where a reader still needs it."""
        with self._connection() as connection:
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def compact(self) -> None:
        """Give free pages back to the disk."""
        with self._connection() as connection:
            connection.execute("VACUUM")
        self.purge()

    def integrity(self) -> list[str]:
        """What SQLite itself finds wrong with the database."""
        with self._connection() as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        return [f"{self._database}: {problem}" for (problem,) in found if problem != "ok"]

    def reindex(self) -> None:
        """Build the database's own indexes anew."""
        with self.writing(), self._connection() as connection:
            connection.execute("REINDEX")

    def backup(self, target: Path) -> None:
        """Copy the collection to a new folder, which gets its name when it is whole.

        Writers wait meanwhile; readers do not.
        """
        if target.exists():
            raise StoreError(f"{target}: is there already: name another folder")
        fresh = target.with_name(f"{target.name}.new")
        with files.told(fresh, "write"):
            if fresh.exists():  # what an interrupted backup left
                shutil.rmtree(fresh)
            fresh.mkdir(parents=True)
            try:
                with self.writing():
                    self._copy(fresh)
                for path in (*fresh.iterdir(), fresh):
                    files.sync(path)
                fresh.rename(target)
                files.sync(target.parent)
            except BaseException:
                shutil.rmtree(fresh, ignore_errors=True)
                raise

    def _copy(self, target: Path) -> None:
        with self._connection() as connection, told(target / DATABASE):
            copied = sqlite3.connect(target / DATABASE)
            try:
                connection.backup(copied)
            finally:
                copied.close()
        with self.reading() as reading:
            for reference in (reading.head.state, reading.head.sketchers):
                if reference is not None:
                    self.load_state(reference)  # a damaged file is not worth a copy
                    shutil.copyfile(self.path / reference["file"], target / reference["file"])

    @property
    def nbytes(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.path.iterdir())

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        while self._idle:
            with suppress(sqlite3.Error):
                self._idle.pop().close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile."""
        self._refuse_closed()
        with told(self._database):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._connected()
            try:
                yield connection
            finally:
                with suppress(sqlite3.Error):
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                if self._closed:
                    connection.close()
                else:
                    self._idle.append(connection)

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._database.resolve().as_uri() + "?mode=rw",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=self.patience,
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            # What is deleted is overwritten: forgetting leaves nothing in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA cache_size = -65536")
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_closed(self) -> None:
        if self._closed:
            raise StoreError(f"{self.path}: the collection is closed: open it again")

    @staticmethod
    def generation_mark(path: Path) -> int:
        """The last commit that the file beside the database knows of; 0 without the file."""
        mark = path / GENERATION
        try:
            number, told = map(int, mark.read_text().split())
        except FileNotFoundError:
            return 0
        except (ValueError, UnicodeDecodeError):
            raise DamagedError(f"{mark}: is not what was written: {_MENDED}") from None
        if seal(number) != told:
            raise DamagedError(f"{mark}: is not what was written: {_MENDED}")
        return number

    def _refuse_lost_commits(self, generation: int) -> None:
        """SQLite takes a damaged log for a shorter one: the mark beside it knows better."""
        lost = self.generation_mark(self.path) - generation
        if lost > 0:
            raise DamagedError(
                f"{self._database}-wal: {lost} commits are lost: restore the collection from a "
                "backup"
            )

    def _mark_generation(self, generation: int) -> None:
        # Not waited for: a mark that a power cut takes back is older, and harmless.
        fresh = self.path / f"{GENERATION}.new"
        with suppress(OSError):
            fresh.write_text(f"{generation} {seal(generation)}")
            fresh.replace(self.path / GENERATION)

    def _remove_unnamed(self, document: Mapping[str, Any]) -> None:
        named = {ref["file"] for ref in (document["state"], document["sketchers"]) if ref}
        for path in self.path.glob(f"*{files.STATE_ENDING}"):
            if path.name not in named:
                with suppress(OSError):
                    path.unlink()
