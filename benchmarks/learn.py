"""Learning and encoding at MIRFlickr's size, against plain peers in the same run.

Rounds of 2,000 items with 4,096 image and 1,386 text features and 24 categories, 32 bits.
Peers:

- a plain NumPy float64 transcription of the paper's formulas: two separate solves, D3 kept;
- scikit-learn's Ridge, refitted on everything seen so far.

Run: ``python benchmarks/learn.py [--rounds 20]``. Times are the best of several, memory is
what the round added to the process at its peak.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from omhash import HCFW
from omhash.learning.moments import Moments

WIDTHS = {"image": 4096, "text": 1386}
N_ITEMS, N_CATEGORIES, N_BITS = 2000, 24, 32
NAMES = [f"category {number}" for number in range(N_CATEGORIES)]

Views = dict[str, NDArray[np.float32]]


def make_round(number: int) -> tuple[Views, NDArray[np.uint8]]:
    """One round of features whose means depend on the items' categories."""
    rng = np.random.default_rng([7, number])
    means = np.random.default_rng(7)
    labels = (rng.random((N_ITEMS, N_CATEGORIES)) < 0.12).astype(np.uint8)
    labels[np.arange(N_ITEMS), rng.integers(0, N_CATEGORIES, N_ITEMS)] = 1
    views = {
        name: np.maximum(
            labels @ means.standard_normal((N_CATEGORIES, width), dtype=np.float32)
            + rng.standard_normal((N_ITEMS, width), dtype=np.float32),
            0,
        )
        for name, width in WIDTHS.items()
    }
    return views, labels


class Plain:
    """The paper's formulas, one after the other, in float64."""

    def __init__(self, codes: NDArray[np.float64]) -> None:
        self.codes = codes
        self.sums = {
            name: [np.zeros((N_BITS, width)), np.zeros((width, width)), np.zeros((width, N_BITS))]
            for name, width in WIDTHS.items()
        }

    def learn(self, views: Views, labels: NDArray[np.uint8]) -> None:
        """One round: D1, D2, D3, then W and U."""
        B = np.sign(labels @ self.codes).T
        for name, view in views.items():
            X = view.astype(np.float64).T
            D1, D2, D3 = self.sums[name]
            D1, D2, D3 = D1 + B @ X.T, D2 + X @ X.T, D3 + X @ B.T
            identity = np.eye(len(D2))
            W = np.linalg.solve(D2 + identity, D1.T).T
            self.U = np.linalg.solve(D2 + identity, D3 - D2 @ W.T)
            self.sums[name] = [D1, D2, D3]


