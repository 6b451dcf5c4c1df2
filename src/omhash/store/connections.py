"""Connections to a SQLite database, each used by one thread at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import DamagedError, StoreError

_DAMAGE = (
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_FORMAT,
    # All statements and constraints are known to hold, so these too mean a damaged file.
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_CONSTRAINT,
    sqlite3.SQLITE_MISMATCH,
)
_ADVICE = {
    sqlite3.SQLITE_FULL: ": make room on the disk; nothing was changed",
    sqlite3.SQLITE_IOERR: ": the disk fails; what was committed before is not changed",
    sqlite3.SQLITE_READONLY: ": the folder cannot be written to",
    sqlite3.SQLITE_CANTOPEN: ": is the folder there, and may it be read and written?",
    sqlite3.SQLITE_BUSY: ": somebody else holds it: try again",
}
_READ_ONLY = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


@contextmanager
def told(path: Path) -> Iterator[None]:
    """Turn what SQLite refuses into errors that name the file and say what to do."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        code = _code(error)
        # Text that is no Unicode is an OperationalError without a code.
        undecodable = not code and isinstance(error, sqlite3.OperationalError)
        if code in _DAMAGE or undecodable:
            raise damaged(path, str(error)) from error
        raise StoreError(f"{path}: {error}{_ADVICE.get(code, '')}") from error
    except UnicodeDecodeError as error:  # a name in the schema, in SQLite's own message
        raise damaged(path, "is not what was written") from error


def damaged(path: Path, what: str) -> DamagedError:
    """The error for a file whose content cannot be what was written."""
    return DamagedError(f"{path}: {what}: restore the collection from a backup")


class Connections:
    """Connections to one database, kept for the next who needs one.

    Parameters
    ----------
    patience : float
        Seconds to wait while somebody else holds the database.
    """

    def __init__(self, path: Path, patience: float) -> None:
        self._path = path.resolve()
        self._patience = patience
        self._idle: list[sqlite3.Connection] = []
        self._closed = False

    @contextmanager
    def one(self) -> Iterator[sqlite3.Connection]:
        """A connection that nobody else uses meanwhile; a transaction left open is undone."""
        self.refuse_closed()
        with told(self._path):
            try:
                connection = self._idle.pop()
            except IndexError:
                connection = self._opened()
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

    def close(self) -> None:
        """Close those that nobody uses now; the others follow when they are given back."""
        self._closed = True
        while self._idle:
            with suppress(sqlite3.Error):
                self._idle.pop().close()

    def refuse_closed(self) -> None:
        """Raise a `StoreError` once they are closed."""
        if self._closed:
            raise StoreError(f"{self._path.parent}: the collection is closed: open it again")

    def _opened(self) -> sqlite3.Connection:
        try:
            return self._connected("mode=rw")
        except sqlite3.OperationalError as error:
            # Where nothing can be written, SQLite reads only what it is told nobody writes to.
            log = self._path.with_name(f"{self._path.name}-wal")
            left = log.exists() and log.stat().st_size > 0
            if _code(error) not in _READ_ONLY or left or not self._path.is_file():
                raise
            return self._connected("mode=ro&immutable=1")

    def _connected(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?{mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=self._patience,
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            # What is deleted is overwritten: forgetting leaves nothing in free pages.
            connection.execute("PRAGMA secure_delete = ON")
            # The pages of a round of random keys fit, which else are written more than once.
            connection.execute("PRAGMA cache_size = -16384")
            connection.execute("SELECT 1 FROM sqlite_schema").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
