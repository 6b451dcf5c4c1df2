"""How often the very item that a query was made from is found, for several values of detail.

5,000 items are learned and stored in five rounds. Queries are stored items of which half the
words and half the picture's features are dropped, at random. For each value of `detail`:
the share of queries whose own item is among the first ten, and MAP over the whole database by
shared categories, from words, from the picture, and from both.

Run: ``python benchmarks/known_item.py --data DATA.npz [--bits 64] [--details 0,0.1,0.3,1]
[--queries 500] [--seeds 3]``. Prints a Markdown table, means over seeds; a seed draws the items,
the queries, what they lack, the hasher and the sketches.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omhash import HCFW
from omhash.codes import pack
from omhash.datasets import LabelledData, load
from omhash.index import ExactIndex, Found, Queries
from omhash.learning.sketches import Sketchers

ITEMS, ROUND, FIRST = 5_000, 1_000, 10
TIES = 1e-9
"""So little detail that it only breaks ties."""


class Stored:
    """Items as a collection holds them in memory: the hasher, the sketchers and the index."""

    def __init__(self, data: LabelledData, rows: NDArray[Any], n_bits: int, seed: int) -> None:
        self.hasher = HCFW(n_bits, random_state=seed)
        bits = dict.fromkeys(sorted(data.views), 128)
        self.sketchers = Sketchers(bits, seed, {})
        self.index = ExactIndex(n_bits, bits)
        for start in range(0, len(rows), ROUND):
            part = rows[start : start + ROUND]
            views = {name: view[part] for name, view in data.views.items()}
            labels = data.labels[part]
            self.hasher.partial_fit(views, labels, categories=data.categories)
            self.sketchers = self.sketchers.fitted(views)
            values, present = self.sketchers.projected(views, len(part))
            self.index.add(
                np.arange(start, start + len(part)),
                self.hasher.item_codes(views, labels, categories=data.categories),
                {name: pack(rows) for name, rows in values.items()},
                present,
            )

    def found(self, views: dict[str, Any], detail: float) -> list[Found]:
        """All items, ranked for each query."""
        n = len(next(iter(views.values())))
        values, _ = self.sketchers.projected(views, n)
        queries = Queries.of(
            self.hasher.project(views),
            sketches={name: rows for name, rows in values.items() if name in views},
            detail=detail,
        )
        return self.index.search(queries, len(self.index))


def measured(
    found: list[Found], own: NDArray[Any], labels: NDArray[np.uint8]
) -> tuple[float, float]:
    """The share of queries whose own item is among the first, and MAP."""
    hits, precisions = [], []
    for one, item in zip(found, own, strict=True):
        hits.append(item in one.numbers[:FIRST])
        relevant = (labels[one.numbers] & labels[item]).any(axis=1)
        ranks = np.flatnonzero(relevant) + 1
        precisions.append((np.arange(1, len(ranks) + 1) / ranks).mean() if len(ranks) else 0.0)
    return float(np.mean(hits)), float(np.mean(precisions))


def results(
    data: LabelledData, seed: int, n_bits: int, n_queries: int, details: list[float]
) -> Iterator[list[tuple[float, float]]]:
    """Of each value of detail: recall and MAP of each kind of query."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(data))[:ITEMS]
    stored = Stored(data, rows, n_bits, seed)
    own = rng.choice(len(rows), n_queries, replace=False)
    views = {}
    for name, view in data.views.items():
        whole = view[rows[own]]
        dense = whole if isinstance(whole, np.ndarray) else whole.toarray()
        views[name] = np.where(rng.random(dense.shape) < 0.5, dense, 0)
    asked = [*({name: view} for name, view in sorted(views.items())), views]
    for detail in details:
        yield [measured(stored.found(one, detail), own, data.labels[rows]) for one in asked]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="How often the very item is found.")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--details", default="0,0.1,0.3,1")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=3)
    wanted = parser.parse_args()
    data = load(wanted.data)
    details = sorted({TIES, *(float(detail) for detail in wanted.details.split(","))})
    table = np.mean(
        [
            list(results(data, seed, wanted.bits, wanted.queries, details))
            for seed in range(wanted.seeds)
        ],
        axis=0,
    )
    kinds = [*sorted(data.views), "all"]
    print("| detail | " + " | ".join(f"{kind}: recall@{FIRST} / MAP" for kind in kinds) + " |")
    print("|---|" + "---|" * len(kinds))
    for detail, row in zip(details, table, strict=True):
        name = "ties only" if detail == TIES else f"{detail:g}"
        print(
            f"| {name} | " + " | ".join(f"{found:.3f} / {map_:.3f}" for found, map_ in row) + " |"
        )


if __name__ == "__main__":
    main()
