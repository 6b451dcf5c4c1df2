"""Compiled kernels of the search.

With x the bits in which a code differs from a query's signs, the units of its score are
``Σ|g| - 2 cost`` where the cost is ``Σ x_j |g_j|``. The scan rounds ``|g_j| ≈ step · h_j`` with
h of few bits (one, for Hamming ranking, where nothing is lost): the *level* ``Σ x_j h_j`` of a
code is a few population counts, one a bit of h. The cost lies in
``[step · level - under, step · level + over]``, under and over the sums of the rounding errors,
so a query's best are among the codes whose level is little above that of the k-th, and only
those are scored exactly, best level first.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..popcount import popcount
from ._postings import Rows, Runs, Words
from .scores import CODE_BITS, SKETCH_BITS, Floats, Grid

BLOCK = 2048
"""Entries whose levels are found at a time: they stay in the nearest cache."""

GROUP = 64
"""Entries that are passed over at once where none is near."""

PLANES = 4
_STEP = -(-((1 << CODE_BITS) - 1) // ((1 << PLANES) - 1))
"""The largest value of the grid is the largest h times this, but for rounding."""


class Items(NamedTuple):
    """What is searched: see `table`.

    Attributes
    ----------
    entries : array of int32
        What is scanned: all codes; or these rows of codes, or these slots.
    kind : int
        `ALL_CODES`, `SOME_CODES` or `SOME_SLOTS`.
    """

    entries: Rows
    kind: int
    words: Words
    runs: Runs
    pool: Rows
    numbers: NDArray[np.int64]
    rows: Rows
    sketches: Words
    present: NDArray[np.bool_]


ALL_CODES, SOME_CODES, SOME_SLOTS = 0, 1, 2


class Asked(NamedTuple):
    """Queries, one a row; the sketches of all modalities side by side, in whole words.

    Attributes
    ----------
    first, last : arrays of int64
        Which words of a sketch row belong to each modality that is asked for.
    columns : array of int64
        Its column among the items' modalities.
    """

    codes: Words
    grid: Grid
    lengths: Floats
    sketches: Grid
    weights: Floats
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    columns: NDArray[np.int64]


class Space(NamedTuple):
    """Working space of one thread: an element an entry, and a block of words."""

    levels: NDArray[np.uint16]
    near: Rows
    order: Rows
    block: Words


class Best(NamedTuple):
    """The best items of each query, one row a query; while it is searched, a heap of slots."""

    numbers: NDArray[np.int64]
    scores: Floats
    distances: NDArray[np.int64]


@njit(nogil=True, cache=True)
def search(
    items: Items, n_entries: int, asked: Asked, first: int, last: int, space: Space, best: Best
) -> None:
    """Fill `best` for the queries from `first` to `last`.

    There must be as many items as `best` has columns.
    """
    for query in range(first, last):
        _search(items, n_entries, asked, query, space, best.scores[query], best.numbers[query])
        for i in range(best.numbers.shape[1]):
            slot = best.numbers[query, i]
            row = items.rows[slot]
            distance = 0
            for word in range(len(items.words)):
                distance += popcount(items.words[word, row] ^ asked.codes[query, word])
            best.distances[query, i] = distance
            best.numbers[query, i] = items.numbers[slot]


@njit(nogil=True, cache=True)
def _search(
    items: Any, n: Any, asked: Any, query: Any, space: Any, scores: Any, slots: Any
) -> None:
    n_words = len(items.words)
    code, length = asked.codes[query], asked.lengths[query]
    sizes = np.abs(asked.grid[query])
    coarse, step, under, over = _rounded(sizes)
    planes = _planes(coarse, 1 if step == 1 else PLANES, n_words)
    exact_planes = _planes(sizes, 1 if step == 1 else CODE_BITS, n_words)
    total, largest = sizes.sum(), coarse.sum()

    marks = asked.sketches[query]
    mark_signs = _planes((marks > 0).astype(np.int32), 1, items.sketches.shape[1])[0]
    mark_planes = _planes(np.abs(marks), SKETCH_BITS, items.sketches.shape[1])
    weights = asked.weights[query]
    mark_totals = np.zeros(len(weights), np.int64)
    most = 0.0
    for m in range(len(weights)):
        mark_totals[m] = np.abs(marks[64 * asked.first[m] : 64 * asked.last[m]]).sum()
        most += weights[m] * mark_totals[m]

    found, done = 0, -1
    count, reach = _scan(
        items, n, code, planes, (under + over) // step, largest, len(scores), space
    )
    while True:
        for i in range(_by_level(space, count, done, reach)):
            entry = space.order[i]
            level = np.int64(space.levels[entry])
            bound = (total - 2 * (step * level - under)) / length
            if found == len(scores) and bound + most < scores[0]:
                break
            row, start, stop = _run(items, entry)
            cost = level
            if step > 1:
                cost = _weighted(items.words[:, row], code, exact_planes, 0, n_words)
            code_score = (total - 2 * cost) / length
            if found == len(scores) and code_score + most < scores[0]:
                continue
            for at in range(start, stop):
                slot = items.entries[entry] if items.kind == SOME_SLOTS else items.pool[at]
                if slot < 0:
                    continue
                score = code_score
                if len(weights):
                    added = 0.0
                    for m in range(len(weights)):
                        if items.present[slot, asked.columns[m]]:
                            units = mark_totals[m] - 2 * _weighted(
                                items.sketches[slot],
                                mark_signs,
                                mark_planes,
                                asked.first[m],
                                asked.last[m],
                            )
                            added += weights[m] * units
                    score += added
                if found < len(scores):
                    _push(scores, slots, found, score, slot)
                    found += 1
                elif _worse(scores[0], slots[0], score, slot):
                    _sink(scores, slots, len(scores), score, slot)
                elif not len(weights):
                    break  # what follows is of the same score, and later
        done = reach
        while reach < largest and (
            found < len(scores)
            or (total - 2 * (step * (reach + 1) - under)) / length + most >= scores[0]
        ):
            reach += 1
        if reach == done:
            break
        count = _between(space, n, done, reach)
    for left in range(len(scores) - 1, 0, -1):
        score, slot = scores[left], slots[left]
        scores[left], slots[left] = scores[0], slots[0]
        _sink(scores, slots, left, score, slot)


@njit(nogil=True, cache=True)
def _rounded(sizes: Any) -> Any:
    """Whole numbers as multiples of a step, and how far the sums of any of them may be off."""
    step = _STEP if sizes.max() > 1 else 1
    coarse = np.minimum((sizes + step // 2) // step, (1 << PLANES) - 1)
    under = over = 0
    for j in range(len(sizes)):
        error = sizes[j] - step * coarse[j]
        under += max(-error, 0)
        over += max(error, 0)
    return coarse, step, under, over


@njit(nogil=True, cache=True)
def _planes(sizes: Any, n_planes: Any, n_words: Any) -> Any:
    """The bits of whole numbers, one row of words a bit, in the order of packed codes."""
    planes = np.zeros((n_planes, n_words), np.uint64)
    for j in range(len(sizes)):
        place = np.uint64((j & 56) + 7 - (j & 7))
        for t in range(n_planes):
            planes[t, j >> 6] |= np.uint64((sizes[j] >> t) & 1) << place
    return planes


@njit(nogil=True, cache=True)
def _weighted(words: Any, query: Any, planes: Any, first: Any, last: Any) -> Any:
    """The sum of the sizes of those bits in which two rows of words differ."""
    cost = 0
    for word in range(first, last):
        differs = words[word] ^ query[word]
        for t in range(len(planes)):
            cost += popcount(differs & planes[t, word]) << t
    return cost


@njit(nogil=True, cache=True)
def _run(items: Any, entry: Any) -> Any:
    """The row of an entry's code, and where in the pool its items are (one, for a slot)."""
    if items.kind == SOME_SLOTS:
        return items.rows[items.entries[entry]], 0, 1
    row = items.entries[entry] if items.kind == SOME_CODES else entry
    start = items.runs.start[row]
    return row, start, start + items.runs.length[row]