def seconds(function: Callable[..., object], *args: Any, **options: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function(*args, **options)
    return time.perf_counter() - start


def fresh(kind: str) -> HCFW:
    """A hasher in the paper's settings or the default ones."""
    if kind == "published":
        vectors = np.random.default_rng(0).standard_normal((N_CATEGORIES, 300))
        return HCFW.published(
            N_BITS, semantics=lambda names: vectors[[NAMES.index(n) for n in names]], random_state=0
        )
    return HCFW(N_BITS, random_state=0)


def learning(n_rounds: int) -> None:
    """Seconds a round, for each hasher and the plain transcription."""
    codes = np.sign(np.random.default_rng(0).standard_normal((N_CATEGORIES, N_BITS)))
    plain = Plain(codes)
    hashers = {kind: fresh(kind) for kind in ("published", "default")}
    times: dict[str, list[float]] = {name: [] for name in ("plain", *hashers)}
    for number in range(n_rounds):
        views, labels = make_round(number)
        if number < 6:  # its cost does not grow, and it is slow
            times["plain"].append(seconds(plain.learn, views, labels))
        for kind, hasher in hashers.items():
            times[kind].append(seconds(hasher.partial_fit, views, labels, categories=NAMES))
    steady = {name: float(np.median(spent[1:])) for name, spent in times.items()}
    print(f"{'a round of 2,000 items':36}{'seconds':>9}{'plain / it':>12}{'last / 2nd':>12}")
    for name, spent in times.items():
        growth = np.median(spent[-3:]) / np.median(spent[1:4])
        print(f"{name:36}{steady[name]:9.3f}{steady['plain'] / steady[name]:12.2f}{growth:12.2f}")


def refitting(n_rounds: int = 3) -> None:
    """Scikit-learn's Ridge on all items so far, beside one more round of HCFW."""
    rounds = [make_round(number) for number in range(n_rounds)]
    hasher = fresh("default")
    for views, labels in rounds[:-1]:
        hasher.partial_fit(views, labels, categories=NAMES)
    own = seconds(hasher.partial_fit, *rounds[-1], categories=NAMES)
    codes = np.sign(np.random.default_rng(0).standard_normal((N_CATEGORIES, N_BITS)))
    targets = np.vstack([np.sign(labels @ codes) for _, labels in rounds])
    refit = sum(
        seconds(
            Ridge(alpha=1.0, fit_intercept=False).fit,
            np.vstack([views[name] for views, _ in rounds]).astype(np.float64),
            targets,
        )
        for name in WIDTHS
    )
    print(
        f"\nround {n_rounds}: scikit-learn Ridge refitted {refit:.3f} s, "
        f"HCFW {own:.3f} s: {refit / own:.1f} times"
    )


def memory() -> None:
    """Peak memory of learning a round, the statistics that lie there already included."""
    statistics = 8 * sum(width * (width + N_CATEGORIES + 2) for width in WIDTHS.values())
    for kind in ("published", "default"):
        rounds = [make_round(number) for number in range(2)]
        tracemalloc.start()
        hasher = fresh(kind).partial_fit(*rounds[0], categories=NAMES)
        tracemalloc.reset_peak()
        hasher.partial_fit(*rounds[1], categories=NAMES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(f"memory at its peak, {kind}: {peak / statistics:.2f} times the statistics")


def encoding() -> None:
    """Encoding against bare matrix products: of the code's shape, and of the learned matrix's.

    The published weights need U beside W, so their matrix has twice as many columns.
    """
    print(f"\n{'encoding 2,000 items, 4,096 features':36}{'ms':>9}", end="")
    print(f"{'of the rate, 32 columns':>25}{'of the rate, own columns':>26}")
    for kind in ("published", "default"):
        hasher = fresh(kind)
        views, labels = make_round(0)
        only = {"image": views["image"]}
        hasher.partial_fit(only, labels, categories=NAMES)
        learned = hasher.hash_functions_["image"]
        bare = np.random.default_rng(0).standard_normal((4096, N_BITS), dtype=np.float32)
        spent = {"encode": np.inf, "bare": np.inf, "learned": np.inf}
        for _ in range(40):  # in turn, so that all meet the same machine
            spent["bare"] = min(spent["bare"], seconds(np.matmul, only["image"], bare))
            spent["learned"] = min(spent["learned"], seconds(np.matmul, only["image"], learned))
            spent["encode"] = min(spent["encode"], seconds(hasher.encode, only))
        print(
            f"{kind:36}{1e3 * spent['encode']:9.2f}{spent['bare'] / spent['encode']:25.0%}"
            f"{spent['learned'] / spent['encode']:26.0%}"
        )


def accuracy() -> None:
    """What float32 sums would lose: the error of W at θ = 1 against float64."""
    moments = {"float64 sums": Moments.zeros(4096, N_BITS)}
    gram, cross = np.zeros((4096, 4096), np.float32), np.zeros((4096, N_BITS), np.float32)
    exact_gram, exact_cross = np.zeros((4096, 4096)), np.zeros((4096, N_BITS))
    codes = np.sign(np.random.default_rng(0).standard_normal((N_CATEGORIES, N_BITS)))
    for number in range(3):
        views, labels = make_round(number)
        X, B = views["image"], np.sign(labels @ codes)
        moments["float64 sums"] = moments["float64 sums"].added(X, B)
        gram += X.T @ X
        cross += X.T @ B.astype(np.float32)
        exact_gram += X.astype(np.float64).T @ X.astype(np.float64)
        exact_cross += X.astype(np.float64).T @ B
    exact = np.linalg.solve(exact_gram + np.eye(4096), exact_cross)
    for name, found in {
        "omhash, float64 sums of float32 views": moments["float64 sums"]
        .ridge(1.0, center=False)
        .weights,
        "float32 sums": np.linalg.solve(gram.astype(np.float64) + np.eye(4096), cross),
    }.items():
        error = np.linalg.norm(found - exact) / np.linalg.norm(exact)
        print(f"relative error of W at θ = 1, {name}: {error:.1e}")


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Learning and encoding, against plain peers.")
    parser.add_argument("--rounds", type=int, default=20)
    learning(parser.parse_args().rounds)
    refitting()
    memory()
    encoding()
    print()
    accuracy()


if __name__ == "__main__":
    main()
