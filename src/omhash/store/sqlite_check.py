"""Looking at every byte that matters of a collection in a folder, and mending what can be."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ..errors import OmhashError, StoreError
from .sqlite import DATABASE, GENERATION, SQLiteStore


def problems(path: Path, *, repair: bool = False) -> list[str]:
    """What is wrong with a collection, each with the name of the file; nothing if it is whole.

    Parameters
    ----------
    repair : bool
        Rebuild what follows from the rest: the database's own indexes and the mark of the last
        commit. What was repaired is told too.
    """
    found: list[str] = []
    if repair and not _mark_is_readable(path):
        (path / GENERATION).unlink()
        found.append(f"{path / GENERATION}: was not what was written; removed")
    try:
        with closing(SQLiteStore(path)) as store:
            found += _database_problems(store, repair=repair)
            with store.reading() as reading:
                references = (reading.head.state, reading.head.sketchers)
                reading.categories()
                reading.label_sets()
                reading.rounds()
                n_items = 0
                for block in reading.items_from(0):
                    n_items += len(reading.rows(block.numbers))
                if n_items != reading.head.counts["items"]:
                    found.append(
                        f"{path / DATABASE}: {n_items} items are there, and "
                        f"{reading.head.counts['items']} were committed"
                    )
            for reference in references:
                if reference is not None:
                    store.load_state(reference)
    except StoreError as error:
        found.append(str(error))
    except OmhashError as error:
        found.append(f"{path}: {error}")
    return found


def _database_problems(store: SQLiteStore, *, repair: bool) -> list[str]:
    found = store.integrity()
    if not found or not repair:
        return found
    store.reindex()
    left = store.integrity()
    return left or [f"{problem}; rebuilt" for problem in found]


def _mark_is_readable(path: Path) -> bool:
    try:
        SQLiteStore.generation_mark(path)
    except StoreError:
        return False
    return True