@njit(nogil=True, cache=True)
def _scan(
    items: Any, n: Any, code: Any, planes: Any, window: Any, largest: Any, k: Any, space: Any
) -> Any:
    """Find all levels, and the entries near enough to be among the k best by code alone.

    Returns
    -------
    count : int
        How many entries are in `space.near`.
    reach : int
        All entries up to this level are among them.
    """
    counts = np.zeros(largest + 1, np.int64)
    level, within, count = largest, 0, 0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        space.levels[start:stop] = 0
        for word in range(len(code)):
            if items.kind == ALL_CODES:
                _add_levels(
                    items.words[word], start, code[word], planes[:, word], space.levels, start, stop
                )
                continue
            block = space.block[word]
            for i in range(start, stop):
                row = items.entries[i]
                if items.kind == SOME_SLOTS:
                    row = items.rows[row]
                block[i - start] = items.words[word, row]
            _add_levels(block, 0, code[word], planes[:, word], space.levels, start, stop)
        for group in range(start, stop, GROUP):
            end = min(group + GROUP, stop)
            if _least(space.levels, group, end) > level + window:
                continue
            for i in range(group, end):
                if space.levels[i] > level + window:
                    continue
                live = 1
                if items.kind != SOME_SLOTS:
                    row = items.entries[i] if items.kind == SOME_CODES else i
                    live = items.runs.live[row]
                space.near[count] = i
                count += 1
                counts[space.levels[i]] += live
                if space.levels[i] <= level:
                    within += live
                    while within - counts[level] >= k:
                        within -= counts[level]
                        level -= 1
    return count, min(level + window, largest)


