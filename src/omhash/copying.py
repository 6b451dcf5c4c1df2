"""Copying a collection from one place to another, whatever engine keeps it there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import zip_longest
from os import PathLike
from typing import Any

import numpy as np

from .addresses import created, is_there, milvus_place, opened, same
from .errors import ParameterError, StoreError
from .store import Additions, Change, Head, Reading, Store
from .store.records import Numbers

_AT_ONCE = 10_000
"""Items that are read together."""


@dataclass(frozen=True)
class CopyReport:
    """What was copied, and compared with the source item by item.

    Attributes
    ----------
    items, rounds : int
        How many there are in both now.
    rounds_there_before : int
        How many an interrupted copy had left.
    """

    items: int
    rounds: int
    rounds_there_before: int


@dataclass(frozen=True)
class _Item:
    """All that is kept of an item, but its number."""

    key: str
    categories: tuple[int, ...]
    payload: dict[str, Any]
    body: bytes
    round: int


def copy(
    source: str | PathLike[str], target: str | PathLike[str], *, patience: float = 5.0
) -> CopyReport:
    """Copy a collection to a new place, round by round, and compare all of it.

    What was interrupted is gone on with: rounds that are there already are not written again.
    Nobody can write to either meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> import omhash
    >>> folder = tempfile.TemporaryDirectory()
    >>> omhash.Collection.create(f"{folder.name}/one", modalities={"image": 2}).close()
    >>> copy(f"{folder.name}/one", f"{folder.name}/other")
    CopyReport(items=0, rounds=0, rounds_there_before=0)
    >>> folder.cleanup()
    """
    if same(source, target):
        raise ParameterError("the source and the target are one place: name a new one to copy to")
    with ExitStack() as opening:
        one = opening.enter_context(closing(opened(source, patience=patience)))
        if not is_there(target):
            with one.reading() as reading:
                config = reading.head.config
            if milvus_place(target) is not None:
                config = {**config, "index": "exact"}  # Milvus has one of its own
            created(target, config).close()
        other = opening.enter_context(closing(opened(target, patience=patience)))
        opening.enter_context(one.writing())
        opening.enter_context(other.writing())
        before = _begun(one, other)
        with one.reading() as reading:
            for change in _changes(reading, before):
                with other.reading() as there:
                    head = there.head
                other.commit(head, change)
        _compare(one, other)
        with other.reading() as there:
            counts = there.head.counts
            return CopyReport(counts["items"], counts["rounds"], before)


def _begun(one: Store, other: Store) -> int:
    """Bring what was learned over; how many rounds are there already."""
    with one.reading() as source, other.reading() as target:
        if _parameters(source.head) != _parameters(target.head):
            raise _differs(other, "it was made with other parameters")
        rounds = target.rounds()
        if rounds != source.rounds()[: len(rounds)]:
            raise _differs(other, "it has rounds of its own")
        head, fresh = target.head, target.head.generation == 0
        if not fresh:
            # Only what a copy leaves is gone on with.
            if _states(one, source) != _states(other, target):
                raise _differs(other, "it has learned something else")
            return len(rounds)
        learned = {
            kind: other.save_state(kind, one.load_state(reference))
            for kind, reference in (
                ("state", source.head.state),
                ("sketchers", source.head.sketchers),
            )
            if reference is not None
        }
        change = Change(
            categories=source.categories(),
            state=learned.get("state"),
            sketchers=learned.get("sketchers"),
        )
    if change.categories or change.state or change.sketchers:
        other.commit(head, change)
    return 0


def _changes(reading: Reading, before: int) -> Iterator[Change]:
    """The rounds that are still to be copied, each with those of its items that are left."""
    rounds = reading.rounds()
    items = _items(reading)
    item = next(items, None)
    for number, report in enumerate(rounds, 1):
        own = []
        while item is not None and item.round == number:
            own.append(item)
            item = next(items, None)
        if number > before:
            yield Change(added=_additions(own) if own else None, round=report)
    if item is not None:
        raise StoreError(f"{reading.name}: an item is of round {item.round}, which is not there")


def _additions(items: list[_Item]) -> Additions:
    return Additions(
        [item.key for item in items],
        [item.categories for item in items],
        np.frombuffer(b"".join(item.body for item in items), np.uint8).reshape(len(items), -1),
        [json.dumps(item.payload, ensure_ascii=False) for item in items],
        {field for item in items for field in item.payload},
    )


def _items(reading: Reading) -> Iterator[_Item]:
    sets = reading.label_sets()
    for block in reading.items_from(0):
        for start in range(0, len(block.numbers), _AT_ONCE):
            numbers: Numbers = block.numbers[start : start + _AT_ONCE]
            rows = reading.rows(numbers)
            for number, body in zip(numbers.tolist(), block.bodies[start:], strict=False):
                row = rows[number]
                yield _Item(row.key, sets[row.labels], row.payload, body.tobytes(), row.round)


def _compare(one: Store, other: Store) -> None:
    """A `StoreError` that says what differs."""
    with one.reading() as source, other.reading() as target:
        for what, this, that in (
            ("parameters", _parameters(source.head), _parameters(target.head)),
            ("rounds", source.rounds(), target.rounds()),
            ("categories", _categories(source), _categories(target)),
            ("what was learned", _states(one, source), _states(other, target)),
        ):
            if this != that:
                raise _differs(other, f"{what} are not those of {one.address}")
        for left, right in zip_longest(_items(source), _items(target)):
            if left != right:
                told = left.key if left else right.key if right else ""
                raise _differs(other, f"the item {told!r} is not that of {one.address}")


def _parameters(head: Head) -> dict[str, Any]:
    """What was chosen at creation, but for how items are found: that is not of the items."""
    return {name: value for name, value in head.config.items() if name != "index"}


def _categories(reading: Reading) -> list[tuple[str, bytes]]:
    return [(name, code.tobytes()) for name, code in reading.categories().items()]


def _states(store: Store, reading: Reading) -> list[dict[str, Any]]:
    """The states that a head names, so that they can be compared."""
    return [
        {
            name: (value.dtype.str, value.shape, value.tobytes())
            if isinstance(value, np.ndarray)
            else value
            for name, value in store.load_state(reference).items()
        }
        for reference in reading.head.files
    ]


def _differs(store: Store, what: str) -> StoreError:
    return StoreError(f"{store.address}: {what}: name a new place to copy to")
