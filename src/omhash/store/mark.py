"""The mark of the last commit: a small file beside the database that a shorter log cannot fake.

SQLite takes a damaged log for a shorter one, and so would lose commits without a word. The
mark knows how many there were. It is not waited for: one that a power cut takes back is older,
and harmless.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import DamagedError
from .files import FRESH, told
from .records import seal

MARK = "generation"


def write_mark(folder: Path, generation: int) -> None:
    """Tell of a commit."""
    fresh = folder / f"{MARK}{FRESH}"
    with told(fresh, "write"):
        fresh.write_bytes(_content(generation))
        fresh.replace(folder / MARK)


def read_mark(folder: Path) -> int:
    """The last commit that the mark tells of; a `DamagedError` where it tells of none."""
    path = folder / MARK
    what = "is not what was written"
    try:
        content = path.read_bytes()
        generation = int(content.partition(b" ")[0])
        if content == _content(generation):
            return generation
    except ValueError:
        pass
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    raise DamagedError(f"{path}: {what}: check with repair makes it anew")


def least_generation(folder: Path) -> int:
    """What the mark tells, or 0: without it, the database is still all there."""
    try:
        return read_mark(folder)
    except DamagedError:
        return 0


def _content(generation: int) -> bytes:
    return f"{generation} {seal(generation)}".encode()
