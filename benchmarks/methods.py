"""Each method's round at MIRFlickr's size, against a plain transcription of its authors' program.

Rounds of 2,000 items with 4,096 image and 1,386 text features and 24 categories, 32 bits. A
peer is the authors' formulas as they are printed, in NumPy float64: with inverses in every
iteration, and in SAPMH with the matrix of all pairs. Times are those of one round after
``--rounds - 1`` others, medians of interleaved repeats, kernel features included in both.

Run: ``python benchmarks/methods.py [--rounds 3] [--items 2000] [--scale 1] [--repeats 3]``;
``--scale 4`` takes a quarter of the features and anchors.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omhash.hashers import FOMH, HCFW, OASIS, ODMVH, OMHDQ, SAPMH, Hasher

N_CATEGORIES, N_BITS = 24, 32
NAMES = [f"category {number}" for number in range(N_CATEGORIES)]
VECTORS = np.random.default_rng(0).standard_normal((N_CATEGORIES, 300))

Floats = NDArray[np.float64]
Views = dict[str, NDArray[np.float32]]
Past = list[tuple[list[Floats], NDArray[np.uint8]]]
inv = np.linalg.inv


def semantics(names: Any) -> Floats:
    """A vector for each category."""
    return VECTORS[[NAMES.index(name) for name in names]]


def make_round(number: int, n_items: int, scale: int) -> tuple[Views, NDArray[np.uint8]]:
    """One round of features whose means depend on the items' categories."""
    rng, means = np.random.default_rng([7, number]), np.random.default_rng(7)
    labels = (rng.random((n_items, N_CATEGORIES)) < 0.12).astype(np.uint8)
    labels[np.arange(n_items), rng.integers(0, N_CATEGORIES, n_items)] = 1
    views = {}
    for name, full in {"image": 4096, "text": 1386}.items():
        width = full // scale
        spread = means.standard_normal((N_CATEGORIES, width), dtype=np.float32)
        noise = rng.standard_normal((n_items, width), dtype=np.float32)
        views[name] = np.maximum(labels @ spread + noise, 0)
    return views, labels


def kernel(x: Floats, anchors: Floats, *, constant: bool) -> Floats:
    """RBF features, one column an item, with a row of ones where the program has one."""
    d = np.square(x).sum(axis=1)[:, None] + np.square(anchors).sum(axis=1) - 2 * x @ anchors.T
    features = np.exp(-d / d.mean()).T
    return np.vstack([features, np.ones(len(x))]) if constant else features


def stacked(past: Past, n_anchors: int) -> tuple[list[Floats], NDArray[np.uint8]]:
    """All items so far behind the kernel, and their labels: one column an item."""
    first = past[0][0]
    xs = [
        kernel(np.vstack([views[m] for views, _ in past]), first[m][:n_anchors], constant=False)
        for m in (0, 1)
    ]
    return xs, np.vstack([labels for _, labels in past]).T


class PlainOASIS:
    """OASIS as printed, all matrices r x n."""

    def __init__(self, n_anchors: int) -> None:  # noqa: ARG002 - alike for all peers
        self.sums: list[Any] = [0, 0, 0, 0]
        self.regressions: list[Any] = [(0, 0), (0, 0)]

    def learn(self, past: Past) -> None:
        """One round."""
        views, labels = past[-1]
        xs = [x.T for x in views]
        G = labels @ VECTORS
        G = (G / np.linalg.norm(G, axis=1, keepdims=True)).T
        r, n = N_BITS, len(labels)
        rng = np.random.default_rng(0)
        B, U = np.sign(rng.standard_normal((r, n))), rng.standard_normal((300, r))
        H1, H2, H3, H4 = self.sums
        for _ in range(5):
            Z = r * 10 * (B @ G.T + H1) @ G + U.T @ G + B
            C = Z @ Z.T - np.outer(Z.sum(axis=1), Z.sum(axis=1)) / n
            sizes, P = np.linalg.eigh(C)
            Q = (Z - Z.mean(axis=1, keepdims=True)).T @ P / np.sqrt(np.maximum(sizes, 1e-6))
            V = np.sqrt(n) * P @ Q.T
            U = (G @ V.T + H2) @ inv(V @ V.T + H3 + np.eye(r))
            W = [
                (B @ x.T + p) @ inv(x @ x.T + q + np.eye(len(x)))
                for x, (p, q) in zip(xs, self.regressions, strict=True)
            ]
            pull = sum(w @ x for w, x in zip(W, xs, strict=True))
            B = np.sign(10 * r * (V @ G.T + H4) @ G + V + pull)
        self.sums = [H1 + B @ G.T, H2 + G @ V.T, H3 + V @ V.T, H4 + V @ G.T]
        self.regressions = [
            (p + B @ x.T, q + x @ x.T) for x, (p, q) in zip(xs, self.regressions, strict=True)
        ]


