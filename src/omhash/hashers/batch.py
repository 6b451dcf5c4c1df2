"""Methods that learn all items at once: every round trains on everything so far."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..learning.alternating import RoundRegression
from ..learning.moments import Moments
from ..learning.views import View
from .baseline import Baseline, Floats, Learned, Round, Shape

Rows: TypeAlias = "slice | NDArray[np.intp]"


@dataclass(frozen=True, eq=False)
class Items:
    """All labelled items so far.

    Attributes
    ----------
    features : dict of str to array of shape (n, d)
        Behind the kernels; a row of zeros where an item lacks the modality.
    present : array of bool, shape (n, n_modalities)
    labels : array of shape (n, n_categories)
    """

    features: dict[str, Floats]
    present: NDArray[np.bool_]
    labels: NDArray[Any]

    @classmethod
    def of_views(cls, known: Learned, views: Mapping[str, View], labels: NDArray[Any]) -> Items:
        """Items from the views of a round, which need not speak of every modality."""
        features, present = {}, []
        for name in known.modalities:
            if name not in views:
                features[name] = np.zeros((len(labels), known.width(name)))
                present.append(np.zeros(len(labels), dtype=bool))
                continue
            found = known.features(name, views[name].matrix)
            dense = found if isinstance(found, np.ndarray) else found.toarray()
            features[name] = np.where(views[name].present[:, None], dense, 0.0)
            present.append(views[name].present)
        return cls(features, np.column_stack(present), labels)

    @property
    def count(self) -> int:
        """The number of items."""
        return len(self.labels)

    @cached_property
    def having(self) -> list[Rows]:
        """The items that have each modality."""
        return [_rows(here) for here in self.present.T]

    @cached_property
    def alike(self) -> list[tuple[NDArray[np.bool_], Rows]]:
        """Each set of modalities, and the items that have just these."""
        return alike(self.present)

    def of(self, rows: NDArray[np.intp]) -> Items:
        """Some of the items."""
        features = {name: matrix[rows] for name, matrix in self.features.items()}
        return Items(features, self.present[rows], self.labels[rows])

    def regressions(self, n_targets: int) -> dict[str, RoundRegression]:
        """The regression of codes on each modality, with a constant feature."""
        found = {}
        for name, here in zip(self.features, self.present.T, strict=True):
            rows = np.flatnonzero(here)
            x = np.hstack([self.features[name][rows], np.ones((len(rows), 1))])
            found[name] = RoundRegression.of(Moments.zeros(x.shape[1], n_targets), x, rows)
        return found


class BatchBaseline(Baseline):
    """A batch method in a stream: it keeps all labelled items and starts anew in each round.

    Memory and the seconds of a round grow with the stream.
    """

    keeps_items = True
    recodes_database = True

    @abstractmethod
    def _trained(self, known: Learned, items: Items) -> Learned:
        """What all items so far teach."""

    def _learn(self, known: Learned, items: Round) -> Learned:
        arrays = dict(known.arrays)
        labels = items.read.aligned(known.categories).toarray().astype(np.uint8)
        fresh = Items.of_views(known, items.views, labels)
        for place, features in enumerate(fresh.features.values()):
            _append(arrays, f"items.{place}", features)
        _append(arrays, "present", fresh.present.astype(np.uint8))
        if "labels" in arrays:
            new = labels.shape[1] - arrays["labels"].shape[1]
            arrays["labels"] = np.pad(arrays["labels"], ((0, 0), (0, new)))
        _append(arrays, "labels", labels)
        everything = Items(
            {name: arrays[f"items.{place}"] for place, name in enumerate(known.modalities)},
            arrays["present"] > 0,
            arrays["labels"].astype(np.float64),
        )
        return self._trained(replace(known, arrays=arrays), everything)

    def _shapes(self, known: Learned) -> dict[str, Shape]:
        items: dict[str, Shape] = {
            f"items.{place}": ("n", known.width(name))
            for place, name in enumerate(known.modalities)
        }
        return items | {
            "present": ("n", len(known.modalities)),
            "labels": ("n", len(known.categories)),
        }


def alike(present: NDArray[np.bool_]) -> list[tuple[NDArray[np.bool_], Rows]]:
    """Each set of modalities that items have, and the rows of those items."""
    return [
        (pattern, _rows((present == pattern).all(axis=1))) for pattern in np.unique(present, axis=0)
    ]


def _rows(chosen: NDArray[np.bool_]) -> Rows:
    # All of them as a slice: what it takes from an array is no copy.
    return slice(None) if chosen.all() else np.flatnonzero(chosen)


def _append(arrays: dict[str, NDArray[Any]], name: str, rows: NDArray[Any]) -> None:
    arrays[name] = np.vstack([arrays[name], rows]) if name in arrays else rows
