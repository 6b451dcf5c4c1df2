"""Compiled kernels that find the codes which can be among a query's best.

With x the bits in which a code differs from a query's signs, the units of its score are
``Σ|g| - 2 cost`` where the cost is ``Σ x_j |g_j|``. The scan rounds ``|g_j| ≈ step · h_j`` with
h of few bits (one, for Hamming ranking, where nothing is lost): the *level* ``Σ x_j h_j`` of a
code is a few population counts, one a bit of h. The cost lies between
``step · level - under`` and ``step · level + over``, the sums of the rounding errors, so the k
best are among the codes whose level is at most ``(under + over) / step`` above that of the k-th.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..popcount import popcount
from ._postings import Pool, Rows, Words
from .scores import CODE_BITS, Floats, Grid

BLOCK = 2048
"""Entries whose levels are found at a time: they stay in the nearest cache."""

_GROUP = 64
"""Entries that are passed over at once where none is near."""

_PLANES = 5
_STEP = -(-((1 << CODE_BITS) - 1) // ((1 << _PLANES) - 1))
"""So that the largest whole number, rounded, is the largest h."""


class Items(NamedTuple):
    """What is searched: all codes of a `Table`, or the items that a filter keeps.

    Attributes
    ----------
    words : array of uint64, shape (words of a code, entries)
        The codes that are scanned.
    start, length, live : arrays of int32
        Each entry's run in the pool, and how many of its items can be found.
    mask : array of bool
        Which places of the pool can be found; all, where it is empty.
    codes, numbers, rows
        Of the table, to tell what was found.
    """

    words: Words
    start: Rows
    length: Rows
    live: Rows
    mask: NDArray[np.bool_]
    pool: Pool
    codes: Words
    numbers: NDArray[np.int64]
    rows: Rows


class Space(NamedTuple):
    """Working space of one thread: an element an entry, and blocks."""

    levels: NDArray[np.uint16]
    near: Rows
    order: Rows
    words: Words
    costs: Grid
    places: Rows
    scores: Floats
    added: Floats


class Scale(NamedTuple):
    """The sizes of a query's values, in bits: as they are, and rounded for the scan.

    Attributes
    ----------
    total : int
        Σ|g|.
    largest : int
        The largest level, Σ h.
    """

    total: int
    exact: Words
    planes: Words
    step: int
    under: int
    over: int
    largest: int


@kernel
def scaled(sizes: Any, n_words: Any) -> Any:
    """The scale of a query."""
    step, n_bits, n_planes = 1, 1, 1
    if sizes.max() > 1:
        step, n_bits, n_planes = _STEP, CODE_BITS, _PLANES
    coarse = np.minimum((sizes + step // 2) // step, (1 << _PLANES) - 1)
    under = over = 0
    for j in range(len(sizes)):
        error = sizes[j] - step * coarse[j]
        under += max(-error, 0)
        over += max(error, 0)
    return Scale(
        sizes.sum(),
        planes_of(sizes, n_bits, n_words),
        planes_of(coarse, n_planes, n_words),
        step,
        under,
        over,
        coarse.sum(),
    )


@kernel
def planes_of(sizes: Any, n_planes: Any, n_words: Any) -> Any:
    """The bits of whole numbers: for each word of a packed code a row, with one word a bit."""
    planes = np.zeros((n_words, n_planes), np.uint64)
    for j in range(len(sizes)):
        place = np.uint64((j & 56) + 7 - (j & 7))
        for t in range(n_planes):
            planes[j >> 6, t] |= np.uint64((sizes[j] >> t) & 1) << place
    return planes


@kernel
def add_costs(words: Any, query: Any, planes: Any, costs: Any) -> None:
    """Add one word's part to ``Σ x_j size_j`` of several rows."""
    for t in range(len(planes)):
        plane = planes[t]
        for i in range(len(words)):
            costs[i] += popcount((words[i] ^ query) & plane) << t


@kernel
def scan(items: Any, n: Any, code: Any, scale: Any, k: Any, space: Any) -> Any:
    """Find all levels, and the entries near enough to be among the k best by code alone.

    Returns
    -------
    count : int
        How many entries are in `space.near`.
    reach : int
        All entries up to this level are among them.
    """
    counts = np.zeros(scale.largest + 1, np.int64)
    window = (scale.under + scale.over) // scale.step
    level, within, count = scale.largest, 0, 0
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        levels = space.levels[start:stop]
        for word in range(len(code)):
            words = items.words[word][start:stop]
            _add_levels(words, code[word], scale.planes[word], levels, word == 0)
        for group in range(start, stop, _GROUP):
            end = min(group + _GROUP, stop)
            if _least(space.levels[group:end]) > level + window:
                continue
            for i in range(group, end):
                if space.levels[i] > level + window:
                    continue
                live = items.live[i]
                space.near[count] = i
                count += 1
                counts[space.levels[i]] += live
                if space.levels[i] <= level:
                    within += live
                    while within - counts[level] >= k:
                        within -= counts[level]
                        level -= 1
    return count, min(level + window, scale.largest)


@kernel
def between(space: Any, n: Any, above: Any, reach: Any) -> Any:
    """Find the entries of levels above one up to another; how many are in `space.near`."""
    count = 0
    for group in range(0, n, _GROUP):
        end = min(group + _GROUP, n)
        if _least(space.levels[group:end]) > reach:
            continue
        for i in range(group, end):
            space.near[count] = i
            count += above < space.levels[i] <= reach
    return count


@kernel
def by_level(space: Any, count: Any, above: Any, reach: Any) -> Any:
    """Fill `space.order` with the near entries of these levels, lowest first; their number."""
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


@kernel
def _add_levels(words: Any, query: Any, planes: Any, levels: Any, fresh: Any) -> None:
    """Add one word's part to the levels of a block of codes, or begin with it.

    Plain loops over whole arrays are what the compiler turns into vector instructions.
    """
    if fresh:
        levels[:] = 0
    if len(planes) == 1:
        plane = planes[0]
        for i in range(len(words)):
            levels[i] += popcount((words[i] ^ query) & plane)
    else:
        for i in range(len(words)):
            differs = words[i] ^ query
            level = 0
            for t in range(_PLANES):
                level += popcount(differs & planes[t]) << t
            levels[i] += level


@kernel
def _least(levels: Any) -> Any:
    least = levels[0]
    for i in range(len(levels)):
        least = min(least, levels[i])
    return least
