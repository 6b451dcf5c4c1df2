"""What the methods that HCFW is compared with have in common: reading, answering, state."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..codes import Codes
from ..errors import NotFittedError, StateError, UnsupportedError, ViewError
from ..learning.alternating import RoundRegression
from ..learning.heads import Head, Outputs, fused, numbers, outputs
from ..learning.kernels import RBFKernel, drawn_kernels
from ..learning.labels import LabelMatrix, Labels, label_matrix
from ..learning.moments import Moments
from ..learning.views import Matrix, View, Views, shaped_views
from .base import COUNT, KERNELS, NOTHING, Hasher, State, either, one_of, read_round
from .draws import first_seed, generator

Floats: TypeAlias = NDArray[np.float64]

Shape: TypeAlias = tuple[int | str, ...]
"""Lengths of an array's dimensions; those called by the same letter must be equal."""

ALL_KERNELS = either(NOTHING, COUNT, KERNELS)
"""No kernels, anchors of every modality, or anchors of some."""

WEIGHTS = one_of("equal", "precision", "published", "calibrated")
OWN_WEIGHTS = one_of("own", "equal", "precision", "published", "calibrated")


@dataclass(frozen=True, eq=False)
class Learned:
    """What a baseline has learned, as one value that is replaced whole and never changed.

    Attributes
    ----------
    seed : int
    modalities : dict of str to int
    kernels : dict of str to RBFKernel
    categories : tuple of str
    heads : dict of str to Head
        The hash functions.
    moments : dict of str to Moments
        Of each modality, where the method keeps any.
    arrays : dict of str to array
        Whatever else the method keeps.
    """

    seed: int
    modalities: dict[str, int]
    kernels: dict[str, RBFKernel]
    categories: tuple[str, ...]
    heads: dict[str, Head]
    moments: dict[str, Moments]
    arrays: dict[str, NDArray[Any]]

    def width(self, name: str) -> int:
        """The number of features that a modality has behind its kernel."""
        return len(self.kernels[name].anchors) if name in self.kernels else self.modalities[name]

    def features(self, name: str, matrix: Matrix, *, constant: bool = False) -> Matrix:
        """What a modality's hash function sees, in float64."""
        if name in self.kernels:
            matrix = self.kernels[name](matrix)
        found = matrix.astype(np.float64, copy=False)
        if not constant:
            return found
        ones = np.ones((found.shape[0], 1))
        if isinstance(found, np.ndarray):
            return np.hstack([found, ones])
        return sparse.csr_array(sparse.hstack([found, ones], format="csr"))


@dataclass(frozen=True, eq=False)
class Round:
    """The labelled items of one round.

    Attributes
    ----------
    views : dict of str to View
        A view for each modality of which the round speaks.
    read : LabelMatrix
    """

    views: dict[str, View]
    read: LabelMatrix

    @property
    def count(self) -> int:
        """The number of items."""
        return int(self.read.matrix.shape[0])

    def regression(
        self, known: Learned, name: str, n_bits: int, *, constant: bool = False
    ) -> RoundRegression:
        """The regression of codes on one modality, after all earlier rounds."""
        width = known.width(name) + constant
        past = known.moments.get(name) or Moments.zeros(width, n_bits)
        if name not in self.views:
            return RoundRegression.of(past, np.zeros((0, width)), np.zeros(0, dtype=np.intp))
        view = self.views[name]
        rows = np.flatnonzero(view.present)
        matrix = view.matrix[rows] if len(rows) < self.count else view.matrix
        return RoundRegression.of(past, known.features(name, matrix, constant=constant), rows)

    def of(self, rows: NDArray[np.intp]) -> Round:
        """Some of the items."""
        if len(rows) == self.count:
            return self
        views = {
            name: View(view.matrix[rows], view.present[rows]) for name, view in self.views.items()
        }
        return Round(views, LabelMatrix(self.read.matrix[rows], self.read.names))


