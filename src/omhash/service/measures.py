"""How well each round's items find others of their kind, before and after they are learned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..collection import Collection
from ..learning.views import Matrix, n_rows

_FILE = "measures.jsonl"
_MOST_ASKED = 100
_DEPTH = 100


class Measures:
    """Mean average precision by round, in a file beside the collection.

    The file is for people to look at: a line that is lost or damaged is passed over.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE

    def add(self, round_id: str, before: float | None, after: float | None) -> None:
        """Remember what was measured of a round."""
        line = json.dumps({"round": round_id, "before": before, "after": after})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def all(self) -> dict[str, dict[str, float | None]]:
        """What was measured, by round."""
        found = {}
        if self._path.is_file():
            for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
                try:
                    told = json.loads(line)
                    found[told["round"]] = {"before": told["before"], "after": told["after"]}
                except (ValueError, KeyError, TypeError):
                    continue
        return found


def mean_average_precision(
    collection: Collection,
    views: Mapping[str, Matrix],
    labels: Sequence[Sequence[str]],
    keys: Sequence[str],
) -> float | None:
    """MAP of searching with labelled items among all others; None where that tells nothing.

    Of at most a hundred items, evenly spread; the average precision of each is over the
    first hundred found, the item itself left out.
    """
    labelled = [place for place in range(n_rows(views)) if labels[place]]
    if not labelled or not len(collection):
        return None
    asked = [labelled[place] for place in _spread(len(labelled))]
    found = collection.search({name: view[asked] for name, view in views.items()}, k=_DEPTH + 1)
    return float(
        np.mean(
            [
                _average_precision(
                    [
                        not set(labels[place]).isdisjoint(hit.categories)
                        for hit in hits
                        if hit.key != keys[place]
                    ][:_DEPTH]
                )
                for place, hits in zip(asked, found, strict=True)
            ]
        )
    )


def _spread(n: int) -> list[int]:
    return sorted(set(np.linspace(0, n - 1, _MOST_ASKED).astype(int).tolist()))


def _average_precision(relevant: list[bool]) -> float:
    there = np.flatnonzero(relevant)
    ranks: Any = np.arange(1, len(there) + 1) / (there + 1)
    return float(ranks.mean()) if len(there) else 0.0
