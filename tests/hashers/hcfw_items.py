"""Generated items and the settings under which HCFW is tried."""

import numpy as np
import pytest

from omhash.codes import hamming
from omhash.hashers.hcfw import HCFW

WIDTHS = {"image": 12, "text": 9, "sound": 5, "touch": 7}


class Items:
    """Generated items: each category adds its own direction to every modality."""

    def __init__(self, n=200, modalities=2, categories=5, seed=0, noise=0.3, first=0):
        draw = np.random.default_rng(99)
        self.names = [f"c{number}" for number in range(categories)]
        directions = {
            name: 2 * draw.standard_normal((20, width))
            for name, width in list(WIDTHS.items())[:modalities]
        }
        rng = np.random.default_rng(seed)
        table = rng.random((n, categories)) < 0.08
        table[np.arange(n), rng.integers(first, categories, n)] = True
        table[:, :first] = False
        self.table = table.astype(np.uint8)
        self.views = {
            name: table @ way[:categories] + noise * rng.standard_normal((n, way.shape[1]))
            for name, way in directions.items()
        }

    @property
    def labels(self):
        return [[self.names[c] for c in np.flatnonzero(row)] for row in self.table]

    def rows(self, chosen):
        return {name: view[chosen] for name, view in self.views.items()}


def semantics(names):
    return np.array([np.random.default_rng(list(name.encode())).random(16) for name in names])


def same_state(one, other):
    return one.keys() == other.keys() and all(
        np.array_equal(value, other[name]) for name, value in one.items()
    )


def share_right(hasher, items):
    """Share of the stored items nearest to encoded queries that have a category of the query."""
    stored = Items(200, len(WIDTHS), len(items.names), seed=77)
    distances = hamming(hasher.encode(items.views), hasher.label_codes(stored.labels))
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :10]
    shared = items.table.astype(int) @ stored.table.T > 0
    return np.take_along_axis(shared, nearest, axis=1).mean()


SETTINGS = {
    "default": {},
    "codes": {"targets": "codes"},
    "equal": {"weights": "equal"},
    "equal, codes": {"weights": "equal", "targets": "codes"},
    "calibrated": {"weights": "calibrated"},
    "calibrated, codes": {"weights": "calibrated", "targets": "codes", "theta": 1.0},
    "published weights": {"weights": "published"},
    "published codes": {"weights": "published", "targets": "codes", "theta": 1.0, "delta": 3.0},
    "fixed theta": {"theta": 2.0},
    "semantic": {"category_codes": "semantic", "semantics": semantics},
    "hadamard": {"category_codes": "hadamard"},
    "kernels": {"kernels": {"image": 60, "text": (40, 4.0)}},
    "authors": {"authors_program": True, "theta": 1.0, "targets": "codes", "weights": "published"},
}


def every_setting_but(*names):
    """Run a test under all settings, leaving some out."""
    chosen = {name: SETTINGS[name] for name in SETTINGS if name not in names}
    assert len(chosen) == len(SETTINGS) - len(names)
    return pytest.mark.parametrize("given_settings", chosen.values(), ids=chosen)


every_setting = every_setting_but()


def hasher_of(given_settings=None, n_bits=32, random_state=0):
    return HCFW(n_bits, random_state=random_state, **(given_settings or {}))


FINE = Items(30)
