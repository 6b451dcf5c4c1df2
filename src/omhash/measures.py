"""How well each round's items find others of their kind, before and after they are learned."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from .collection import Collection
from .learning.labels import Labels, label_matrix
from .learning.views import Matrix, n_rows
from .results import RoundReport

Quality: TypeAlias = dict[str, float | None]
"""What was measured of a round: "before" it was learned and "after"."""

_FILE = "measures.jsonl"
_MOST_ASKED = 100


class Measures:
    """Mean average precision by round, in a file beside the collection; in memory without one.

    The file is for people to look at: a line that is lost or damaged is passed over.
    """

    def __init__(self, folder: Path | None) -> None:
        self._path = None if folder is None else folder / _FILE
        self._lines: list[str] = []

    def add(self, round_id: str, before: float | None, after: float | None) -> None:
        """Remember what was measured of a round."""
        line = json.dumps({"round": round_id, "before": before, "after": after})
        if self._path is None:
            self._lines.append(line)
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")

    def around(
        self, found: Callable[[], float | None], store: Callable[[], RoundReport]
    ) -> tuple[RoundReport, Quality | None]:
        """Store a round, measured before and after; of one that was there, what is known."""
        before = found()
        report = store()
        if report.repeated:
            return report, self.all().get(report.id)
        after = found()
        self.add(report.id, before, after)
        return report, {"before": before, "after": after}

    def all(self) -> dict[str, Quality]:
        """What was measured, by round."""
        lines = self._lines
        if self._path is not None and self._path.is_file():
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        found = {}
        for line in lines:
            try:
                told = json.loads(line)
                found[told["round"]] = {"before": told["before"], "after": told["after"]}
            except (ValueError, KeyError, TypeError):
                continue
        return found


def mean_average_precision(
    collection: Collection,
    views: Mapping[str, Matrix],
    labels: Labels | None,
    keys: Sequence[str],
    categories: Iterable[str] | None = None,
) -> float | None:
    """`Collection.measure` of at most a hundred of the labelled items, evenly spread."""
    read = label_matrix(labels, n_rows(views), categories=categories)
    labelled = np.flatnonzero(read.labelled)
    if not len(labelled):
        return None
    spread = np.linspace(0, len(labelled) - 1, min(_MOST_ASKED, len(labelled))).astype(int)
    asked = labelled[spread].tolist()
    return collection.measure(
        {name: view[asked] for name, view in views.items()},
        read.matrix[asked],
        categories=read.names,
        keys=[keys[place] for place in asked],
    )
