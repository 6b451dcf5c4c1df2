"""Looking at every byte that matters of a collection in a folder, and mending what can be."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from ..errors import DamagedError, OmhashError, StoreError
from .mark import read_mark, write_mark
from .sqlite import DATABASE, SQLiteStore


def problems(path: Path, *, repair: bool = False) -> list[str]:
    """What is wrong with a collection, each with the name of the file; nothing if it is whole.

    Parameters
    ----------
    repair : bool
        Rebuild what follows from the rest: the database's own indexes and the mark of the last
        commit. What was repaired is told too.
    """
    found: list[str] = []
    try:
        with closing(SQLiteStore(path)) as store:
            found += _mark_problems(store, repair=repair)
            found += _index_problems(store, repair=repair)
            found += _state_problems(store)
            with store.reading() as reading:
                reading.categories()
                reading.label_sets()
                reading.rounds()
                reading.compiled({})  # which looks at the names of all fields
                reading.inspect(0)
                n_items = sum(len(block.numbers) for block in reading.items_from(0))
                if n_items != reading.head.counts["items"]:
                    found.append(
                        f"{path / DATABASE}: {n_items} items are there, and "
                        f"{reading.head.counts['items']} were committed"
                    )
    except StoreError as error:
        found.append(str(error))
    except OmhashError as error:
        found.append(f"{path / DATABASE}: {error}")
    return found


def _mark_problems(store: SQLiteStore, *, repair: bool) -> list[str]:
    try:
        read_mark(store.path)
    except DamagedError as error:
        if not repair:
            return [str(error)]
        with store.writing(), store.reading() as reading:
            write_mark(store.path, reading.head.generation)
        return [f"{error}; rebuilt"]
    return []


def _index_problems(store: SQLiteStore, *, repair: bool) -> list[str]:
    found = store.integrity()
    if not found or not repair:
        return found
    store.reindex()
    return store.integrity() or [f"{problem}; rebuilt" for problem in found]


def _state_problems(store: SQLiteStore) -> list[str]:
    while True:
        with store.reading() as reading:
            try:
                for reference in reading.head.files:
                    store.load_state(reference)
                return []
            except DamagedError as error:
                # A commit meanwhile removes the files of the state before.
                if not store.superseded(reading.head):
                    return [str(error)]
