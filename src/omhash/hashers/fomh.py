"""FOMH: codes that keep the similarity inside each round, modalities that weigh themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import UnsupportedError
from ..learning.alternating import RoundRegression
from ..learning.heads import Head, Outputs, predicted
from ..learning.modality_weights import agreed, error_shares
from ..learning.moments import solved
from ..learning.similarity import similar
from .base import BOOLEAN, COUNT, POSITIVE, Constraint, Hasher
from .baseline import ALL_KERNELS, OWN_WEIGHTS, Baseline, Floats, Learned, Round, Shape

_QUERY_STEPS = 5


class FOMH(Baseline):
    """Flexible online multi-modal hashing (Lu et al. 2019): categories are fixed.

    Codes B of a round keep which of its items are alike; each modality's W is a ridge
    regression of codes from sums that only grow, and a modality counts the more the better
    it predicts them. Database codes are those of the hash functions. The page on FOMH tells
    more.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw; see `HCFW`.
    weights : {"own", "equal", "precision", "published", "calibrated"}
        How an item's modalities are weighted; "own" is the method's rule.
    alpha, beta, gamma, rho : float
        How much similarity and a code's distance from its factor count, the penalty of the
        hash functions, and how hard the two copies of the codes pull each other.
    n_iterations : int
        Alternations in a round.
    kernels : int, or mapping of modality to number of anchors, optional
        See `HCFW`; one number stands for every modality, and None for plain features.
    authors_program : bool
        Reproduce the authors' program to the letter: all variables carry over from round to
        round, a round of another size than the first teaches nothing, hash functions are
        fitted to the last but one codes, and an item's weights are those of its batch.

    Attributes
    ----------
    hash_functions_ : dict of str to array of shape (d, k)
        Of each modality: W; in further columns U or the leverage sketch, where the weights
        need them.
    intercepts_ : dict of str to array of shape (k,)
        What the constant feature adds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 3, 90)
    >>> views = {"image": np.eye(3)[kind] + 0.1 * rng.standard_normal((90, 3))}
    >>> labels = [[("cat", "dog", "owl")[k]] for k in kind]
    >>> hasher = FOMH(n_bits=16, random_state=0).partial_fit(views, labels)
    >>> hasher.encode(views).shape
    (90, 2)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "weights": OWN_WEIGHTS,
        "alpha": POSITIVE,
        "beta": POSITIVE,
        "gamma": POSITIVE,
        "rho": POSITIVE,
        "n_iterations": COUNT,
        "kernels": ALL_KERNELS,
        "authors_program": BOOLEAN,
    }

    depends_on_rounds = True
    recodes_database = True
    _constant = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        weights: str = "own",
        alpha: float = 1e-5,
        beta: float = 0.1,
        gamma: float = 1e-3,
        rho: float = 0.1,
        n_iterations: int = 10,
        kernels: int | Mapping[str, int | tuple[int, float]] | None = 1000,
        authors_program: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.weights = weights
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.rho = rho
        self.n_iterations = n_iterations
        self.kernels = kernels
        self.authors_program = authors_program

    def _taught(self, known: Learned, items: Round) -> Learned:
        if not known.categories:
            return self._learn(replace(known, categories=items.read.names), items)
        new = [name for name in items.read.occurring() if name not in known.categories]
        if new:
            raise UnsupportedError(
                f"FOMH learns the categories of its first labelled round, and {new[0]!r} was "
                "none of them: name all columns of a 0/1 matrix there, or use HCFW or OASIS"
            )
        return self._learn(known, items)

    def _learn(self, known: Learned, items: Round) -> Learned:
        """Alternate between hash functions W, codes B, their factor D and their copy Z."""
        start = self._start(known, items.count)
        if len(start["codes"]) != items.count:
            return known
        codes, copy, factor, gap = (start[name] for name in ("codes", "copy", "factor", "gap"))
        regressions = {
            name: items.regression(known, name, self.n_bits, constant=True)
            for name in known.modalities
        }
        labels = items.read.aligned(known.categories)
        identity, scale = np.eye(self.n_bits), self.alpha * self.n_bits
        present = np.zeros((items.count, len(regressions)), dtype=bool)
        for place, one in enumerate(regressions.values()):
            present[one.rows, place] = True
        shares = start["shares"]
        for _ in range(self.n_iterations):
            before, used = codes, shares
            predictions = [
                one.predicted(_weights(one, codes, self.gamma * share), items.count)
                for one, share in zip(regressions.values(), shares, strict=True)
            ]
            pull = sum(own / share for own, share in zip(predictions, shares, strict=True))
            pull = pull + scale * similar(labels, factor) + self.beta * factor
            inner = factor.T @ factor
            codes = np.sign(2.0 * pull - self.alpha * copy @ inner + self.rho * copy - gap)
            wanted = scale * similar(labels, codes) + self.beta * codes
            gram = self.alpha * codes.T @ codes + self.beta * identity
            factor = np.linalg.solve(gram, wanted.T).T
            copy = np.sign(self.rho * codes + gap - self.alpha * codes @ (factor.T @ factor))
            gap = gap + self.rho * (codes - copy)
            shares = error_shares(predictions, present, codes)
        fitted = before if self.authors_program else codes
        moments = {name: one.moments(fitted) for name, one in regressions.items()}
        heads = {
            name: Head.solved(
                own,
                self.gamma * float(share),
                self.weights,
                center=False,
                dtype=np.float64 if self.authors_program else np.float32,
            ).folded()
            for (name, own), share in zip(moments.items(), used, strict=True)
        }
        arrays = {"n_rounds": start["n_rounds"] + 1}
        if self.authors_program:
            arrays |= {"codes": codes, "copy": copy, "factor": factor, "gap": gap}
            arrays["shares"] = shares
        return replace(known, heads=heads, moments=moments, arrays=arrays)

    def _start(self, known: Learned, count: int) -> dict[str, NDArray[Any]]:
        """Where a round's alternation begins: random signs and a random factor."""
        if self.authors_program and known.arrays:
            return known.arrays
        n_rounds = known.arrays.get("n_rounds", np.zeros(1))
        rng = self._generator(known.seed, 3, int(n_rounds[0]))
        shape = (self.n_bits, count)
        codes = np.sign(rng.uniform(-1.0, 1.0, shape)).T
        copy = np.sign(rng.uniform(-1.0, 1.0, shape)).T
        factor = rng.standard_normal(shape).T
        return {
            "codes": codes,
            "copy": copy,
            "factor": factor,
            "gap": codes - copy,
            "n_rounds": n_rounds,
            "shares": np.full(len(known.modalities), 1.0 / len(known.modalities)),
        }

    def _fused(self, found: Mapping[str, Outputs]) -> Floats:
        if self.weights != "own":
            return super()._fused(found)
        predictions = predicted(found, self._learned.heads)
        weights = np.column_stack([0.5 * present for _, present in found.values()])
        if not self.authors_program:
            return agreed(predictions, weights, _trust, n_steps=_QUERY_STEPS, whole=False)[0]
        # The program takes batches of a round's size; each begins with the last one's weights.
        parts, size = [], len(self._learned.arrays["codes"])
        for start in range(0, max(len(weights), 1), size):
            rows = slice(start, start + size)
            own = [values[rows] for values in predictions]
            part, after = agreed(own, weights[rows], _trust, n_steps=_QUERY_STEPS, whole=True)
            parts.append(part)
            weights = np.where(weights > 0, after.max(axis=0, initial=0.0), 0.0)
        return np.concatenate(parts)

    def _shapes(self, known: Learned) -> dict[str, Shape]:
        shapes: dict[str, Shape] = {"n_rounds": (1,)}
        if self.authors_program:
            carried = ("codes", "copy", "factor", "gap")
            shapes |= dict.fromkeys(carried, ("n", self.n_bits))
            shapes["shares"] = (len(known.modalities),)
        return shapes


def _trust(distances: Floats) -> Floats:
    return np.asarray(0.5 / distances)


def _weights(one: RoundRegression, codes: Floats, penalty: float) -> Floats:
    with one.grown.factored(penalty) as factor:
        return solved(factor, one.cross(codes))