@njit(nogil=True, cache=True)
def _add_levels(
    words: Any, offset: Any, query: Any, planes: Any, levels: Any, start: Any, stop: Any
) -> None:
    """Add one word's part to the levels of a block of codes."""
    offset -= start
    if len(planes) == 1:
        plane = planes[0]
        for i in range(start, stop):
            levels[i] += popcount((words[offset + i] ^ query) & plane)
    else:
        for i in range(start, stop):
            differs = words[offset + i] ^ query
            level = 0
            for t in range(PLANES):
                level += popcount(differs & planes[t]) << t
            levels[i] += level


@njit(nogil=True, cache=True)
def _least(levels: Any, start: Any, stop: Any) -> Any:
    least = levels[start]
    for i in range(start, stop):
        least = min(least, levels[i])
    return least


@njit(nogil=True, cache=True)
def _between(space: Any, n: Any, above: Any, reach: Any) -> Any:
    """Find the entries of levels above one up to another; how many are in `space.near`."""
    count = 0
    for group in range(0, n, GROUP):
        end = min(group + GROUP, n)
        if _least(space.levels, group, end) > reach:
            continue
        for i in range(group, end):
            space.near[count] = i
            count += above < space.levels[i] <= reach
    return count


@njit(nogil=True, cache=True)
def _by_level(space: Any, count: Any, above: Any, reach: Any) -> Any:
    """Fill `space.order` with the entries near of levels above one up to another, lowest first."""
    ends = np.zeros(reach - above + 1, np.int64)
    for i in range(count):
        level = space.levels[space.near[i]]
        if level <= reach:
            ends[level - above] += 1
    for level in range(1, len(ends)):
        ends[level] += ends[level - 1]
    for i in range(count):
        entry = space.near[i]
        level = space.levels[entry]
        if level <= reach:
            space.order[ends[level - above - 1]] = entry
            ends[level - above - 1] += 1
    return ends[-1]


@njit(nogil=True, cache=True)
def _worse(score: Any, slot: Any, other: Any, other_slot: Any) -> Any:
    return score < other or (score == other and slot > other_slot)


@njit(nogil=True, cache=True)
def _push(scores: Any, slots: Any, size: Any, score: Any, slot: Any) -> None:
    """Add to a heap whose root is the worst."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if not _worse(score, slot, scores[parent], slots[parent]):
            break
        scores[at], slots[at] = scores[parent], slots[parent]
        at = parent
    scores[at], slots[at] = score, slot


@njit(nogil=True, cache=True)
def _sink(scores: Any, slots: Any, size: Any, score: Any, slot: Any) -> None:
    """Put something in the place of a heap's root."""
    at = 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _worse(
            scores[child + 1], slots[child + 1], scores[child], slots[child]
        ):
            child += 1
        if not _worse(scores[child], slots[child], score, slot):
            break
        scores[at], slots[at] = scores[child], slots[child]
        at = child
    scores[at], slots[at] = score, slot
