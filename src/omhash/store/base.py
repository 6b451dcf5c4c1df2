"""The contract of what keeps a collection: what is read, and what one commit changes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..codes import Codes
from .records import Bytes, Numbers
from .where import Clause, Where


@dataclass(frozen=True)
class Head:
    """What the last commit left: where everything else is found, and how much there must be.

    Attributes
    ----------
    generation : int
        Grows by one with every commit.
    config : dict
        What was chosen at creation.
    next_number : int
        The number of the next item; numbers are in order of arrival and never used again.
    state, sketchers : dict or None
        The files of the hasher's state and of the sketchers.
    counts : dict of table to int
        How many rows there are.
    """

    generation: int
    config: dict[str, Any]
    next_number: int
    state: dict[str, str] | None
    sketchers: dict[str, str] | None
    counts: dict[str, int]

    @property
    def files(self) -> list[dict[str, str]]:
        """References to all that is kept beside the items."""
        return [reference for reference in (self.state, self.sketchers) if reference is not None]


@dataclass(frozen=True, eq=False)
class Block:
    """Items as the index needs them: `bodies` are records without their checksums."""

    numbers: Numbers
    labels: Numbers
    bodies: Bytes


@dataclass(frozen=True)
class Row:
    """An item as a person sees it.

    Attributes
    ----------
    labels : int
        The number of the item's set of categories.
    """

    number: int
    key: str
    round: int
    labels: int
    payload: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Additions:
    """Items to store, in order of arrival.

    Attributes
    ----------
    label_sets : sorted category numbers of each item
    payloads : JSON text of each item
    fields : names of all fields of the payloads
    """

    keys: Sequence[str]
    label_sets: Sequence[tuple[int, ...]]
    bodies: Bytes
    payloads: Sequence[str]
    fields: Collection[str]


@dataclass(frozen=True, eq=False)
class Change:
    """What one commit does, all of it or nothing.

    Attributes
    ----------
    added : Additions, optional
    removed : array of item numbers
    categories : mapping of new category names to codes, in order
    round : mapping, optional
        The report of a round, with its "id".
    state, sketchers : references from `Store.save_state`, where they changed
    """

    added: Additions | None = None
    removed: Numbers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    categories: Mapping[str, Codes] = field(default_factory=dict)
    round: Mapping[str, Any] | None = None
    state: dict[str, str] | None = None
    sketchers: dict[str, str] | None = None


class Reading(ABC):
    """One consistent state of the store, whatever is written meanwhile.

    Attributes
    ----------
    name : str
        What errors call it.
    """

    head: Head
    name: str

    @abstractmethod
    def items_from(self, number: int) -> Iterator[Block]:
        """Items from a number on, in order."""

    @abstractmethod
    def items(self, numbers: Numbers) -> Block:
        """Items by number, in order; those that are not there are passed over."""

    @abstractmethod
    def label_sets(self, start: int = 0) -> dict[int, tuple[int, ...]]:
        """Category numbers of the sets of categories from a number on; 0 is the empty set."""

    @abstractmethod
    def categories(self) -> dict[str, Codes]:
        """Category names and their codes, in order."""

    @abstractmethod
    def rows(self, numbers: Numbers) -> dict[int, Row]:
        """Items by number."""

    @abstractmethod
    def numbers_of(self, keys: Sequence[str]) -> dict[str, int]:
        """Numbers of the keys that are there."""

    @abstractmethod
    def rounds(self) -> list[dict[str, Any]]:
        """The reports of all rounds, in order."""

    @abstractmethod
    def round(self, round_id: str) -> dict[str, Any] | None:
        """The report of one round, where there is one."""


class ScannedReading(Reading):
    """A state that an index in memory follows."""

    @abstractmethod
    def removed_since(self, generation: int) -> Numbers | None:
        """Items that later commits removed, in order; None where that is no longer known."""

    @abstractmethod
    def compiled(self, where: Where) -> Clause:
        """Conditions in the store's own words; an `InputError` where they make no sense."""

    @abstractmethod
    def matching(self, clause: Clause, start: int) -> Numbers:
        """Numbers, from `start` on, of the items that keep the conditions, in order."""

    @abstractmethod
    def inspect(self, start: int) -> None:
        """A `DamagedError` where keys or payloads, from a number on, are not as written."""


class Store(ABC):
    """Keeps a collection.

    Attributes
    ----------
    address : str
        Where it is, as a person would write it, without anything secret.
    finds : bool
        Whether it searches codes itself; otherwise an index in memory follows what it holds.
    """

    address: str
    finds: bool = False

    @abstractmethod
    def reading(self) -> AbstractContextManager[Reading]:
        """A consistent state to read from."""

    @abstractmethod
    def writing(self) -> AbstractContextManager[None]:
        """The right to write, of which there is one; a `BusyError` where somebody has it."""

    @abstractmethod
    def commit(self, head: Head, change: Change) -> None:
        """Apply a change to the state that `head` tells of, durably, all of it or nothing."""

    @abstractmethod
    def save_state(self, kind: str, state: Mapping[str, Any]) -> dict[str, str]:
        """Keep arrays and plain values; what is returned becomes valid with a commit."""

    @abstractmethod
    def load_state(self, reference: Mapping[str, str]) -> dict[str, Any]:
        """What was kept."""

    def superseded(self, head: Head) -> bool:
        """Whether there was a commit since: it removes files that no head names any more."""
        with self.reading() as latest:
            return latest.head.generation != head.generation

    @abstractmethod
    def purge(self) -> bool:
        """Leave nothing of removed items; False where somebody still reads an older state."""

    @abstractmethod
    def compact(self) -> bool:
        """Give the space of removed items back; False where somebody reads an older state."""

    @abstractmethod
    def backup(self, target: Path) -> None:
        """Copy the collection to a new folder; readers and writers go on meanwhile."""

    @abstractmethod
    def problems(self, *, repair: bool = False) -> list[str]:
        """What is wrong with the collection; nothing if it is whole."""

    @property
    @abstractmethod
    def nbytes(self) -> int | None:
        """Bytes on the disk; None where that cannot be known."""

    @abstractmethod
    def close(self) -> None:
        """Release everything."""
