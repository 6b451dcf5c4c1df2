"""OASIS: codes of items that keep the similarity of their categories' meanings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes, pack
from ..learning.category_codes import checked_vectors
from ..learning.heads import Head
from ..learning.labels import Labels, label_matrix
from ..learning.latent import authors_balanced_factor, balanced_factor
from ..learning.moments import solved
from ..learning.views import Views, n_rows, shaped_views
from .base import (
    BOOLEAN,
    CALLABLE,
    COUNT,
    NOTHING,
    POSITIVE,
    Constraint,
    Hasher,
    either,
    read_round,
    refuse_unknown,
)
from .baseline import ALL_KERNELS, WEIGHTS, Baseline, Floats, Learned, Round, Shape


class OASIS(Baseline):
    """Online enhanced semantic hashing (Wu et al. 2021): new categories may come at any time.

    Every item's labels, times the vectors of the category names, give its *meaning* g. Codes
    B keep the inner products of meanings over all rounds; each modality's W is a ridge
    regression from sums that only grow. The page on OASIS tells more.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw; see `HCFW`.
    semantics : callable, optional
        Category names -> vectors, one row a name, as `omhash.semantics` makes them. Without
        it no two categories are related.
    weights : {"equal", "precision", "published", "calibrated"}
        How an item's modalities are weighted. "equal" is the method's own rule; with
        "published" it is "OASIS + FW" of the paper on HCFW.
    alpha, beta, gamma, theta, delta : float
        How much similarity and hash functions count, and the penalties of the meanings' map
        and of the hash functions.
    n_iterations : int
        Alternations in a round.
    kernels : int, or mapping of modality to number of anchors, optional
        See `HCFW`; one number stands for every modality.
    authors_program : bool
        Reproduce the authors' program to the letter: hash functions fitted to the last but
        one codes, random directions where the similarity leaves some free, and the codes
        of a round's items as learning left them.

    Attributes
    ----------
    hash_functions_ : dict of str to array of shape (d, k)
        Of each modality: W; in further columns U or the leverage sketch, where the weights
        need them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 3, 90)
    >>> views = {"image": np.eye(3)[kind] + 0.1 * rng.standard_normal((90, 3))}
    >>> labels = [[("cat", "dog", "owl")[k]] for k in kind]
    >>> hasher = OASIS(n_bits=16, random_state=0).partial_fit(views, labels)
    >>> hasher.encode(views).shape
    (90, 2)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "semantics": either(NOTHING, CALLABLE),
        "weights": WEIGHTS,
        "alpha": POSITIVE,
        "beta": POSITIVE,
        "gamma": POSITIVE,
        "theta": POSITIVE,
        "delta": POSITIVE,
        "n_iterations": COUNT,
        "kernels": ALL_KERNELS,
        "authors_program": BOOLEAN,
    }

    depends_on_rounds = True

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        semantics: Callable[[Sequence[str]], NDArray[Any]] | None = None,
        weights: str = "equal",
        alpha: float = 10.0,
        beta: float = 1.0,
        gamma: float = 1.0,
        theta: float = 1.0,
        delta: float = 1.0,
        n_iterations: int = 5,
        kernels: int | Mapping[str, int | tuple[int, float]] | None = None,
        authors_program: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.semantics = semantics
        self.weights = weights
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.theta = theta
        self.delta = delta
        self.n_iterations = n_iterations
        self.kernels = kernels
        self.authors_program = authors_program

    @property
    def category_codes_(self) -> Codes:
        """The code that each category alone had after the first round that showed it.

        Items' codes follow all that was learned since and are not made from these.
        """
        known = self._learned
        if not known.arrays:
            return np.zeros((0, self.n_bits // 8), dtype=np.uint8)
        return np.asarray(known.arrays["category_codes"].copy())

    def item_codes(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Codes:
        """The codes under which items are stored: from labels and views, else from views.

        A labelled item's code is the last step of learning for that item alone: what its
        categories mean, and where that leaves a bit open, what its views say.
        """
        known = self._learned
        read = label_matrix(labels, n_rows(shaped_views(views, None)), categories=categories)
        refuse_unknown(read, known.categories)
        bare = ~read.labelled
        values = self._projected(views, bare)
        codes, labelled = pack(values), np.flatnonzero(~bare)
        if not len(labelled):
            return codes
        if self.authors_program:
            items = read_round(views, labels, categories, known.modalities)
            if np.array_equal(_marks(Round(*items).of(labelled)), known.arrays["round_marks"]):
                codes[labelled] = known.arrays["round_codes"]
                return codes
        meanings = _meanings(read.aligned(known.categories), known.arrays["vectors"])
        pull = self.alpha * self.n_bits * (meanings @ known.arrays["meanings_with_latent"])
        codes[labelled] = pack(pull + self.gamma * values)[labelled]
        return codes

    def _learn(self, known: Learned, items: Round) -> Learned:
        """Alternate between the latent factor V, its map U, hash functions W, and codes B.

        Everything is one row an item here, the transposed of what the paper prints.
        """
        known = self._with_meanings(known)
        past, count = known.arrays, items.count
        meanings = _meanings(items.read.aligned(known.categories), past["vectors"])
        rng = self._generator(known.seed, 3, int(past["n_rounds"][0]))
        codes = np.sign(rng.standard_normal((self.n_bits, count))).T
        latent_map = rng.standard_normal((meanings.shape[1], self.n_bits))
        regressions = {
            name: items.regression(known, name, self.n_bits) for name in known.modalities
        }
        scale = self.alpha * self.n_bits
        with ExitStack() as stack:
            # The sums of features are the same in all iterations: one factorisation serves.
            factors = {
                name: stack.enter_context(one.grown.factored(self.delta))
                for name, one in regressions.items()
            }
            for _ in range(self.n_iterations):
                similarity = meanings.T @ codes + past["meanings_with_codes"]
                wanted = meanings @ (scale * similarity + self.beta * latent_map) + codes
                latent = (
                    authors_balanced_factor(wanted, rng)
                    if self.authors_program
                    else balanced_factor(wanted)
                )
                carried = meanings.T @ latent + past["meanings_with_latent"]
                gram = latent.T @ latent + past["latent_gram"] + self.theta * np.eye(self.n_bits)
                latent_map = np.linalg.solve(gram, carried.T).T
                before, pull = codes, scale * (meanings @ carried) + latent
                for name, one in regressions.items():
                    weights = solved(factors[name], one.cross(before))
                    pull += self.gamma * one.predicted(weights, count)
                codes = np.sign(pull)
            heads = {
                name: Head.solved(
                    one.moments(before if self.authors_program else codes),
                    self.delta,
                    self.weights,
                    center=False,
                    factor=factors[name],
                    dtype=np.float64 if self.authors_program else np.float32,
                )
                for name, one in regressions.items()
            }
        arrays = {
            **past,
            "n_rounds": past["n_rounds"] + 1,
            "meanings_with_codes": past["meanings_with_codes"] + meanings.T @ codes,
            "meanings_with_latent": carried,
            "latent_gram": past["latent_gram"] + latent.T @ latent,
        }
        old = len(past["category_codes"])
        fresh = pack(past["vectors"][old:] @ carried)
        arrays["category_codes"] = np.vstack([past["category_codes"], fresh])
        if self.authors_program:
            arrays |= {"round_marks": _marks(items), "round_codes": pack(codes)}
        moments = {name: one.moments(codes) for name, one in regressions.items()}
        return replace(known, heads=heads, moments=moments, arrays=arrays)

    def _with_meanings(self, known: Learned) -> Learned:
        """The vectors of new categories beside those of old ones."""
        n_bits, nothing = self.n_bits, np.zeros((0, 0))
        past = known.arrays or {
            "n_rounds": np.zeros(1),
            "vectors": nothing,
            "meanings_with_codes": np.zeros((0, n_bits)),
            "meanings_with_latent": np.zeros((0, n_bits)),
            "latent_gram": np.zeros((n_bits, n_bits)),
            "category_codes": np.zeros((0, n_bits // 8), dtype=np.uint8),
        }
        vectors = past["vectors"]
        names = known.categories[len(vectors) :]
        if self.semantics is None:
            vectors = np.eye(len(known.categories))
        elif names:
            fresh = checked_vectors(self.semantics(names), names, vectors.shape[1])
            vectors = np.vstack([vectors.reshape(-1, fresh.shape[1]), fresh])
        more = ((0, vectors.shape[1] - past["meanings_with_codes"].shape[0]), (0, 0))
        grown = {
            name: np.pad(past[name], more)
            for name in ("meanings_with_codes", "meanings_with_latent")
        }
        return replace(known, arrays={**past, **grown, "vectors": vectors})

    def _shapes(self, known: Learned) -> dict[str, Shape]:
        n_categories, n_bits = len(known.categories), self.n_bits
        shapes: dict[str, Shape] = {
            "n_rounds": (1,),
            "vectors": (n_categories, "k"),
            "meanings_with_codes": ("k", n_bits),
            "meanings_with_latent": ("k", n_bits),
            "latent_gram": (n_bits, n_bits),
            "category_codes": (n_categories, n_bits // 8),
        }
        if self.authors_program:
            shapes |= {"round_marks": ("n",), "round_codes": ("n", n_bits // 8)}
        return shapes


def _meanings(labels: Any, vectors: Floats) -> Floats:
    """The sum of the vectors of each item's categories, scaled to unit length."""
    sums = np.asarray(labels @ vectors)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1.0))


def _marks(items: Round) -> Floats:
    """A number for each item by which the items of a round are known again."""
    sums = [np.asarray(view.matrix.sum(axis=1)) for _, view in sorted(items.views.items())]
    return np.asarray(np.sum(sums, axis=0, dtype=np.float64))