class PlainHCFW:
    """The paper's formulas for given category codes: two solves a modality."""

    def __init__(self, n_anchors: int) -> None:  # noqa: ARG002 - alike for all peers
        self.regressions: list[Any] = [(0, 0), (0, 0)]
        self.codes = np.sign(np.random.default_rng(0).standard_normal((N_CATEGORIES, N_BITS)))

    def learn(self, past: Past) -> None:
        """One round."""
        views, labels = past[-1]
        B = np.sign(labels @ self.codes).T
        self.regressions = [
            (p + B @ x, q + x.T @ x) for x, (p, q) in zip(views, self.regressions, strict=True)
        ]
        for p, q in self.regressions:
            W = p @ inv(q + np.eye(len(q)))
            self.U = inv(q + np.eye(len(q))) @ (p.T - q @ W.T)


class PlainFOMH:
    """FOMH as printed, all matrices r x n."""

    def __init__(self, n_anchors: int) -> None:
        self.n_anchors = n_anchors
        self.regressions: list[Any] = [(0, 0), (0, 0)]

    def learn(self, past: Past) -> None:
        """One round."""
        views, labels = past[-1]
        xs = [
            kernel(x, first[: self.n_anchors], constant=True)
            for x, first in zip(views, past[0][0], strict=True)
        ]
        L, n, r = labels.T, len(labels), N_BITS
        rng, alpha, beta, rho = np.random.default_rng(0), 1e-5, 0.1, 0.1
        B, Z = (np.sign(rng.uniform(-1, 1, (r, n))) for _ in range(2))
        D, G, mu = rng.standard_normal((r, n)), B - Z, [0.5, 0.5]
        for _ in range(10):
            W = [
                (B @ x.T + p) / m @ inv((x @ x.T + q) / m + 1e-3 * np.eye(len(x)))
                for x, (p, q), m in zip(xs, self.regressions, mu, strict=True)
            ]
            pull = sum(w @ x / m for w, x, m in zip(W, xs, mu, strict=True))
            S = 2 * (D @ L.T) @ L - D.sum(axis=1, keepdims=True)
            B = np.sign(
                2 * pull + 2 * alpha * r * S - alpha * D @ (D.T @ Z) + 2 * beta * D + rho * Z - G
            )
            S = 2 * (B @ L.T) @ L - B.sum(axis=1, keepdims=True)
            D = inv(alpha * B @ B.T + beta * np.eye(r)) @ (alpha * r * S + beta * B)
            Z = np.sign(-alpha * D @ (D.T @ B) + rho * B + G)
            G = G + rho * (B - Z)
            e = [np.linalg.norm(B - w @ x) for w, x in zip(W, xs, strict=True)]
            mu = [float(one / sum(e)) for one in e]
        self.regressions = [
            (p + B @ x.T, q + x @ x.T) for x, (p, q) in zip(xs, self.regressions, strict=True)
        ]


