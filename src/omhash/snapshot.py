"""What a collection has learned, in memory: hasher, sketchers, categories, of one generation."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from .codes import Codes, unpack
from .hashers.base import Hasher
from .index import Queries
from .learning.sketches import Sketchers
from .learning.views import Matrix, n_rows
from .store import Block, Head, Reading, Store
from .store.records import Layout

Reference: TypeAlias = dict[str, str] | None
Loaded: TypeAlias = tuple[tuple[Reference, Hasher], tuple[Reference, Sketchers]]
"""The hasher and the sketchers, each with the reference of the file that keeps it."""


class Snapshot:
    """What a collection holds in memory; `follow` brings it to a later generation.

    Attributes
    ----------
    generation : int
        Of the last commit that it knows; -1 where it has to begin anew.
    label_sets : dict of int to tuple of str
        Category names of every set of categories.
    """

    def __init__(self, hasher: Hasher, layout: Layout, seed: int) -> None:
        self.layout = layout
        self.categories: dict[str, Codes] = {}
        self.label_sets: dict[int, tuple[str, ...]] = {0: ()}
        self.generation = -1
        self._loaded: Loaded = (None, hasher), (None, Sketchers(layout.sketches, seed, {}))

    @property
    def hasher(self) -> Hasher:
        """The hasher: never changed, only replaced, so that who has it can go on using it."""
        return self._loaded[0][1]

    @property
    def sketchers(self) -> Sketchers:
        """The sketchers, likewise."""
        return self._loaded[1][1]

    @property
    def learned(self) -> bool:
        """Whether the hasher has learned anything."""
        return self._loaded[0][0] is not None

    def loaded(
        self,
        head: Head,
        store: Store,
        blank: Hasher,
        learned: tuple[Reference, Hasher] | None = None,
    ) -> Loaded:
        """The hasher and the sketchers of a head; nothing of the snapshot changes yet.

        Parameters
        ----------
        blank : Hasher
            One that has learned nothing, to copy.
        learned : reference and Hasher, optional
            A state that need not be loaded, because its hasher is at hand.
        """
        hasher, sketchers = self._loaded  # read once: another thread may lead the snapshot on
        if learned is not None and learned[0] == head.state:
            hasher = learned
        elif head.state is not None and head.state != hasher[0]:
            hasher = head.state, copy.copy(blank).set_state(store.load_state(head.state))
        if head.sketchers is not None and head.sketchers != sketchers[0]:
            state = store.load_state(head.sketchers)
            sketchers = head.sketchers, sketchers[1].with_state(state)
        return hasher, sketchers

    def follow(self, reading: Reading, loaded: Loaded) -> None:
        """Take over what was committed since."""
        head = reading.head
        if head.counts["categories"] != len(self.categories):
            self.categories = reading.categories()
        if head.counts["label_sets"] != len(self.label_sets) - 1:
            names = list(self.categories)
            for number, places in reading.label_sets(len(self.label_sets)).items():
                self.label_sets[number] = tuple(names[place] for place in places)
        self._loaded = loaded
        self.generation = head.generation

    def asked(
        self,
        matrices: Mapping[str, Matrix],
        rank: str,
        detail: float,
        emphasis: Mapping[str, float] | None = None,
    ) -> Queries:
        """Queries that views make."""
        n = n_rows(matrices)
        if self.learned:
            hasher = self.hasher
            projections = (
                hasher.project_with(matrices, emphasis) if emphasis else hasher.project(matrices)
            )
        else:
            projections = np.zeros((n, self.layout.n_bits), np.float32)
        if emphasis:
            # What is not to count does not count in the sketches either.
            matrices = {name: m for name, m in matrices.items() if emphasis.get(name, 1) != 0}
        # Sketches that do not count are not worth their time, which is most of a query's.
        values, present = self.sketchers.projected(matrices, n) if detail else ({}, {})
        return Queries.of(
            projections,
            rank=rank,
            sketches={name: rows for name, rows in values.items() if name in matrices},
            present={name: has for name, has in present.items() if name in matrices},
            detail=detail,
        )

    def asked_like(self, item: Block, rank: str, detail: float) -> Queries:
        """The query that an item's own code and sketches make."""
        codes, sketches, present = self.layout.unpacked(item.bodies)
        return Queries.of(
            unpack(codes),
            rank=rank,
            sketches={name: unpack(rows) for name, rows in sketches.items()},
            present=present,
            detail=detail,
        )
