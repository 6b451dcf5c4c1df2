"""Compiled loops over the items of a ranking.

A row of an array is a query throughout. Items of one kind (the same code and the same labels)
share what is worked out of them; `kinds` holds every item's kind in database order.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..compiled import kernel
from ..popcount import popcount

Words: TypeAlias = NDArray[np.uint32]
Numbers: TypeAlias = NDArray[np.uint32]
Sizes: TypeAlias = NDArray[np.uint64]
Gains: TypeAlias = NDArray[np.uint16]
Floats: TypeAlias = NDArray[np.float64]

# Two counts in one word, so that one addition moves both: the right half counts items, the
# left half relevant ones.
_HALF = np.uint64(32)
_RIGHT = np.uint64((1 << 32) - 1)
_ITEM = np.uint64(1)
_BIT = np.uint32(1)


@kernel
def count_common(left: Words, right: Words, counts: NDArray[Any]) -> None:
    """Bits set in both a row of `left` and a column of `right`."""
    counts[:] = 0
    for row in range(len(left)):
        for word in range(len(right)):
            for column in range(right.shape[1]):
                counts[row, column] += popcount(left[row, word] & right[word, column])


@kernel
def count_different(left: Words, right: Words, counts: NDArray[Any]) -> None:
    """Bits set in either a row of `left` or a column of `right`, and not in both."""
    counts[:] = 0
    for row in range(len(left)):
        for word in range(len(right)):
            for column in range(right.shape[1]):
                counts[row, column] += popcount(left[row, word] ^ right[word, column])


@kernel
def add_signed(values: NDArray[np.int64], codes: Words, sums: NDArray[np.int64]) -> None:
    """Add a row's values to its sums, each with the sign that a column of `codes` gives it.

    A byte of a code is one of 256 patterns of signs, so the sums of those are tabulated.
    """
    table = np.empty((4, 256), np.int64)
    for row in range(len(values)):
        for word in range(len(codes)):
            for byte in range(4):
                first = 32 * word + 8 * byte
                table[byte, 0] = -values[row, first : first + 8].sum()
                size = 1
                for bit in range(first + 7, first - 1, -1):
                    for pattern in range(size):
                        table[byte, size + pattern] = table[byte, pattern] + 2 * values[row, bit]
                    size *= 2
            for column in range(codes.shape[1]):
                code = codes[word, column]
                sums[row, column] += (
                    table[0, code & 255]
                    + table[1, code >> 8 & 255]
                    + table[2, code >> 16 & 255]
                    + table[3, code >> 24]
                )


@kernel
def number_levels(keys: NDArray[np.int64], n_bits: int, levels: Numbers) -> None:
    """Number the levels of sorted keys, which hold a level and in their last bits its kind."""
    last_bits = (1 << n_bits) - 1
    for row in range(len(keys)):
        level = 0
        for place in range(keys.shape[1]):
            key = keys[row, place]
            level += place > 0 and key >> n_bits != keys[row, place - 1] >> n_bits
            levels[row, key & last_bits] = level


@kernel
def rank_by_counting(
    levels: Numbers, n_levels: int, kinds: Numbers, sizes: Sizes, ranked: Numbers
) -> None:
    """The kind of the item at every rank: by level, and then in database order."""
    places = np.empty(n_levels, np.uint64)
    for row in range(len(levels)):
        places[:] = 0
        for kind in range(len(sizes)):
            places[levels[row, kind]] += sizes[kind]
        _sum_before(places)
        for kind in kinds:
            level = levels[row, kind]
            ranked[row, places[level]] = kind
            places[level] += _ITEM


@kernel
def precisions_by_counting(
    levels: Numbers,
    n_levels: int,
    gains: Gains,
    kinds: Numbers,
    sizes: Sizes,
    reciprocals: Floats,
    values: Floats,
) -> None:
    """Average precision of rankings by level, without putting the items in order.

    In database order, an item takes the next rank of its level, and a relevant one the next
    number among relevant items.
    """
    tags = np.empty(len(sizes), np.uint32)
    counts = np.empty(n_levels, np.uint64)
    found = np.empty(len(kinds) + 1, np.uint64)
    for row in range(len(levels)):
        for kind in range(len(sizes)):
            tags[kind] = levels[row, kind] << _BIT | np.uint32(gains[row, kind] > 0)
        counts[:] = 0
        for kind in range(len(sizes)):
            counts[tags[kind] >> _BIT] += sizes[kind] * _item(tags[kind] & _BIT)
        _sum_before(counts)
        n_found = np.int64(0)
        for kind in kinds:
            level, relevant = tags[kind] >> _BIT, tags[kind] & _BIT
            count = counts[level] + _item(relevant)
            counts[level] = count
            # The next overwrites it unless it is relevant: there is no branch to guess wrong.
            found[n_found] = count
            n_found += np.int64(relevant)
        values[row] = _mean_precision(found, n_found, reciprocals)


@kernel
def lead(keys: NDArray[np.int64], gains: Gains, leads: NDArray[Any], n_bits: int) -> None:
    """The leading `n_bits` - 1 bits of a row's keys, and last whether the item is relevant."""
    for row in range(len(keys)):
        lowest = keys[row].min()
        span = np.uint64(keys[row].max() - lowest)
        shift = np.uint64(0)
        while span >> shift >> np.uint64(n_bits - 1):
            shift += np.uint64(1)
        for item in range(keys.shape[1]):
            key = np.uint64(keys[row, item] - lowest) >> shift
            leads[row, item] = key << np.uint64(1) | np.uint64(gains[row, item] > 0)


@kernel
def precisions_of_sorted(leads: NDArray[Any], reciprocals: Floats, values: Floats) -> None:
    """Average precision by sorted `lead`; NaN where the leading bits leave the order open."""
    one = leads.dtype.type(1)
    found = np.empty(leads.shape[1] + 1, np.uint64)
    for row in range(len(leads)):
        n_open = 0
        for place in range(1, leads.shape[1]):
            n_open += leads[row, place] ^ leads[row, place - 1] == one
        if n_open:
            values[row] = np.nan
            continue
        n_found, count = np.int64(0), np.uint64(0)
        for place in range(leads.shape[1]):
            relevant = np.uint32(leads[row, place] & one)
            count += _item(relevant)
            found[n_found] = count
            n_found += np.int64(relevant)
        values[row] = _mean_precision(found, n_found, reciprocals)


@kernel
def _item(relevant: np.uint32) -> np.uint64:
    """What an item adds to both counts."""
    return _ITEM | np.uint64(relevant) << _HALF


@kernel
def _sum_before(counts: NDArray[np.uint64]) -> None:
    """Replace each count by the sum of those before it."""
    total = np.uint64(0)
    for i in range(len(counts)):
        count = counts[i]
        counts[i] = total
        total += count


@kernel
def _mean_precision(found: NDArray[np.uint64], n_found: np.int64, reciprocals: Floats) -> float:
    """The mean of relevant items per item over the first counts; 0 if there are none."""
    # Four sums, because an addition waits for the one before it.
    a = b = c = d = 0.0
    last = n_found - n_found % 4
    for i in range(0, last, 4):
        a += _precision(found[i], reciprocals)
        b += _precision(found[i + 1], reciprocals)
        c += _precision(found[i + 2], reciprocals)
        d += _precision(found[i + 3], reciprocals)
    for i in range(last, n_found):
        a += _precision(found[i], reciprocals)
    return (a + b + c + d) / n_found if n_found else 0.0


@kernel
def _precision(count: np.uint64, reciprocals: Floats) -> float:
    precision: float = np.int64(count >> _HALF) * reciprocals[count & _RIGHT]
    return precision
