"""OMH-DQ: codes of all items at once, by a rotation between them and the hash functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..learning.alternating import RoundRegression
from ..learning.heads import Head, Outputs, predicted
from ..learning.modality_weights import agreed, error_shares, sign_distances
from ..learning.moments import solved
from ..learning.similarity import similar
from .base import BOOLEAN, COUNT, POSITIVE, Constraint, Hasher
from .baseline import ALL_KERNELS, OWN_WEIGHTS, Floats, Learned
from .batch import BatchBaseline, Items

_QUERY_STEPS = 4


class OMHDQ(BatchBaseline):
    """Online multi-modal hashing with dynamic query adaption (Lu et al. 2019), a batch method.

    A real-valued H, rotated by R, comes close to the codes B, and both keep which items are
    alike; each modality's W predicts H. Every round trains anew on everything so far, and
    database codes are those of the hash functions. The page on OMH-DQ tells more.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw; see `HCFW`.
    weights : {"own", "equal", "precision", "published", "calibrated"}
        How an item's modalities are weighted; "own" is the method's rule.
    alpha, beta, delta, lam : float
        How much similarity and the rotation count, the penalty of the hash functions, and
        how hard variables and their copies pull each other.
    n_iterations : int
        Alternations in a training.
    kernels : int, or mapping of modality to number of anchors, optional
        See `HCFW`; one number stands for every modality, and None for plain features.
    authors_program : bool
        Reproduce the authors' program to the letter: an item's weights grow with the error
        of a modality, are those of its batch and start from random signs, and hash functions
        are fitted to the last but one H.

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
    >>> hasher = OMHDQ(n_bits=16, random_state=0).partial_fit(views, labels)
    >>> hasher.encode(views).shape
    (90, 2)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "weights": OWN_WEIGHTS,
        "alpha": POSITIVE,
        "beta": POSITIVE,
        "delta": POSITIVE,
        "lam": POSITIVE,
        "n_iterations": COUNT,
        "kernels": ALL_KERNELS,
        "authors_program": BOOLEAN,
    }

    _constant = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        weights: str = "own",
        alpha: float = 1e-3,
        beta: float = 1e-5,
        delta: float = 1e-3,
        lam: float = 1e5,
        n_iterations: int = 9,
        kernels: int | Mapping[str, int | tuple[int, float]] | None = 1000,
        authors_program: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.weights = weights
        self.alpha = alpha
        self.beta = beta
        self.delta = delta
        self.lam = lam
        self.n_iterations = n_iterations
        self.kernels = kernels
        self.authors_program = authors_program

    def _trained(self, known: Learned, items: Items) -> Learned:
        """Alternate between W, the rotation R, H, the codes B, and the copies of B and R.

        Everything is one row an item here, the transposed of what the paper prints.
        """
        alpha, beta, lam, scale = self.alpha, self.beta, self.lam, self.alpha * self.n_bits
        labels, regressions = items.labels, items.regressions(self.n_bits)
        rng = self._generator(known.seed, 3)
        shape, square = (self.n_bits, items.count), (self.n_bits, self.n_bits)
        codes = np.sign(rng.uniform(-1.0, 1.0, shape)).T
        copy = np.sign(rng.uniform(-1.0, 1.0, shape)).T
        gap = codes - copy
        rotation = _orthogonal(rng.standard_normal(square))
        turned = _orthogonal(rng.standard_normal(square))
        turn_gap = rotation - turned
        rotated = codes @ rotation
        latent = (beta * rotated + scale * similar(labels, rotated)) / (beta + alpha)
        shares = np.full(len(regressions), 1.0 / len(regressions))
        predictions = self._predictions(regressions, latent, shares)
        for _ in range(self.n_iterations):
            shares = error_shares(predictions, items.present, codes)
            before = latent
            predictions = self._predictions(regressions, latent, shares)
            inner, outer = latent.T @ latent, codes.T @ codes
            rotation = _orthogonal(
                2.0 * codes.T @ (beta * latent + scale * similar(labels, latent))
                - alpha * outer @ turned @ inner
                + lam * turned
                - turn_gap
            )
            rotated = codes @ rotation
            pull = sum(own / share for own, share in zip(predictions, shares, strict=True))
            pull = pull + beta * rotated + scale * similar(labels, rotated)
            # An item without a modality has one term less on the diagonal of its system.
            sizes, vectors = np.linalg.eigh(rotation.T @ outer @ rotation)
            terms = items.present @ (1.0 / shares) + beta
            latent = ((pull @ vectors) / (terms[:, None] + alpha * sizes)) @ vectors.T
            inner = latent.T @ latent
            wanted = latent @ rotation.T
            between = rotation @ inner @ rotation.T
            codes = np.sign(
                2.0 * (beta * wanted + scale * similar(labels, wanted))
                - alpha * copy @ between
                + lam * copy
                - gap
            )
            copy = np.sign(lam * codes + gap - alpha * codes @ between)
            turned = _orthogonal(
                lam * rotation + turn_gap - alpha * (codes.T @ codes) @ rotation @ inner
            )
            gap, turn_gap = codes - copy, rotation - turned
        moments = {
            name: one.moments(before if self.authors_program else latent)
            for name, one in regressions.items()
        }
        heads = {
            name: Head.solved(
                own,
                self.delta * float(share),
                self.weights,
                center=False,
                dtype=np.float64 if self.authors_program else np.float32,
            ).folded()
            for (name, own), share in zip(moments.items(), shares, strict=True)
        }
        return replace(known, heads=heads, moments=moments)

    def _predictions(
        self, regressions: Mapping[str, RoundRegression], latent: Floats, shares: Floats
    ) -> list[Floats]:
        found = []
        for one, share in zip(regressions.values(), shares, strict=True):
            with one.grown.factored(self.delta * share) as factor:
                found.append(one.predicted(solved(factor, one.cross(latent)), len(latent)))
        return found

    def _fused(self, found: Mapping[str, Outputs]) -> Floats:
        if self.weights != "own":
            return super()._fused(found)
        predictions = predicted(found, self._learned.heads)
        present = np.column_stack([here for _, here in found.values()])
        if not self.authors_program:
            start = present.astype(np.float64)
            return agreed(predictions, start, _trust, n_steps=_QUERY_STEPS, whole=False)[0]
        rng = self._generator(self._learned.seed, 4)
        signs = np.sign(rng.uniform(-1.0, 1.0, (self.n_bits, len(present)))).T
        distances = sign_distances(predictions, present, signs, whole=True)
        weights = np.where(present, _shared(distances), 0.0)
        return agreed(predictions, weights, _shared, n_steps=_QUERY_STEPS, whole=True)[0]


def _trust(distances: Floats) -> Floats:
    return np.asarray(1.0 / distances)


def _shared(distances: Floats) -> Floats:
    return np.asarray(distances / distances.sum(axis=1, keepdims=True))


def _orthogonal(square: Floats) -> Floats:
    """The orthogonal matrix nearest to a square one."""
    left, _, right = np.linalg.svd(square)
    return np.asarray(left @ right)
