"""Exact search: every code is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..codes import Codes, hamming, unpack
from ..errors import InputError
from .base import Additions, Found, Index, Numbers, Present, Queries


class ExactIndex(Index):
    """The exact engine."""

    def __init__(self, n_bits: int, sketches: Mapping[str, int] | None = None) -> None:
        super().__init__(n_bits, sketches)
        self._last = -1
        self._all = self._checked_additions(
            -1,
            np.zeros(0, np.int64),
            np.zeros((0, self.n_bits // 8), np.uint8),
            {m: np.zeros((0, bits // 8), np.uint8) for m, bits in self.sketches.items()},
            None,
        )

    def add(
        self,
        numbers: Numbers,
        codes: Codes,
        sketches: Mapping[str, Codes] | None = None,
        present: Mapping[str, Present] | None = None,
    ) -> None:
        """Add items."""
        new = self._checked_additions(self._last, numbers, codes, sketches, present)
        self._all = Additions(
            np.concatenate([self._all.numbers, new.numbers]),
            np.concatenate([self._all.codes, new.codes]),
            {m: np.concatenate([s, new.sketches[m]]) for m, s in self._all.sketches.items()},
            {m: np.concatenate([s, new.present[m]]) for m, s in self._all.present.items()},
        )
        if len(new):
            self._last = int(new.numbers[-1])

    def remove(self, numbers: Numbers) -> None:
        """Remove items."""
        there = np.isin(numbers, self._all.numbers)
        if not there.all():
            raise InputError(f"item {numbers[np.argmin(there)]} is not in the index")
        if len(np.unique(numbers)) < len(numbers):
            raise InputError("an item is to be removed twice")
        left = ~np.isin(self._all.numbers, numbers)
        self._all = Additions(
            self._all.numbers[left],
            self._all.codes[left],
            {m: s[left] for m, s in self._all.sketches.items()},
            {m: s[left] for m, s in self._all.present.items()},
        )

    def search(self, queries: Queries, k: int, *, keep: Numbers | None = None) -> list[Found]:
        """Search by brute force."""
        keep = self._check_search(queries, k, keep)
        items = self._all
        rows = (
            np.arange(len(items)) if keep is None else np.flatnonzero(np.isin(items.numbers, keep))
        )
        found = []
        for q in range(len(queries)):
            signs = unpack(items.codes[rows]).astype(np.int64)
            scores = (signs @ queries.grid[q]) / queries.lengths[q]
            added = np.zeros(len(rows))
            for column, (name, grid) in enumerate(queries.sketches.items()):
                signs = unpack(items.sketches[name][rows]).astype(np.int64)
                units = np.where(items.present[name][rows], signs @ grid[q], 0)
                added = added + queries.weights[q, column] * units
            scores = scores + added
            best = np.argsort(-scores, kind="stable")[:k]
            distances = hamming(queries.codes[q : q + 1], items.codes[rows[best]])[0]
            found.append(Found(items.numbers[rows[best]], scores[best], distances.astype(np.int64)))
        return found

    def __len__(self) -> int:
        return len(self._all)

    @property
    def n_distinct(self) -> int:
        """The number of distinct codes."""
        return len(np.unique(self._all.codes, axis=0))

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._all.codes.nbytes + self._all.numbers.nbytes

    def report(self) -> dict[str, Any]:
        """What the index holds."""
        return {
            "engine": "exact",
            "items": len(self),
            "distinct_codes": self.n_distinct,
            "bytes": self.nbytes,
        }
