"""Search by the definition of the scores, in plain NumPy and Python."""

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass
class PlainItem:
    """What was added of one item, in signs."""

    code: np.ndarray
    sketches: dict = field(default_factory=dict)


def signs(packed):
    return np.where(np.unpackbits(packed, axis=-1), 1, -1)


def whole(values, largest):
    values = np.asarray(values, dtype=np.float64)
    size = np.abs(values).max()
    return np.rint(values / (size or 1.0) * largest).astype(np.int64)


def plain_search(items, projection, k, *, rank="asymmetric", sketches=None, detail=0.0, keep=None):
    """The best of a dictionary of number to `PlainItem`: numbers, scores and distances.

    `sketches` are those that the query has.
    """
    projection = np.asarray(projection, dtype=np.float64)
    own = np.where(projection > 0, 1, -1)
    grid = own if rank == "hamming" else whole(projection, 32767)
    grids = {name: whole(values, 7) for name, values in sorted((sketches or {}).items())}
    weights = {
        name: math.sqrt(math.pi / 2) / (len(grids) * length(grid)) if grid.any() else 0.0
        for name, grid in grids.items()
    }
    rows = []
    for number, item in items.items():
        if keep is not None and number not in keep:
            continue
        score = int(grid @ item.code) / length(grid) if grid.any() else 0.0
        added = 0.0
        for name, grid_m in grids.items() if detail else ():
            if name in item.sketches:
                added += weights[name] * int(grid_m @ item.sketches[name])
        if detail and any(weights.values()):
            missed = max(1 - score, 0.0)
            missed *= missed
            score = (1 - missed * missed / 2) + detail * (
                min(max(added, 0.0), 0.5) ** 2 + max(added - 0.5, 0.0) / 4
            )
        rows.append((-score, number, int((own != item.code).sum())))
    rows.sort()
    best = rows[:k]
    return [row[1] for row in best], [-row[0] for row in best], [row[2] for row in best]


def length(grid):
    return float(np.sqrt(float(int((grid * grid).sum()) * len(grid))))


def assert_same(found, expected):
    numbers, scores, distances = expected
    assert found.numbers.tolist() == numbers
    assert found.distances.tolist() == distances
    assert found.scores.tolist() == scores  # to the last bit
    assert found.numbers.dtype == found.distances.dtype == np.int64
    assert found.scores.dtype == np.float64
