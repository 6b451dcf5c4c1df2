"""A collection on Milvus against one in a folder: storing, and searches of every kind.

The same rounds go into both, 64 bits and two sketches of 128; then both are asked the same, in
turn, so that what else the machine does disturbs both alike. Printed are items stored a second,
milliseconds of a search (medians) and their ratio, and how many of the folder's ten hits Milvus
finds too.

Run: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/grow_search.py [--items 100000]``;
Milvus Lite in a temporary file, or with ``--address milvus+http://127.0.0.1:19530`` a server, on
which a collection is made and left. Learning on several workers is measured by ``grow.py``.
"""

from __future__ import annotations

import argparse
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from omhash import Collection
from omhash.datasets import synthetic

WIDTHS = {"image": 128, "text": 64}
T = TypeVar("T")

ROUND, K, QUERIES = 10_000, 10, 30

ASKED: dict[str, dict[str, Any]] = {
    "Hamming": {"rank": "hamming"},
    "asymmetric": {},
    "detail": {"detail": 0.3},
    "filter of 10 %": {"where": {"price": {"<": 100}}},
    "filter of .1 %": {"where": {"price": 5}},
}


def timed(function: Callable[..., T], *given: Any, **options: Any) -> tuple[float, T]:
    """How long a call takes, and what it gives."""
    start = time.perf_counter()
    found = function(*given, **options)
    return time.perf_counter() - start, found


def filled(address: str, data: Any, n_items: int) -> tuple[Collection, float]:
    """A new collection with items that differ a little from those of the data, and its rate."""
    made = Collection.create(address, modalities=WIDTHS, n_bits=64)
    taken = 0.0
    for start in range(0, n_items, ROUND):
        rng = np.random.default_rng(start)
        rows = rng.integers(0, len(data.labels) - QUERIES, ROUND)
        views = {
            name: view[rows] + 0.1 * rng.standard_normal((ROUND, WIDTHS[name]))
            for name, view in data.views.items()
        }
        keys = [f"thing {start + place}" for place in range(ROUND)]
        payloads = [{"price": place % 1000} for place in range(ROUND)]
        taken += timed(
            made.ingest,
            views,
            data.labels[rows],
            categories=data.categories,
            keys=keys,
            payloads=payloads,
        )[0]
    return made, n_items / taken


def asked_of(data: Any, rows: slice) -> dict[str, NDArray[Any]]:
    """Queries that are no items."""
    return {name: view[rows] for name, view in data.views.items()}


def main() -> None:
    """Fill both, ask both, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--address", help="Of a server; Milvus Lite where nothing is said.")
    options = parser.parse_args()
    data = synthetic.make(20_000 + QUERIES, 60, modalities=WIDTHS, noise=2.0, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        on_milvus = f"milvus+file://{folder}/things.db"
        if options.address:
            on_milvus = f"{options.address}/grow_{secrets.token_hex(4)}"
        here, rate = filled(str(Path(folder, "things")), data, options.items)
        there, rate_there = filled(on_milvus, data, options.items)
        with here, there:
            compare(here, there, data)
            told = there.status()["index"]
            print(
                f"\n{len(here):,} items, {told['distinct_codes']:,} distinct codes; stored a "
                f"second: folder {rate:,.0f}, Milvus {rate_there:,.0f}; recall of the asymmetric "
                f"shortlist as status tells it: {told['recall']}"
            )


def compare(here: Collection, there: Collection, data: Any) -> None:
    """Searches of every kind, one query at a time and all together."""
    print("| search | folder, ms | Milvus, ms | ratio | of its ten |\n|---|---|---|---|---|")
    single = [asked_of(data, slice(-n, -n + 1 or None)) for n in range(QUERIES, 0, -1)]
    for name, options in ASKED.items():
        for collection in (here, there):
            collection.search(single[0], k=K, **options)  # what a first search loads is not counted
        times, shared = [], 0
        for query in single:
            (own, expected), (other, found) = (
                timed(collection.search, query, k=K, **options) for collection in (here, there)
            )
            times.append((own, other))
            shared += len({hit.key for hit in expected[0]} & {hit.key for hit in found[0]})
        own, other = np.median(times, axis=0).tolist()
        say(name, own, other, f"{shared / (K * QUERIES):.3f}")
    whole = asked_of(data, slice(-QUERIES, None))
    (own, _), (other, _) = (timed(one.search, whole, k=K) for one in (here, there))
    say(f"{QUERIES} together", own, other, "")


def say(name: str, here: float, there: float, shared: str) -> None:
    """A line of the table."""
    print(f"| {name} | {1e3 * here:.2f} | {1e3 * there:.1f} | {there / here:.0f} | {shared} |")


if __name__ == "__main__":
    main()
