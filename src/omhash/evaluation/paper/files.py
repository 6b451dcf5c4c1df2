"""Files of the report: written whole or not at all, by one command at a time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import ParameterError, UnsupportedError

_UNFINISHED = ".unfinished"


def write_whole(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all, whatever interrupts."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}{_UNFINISHED}")
    with unfinished.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Have a folder alone; what an earlier command left unfinished in it is removed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w")
    except OSError as error:
        raise ParameterError(f"--out: {folder}: cannot be written: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UnsupportedError(
                f"{folder}: another command is writing a report here: wait for it, or give "
                "another folder"
            ) from None
        for left in folder.rglob(f"*{_UNFINISHED}"):
            left.unlink()
        yield
