"""ODMVH: codes without labels, whose bits grow in number as the stream asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes
from ..learning.growing import more_directions, trust, unexplained
from ..learning.heads import Head, Outputs, predicted
from ..learning.labels import Labels
from ..learning.views import View, Views
from .base import COUNT, POSITIVE, Constraint, Hasher, read_round
from .baseline import ALL_KERNELS, Baseline, Floats, Learned, Round, Shape


class ODMVH(Baseline):
    """Online dynamic multi-view hashing (after Xie et al. 2017): unsupervised, growing codes.

    Built from the method's description, not from its authors' formulas or program, neither
    of which was at hand: it learns without labels, more bits come into use when those in use
    no longer represent new data, modality weights are learned, and a buffer limits how often
    the model is updated. All else is this library's. The page on ODMVH tells it in full.

    Codes have `n_bits` bits from the start; a bit that is not in use yet is 0. The direction
    of a bit never changes once it is in use, so old codes stay searchable.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw; see `HCFW`.
    n_stages : int
        Stages in which bits come into use, the first of them with the first round.
    tolerance : float
        The share of new data's variance that may stay unexplained before more bits come.
    buffer_size : int
        New items between two updates of the model.
    kernels : int, or mapping of modality to number of anchors, optional
        See `HCFW`; one number stands for every modality, and None for plain features.

    Attributes
    ----------
    n_bits_in_use_ : int
    modality_weights_ : dict of str to float

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> views = {"image": rng.standard_normal((90, 12))}
    >>> hasher = ODMVH(n_bits=16, random_state=0, buffer_size=50).partial_fit(views)
    >>> hasher.n_bits_in_use_
    4
    >>> hasher.partial_fit({"image": rng.standard_normal((100, 12))}).n_bits_in_use_
    12
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "n_stages": COUNT,
        "tolerance": POSITIVE,
        "buffer_size": COUNT,
        "kernels": ALL_KERNELS,
    }

    unsupervised = True
    _keeps_moments = False

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        n_stages: int = 4,
        tolerance: float = 0.05,
        buffer_size: int = 1000,
        kernels: int | Mapping[str, int | tuple[int, float]] | None = 500,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.n_stages = n_stages
        self.tolerance = tolerance
        self.buffer_size = buffer_size
        self.kernels = kernels

    @property
    def category_codes_(self) -> Codes:
        """Empty: the method learns no categories."""
        return np.zeros((len(self._learned.categories), self.n_bits // 8), dtype=np.uint8)

    @property
    def n_bits_in_use_(self) -> int:
        """How many bits codes have so far; the others are 0."""
        return int(self._learned.arrays["n_in_use"][0])

    @property
    def modality_weights_(self) -> dict[str, float]:
        """How much each modality counts."""
        known = self._learned
        return dict(zip(known.modalities, known.arrays["weights"].tolist(), strict=True))

    def partial_fit(
        self, views: Views, labels: Labels | None = None, *, categories: Iterable[str] | None = None
    ) -> Self:
        """Learn one round of the stream; labels are looked at, and teach nothing."""
        self.check_parameters()
        before: Learned | None = getattr(self, "_model", None)
        checked, read = read_round(views, labels, categories, before.modalities if before else None)
        self._model = self._learn(before or self._first(checked), Round(checked, read))
        return self

    def _learn(self, known: Learned, items: Round) -> Learned:
        """The first round is an update; after it, every `buffer_size` items are one."""
        if not known.arrays:
            known = self._centred(known, items.views)
            rows = self._side_by_side(known, items)
            return self._updated(known, rows.T @ rows)
        rows = self._side_by_side(known, items)
        start = 0
        while start < len(rows):
            held = int(known.arrays["n_buffered"][0])
            part = rows[start : start + self.buffer_size - held]
            start, held = start + len(part), held + len(part)
            buffer = known.arrays["buffer"] + part.T @ part
            if held == self.buffer_size:
                known = self._updated(known, buffer)
            else:
                arrays = {"buffer": buffer, "n_buffered": np.array([float(held)])}
                known = replace(known, arrays=known.arrays | arrays)
        return known

    def _centred(self, known: Learned, views: Mapping[str, View]) -> Learned:
        """Means and scales that give every modality the same variance in the first round."""
        means, scales = [], []
        for name in known.modalities:
            rows = np.flatnonzero(views[name].present)
            features = _dense(known.features(name, views[name].matrix[rows]))
            mean = features.sum(axis=0) / max(len(rows), 1)
            spread = np.square(features - mean).sum() / max(len(rows), 1)
            means.append(mean)
            scales.append(1.0 / np.sqrt(spread) if spread > 0 else 1.0)
        width, n_modalities = sum(map(len, means)), len(means)
        arrays = {
            "means": np.concatenate(means),
            "scales": np.array(scales),
            "gram": np.zeros((width, width)),
            "weights": np.full(n_modalities, 1.0 / n_modalities),
            "directions": np.zeros((width, self.n_bits)),
            "n_in_use": np.zeros(1),
        }
        return replace(known, arrays=arrays)

    def _side_by_side(self, known: Learned, items: Round) -> Floats:
        """Centred and scaled features of all modalities; 0 where an item lacks one."""
        widths = [known.width(name) for name in known.modalities]
        rows = np.zeros((items.count, sum(widths)))
        start = 0
        for name, width, scale in zip(
            known.modalities, widths, known.arrays["scales"], strict=True
        ):
            if name in items.views:
                here = np.flatnonzero(items.views[name].present)
                features = _dense(known.features(name, items.views[name].matrix[here]))
                mean = known.arrays["means"][start : start + width]
                rows[here, start : start + width] = scale * (features - mean)
            start += width
        return rows

    def _updated(self, known: Learned, buffer: Floats) -> Learned:
        """The buffer joins what is known, and more bits come where it is not represented."""
        past = known.arrays
        widths = [known.width(name) for name in known.modalities]
        gram, in_use = past["gram"] + buffer, int(past["n_in_use"][0])
        weights, directions = past["weights"], past["directions"].copy()
        left = unexplained(buffer, widths, weights, directions)
        if in_use < self.n_bits and (not in_use or weights @ left > self.tolerance):
            stage = min(-(-self.n_bits // self.n_stages), self.n_bits - in_use)
            rng = self._generator(known.seed, 3, in_use)
            # What is left over of the new data counts, beside all that came before.
            directions[:, in_use : in_use + stage] = more_directions(
                gram, widths, weights, directions[:, :in_use], stage, rng
            )
            in_use += stage
        weights = trust(unexplained(gram, widths, weights, directions))
        arrays = {
            "gram": gram,
            "buffer": np.zeros_like(gram),
            "n_buffered": np.zeros(1),
            "weights": weights,
            "directions": directions,
            "n_in_use": np.array([float(in_use)]),
        }
        known = replace(known, arrays=past | arrays)
        return replace(known, heads=self._heads(known, widths))

    def _heads(self, known: Learned, widths: list[int]) -> dict[str, Head]:
        heads, start, nothing = {}, 0, np.zeros(self.n_bits)
        for name, width, weight, scale in zip(
            known.modalities, widths, known.arrays["weights"], known.arrays["scales"], strict=True
        ):
            own = slice(start, start + width)
            matrix = weight * scale * known.arrays["directions"][own]
            offset = -(known.arrays["means"][own] @ matrix)
            single = matrix.astype(np.float32), offset.astype(np.float32)
            heads[name] = Head(*single, int(self.n_bits), nothing, 0.0, 0.0)
            start += width
        return heads

    def _fused(self, found: Mapping[str, Outputs]) -> Floats:
        return np.asarray(sum(predicted(found, self._learned.heads)))

    def _shapes(self, known: Learned) -> dict[str, Shape]:
        width, n_modalities = sum(map(known.width, known.modalities)), len(known.modalities)
        return {
            "means": (width,),
            "scales": (n_modalities,),
            "gram": (width, width),
            "buffer": (width, width),
            "n_buffered": (1,),
            "weights": (n_modalities,),
            "directions": (width, self.n_bits),
            "n_in_use": (1,),
        }


def _dense(features: Any) -> NDArray[np.float64]:
    return np.asarray(features if isinstance(features, np.ndarray) else features.toarray())
