"""Compiled kernels that write the table: codes, the items of each code, removals.

The items of a code are a run in one pool, in order of arrival, each with its sketches, so that
what is searched together lies together. A run that is full moves to the pool's end with half as
much room again; a removed item stays in its run as the complement of its slot (a negative
number) until half of the run is such.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel

Words = NDArray[np.uint64]
Rows = NDArray[np.int32]

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
EMPTY = -1


class Runs(NamedTuple):
    """Where the items of each code are.

    Attributes
    ----------
    start, length, room : arrays of int32
        Each code's run in the pool: where it begins, how much is used, how long it may get.
    live : array of int32
        How many of a run's items are not removed.
    """

    start: Rows
    length: Rows
    room: Rows
    live: Rows


class Slots(NamedTuple):
    """The items, one slot each in order of arrival.

    Attributes
    ----------
    numbers : array of int64
    rows : array of int32
        Rows of the items' codes; -1 for a removed item.
    places : array of int32
        Where in the pool the items are.
    """

    numbers: NDArray[np.int64]
    rows: Rows
    places: Rows


class Pool(NamedTuple):
    """The items, those of a code side by side; what is in no run means nothing.

    Attributes
    ----------
    slots : array of int32
    sketches : array of uint64, shape (n, words of all modalities)
    present : array of bool, shape (n, modalities)
        Which modalities the items have.
    """

    slots: Rows
    sketches: Words
    present: NDArray[np.bool_]


@kernel
def _home(words: Any, last: Any) -> Any:
    """The place at which the search for a code begins in a hash table of last + 1 places."""
    mixed = _MIX
    for word in range(len(words)):
        mixed = (mixed ^ words[word]) * _MIX
        mixed ^= mixed >> _SHIFT
    return np.int64(mixed & np.uint64(last))


@kernel
def intern(items: Words, words: Words, runs: Runs, places: Rows, n_codes: int, rows: Rows) -> int:
    """Find each item's code in the table or append it; the number of codes then.

    Parameters
    ----------
    items : array of shape (n, n_words)
    words : array of shape (n_words, room for codes)
    places : array of int32
        Hash table of code rows, a power of two long and at most half full.
    rows : array of int32, shape (n,)
        Filled with the items' code rows.
    """
    last = len(places) - 1
    n_words = len(words)
    for item in range(len(items)):
        place = _home(items[item], last)
        while True:
            row = places[place]
            if row == EMPTY:
                row = n_codes
                n_codes += 1
                places[place] = row
                for word in range(n_words):
                    words[word, row] = items[item, word]
                runs.start[row] = runs.length[row] = runs.room[row] = runs.live[row] = 0
                break
            same = True
            for word in range(n_words):
                same &= words[word, row] == items[item, word]
            if same:
                break
            place = (place + 1) & last
        rows[item] = row
    return n_codes


@kernel
def hashed(words: Words, n_codes: int, places: Rows) -> None:
    """Fill an empty hash table with the rows of all codes."""
    last = len(places) - 1
    for row in range(n_codes):
        place = _home(words[:, row], last)
        while places[place] != EMPTY:
            place = (place + 1) & last
        places[place] = row


@kernel
def append(
    new: Pool, done: int, slots: Slots, runs: Runs, pool: Pool, end: int
) -> tuple[int, int, int]:
    """Append items to the runs of their codes, until the pool has no room.

    Parameters
    ----------
    new : Pool
        The items, in order; their slots know their rows already.
    done : int
        How many of them were appended before.
    end : int
        How much of the pool is used.

    Returns
    -------
    done, end : int
        The same now.
    filled : int
        How many codes had no item before.
    """
    filled = 0
    for item in range(done, len(new.slots)):
        row = slots.rows[new.slots[item]]
        length = runs.length[row]
        if length == runs.room[row]:
            room = length + length // 2 + 1
            if end + room > len(pool.slots):
                return item, end, filled
            start = runs.start[row]
            for i in range(length):
                _move(pool, start + i, pool, end + i, slots.places)
            runs.start[row] = end
            runs.room[row] = room
            end += room
        _move(new, item, pool, runs.start[row] + length, slots.places)
        runs.length[row] += 1
        filled += runs.live[row] == 0
        runs.live[row] += 1
    return len(new.slots), end, filled


@kernel
def bury(dead: NDArray[np.int64], slots: Slots, runs: Runs, pool: Pool) -> int:
    """Remove the items in some slots; how many codes have none left by that."""
    emptied = 0
    for slot in dead:
        row = slots.rows[slot]
        slots.rows[slot] = EMPTY
        pool.slots[slots.places[slot]] = ~slot
        runs.live[row] -= 1
        emptied += runs.live[row] == 0
        start, length = runs.start[row], runs.length[row]
        if 2 * runs.live[row] < length:
            runs.length[row] = _squeezed(pool, start, length, pool, start, slots.places)
    return emptied


@kernel
def repack(slots: Slots, runs: Runs, n_codes: int, pool: Pool, packed: Pool) -> int:
    """Copy all runs to another pool without what is dead; how much of it is used then."""
    end = 0
    for row in range(n_codes):
        start, length = runs.start[row], runs.length[row]
        length = _squeezed(pool, start, length, packed, end, slots.places)
        runs.start[row] = end
        runs.length[row] = length
        runs.room[row] = length + length // 4
        end += runs.room[row]
    return end


@kernel
def _squeezed(pool: Any, start: Any, length: Any, target: Any, at: Any, places: Any) -> Any:
    """Copy a run's live items to a place that is not behind it; their number."""
    count = 0
    for i in range(start, start + length):
        if pool.slots[i] >= 0:
            _move(pool, i, target, at + count, places)
            count += 1
    return count


@kernel
def _move(source: Any, at: Any, target: Any, to: Any, places: Any) -> None:
    """Copy what is in one place of a pool to another, where its slot then finds it."""
    slot = target.slots[to] = source.slots[at]
    if slot >= 0:
        places[slot] = to
    for word in range(source.sketches.shape[1]):
        target.sketches[to, word] = source.sketches[at, word]
    for modality in range(source.present.shape[1]):
        target.present[to, modality] = source.present[at, modality]


@kernel
def find(slots: Slots, n: int, wanted: NDArray[np.int64], rows: Rows, places: Rows) -> int:
    """Fill the rows and places of those wanted numbers that are in the first n slots; how many.

    Both kinds of numbers increase. As they mostly follow each other without a gap, a slot is
    looked for as far after the last one as the numbers are apart, then by bisection.
    """
    if n == 0:
        return 0
    numbers = slots.numbers
    dense = numbers[n - 1] - numbers[0] == n - 1
    count = low = 0
    known = numbers[0]  # the number in slot `low`
    for number in wanted:
        slot = low + (number - known)
        if slot < low:
            continue
        if not dense and (slot >= n or numbers[slot] != number):
            high = min(slot, n - 1)
            while low < high:
                middle = (low + high) // 2
                if numbers[middle] < number:
                    low = middle + 1
                else:
                    high = middle
            slot, known = low, numbers[low]
            if known != number:
                continue
        if slot >= n:
            break
        rows[count], places[count] = slots.rows[slot], slots.places[slot]
        count += rows[count] != EMPTY
        low, known = slot, number
    return count


@kernel
def increases(numbers: NDArray[np.int64]) -> bool:
    """Whether each number is larger than the one before."""
    fails = 0
    for i in range(1, len(numbers)):
        fails += numbers[i] <= numbers[i - 1]
    return fails == 0
