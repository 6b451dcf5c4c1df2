"""A collection in memory: the hasher, the sketchers and the index, as of one generation."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .codes import Codes
from .errors import DamagedError
from .hashers.base import Hasher
from .index import ExactIndex, Index
from .learning.sketches import Sketcher
from .learning.views import Matrix, filled
from .store import Head, Reading, Store
from .store.records import Layout

Present = NDArray[np.bool_]


@dataclass(frozen=True)
class Sketches:
    """Sketchers of the modalities that have one so far, and how to make the others.

    Attributes
    ----------
    bits : dict of str to int
        Of every modality that gets sketches.
    """

    bits: dict[str, int]
    seed: int
    known: Mapping[str, Sketcher]

    def fitted(self, matrices: Mapping[str, Matrix]) -> Sketches:
        """With sketchers of modalities that are seen for the first time."""
        known = dict(self.known)
        for place, (name, bits) in enumerate(self.bits.items()):
            if name in known or name not in matrices:
                continue
            view = filled(name, matrices[name])
            if view.present.any():
                seed = np.random.SeedSequence([self.seed, place]).generate_state(1)[0]
                known[name] = Sketcher.fitted(view.matrix, view.present, bits, int(seed))
        return Sketches(self.bits, self.seed, known)

    def projected(
        self, matrices: Mapping[str, Matrix], n: int
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, Present]]:
        """Sketch projections of items, and which have the modality; zeros where none is known."""
        values = {name: np.zeros((n, bits), np.float32) for name, bits in self.bits.items()}
        present = {name: np.zeros(n, dtype=bool) for name in self.bits}
        for name, sketcher in self.known.items():
            if name in matrices:
                view = filled(name, matrices[name])
                values[name] = sketcher.project(view.matrix)
                present[name] = view.present
        return values, present

    def to_state(self) -> dict[str, Any]:
        """Arrays and plain values."""
        state: dict[str, Any] = {"known": list(self.known)}
        for place, sketcher in enumerate(self.known.values()):
            state |= sketcher.to_state(f"{place}")
        return state

    def with_state(self, state: Mapping[str, Any]) -> Sketches:
        """With the sketchers that `to_state` told of."""
        known = {
            name: Sketcher.from_state(f"{place}", state)
            for place, name in enumerate(state["known"])
        }
        return Sketches(self.bits, self.seed, known)


Loaded: TypeAlias = tuple[Hasher, Sketches]


class Snapshot:
    """What a collection holds in memory; `follow` brings it to a later generation.

    Attributes
    ----------
    hasher : Hasher
        Never changed, only replaced, so that who has it can go on using it.
    label_sets : dict of int to tuple of str
        Category names of every set of categories.
    """

    def __init__(self, hasher: Hasher, layout: Layout, seed: int) -> None:
        self.layout = layout
        self.hasher = hasher
        self.sketches = Sketches(layout.sketches, seed, {})
        self.index: Index = self._empty_index()
        self.categories: dict[str, Codes] = {}
        self.label_sets: dict[int, tuple[str, ...]] = {0: ()}
        self.generation = -1
        self.next_number = 0
        self._state: dict[str, str] | None = None
        self._sketchers: dict[str, str] | None = None

    @property
    def learned(self) -> bool:
        """Whether the hasher has learned anything."""
        return self._state is not None

    def loaded(
        self,
        head: Head,
        store: Store,
        blank: Hasher,
        learned: tuple[dict[str, str], Hasher] | None = None,
    ) -> Loaded:
        """The hasher and the sketchers of a head; nothing of the snapshot changes yet.

        Parameters
        ----------
        blank : Hasher
            One that has learned nothing, to copy.
        learned : reference and Hasher, optional
            A state that need not be loaded, because its hasher is at hand.
        """
        hasher, sketches = self.hasher, self.sketches
        if head.state is not None and head.state != self._state:
            if learned is not None and learned[0] == head.state:
                hasher = learned[1]
            else:
                hasher = copy.copy(blank).set_state(store.load_state(head.state))
        if head.sketchers is not None and head.sketchers != self._sketchers:
            sketches = sketches.with_state(store.load_state(head.sketchers))
        return hasher, sketches

    def follow(self, reading: Reading, loaded: Loaded) -> None:
        """Take over what was committed since."""
        head = reading.head
        self._follow_items(reading)
        if head.counts["categories"] != len(self.categories):
            self.categories = reading.categories()
        if head.counts["label_sets"] != len(self.label_sets) - 1:
            names = list(self.categories)
            self.label_sets = {
                number: tuple(names[place] for place in places)
                for number, places in reading.label_sets().items()
            }
        self.hasher, self.sketches = loaded
        self._state, self._sketchers = head.state, head.sketchers
        self.generation, self.next_number = head.generation, head.next_number

    def _follow_items(self, reading: Reading) -> None:
        removed = reading.removed_since(self.generation)
        # Whoever is interrupted from here on must start anew.
        self.generation = -1
        if removed is None:
            self.index, self.next_number = self._empty_index(), 0
        else:
            # What was added and removed since was never here.
            self.index.remove(removed[removed < self.next_number])
        for block in reading.items_from(self.next_number):
            self.index.add(block.numbers, *self.layout.unpacked(block.bodies))
            self.next_number = int(block.numbers[-1]) + 1
        if len(self.index) != reading.head.counts["items"]:
            raise DamagedError(
                f"the store holds {len(self.index)} items, and {reading.head.counts['items']} "
                "were committed: restore the collection from a backup"
            )

    def _empty_index(self) -> Index:
        return ExactIndex(self.layout.n_bits, self.layout.sketches)