class PlainOMHDQ:
    """OMH-DQ as printed, all matrices r x n."""

    def __init__(self, n_anchors: int) -> None:
        self.n_anchors = n_anchors

    def learn(self, past: Past) -> None:
        """All rounds so far."""
        xs, L = stacked(past, self.n_anchors)
        n, r = L.shape[1], N_BITS
        xs = [np.vstack([x, np.ones(n)]) for x in xs]
        alpha, beta, delta, lam = 1e-3, 1e-5, 1e-3, 1e5
        rng = np.random.default_rng(0)
        B, Zb = (np.sign(rng.uniform(-1, 1, (r, n))) for _ in range(2))
        R, Zr = (orthogonal(rng.standard_normal((r, r))) for _ in range(2))
        Gb, Gr, mu = B - Zb, R - Zr, [0.5, 0.5]

        def S(M: Floats) -> Floats:  # noqa: N802 - the paper's name
            return np.asarray(2 * (M @ L.T) @ L - M.sum(axis=1, keepdims=True))

        def regressed() -> list[Floats]:
            return [
                (H @ x.T / m) @ inv(x @ x.T / m + delta * np.eye(len(x)))
                for x, m in zip(xs, mu, strict=True)
            ]

        H = (beta * R.T @ B + alpha * r * S(R.T @ B)) / (beta + alpha)
        W = regressed()
        for _ in range(9):
            e = [np.linalg.norm(B - w @ x) for w, x in zip(W, xs, strict=True)]
            mu = [float(one / sum(e)) for one in e]
            W = regressed()
            similar = 2 * (B @ L.T) @ (H @ L.T).T - np.outer(B.sum(axis=1), H.sum(axis=1))
            R = orthogonal(
                2 * beta * B @ H.T
                + 2 * alpha * r * similar
                - alpha * B @ B.T @ Zr @ H @ H.T
                + lam * Zr
                - Gr
            )
            pull = sum(w @ x / m for w, x, m in zip(W, xs, mu, strict=True))
            inner = (sum(1 / m for m in mu) + beta) * np.eye(r) + alpha * R.T @ B @ B.T @ R
            H = inv(inner) @ (pull + beta * R.T @ B + alpha * r * S(R.T @ B))
            between = R @ H @ H.T @ R.T
            wanted = 2 * beta * R @ H + 2 * alpha * r * S(R @ H)
            B = np.sign(wanted - alpha * between @ Zb + lam * Zb - Gb)
            Zb = np.sign(-alpha * between @ B + lam * B + Gb)
            Zr = orthogonal(-alpha * B @ B.T @ R @ H @ H.T + lam * R + Gr)
            Gb, Gr = B - Zb, R - Zr


class PlainSAPMH:
    """SAPMH as printed, one row an item, with the matrix of all pairs."""

    def __init__(self, n_anchors: int) -> None:
        self.n_anchors = n_anchors // 2

    def learn(self, past: Past) -> None:
        """All rounds so far, 5,000 items at most."""
        columns, labels = stacked(past, self.n_anchors)
        xs, L = [x.T[:5000] for x in columns], labels.T[:5000].astype(np.float64)
        S = 2 * L @ L.T - 1
        theta, rho, lam, k, r = 1e-4, 1e-6, 100, 128, N_BITS
        rng = np.random.default_rng(0)
        B, H = np.sign(rng.standard_normal((len(L), r))), rng.standard_normal((len(L), k))
        Z = np.sign(rng.standard_normal((len(L), r)))
        G, mu, last = B - Z, [0.5, 0.5], 1e4

        def fitted() -> tuple[list[Floats], Floats]:
            U = [
                inv(m * H.T @ H + lam * np.eye(k)) @ (m * H.T @ x)
                for x, m in zip(xs, mu, strict=True)
            ]
            W = inv(H.T @ H) @ (theta * H.T @ B + rho * H.T @ S.T @ B)
            return U, W @ inv(theta * np.eye(r) + mu[1] * B.T @ B)

        U, W = fitted()
        for iteration in range(1, 100):
            pull = sum(m * x @ u.T for x, u, m in zip(xs, U, mu, strict=True))
            inner = sum(m * u @ u.T for u, m in zip(U, mu, strict=True)) + theta * W @ W.T
            H = (pull + theta * B @ W.T + rho * S.T @ B @ W.T) @ inv(
                inner + rho * W @ B.T @ B @ W.T
            )
            U, W = fitted()
            HW = H @ W
            pull = 2 * theta * HW + 2 * rho * r * S @ HW - rho * Z @ (HW.T @ HW)
            B = np.sign(pull + 0.01 * Z - G)
            Z = np.sign(-rho * B @ (HW.T @ HW) + 0.1 * B + G)
            G = G + 0.1 * (B - Z)
            e = [float(np.linalg.norm(x - H @ u)) for x, u in zip(xs, U, strict=True)]
            mu = [0.5 / one for one in e]
            objective = float(
                sum(m * one**2 for m, one in zip(mu, e, strict=True))
                + theta * np.square(B - HW).sum()
                + rho * np.square(S - B @ HW.T).sum()
                + lam * sum(np.square(u).sum() for u in U)
            )
            if iteration > 3 and last - objective < 0.01:
                break
            last = objective