class Baseline(Hasher):
    """A method that learns codes of items rather than of categories.

    A subclass says how a round changes what was learned, and which arrays it keeps.
    """

    @abstractmethod
    def _learn(self, known: Learned, items: Round) -> Learned:
        """What is known after one more round of labelled items; their categories are added."""

    @abstractmethod
    def _shapes(self, known: Learned) -> dict[str, Shape]:
        """The shape of each array that the method keeps once it knows a category."""

    _linear: ClassVar[bool] = True
    """Whether the hash functions are heads."""

    _keeps_moments: ClassVar[bool] = True
    """Whether they follow from moments."""

    _constant: ClassVar[bool] = False
    """Whether the moments have a further feature that is always 1."""

    @property
    def modalities_(self) -> dict[str, int]:
        """The width of each modality's views."""
        return dict(self._learned.modalities)

    @property
    def categories_(self) -> tuple[str, ...]:
        """The known categories, in the order in which they were learned."""
        return self._learned.categories

    @property
    def category_codes_(self) -> Codes:
        """Not supported: only items have codes."""
        raise UnsupportedError(f"{self._name} learns codes of items: categories have none")

    @property
    def hash_functions_(self) -> dict[str, NDArray[Any]]:
        """W of each modality, and what the weights need in further columns."""
        return {name: head.matrix.copy() for name, head in self._learned.heads.items()}

    @property
    def intercepts_(self) -> dict[str, NDArray[Any]]:
        """What a modality's hash function adds to every item."""
        return {name: head.offset.copy() for name, head in self._learned.heads.items()}

    @property
    def depends_on_batch(self) -> bool:
        """Whether an item's code depends on its batch: with the paper's weights."""
        rule = getattr(self, "weights", "equal")
        return rule == "published" or (rule == "own" and getattr(self, "authors_program", False))

    def partial_fit(
        self, views: Views, labels: Labels | None = None, *, categories: Iterable[str] | None = None
    ) -> Self:
        """Learn one round of the stream; see `Hasher.partial_fit`."""
        self.check_parameters()
        before: Learned | None = getattr(self, "_model", None)
        checked, read = read_round(views, labels, categories, before.modalities if before else None)
        known = before or self._first(checked)
        labelled = np.flatnonzero(read.labelled)
        if len(labelled):
            self._model = self._taught(known, Round(checked, read).of(labelled))
        elif before is None:
            self._model = self._with_random_heads(known)
        return self

    def project(self, views: Views) -> NDArray[np.float32]:
        """Fused real values, shape (n, n_bits), whose signs are the codes."""
        return self._projected(views)

    def _projected(
        self, views: Views, wanted: NDArray[np.bool_] | None = None
    ) -> NDArray[np.float32]:
        """Projections of all items; those that are wanted must have a modality."""
        found = self._outputs(views)
        lacking = ~np.logical_or.reduce([present for _, present in found.values()])
        if wanted is not None:
            lacking &= wanted
        if lacking.any():
            raise ViewError(f"row {int(np.argmax(lacking))}: the item lacks every modality")
        if not self._learned.arrays:
            return np.asarray(sum(values for values, _ in found.values()), dtype=np.float32)
        return np.asarray(self._fused(found), dtype=np.float32)

    def label_codes(
        self,
        labels: Labels,  # noqa: ARG002 - the contract's
        *,
        categories: Iterable[str] | None = None,  # noqa: ARG002 - the contract's
    ) -> Codes:
        """Not supported: labels alone give no code."""
        raise UnsupportedError(
            f"{self._name} cannot tell a code from labels alone: use item_codes or encode"
        )

    def item_codes(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Codes:
        """The codes under which items are stored: those of `encode`, whatever their labels."""
        codes = self.encode(views)
        label_matrix(labels, len(codes), categories=categories)
        return codes

    def get_state(self) -> State:
        """All that was learned, as arrays and plain values."""
        known = self._learned
        state: State = {
            **self._header(),
            "seed": known.seed,
            "modalities": list(known.modalities),
            "widths": list(known.modalities.values()),
            "categories": list(known.categories),
            "n_categories": len(known.categories),
            "learned": bool(known.arrays),
            "kernels": list(known.kernels),
        }
        for place, name in enumerate(known.modalities):
            if name in known.kernels:
                state[f"{place}.kernel.anchors"] = known.kernels[name].anchors.copy()
                state[f"{place}.kernel.bandwidth"] = known.kernels[name].bandwidth
            if name in known.heads:
                state.update(known.heads[name].to_state(f"{place}.head"))
            if name in known.moments:
                state.update(known.moments[name].to_state(f"{place}.moments"))
        return state | {name: array.copy() for name, array in known.arrays.items()}

    def set_state(self, state: State) -> Self:
        """Take over what `get_state` of an equally configured hasher gave."""
        self.check_parameters()
        for name, own in self._header().items():
            if state.get(name) != own:
                raise StateError(
                    f"the state was learned with {name}={state.get(name)!r}, "
                    f"and this hasher has {name}={own!r}"
                )
        try:
            known = self._from_state(state)
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"the state is not whole: {error}") from None
        self._model = known
        return self

    @property
    def _name(self) -> str:
        return type(self).__name__

    @property
    def _learned(self) -> Learned:
        model: Learned | None = getattr(self, "_model", None)
        if model is None:
            raise NotFittedError("this hasher has learned nothing yet: call partial_fit first")
        return model

    def _header(self) -> State:
        return {"hasher": self._name, "n_bits": int(self.n_bits)}

    def _generator(self, seed: int, *purpose: int) -> Any:
        return generator(self.random_state, seed, *purpose)

    def _first(self, checked: Mapping[str, View]) -> Learned:
        """What is known before the first round: widths, seed and kernels."""
        seed = first_seed(self.random_state)
        wanted = getattr(self, "kernels", None) or {}
        return Learned(
            seed=seed,
            modalities={name: int(view.matrix.shape[1]) for name, view in checked.items()},
            kernels=drawn_kernels(
                wanted if isinstance(wanted, Mapping) else dict.fromkeys(checked, wanted),
                checked,
                lambda place: self._generator(seed, 1, place),
            ),
            categories=(),
            heads={},
            moments={},
            arrays={},
        )

    def _taught(self, known: Learned, items: Round) -> Learned:
        """What is known after a round; a method whose categories are fixed refuses new ones."""
        new = set(items.read.occurring()) - set(known.categories)
        names = tuple(name for name in items.read.occurring() if name in new)
        return self._learn(replace(known, categories=known.categories + names), items)

    def _with_random_heads(self, known: Learned) -> Learned:
        """Before any label is known: projections on random directions."""
        rng = self._generator(known.seed, 2)
        nothing = np.zeros(self.n_bits)
        heads = {}
        for name in known.modalities:
            directions = rng.standard_normal((known.width(name), self.n_bits)).astype(np.float32)
            offset = nothing.astype(np.float32)
            heads[name] = Head(directions, offset, int(self.n_bits), nothing, 0.0, 0.0)
        return replace(known, heads=heads)

    def _outputs(self, views: Views) -> dict[str, Outputs]:
        known = self._learned
        matrices = shaped_views(views, known.modalities)
        # In the order of learning, so that sums do not depend on the order of a mapping.
        return {
            name: outputs(name, matrices[name], known.heads[name], known.kernels.get(name))
            for name in known.modalities
            if name in matrices
        }

    def _fused(self, found: Mapping[str, Outputs]) -> Floats:
        """What the modalities of each item together say, by the rule `weights`."""
        known = self._learned
        most = max(known.moments.values(), key=lambda moments: moments.count)
        rule = getattr(self, "weights", "equal")
        return fused(rule, found, known.heads, prior=most.targets(), mean=False)

    def _from_state(self, state: State) -> Learned:
        names = [str(name) for name in state["modalities"]]
        known = Learned(
            seed=int(state["seed"]),
            modalities=dict(zip(names, map(int, state["widths"]), strict=True)),
            kernels={
                name: RBFKernel(
                    numbers(state, f"{names.index(name)}.kernel.anchors"),
                    float(state[f"{names.index(name)}.kernel.bandwidth"]),
                )
                for name in state["kernels"]
            },
            categories=tuple(str(name) for name in state["categories"]),
            heads={},
            moments={},
            arrays={},
        )
        learned = bool(state["learned"])
        _require("categories", (len(known.categories),), (int(state["n_categories"]),))
        heads, moments = {}, {}
        for place, name in enumerate(names):
            width = known.width(name)
            if name in known.kernels:
                anchors = known.kernels[name].anchors
                _require(f"{place}.kernel.anchors", anchors.shape, (width, known.modalities[name]))
            if self._linear or not learned:
                head = heads[name] = Head.from_state(f"{place}.head", state)
                _require(f"{place}.head", head.matrix.shape, (width, len(head.offset)))
                variances = (self.n_bits,)
                _require(f"{place}.head.variances", head.variances.shape, variances)
            if self._keeps_moments and learned:
                moments[name] = Moments.from_state(f"{place}.moments", state)
                wanted = (width + self._constant, self.n_bits)
                _require(f"{place}.moments", moments[name].xy.shape, wanted)
        return replace(
            known,
            heads=heads,
            moments=moments,
            arrays=_arrays(state, self._shapes(known)) if learned else {},
        )


def _arrays(state: State, shapes: Mapping[str, Shape]) -> dict[str, NDArray[Any]]:
    """Copies of the arrays of a state, once their shapes are known to go together."""
    arrays = {name: np.array(state[name]) for name in shapes}
    letters: dict[str, int] = {}
    for name, shape in shapes.items():
        found = arrays[name].shape
        if arrays[name].dtype.kind not in "fu" or len(found) != len(shape):
            raise ValueError(f"{name} is no array of {len(shape)} dimensions")
        for length, wanted in zip(found, shape, strict=True):
            if isinstance(wanted, str):
                letters.setdefault(wanted, length)
        _require(name, found, tuple(letters[w] if isinstance(w, str) else w for w in shape))
    return arrays


def _require(what: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    if shape != wanted:
        raise ValueError(f"{what} has shape {shape}, not {wanted}")
