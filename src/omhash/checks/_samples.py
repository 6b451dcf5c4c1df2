"""Small rounds for the checks, and hashers that have learned them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..datasets import synthetic
from ..hashers.base import Hasher

MODALITIES = {"image": 12, "text": 20}
_OLD, _NEW = 6, 2


@dataclass(frozen=True)
class Sample:
    """Items: views, and the category names of each."""

    views: dict[str, NDArray[Any]]
    labels: list[list[str]]

    def __getitem__(self, rows: slice | list[int] | NDArray[Any]) -> Sample:
        """Copies of some items."""
        chosen = np.arange(len(self.labels))[rows]
        return Sample(
            {name: view[chosen] for name, view in self.views.items()},
            [list(self.labels[row]) for row in chosen],
        )

    def only(self, *modalities: str) -> dict[str, NDArray[Any]]:
        """The views of some modalities."""
        return {name: self.views[name] for name in modalities}


def known_items(n_items: int = 320, seed: int = 0) -> Sample:
    """Items of the categories "category 0" to "category 5".

    All seeds speak of the same categories, the first six items of the first seed show each
    of them, and values are whole quarters, which every number type holds exactly.
    """
    sample = _items(n_items, seed)
    rows = [row for row in range(len(sample.labels)) if not _is_new(sample.labels[row])]
    return sample[_covering(sample, rows)[:n_items]]


def new_items(n_items: int = 40, seed: int = 9) -> Sample:
    """Items that each have "category 6" or "category 7", and perhaps older ones."""
    sample = _items(4 * n_items, seed)
    return sample[[row for row in range(len(sample.labels)) if _is_new(sample.labels[row])]]


def fresh(hasher: Hasher, **parameters: Any) -> Hasher:
    """An unfitted clone whose draws are determined."""
    twin: Hasher = clone(hasher)
    seeded = isinstance(twin.get_params().get("random_state", 0), (int, np.integer))
    return twin.set_params(**({} if seeded else {"random_state": 0}), **parameters)  # type: ignore[no-any-return]


def learned(hasher: Hasher, *samples: Sample) -> Hasher:
    """A fresh clone that has learned `known_items()`, and then each sample as a round."""
    twin = fresh(hasher)
    for sample in (known_items(), *samples):
        twin.partial_fit(sample.views, sample.labels)
    return twin


@cache
def _items(n_items: int, seed: int) -> Sample:
    data = synthetic.make(3 * n_items, _OLD + _NEW, modalities=MODALITIES, noise=0.5, seed=seed)
    views = {name: np.round(4.0 * np.asarray(view)) / 4.0 for name, view in data.views.items()}
    labels = [[data.categories[column] for column in np.flatnonzero(row)] for row in data.labels]
    return Sample(views, labels)


def _is_new(labels: list[str]) -> bool:
    return any(int(name.split()[-1]) >= _OLD for name in labels)


def _covering(sample: Sample, rows: list[int]) -> list[int]:
    """The rows, those first that show a category for the first time."""
    seen: set[str] = set()
    first = []
    for row in rows:
        if not seen.issuperset(sample.labels[row]):
            seen.update(sample.labels[row])
            first.append(row)
    return first + [row for row in rows if row not in first]
