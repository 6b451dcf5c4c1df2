"""SAPMH: a latent space that all modalities of an item share, and codes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..errors import UnsupportedError, ViewError
from ..learning.heads import Head, in_blocks, outputs
from ..learning.similarity import similar
from ..learning.views import View, Views, filled, shaped_views
from .base import BOOLEAN, COUNT, POSITIVE, Constraint, Hasher
from .baseline import ALL_KERNELS, Floats, Learned, Shape
from .batch import BatchBaseline, Items, alike

_MOST_ITERATIONS, _MOST_QUERY_STEPS, _LEAST = 99, 9, 3


class SAPMH(BatchBaseline):
    """Adaptive partial multi-view hashing (Zheng et al. 2020), a batch method.

    Every item has a place h in a latent space from which U rebuilds the modalities that it
    has and W gives its code. Every round trains anew on everything so far, and database codes
    are those that h gives. The page on SAPMH tells more.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw; see `HCFW`.
    theta, rho, lam : float
        How much codes and similarity count, and the penalty of U.
    n_latent : int
        Dimensions of the latent space.
    max_items : int
        Items that a training takes at most, drawn from all so far.
    kernels : int, or mapping of modality to number of anchors, optional
        See `HCFW`; one number stands for every modality, and None for plain features.
    authors_program : bool
        Reproduce the authors' program to the letter: the last modality's weight damps W (by
        default the mean weight; the objective asks for rho), a query's weights are those of
        its batch, every modality's map is compared with the first modality for them, and the
        search starts from random signs.

    Attributes
    ----------
    latent_maps_ : dict of str to array of shape (n_latent, d)
        U of each modality.
    code_map_ : array of shape (n_latent, n_bits)
        W.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 3, 90)
    >>> views = {"image": np.eye(3)[kind] + 0.1 * rng.standard_normal((90, 3))}
    >>> labels = [[("cat", "dog", "owl")[k]] for k in kind]
    >>> hasher = SAPMH(n_bits=16, random_state=0).partial_fit(views, labels)
    >>> hasher.encode(views).shape
    (90, 2)
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "theta": POSITIVE,
        "rho": POSITIVE,
        "lam": POSITIVE,
        "n_latent": COUNT,
        "max_items": COUNT,
        "kernels": ALL_KERNELS,
        "authors_program": BOOLEAN,
    }

    _linear = False
    _keeps_moments = False

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        theta: float = 1e-4,
        rho: float = 1e-6,
        lam: float = 100.0,
        n_latent: int = 128,
        max_items: int = 5000,
        kernels: int | Mapping[str, int | tuple[int, float]] | None = 500,
        authors_program: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.theta = theta
        self.rho = rho
        self.lam = lam
        self.n_latent = n_latent
        self.max_items = max_items
        self.kernels = kernels
        self.authors_program = authors_program

    @property
    def depends_on_batch(self) -> bool:
        """Whether an item's code depends on its batch: in the authors' program."""
        return self.authors_program

    @property
    def latent_maps_(self) -> dict[str, Floats]:
        """U of each modality."""
        return {name: own.copy() for name, own in _maps(self._learned).items()}

    @property
    def code_map_(self) -> Floats:
        """W."""
        return np.array(self._learned.arrays["code_map"])

    def _trained(self, known: Learned, items: Items) -> Learned:
        """Alternate between places H, maps U and W, codes B and their copy Z, and weights."""
        rng = self._generator(known.seed, 3)
        if items.count > self.max_items:
            items = items.of(np.sort(rng.choice(items.count, self.max_items, replace=False)))
        theta, rho, labels = self.theta, self.rho, items.labels
        codes = np.sign(rng.standard_normal((items.count, self.n_bits)))
        places = rng.standard_normal((items.count, self.n_latent))
        weights = np.full(len(known.modalities), 0.5)
        maps = self._fitted_maps(items, places, weights)
        code_map = self._fitted_code_map(labels, places, codes, weights)
        copy = np.sign(rng.standard_normal((items.count, self.n_bits)))
        gap = codes - copy
        last = 1e4
        for iteration in range(1, _MOST_ITERATIONS + 1):
            pull = (theta * codes + rho * similar(labels, codes)) @ code_map.T
            outer = theta * np.eye(self.n_bits) + rho * codes.T @ codes
            places = _solved_places(items, maps, weights, pull, code_map @ outer @ code_map.T)
            maps = self._fitted_maps(items, places, weights)
            code_map = self._fitted_code_map(labels, places, codes, weights)
            wanted = places @ code_map
            between = rho * wanted.T @ wanted
            codes = np.sign(
                2.0 * (theta * wanted + rho * self.n_bits * similar(labels, wanted))
                - copy @ between
                + 0.01 * copy
                - gap
            )
            copy = np.sign(0.1 * codes + gap - codes @ between)
            gap = gap + 0.1 * (codes - copy)
            errors = _errors(items, places, maps)
            weights = 0.5 / np.maximum(errors, 1e-12)
            objective = (
                weights @ errors**2
                + theta * np.square(codes - wanted).sum()
                + rho * _similarity_error(labels, codes, wanted)
                + self.lam * sum(np.square(own).sum() for own in maps)
            )
            if iteration > _LEAST and last - objective < 0.01:
                break
            last = objective
        arrays = {f"map.{place}": own for place, own in enumerate(maps)}
        arrays |= {"code_map": code_map, "weights": weights}
        return replace(known, heads={}, arrays={**known.arrays, **arrays})

    def _fitted_maps(self, items: Items, places: Floats, weights: Floats) -> list[Floats]:
        """U of each modality, from the items that have it."""
        maps = []
        for own, here, weight in zip(items.features.values(), items.having, weights, strict=True):
            rows = places[here]
            gram = weight * rows.T @ rows + self.lam * np.eye(self.n_latent)
            maps.append(np.linalg.solve(gram, weight * rows.T @ own[here]))
        return maps

    def _fitted_code_map(
        self, labels: Floats, places: Floats, codes: Floats, weights: Floats
    ) -> Floats:
        """W."""
        wanted = places.T @ (self.theta * codes + self.rho * similar(labels, codes))
        # The objective asks for rho here. The authors' slip damps W, and without it far fewer
        # items are found: the default keeps it, independent of the order of modalities.
        damping = float(weights[-1] if self.authors_program else weights.mean())
        outer = self.theta * np.eye(self.n_bits) + damping * codes.T @ codes
        return _least_solution(places.T @ places, np.asarray(np.linalg.solve(outer, wanted.T).T))

    def _projected(
        self, views: Views, wanted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        known = self._learned
        if not known.arrays:
            return super()._projected(views, wanted)
        matrices = shaped_views(views, known.modalities)
        checked = {name: filled(name, matrix) for name, matrix in matrices.items()}
        present = np.column_stack([view.present for view in checked.values()])
        if not present.any(axis=1).all():
            row = int(np.argmin(present.any(axis=1)))
            raise ViewError(f"row {row}: the item lacks every modality")
        if self.authors_program:
            return self._searched(checked).astype(np.float32)
        values = np.zeros((len(present), self.n_bits), dtype=np.float32)
        for pattern, rows in alike(present):
            names = [name for name, here in zip(checked, pattern, strict=True) if here]
            values[rows] = self._settled({name: checked[name].matrix[rows] for name in names})
        return values

    def _settled(self, matrices: Mapping[str, Any]) -> NDArray[np.float32]:
        """Codes that agree with their own places, for items that have the same modalities.

        With the modalities' weights of training a place is linear in features and code, so
        that no place need be solved for: x's part is one product, and the code's another.
        """
        known = self._learned
        maps, code_map = _maps(known), known.arrays["code_map"]
        weights = dict(zip(known.modalities, known.arrays["weights"], strict=True))
        names = [name for name in known.modalities if name in matrices]
        gram = self.theta * code_map @ code_map.T
        gram = gram + sum(weights[name] * maps[name] @ maps[name].T for name in names)
        decoder = _least_solution(gram, code_map)
        nothing = np.zeros(self.n_bits)
        values: Any = 0.0
        for name in names:
            matrix = (weights[name] * maps[name].T @ decoder).astype(np.float32)
            head = Head(matrix, nothing.astype(np.float32), self.n_bits, nothing, 0.0, 0.0)
            values = values + outputs(name, matrices[name], head, known.kernels.get(name))[0]
        feedback = (self.theta * code_map.T @ decoder).astype(np.float32)
        own = values
        for _ in range(_MOST_QUERY_STEPS):
            own, before = values + in_blocks(lambda signs: signs @ feedback, np.sign(own)), own
            if np.array_equal(own, before):
                break
        return np.asarray(own, dtype=np.float32)

    def _searched(self, checked: Mapping[str, View]) -> Floats:
        """The authors' search for the codes of a batch."""
        known = self._learned
        maps, code_map = list(_maps(known).values()), known.arrays["code_map"]
        count = len(next(iter(checked.values())).present)
        items = Items.of_views(known, checked, np.zeros((count, 0)))
        rng = self._generator(known.seed, 4)
        codes = np.sign(rng.standard_normal((count, self.n_bits)))
        places = rng.standard_normal((count, self.n_latent))
        outer, last = self.theta * code_map @ code_map.T, 100.0
        weights = 0.5 / _authors_errors(items, places, maps)
        for step in range(1, _MOST_QUERY_STEPS + 1):
            pull = self.theta * codes @ code_map.T
            places = _solved_places(items, maps, weights, pull, outer)
            wanted = places @ code_map
            codes = np.sign(wanted)
            weights = 0.5 / _authors_errors(items, places, maps)
            errors = _errors(items, places, maps)
            objective = weights @ errors**2 + self.theta * np.square(codes - wanted).sum()
            if step > _LEAST and last - objective < 0.001:
                break
            last = objective
        return np.asarray(wanted)

    def _shapes(self, known: Learned) -> dict[str, Shape]:
        maps: dict[str, Shape] = {
            f"map.{place}": (self.n_latent, known.width(name))
            for place, name in enumerate(known.modalities)
        }
        own: dict[str, Shape] = {
            "code_map": (self.n_latent, self.n_bits),
            "weights": (len(known.modalities),),
        }
        return super()._shapes(known) | maps | own


def _maps(known: Learned) -> dict[str, Floats]:
    return {name: known.arrays[f"map.{place}"] for place, name in enumerate(known.modalities)}


def _least_solution(gram: Floats, right: Floats) -> Floats:
    """``gram⁻¹ right``; with few items some of it is free, and the least one is taken.

    Features of wide kernels are all but equal: a product with the inverse would lose digits
    that many iterations need.
    """
    try:
        return np.asarray(cho_solve(cho_factor(gram), right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(gram, right, rcond=None)[0])


def _errors(items: Items, places: Floats, maps: list[Floats]) -> Floats:
    """How far each modality is from what its map rebuilds."""
    return np.array(
        [
            np.linalg.norm(own[here] - places[here] @ rebuild)
            for own, here, rebuild in zip(items.features.values(), items.having, maps, strict=True)
        ]
    )


def _authors_errors(items: Items, places: Floats, maps: list[Floats]) -> Floats:
    """The slip: every map is compared with the first modality."""
    first = next(iter(items.features.values()))
    if any(rebuild.shape[1] != first.shape[1] for rebuild in maps):
        raise UnsupportedError(
            "the authors' program compares each modality's map with the first modality, so all "
            "need as many features: give them as many anchors, or leave out authors_program"
        )
    found = [float(np.linalg.norm(first - places @ rebuild)) for rebuild in maps]
    return np.maximum(found, 1e-12)


def _solved_places(
    items: Items, maps: list[Floats], weights: Floats, pull: Floats, outer: Floats
) -> Floats:
    """H: each item's place, from the modalities that it has."""
    places = np.zeros_like(pull)
    for pattern, rows in items.alike:
        wanted, gram = pull[rows], outer
        for own, here, rebuild, weight in zip(
            items.features.values(), pattern, maps, weights, strict=True
        ):
            if here:
                wanted = wanted + weight * own[rows] @ rebuild.T
                gram = gram + weight * rebuild @ rebuild.T
        places[rows] = _least_solution(gram, wanted.T).T
    return places


def _similarity_error(labels: Floats, codes: Floats, wanted: Floats) -> float:
    """``‖S - B (HW)ᵀ‖²`` for S = 2 L Lᵀ - 1 1ᵀ, from thin products."""
    of_labels, sizes = labels.T @ labels, labels.sum(axis=0)
    square = 4.0 * np.square(of_labels).sum() - 4.0 * sizes @ sizes + len(labels) ** 2
    mixed = (similar(labels, codes) * wanted).sum()
    return float(square - 2.0 * mixed + ((codes.T @ codes) * (wanted.T @ wanted)).sum())
