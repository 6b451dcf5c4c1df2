"""What HCFW has learned, as one value that is replaced whole and never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import StateError
from ..learning.category_codes import Signs
from ..learning.heads import Head, numbers
from ..learning.kernels import RBFKernel
from ..learning.labels import LabelMatrix
from ..learning.moments import Moments
from .additive import Sums

Floats = NDArray[np.float64]

_BIT_NOISE = 0.1
"""Share of a bit's variance that is taken to be noise: without it, few distinct codes leave
the decoder free to put all its trust in few bits, which their signs alone cannot show."""

_LEAST_RESPONSE = 0.05


@dataclass(frozen=True, eq=False)
class Model:
    """Statistics, codes and hash functions.

    Attributes
    ----------
    seed : int
    modalities : dict of str to int
    kernels : dict of str to RBFKernel
    categories : tuple of str
    signs : array of int8, shape (n_categories, n_bits)
        The category codes.
    vectors : array of shape (n_categories, k)
        The name vectors, where the codes were made from them.
    moments : dict of str to Moments
        Of each modality: features with targets.
    code_moments : Moments
        Item codes with labels.
    heads : dict of str to Head
        The hash functions.
    decoder : array of float32, shape (n_categories, n_bits)
        Takes category scores to the projection whose product with an item's bits comes
        closest to the scores of the item's own categories.
    """

    seed: int
    modalities: dict[str, int]
    kernels: dict[str, RBFKernel]
    categories: tuple[str, ...]
    signs: Signs
    vectors: Floats
    moments: dict[str, Moments]
    code_moments: Moments
    heads: dict[str, Head]
    decoder: NDArray[np.float32]

    @classmethod
    def empty(
        cls, modalities: Mapping[str, int], n_bits: int, *, n_targets: int, seed: int
    ) -> Self:
        """The model before the first round."""
        return cls(
            seed=int(seed),
            modalities=dict(modalities),
            kernels={},
            categories=(),
            signs=np.zeros((0, n_bits), dtype=np.int8),
            vectors=np.zeros((0, 0)),
            moments={name: Moments.zeros(width, n_targets) for name, width in modalities.items()},
            code_moments=Moments.zeros(n_bits, 0),
            heads={},
            decoder=np.zeros((0, n_bits), dtype=np.float32),
        )

    def with_kernels(self, kernels: dict[str, RBFKernel]) -> Self:
        """The model with kernels in front of some modalities."""
        fresh = {
            name: Moments.zeros(len(kernel.anchors), self.moments[name].xy.shape[1])
            for name, kernel in kernels.items()
        }
        return replace(self, kernels=kernels, moments={**self.moments, **fresh})

    def with_categories(
        self, names: tuple[str, ...], signs: Signs, vectors: Floats, n_targets: int
    ) -> Self:
        """The model with more categories, which no item so far had."""
        return replace(
            self,
            categories=names,
            signs=signs,
            vectors=vectors,
            moments={name: moments.widened(n_targets) for name, moments in self.moments.items()},
            code_moments=self.code_moments.widened(len(names)),
        )

    def with_random_heads(self, rng: np.random.Generator) -> Self:
        """The model before it knows a category: projections on random directions."""
        n_bits = self.signs.shape[1]
        heads = {}
        for name, moments in self.moments.items():
            width = len(moments.x_sum)
            directions = rng.standard_normal((width, n_bits)).astype(np.float32)
            nothing = np.zeros(n_bits)
            heads[name] = Head(directions, nothing.astype(np.float32), n_bits, nothing, 0.0, 0.0)
        return replace(self, heads=heads)

    @property
    def sums(self) -> Sums:
        """What all items so far added."""
        return Sums(self.moments, self.code_moments)

    def with_sums(self, sums: Sums) -> Self:
        """The model with other sums of items."""
        return replace(self, moments=sums.moments, code_moments=sums.code_moments)

    def empty_sums(self, *, codes: bool) -> Sums:
        """The sums of no items, for the categories that there are."""
        n_categories, n_bits = self.signs.shape
        n_targets = n_bits if codes else n_categories
        moments = {
            name: Moments.zeros(
                len(self.kernels[name].anchors) if name in self.kernels else width, n_targets
            )
            for name, width in self.modalities.items()
        }
        return Sums(moments, Moments.zeros(n_bits, n_categories))

    def signs_of(self, read: LabelMatrix) -> Floats:
        """The sum of the signs of each item's categories."""
        return np.asarray(read.aligned(self.categories) @ self.signs.astype(np.float64))

    def prior(self, *, codes: bool) -> tuple[Floats, Floats]:
        """Mean and variance of the targets over all labelled items."""
        count = max(self.code_moments.count, 1)
        mean = (self.code_moments.x_sum if codes else self.code_moments.y_sum) / count
        square = np.ones_like(mean) if codes else mean
        return mean, square - mean**2

    def solved_decoder(self) -> NDArray[np.float32]:
        """Least squares of labels on the bits of the codes that the labels give.

        Least squares answers less to a rare category than to a common one. The response of
        each category to its own items is brought half-way (in the logarithm) to 1.
        """
        sums = self.code_moments
        noise = max(_BIT_NOISE * sums.count, 1.0)
        weights = sums.ridge(noise, center=False).weights
        own = np.einsum("ij,ij->j", weights, sums.xy) / np.maximum(sums.y_sum, 1.0)
        decoder = weights / np.sqrt(np.maximum(own, _LEAST_RESPONSE))
        return np.ascontiguousarray(decoder.T, dtype=np.float32)

    def to_state(self) -> dict[str, Any]:
        """A flat mapping of names to arrays and plain values."""
        state: dict[str, Any] = {
            "seed": self.seed,
            "modalities": list(self.modalities),
            "widths": list(self.modalities.values()),
            "categories": list(self.categories),
            "signs": self.signs.copy(),
            "vectors": self.vectors.copy(),
            "decoder": self.decoder.copy(),
        }
        for place, name in enumerate(self.modalities):
            if name in self.kernels:
                state[f"{place}.kernel.anchors"] = self.kernels[name].anchors.copy()
                state[f"{place}.kernel.bandwidth"] = self.kernels[name].bandwidth
            state.update(self.moments[name].to_state(f"{place}.moments"))
            state.update(self.heads[name].to_state(f"{place}.head"))
        state.update(self.code_moments.to_state("code_moments"))
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any], n_bits: int) -> Self:
        """The model that `to_state` wrote; `StateError` where the state is not whole."""
        try:
            names = [str(name) for name in state["modalities"]]
            model = cls(
                seed=int(state["seed"]),
                modalities=dict(zip(names, map(int, state["widths"]), strict=True)),
                kernels={
                    name: RBFKernel(
                        numbers(state, f"{place}.kernel.anchors"),
                        float(state[f"{place}.kernel.bandwidth"]),
                    )
                    for place, name in enumerate(names)
                    if f"{place}.kernel.anchors" in state
                },
                categories=tuple(str(name) for name in state["categories"]),
                signs=np.array(state["signs"], dtype=np.int8),
                vectors=np.array(state["vectors"], dtype=np.float64),
                moments={
                    name: Moments.from_state(f"{place}.moments", state)
                    for place, name in enumerate(names)
                },
                code_moments=Moments.from_state("code_moments", state),
                heads={
                    name: Head.from_state(f"{place}.head", state)
                    for place, name in enumerate(names)
                },
                decoder=np.array(state["decoder"], dtype=np.float32),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state is not whole: {error}") from None
        model._check_shapes(n_bits)
        return model

    def _check_shapes(self, n_bits: int) -> None:
        count = len(self.categories)
        expected: dict[str, tuple[Any, Any]] = {
            "signs": (self.signs.shape, (count, n_bits)),
            "decoder": (self.decoder.shape, (count, n_bits)),
            "vectors": (len(self.vectors), count if self.vectors.size else 0),
            "code_moments": (self.code_moments.xy.shape, (n_bits, count)),
        }
        for name, width in self.modalities.items():
            kernel = self.kernels.get(name)
            features = len(kernel.anchors) if kernel else width
            if kernel:
                expected[f"anchors of {name}"] = (kernel.anchors.shape, (features, width))
            expected[f"moments of {name}"] = (self.moments[name].xx.shape, (features, features))
            head = self.heads[name]
            expected[f"head of {name}"] = (head.matrix.shape, (features, len(head.offset)))
            expected[f"variances of {name}"] = (head.variances.shape, (head.n_targets,))
        for what, (shape, wanted) in expected.items():
            if shape != wanted:
                raise StateError(f"the state is not whole: {what} has shape {shape}, not {wanted}")
