"""Deleting the rows of items that were removed, and codes that no item has any more."""

from __future__ import annotations

from collections.abc import Callable

from .engine import Engine
from .reading import MilvusReading
from .tables import RECORD_FIELDS, Tables, documents
from .tail import log_rows

_AT_ONCE = 1000


def delete_removed(
    engine: Engine, tables: Tables, reading: MilvusReading, refuse_overtaken: Callable[[], None]
) -> None:
    """Delete what no state that is still read counts; may be interrupted and begun again.

    Parameters
    ----------
    refuse_overtaken : function
        Raises where somebody else writes by now, who may need a code that nobody needed before.
    """
    counted = f'kind == "removed" and attempt <= {reading.head.generation}'
    # Not what the reading remembers: that has, for those who still read, what is long deleted.
    told = documents(log_rows(engine, tables, counted, level="Strong"), reading.name)
    aborted = reading.document["aborted"]
    removed = [n for _, row, numbers in told if row["attempt"] not in aborted for n in numbers]
    for start in range(0, len(removed), _AT_ONCE):
        part = removed[start : start + _AT_ONCE]
        rows = engine.query(tables.items, f"number in {part}", RECORD_FIELDS, level="Strong")
        if not rows:
            continue  # deleted before an interruption
        codes = {code.tobytes() for code in reading.codes_of(rows)}
        engine.delete(tables.items, f"number in {part}")
        others = reading.of_codes(sorted(codes), 1, None)
        lonely = [code for code, block in others.items() if not len(block.numbers)]
        if lonely:
            refuse_overtaken()
            listed = ",".join(f'"{code.hex()}"' for code in lonely)
            engine.delete(tables.codes, f"pk in [{listed}]")
    # Only now: who opens the collection before must still know what not to count.
    engine.delete(tables.log, counted)
