"""The items of an index in memory: distinct codes, the items of each, their sketches.

All is appended to arrays that grow by a quarter when full, so that adding costs the same
however many items there are. Removed items leave holes, and once most of an array is holes it
is written anew without them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes
from ..errors import InputError
from ._postings import EMPTY, Pool, Rows, Runs, Slots, Words, append, bury, hashed, intern, repack
from .base import Additions, Numbers

_BLOCK = 1 << 16
"""Items whose codes are looked up before room for further codes is seen to."""

_FEW = 1024
"""Holes that are never worth writing anything anew."""


class Table:
    """Items by code.

    Attributes
    ----------
    words : array of uint64, shape (words of a code, room)
        The codes, one a column.
    runs, pool
        Each code's items, and their sketches: `runs` says where in the pool.
    n_codes, n_slots : int
        How many codes and slots are in use.
    n_items, n_distinct : int
        How many of the slots hold an item, and how many of the codes have one.
    last : int
        The largest number so far.
    """

    def __init__(self, n_bits: int, sketches: dict[str, int]) -> None:
        self._n_bytes = n_bits // 8
        self.word_counts = {name: n_words(bits) for name, bits in sketches.items()}
        self.n_codes = self.n_slots = self.n_items = self.n_distinct = 0
        self.last = -1
        self.words = np.empty((n_words(n_bits), 0), np.uint64)
        self.runs = Runs(*(np.empty(0, np.int32) for _ in Runs._fields))
        self.slots = Slots(np.empty(0, np.int64), np.empty(0, np.int32), np.empty(0, np.int32))
        self.pool, self._end = self._pool(0), 0
        self._places = np.full(_FEW, EMPTY, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes of memory, room for more included."""
        arrays = (self.words, self._places, *self.runs, *self.pool, *self.slots)
        return sum(array.nbytes for array in arrays)

    def add(self, new: Additions) -> None:
        """Append items."""
        rows = self._interned(as_words(new.codes))
        first, n_slots = self.n_slots, self.n_slots + len(new)
        self.slots = Slots(*(_grown(array, n_slots) for array in self.slots))
        self.slots.numbers[first:n_slots] = new.numbers
        self.slots.rows[first:n_slots] = rows
        items = self._pool(len(new))
        items.slots[:] = np.arange(first, n_slots)
        at = 0
        for column, (name, width) in enumerate(self.word_counts.items()):
            items.sketches[:, at : at + width] = as_words(new.sketches[name])
            items.present[:, column] = new.present[name]
            at += width
        done = 0
        while done < len(rows):
            done, self._end, filled = append(
                items, done, self.slots, self.runs, self.pool, self._end
            )
            self.n_distinct += filled
            if done < len(rows):
                self._make_room(2 * int(self.runs.length[rows[done]]) + 1)
        self.n_slots = n_slots
        self.n_items += len(new)
        self.last = int(new.numbers[-1]) if len(new) else self.last

    def items(self) -> tuple[Numbers, Codes]:
        """Numbers and codes of all items, in order of arrival."""
        there = np.flatnonzero(self.slots.rows[: self.n_slots] != EMPTY)
        words = self.words[:, self.slots.rows[there]].T
        packed = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
        return self.slots.numbers[there], np.ascontiguousarray(packed[:, : self._n_bytes])

    def remove(self, numbers: Numbers) -> None:
        """Remove items, all of which must be there."""
        used = self.slots.numbers[: self.n_slots]
        slots = np.searchsorted(used, numbers)
        there = slots < self.n_slots
        there[there] = used[slots[there]] == numbers[there]
        there[there] = self.slots.rows[slots[there]] != EMPTY
        if not there.all():
            raise InputError(f"item {numbers[int(np.argmin(there))]} is not in the index")
        self.n_distinct -= bury(slots, self.slots, self.runs, self.pool)
        self.n_items -= len(numbers)
        holes = (
            (self.n_slots - self.n_items, self.n_slots),
            (
                self.n_codes - self.n_distinct,
                self.n_codes,
            ),
        )
        if any(most > _FEW and 2 * most > of for most, of in holes):
            self._close_holes()

    def _interned(self, items: Words) -> Rows:
        """The rows of the items' codes, new codes appended."""
        rows = np.empty(len(items), np.int32)
        for start in range(0, len(items), _BLOCK):
            block = slice(start, start + _BLOCK)
            n_codes = self.n_codes + len(rows[block])
            self.words = _grown(self.words, n_codes, axis=1)
            self.runs = Runs(*(_grown(array, n_codes) for array in self.runs))
            if 2 * n_codes > len(self._places):
                self._places = self._hashed(2 * n_codes)
            self.n_codes = intern(
                items[block], self.words, self.runs, self._places, self.n_codes, rows[block]
            )
        return rows

    def _hashed(self, room: int) -> Rows:
        places = np.full(1 << max(room - 1, _FEW).bit_length(), EMPTY, np.int32)
        hashed(self.words, self.n_codes, places)
        return places

    def _make_room(self, more: int) -> None:
        """Make room at the pool's end, without what runs left behind where that is most."""
        if self._end > 2 * int(self.runs.live[: self.n_codes].sum()):
            self._repack()
        self.pool = Pool(*(_grown(array, self._end + more) for array in self.pool))

    def _repack(self) -> None:
        live = self.runs.live[: self.n_codes]
        packed = self._pool(int((live + live // 4).sum()))
        self._end = repack(self.slots, self.runs, self.n_codes, self.pool, packed)
        self.pool = packed

    def _pool(self, n: int) -> Pool:
        n_sketch_words = sum(self.word_counts.values())
        return Pool(
            np.zeros(n, np.int32),
            np.empty((n, n_sketch_words), np.uint64),
            np.empty((n, len(self.word_counts)), np.bool_),
        )

    def _close_holes(self) -> None:
        """Write everything anew without removed items and codes that have none left."""
        self._repack()
        stay = self.slots.rows[: self.n_slots] != EMPTY
        filled = self.runs.live[: self.n_codes] > 0
        slots, codes = (np.cumsum(kept, dtype=np.int32) - 1 for kept in (stay, filled))
        numbers, rows, places = (array[: self.n_slots][stay] for array in self.slots)
        self.slots = Slots(numbers, codes[rows], places)
        self.pool.slots[:] = slots[self.pool.slots]
        self.words = np.ascontiguousarray(self.words[:, : self.n_codes][:, filled])
        self.runs = Runs(*(array[: self.n_codes][filled] for array in self.runs))
        self.n_slots, self.n_codes = self.n_items, self.n_distinct
        self._places = self._hashed(2 * self.n_codes)


def n_words(bits: int) -> int:
    """How many words of 64 bits some bits take."""
    return -(-bits // 64)


def as_words(codes: Codes) -> Words:
    """Rows of bytes as rows of words, the last one filled up with zeros."""
    n, width = codes.shape
    padded = np.zeros((n, 8 * n_words(8 * width)), np.uint8)
    padded[:, :width] = codes
    return padded.view("<u8").astype(np.uint64, copy=False)


def _grown(array: NDArray[Any], n: int, axis: int = 0) -> NDArray[Any]:
    """The array, or a longer copy that has room for n and some more."""
    length = array.shape[axis]
    if n <= length:
        return array
    shape = list(array.shape)
    shape[axis] = max(n, length + length // 4, _FEW)
    longer = np.empty(shape, array.dtype)
    longer[tuple(map(slice, array.shape))] = array
    return longer
