"""Compiled kernels that score what the scan finds, lowest level first, and keep the k best.

Scores are those that `scores` defines, to the last bit. Whatever cannot be among the best any
more is passed over by a bound that is computed in the same floating-point steps as a score:
each step rises with its argument, so that no rounding can lift a score above its bound.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..popcount import popcount
from ._postings import Words
from ._scan import Items, Space, add_costs, between, by_level, planes_of, scaled, scan
from .scores import ENOUGH, SKETCH_BITS, Floats, Grid

CHUNK = 256
"""Entries or items that are scored at a time: their data are fetched side by side."""


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
    detail: float
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    columns: NDArray[np.int64]


class Best(NamedTuple):
    """The best items of each query, one row a query; while it is searched, a heap of slots."""

    numbers: NDArray[np.int64]
    scores: Floats
    distances: NDArray[np.int64]


class Detail(NamedTuple):
    """One query's sketches.

    Attributes
    ----------
    totals : array of int64
        Σ|u| of each modality.
    strength : float
        How much the sketches count.
    most : float
        The most that they can agree.
    """

    signs: Words
    planes: Words
    totals: NDArray[np.int64]
    weights: Floats
    strength: float
    most: float


@kernel
def search(items: Items, asked: Asked, first: int, last: int, space: Space, best: Best) -> None:
    """Fill `best` for the queries from `first` to `last`.

    There must be as many items as `best` has columns.
    """
    for query in range(first, last):
        _search(items, asked, query, space, best.scores[query], best.numbers[query])
        for i in range(best.numbers.shape[1]):
            slot = best.numbers[query, i]
            row = items.rows[slot]
            distance = 0
            for word in range(len(items.words)):
                distance += popcount(items.codes[word, row] ^ asked.codes[query, word])
            best.distances[query, i] = distance
            best.numbers[query, i] = items.numbers[slot]


@kernel
def _search(items: Any, asked: Any, query: Any, space: Any, scores: Any, slots: Any) -> None:
    n, code, length = len(items.start), asked.codes[query], asked.lengths[query]
    scale = scaled(np.abs(asked.grid[query]), len(code))
    detail = _detail(asked, query, items.pool.sketches.shape[1])
    count, reach = scan(items, n, code, scale, len(scores), space)
    found, done = 0, -1
    while True:
        found = _score(
            items,
            asked,
            code,
            length,
            scale,
            detail,
            space,
            by_level(space, count, done, reach),
            scores,
            slots,
            found,
        )
        done = reach
        while reach < scale.largest and (
            found < len(scores) or _highest(_bound(scale, length, reach + 1), detail) >= scores[0]
        ):
            reach += 1
        if reach == done:
            break
        count = between(space, n, done, reach)
    for left in range(len(scores) - 1, 0, -1):
        score, slot = scores[left], slots[left]
        scores[left], slots[left] = scores[0], slots[0]
        _sink(scores, slots, left, score, slot)


@kernel
def _detail(asked: Any, query: Any, n_words: Any) -> Any:
    marks, weights = asked.sketches[query], asked.weights[query]
    totals = np.zeros(len(weights), np.int64)
    most = 0.0
    for m in range(len(weights)):
        totals[m] = np.abs(marks[64 * asked.first[m] : 64 * asked.last[m]]).sum()
        most += weights[m] * totals[m]
    n_words = n_words if len(weights) else 0
    return Detail(
        planes_of((marks[: 64 * n_words] > 0).astype(np.int32), 1, n_words)[:, 0],
        planes_of(np.abs(marks[: 64 * n_words]), SKETCH_BITS, n_words),
        totals,
        weights,
        asked.detail,
        most,
    )


@kernel
def _bound(scale: Any, length: Any, level: Any) -> Any:
    """The highest score that a code of some level can have."""
    return (scale.total - 2 * (scale.step * level - scale.under)) / length


@kernel
def _highest(code_score: Any, detail: Any) -> Any:
    """The highest score that an item of some code score can have."""
    return _mixed(code_score, detail.most, detail.strength) if detail.most > 0.0 else code_score


@kernel
def _mixed(code_score: Any, agreement: Any, strength: Any) -> Any:
    """The score: see `scores`. Each step rises with both, so that bounds stay bounds."""
    missed = max(1.0 - code_score, 0.0)
    missed *= missed
    agreed = min(max(agreement, 0.0), ENOUGH)
    beyond = max(agreement - ENOUGH, 0.0) / 4.0
    return (1.0 - missed * missed / 2.0) + strength * (agreed * agreed + beyond)


@kernel
def _score(
    items: Any,
    asked: Any,
    code: Any,
    length: Any,
    scale: Any,
    detail: Any,
    space: Any,
    count: Any,
    scores: Any,
    slots: Any,
    found: Any,
) -> Any:
    """Score the items of the entries in `space.order`, and keep the best; how many are kept."""
    k = len(scores)
    with_detail, masked = detail.most > 0.0, len(items.mask) > 0
    for first in range(0, count, CHUNK):
        chunk = space.order[first : min(first + CHUNK, count)]
        level = np.int64(space.levels[chunk[0]])
        if found == k and _highest(_bound(scale, length, level), detail) < scores[0]:
            break
        _find_costs(items, code, scale, space, chunk)
        held = 0
        for i in range(len(chunk)):
            code_score = (scale.total - 2 * np.int64(space.costs[i])) / length
            if found == k and _highest(code_score, detail) < scores[0]:
                continue
            start = items.start[chunk[i]]
            for at in range(start, start + items.length[chunk[i]]):
                if masked and not items.mask[at]:
                    continue
                if with_detail:
                    space.places[held], space.scores[held] = at, code_score
                    held += 1
                    if held == CHUNK:
                        found = _keep_detailed(
                            items, asked, detail, space, held, scores, slots, found
                        )
                        held = 0
                    continue
                slot = items.pool.slots[at]
                if slot < 0:
                    continue
                if not _is_kept(scores, slots, found, code_score, slot):
                    break  # what follows has the same score, and came later
                if found < k:
                    found += 1
        found = _keep_detailed(items, asked, detail, space, held, scores, slots, found)
    return found


@kernel
def _find_costs(items: Any, code: Any, scale: Any, space: Any, chunk: Any) -> None:
    """The costs of some entries' codes, into `space.costs`."""
    costs = space.costs[: len(chunk)]
    if scale.step == 1:
        for i in range(len(chunk)):
            costs[i] = space.levels[chunk[i]]
        return
    costs[:] = 0
    for word in range(len(code)):
        words = space.words[word][: len(chunk)]
        for i in range(len(chunk)):
            words[i] = items.words[word, chunk[i]]
        add_costs(words, code[word], scale.exact[word], costs)


