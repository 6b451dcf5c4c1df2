"""MAP of 2,000 queries over 18,000 items, against a sort per query.

The peer is the plain NumPy transcription: for each query the distances by a matrix
product of signs, a stable argsort, relevance by a product of labels, and precision at
the relevant places. Both sides must agree to rounding. `codes` are those of 24
categories' labels under random category codes (queries: the same with noise before the
sign), or uniform.

Run with ``OPENBLAS_NUM_THREADS=1 PYTHONPATH=src python benchmarks/metrics.py``: on a busy
machine the peer's matrix products wait for each other's threads, and any ratio looks good.
The ratio of CPU seconds is that of one core against one; where it equals the other ratio,
no second core was free.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from omhash.codes import pack, unpack
from omhash.evaluation import AsymmetricRanking, HammingRanking, evaluate

Floats: TypeAlias = NDArray[np.float64]

N_QUERIES, N_ITEMS, N_CATEGORIES = 2_000, 18_000, 24
# The peer's cost is the same for every query; a part of them gives its time.
N_PEER = 400
REPEATS = 5


def sort_per_query(scores: Callable[[int], Floats], asked: Floats, stored: Floats) -> Floats:
    """Average precision of `N_PEER` queries, lowest score first."""
    found = np.zeros(N_PEER)
    for query in range(N_PEER):
        order = np.argsort(scores(query), kind="stable")
        relevant = (asked[query] @ stored.T > 0)[order]
        ranks = np.flatnonzero(relevant) + 1
        if len(ranks):
            found[query] = np.mean(np.arange(1, len(ranks) + 1) / ranks)
    return found


def best_of(work: Callable[[], Floats]) -> tuple[Floats, float, float]:
    """The result, and the least wall and CPU seconds of some runs."""
    seconds = []
    for _ in range(REPEATS):
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        seconds.append((time.perf_counter() - wall, time.process_time() - cpu))
    return result, min(wall for wall, _ in seconds), min(cpu for _, cpu in seconds)


def labels(rng: np.random.Generator, n: int) -> NDArray[np.uint8]:
    """Category frequencies that fall as in tagged photographs, about three an item."""
    chances = 0.45 * 0.85 ** np.arange(N_CATEGORIES)
    return (rng.random((n, N_CATEGORIES)) < chances).astype(np.uint8)


def main() -> None:
    """Print one line for each length, kind of codes and ranking."""
    rng = np.random.default_rng(0)
    stored, asked = labels(rng, N_ITEMS), labels(rng, N_QUERIES)
    print("codes    bits  distinct  ranking     peer s  omhash s   ratio   ratio of CPU")
    for kind in ("labels", "uniform"):
        for n_bits in (32, 64, 128):
            categories = rng.choice([-1.0, 1.0], (N_CATEGORIES, n_bits))
            database = stored @ categories
            projections = (asked @ categories + rng.normal(size=(N_QUERIES, n_bits))) / 8
            if kind == "uniform":
                database, projections = (
                    rng.normal(size=database.shape),
                    rng.normal(size=projections.shape),
                )
            compare(kind, n_bits, projections.astype(np.float32), pack(database), asked, stored)


def compare(
    kind: str,
    n_bits: int,
    projections: NDArray[np.float32],
    database: NDArray[np.uint8],
    asked: NDArray[np.uint8],
    stored: NDArray[np.uint8],
) -> None:
    """Print the peer's and omhash's seconds for both rankings."""
    signs = unpack(database, np.float64)
    exact = projections.astype(np.float64)
    codes = unpack(pack(projections), np.float64)
    peers: dict[str, Callable[[int], Floats]] = {
        "hamming": lambda query: (n_bits - codes[query] @ signs.T) / 2,
        "asymmetric": lambda query: -(exact[query] @ signs.T),
    }
    ours: dict[str, Callable[[], Floats]] = {
        "hamming": lambda: evaluate(HammingRanking(pack(projections), database), asked, stored)[
            "map"
        ],
        "asymmetric": lambda: evaluate(AsymmetricRanking(projections, database), asked, stored)[
            "map"
        ],
    }
    floats = asked.astype(np.float64), stored.astype(np.float64)
    for ranking, score in peers.items():
        plain, peer_wall, peer_cpu = best_of(partial(sort_per_query, score, *floats))
        peer_wall *= N_QUERIES / N_PEER
        peer_cpu *= N_QUERIES / N_PEER
        result, wall, cpu = best_of(ours[ranking])
        np.testing.assert_allclose(result[:N_PEER], plain, rtol=0, atol=1e-12)
        print(
            f"{kind:8} {n_bits:4}  {len(np.unique(database, axis=0)):8}  {ranking:10}  "
            f"{peer_wall:6.2f}  {wall:8.3f}  {peer_wall / wall:6.1f}  {peer_cpu / cpu:6.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