def orthogonal(square: Floats) -> Floats:
    """PQᵀ from square = PΣQᵀ."""
    left, _, right = np.linalg.svd(square)
    return np.asarray(left @ right)


def seconds(function: Callable[..., object], *args: Any, **options: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function(*args, **options)
    return time.perf_counter() - start


def hashers(n_anchors: int) -> Mapping[str, tuple[Hasher, Any]]:
    """Each method, and the transcription of its authors' program where there is one."""
    return {
        "SAPMH": (
            SAPMH(N_BITS, random_state=0, kernels=n_anchors // 2, authors_program=True),
            PlainSAPMH(n_anchors),
        ),
        "OMH-DQ": (OMHDQ(N_BITS, random_state=0, kernels=n_anchors), PlainOMHDQ(n_anchors)),
        "FOMH": (FOMH(N_BITS, random_state=0, kernels=n_anchors), PlainFOMH(n_anchors)),
        "OASIS": (OASIS(N_BITS, random_state=0, semantics=semantics), PlainOASIS(n_anchors)),
        "HCFW, published": (
            HCFW.published(N_BITS, random_state=0, semantics=semantics),
            PlainHCFW(n_anchors),
        ),
        "HCFW, default": (HCFW(N_BITS, random_state=0), None),
        "ODMVH": (ODMVH(N_BITS, random_state=0, kernels=n_anchors // 2), None),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="A round of each method, against plain peers.")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="")
    wanted = parser.parse_args()
    rounds = [make_round(number, wanted.items, wanted.scale) for number in range(wanted.rounds)]
    plain_rounds: Past = [
        ([view.astype(np.float64) for view in views.values()], labels) for views, labels in rounds
    ]
    found = {}
    for name, (hasher, peer) in hashers(1000 // wanted.scale).items():
        if wanted.only and wanted.only not in name:
            continue
        for number, (views, labels) in enumerate(rounds[:-1], start=1):
            hasher.partial_fit(views, labels, categories=NAMES)
            # Batch methods keep nothing from earlier rounds.
            if peer is not None and not isinstance(peer, (PlainOMHDQ, PlainSAPMH)):
                peer.learn(plain_rounds[:number])
        state, views, labels = hasher.get_state(), *rounds[-1]
        own, plain = [], []
        for _ in range(wanted.repeats):
            hasher.set_state(state)
            own.append(seconds(hasher.partial_fit, views, labels, categories=NAMES))
            if peer is not None:
                plain.append(seconds(copy.deepcopy(peer).learn, plain_rounds))
        found[name] = float(np.median(own)), float(np.median(plain)) if plain else np.nan
    unit = found.get("HCFW, published", next(iter(found.values())))
    print(f"round {wanted.rounds} of {wanted.items} items")
    print(f"{'method':18}{'seconds':>9}{'plain / it':>12}{'of HCFW':>9}{'plain, of HCFW':>16}")
    for name, (own_seconds, plain_seconds) in found.items():
        print(
            f"{name:18}{own_seconds:9.3f}{plain_seconds / own_seconds:12.1f}"
            f"{own_seconds / unit[0]:9.1f}{plain_seconds / unit[1]:16.1f}"
        )


if __name__ == "__main__":
    main()