@kernel
def _keep_detailed(
    items: Any,
    asked: Any,
    detail: Any,
    space: Any,
    held: Any,
    scores: Any,
    slots: Any,
    found: Any,
) -> Any:
    """Add the sketches' part to the scores of some items, and keep the best; how many are kept.

    Plain loops over whole arrays, as in the scan; few items get as far as the last one.
    """
    k = len(scores)
    added, mixed = space.added[:held], space.scores[:held]
    added[:] = 0.0
    for m in range(len(detail.weights)):
        costs = space.costs[CHUNK : CHUNK + held]
        costs[:] = 0
        for word in range(asked.first[m], asked.last[m]):
            words = space.words[word][:held]
            for i in range(held):
                words[i] = items.pool.sketches[space.places[i], word]
            add_costs(words, detail.signs[word], detail.planes[word], costs)
        weight, total, column = detail.weights[m], detail.totals[m], asked.columns[m]
        for i in range(held):
            if items.pool.present[space.places[i], column]:
                added[i] += weight * (total - 2 * np.int64(costs[i]))
    for i in range(held):
        mixed[i] = _mixed(mixed[i], added[i], detail.strength)
    for i in range(held):
        if found == k and mixed[i] < scores[0]:
            continue
        slot = items.pool.slots[space.places[i]]
        if slot >= 0 and _is_kept(scores, slots, found, mixed[i], slot) and found < k:
            found += 1
    return found


@kernel
def _is_kept(scores: Any, slots: Any, size: Any, score: Any, slot: Any) -> Any:
    """Offer an item to the heap of the best, whose root is the worst; whether it is taken."""
    if size < len(scores):
        at = size
        while at > 0:
            parent = (at - 1) >> 1
            if not _worse(score, slot, scores[parent], slots[parent]):
                break
            scores[at], slots[at] = scores[parent], slots[parent]
            at = parent
        scores[at], slots[at] = score, slot
        return True
    if _worse(scores[0], slots[0], score, slot):
        _sink(scores, slots, size, score, slot)
        return True
    return False


@kernel
def _sink(scores: Any, slots: Any, size: Any, score: Any, slot: Any) -> None:
    """Put an item in the place of a heap's root."""
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


@kernel
def _worse(score: Any, slot: Any, other: Any, other_slot: Any) -> Any:
    return score < other or (score == other and slot > other_slot)
