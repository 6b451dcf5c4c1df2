"""What one modality says of an item: linear outputs, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import ViewError
from . import modality_weights
from .kernels import RBFKernel
from .moments import Moments, Ridge
from .views import Matrix, View, filled

Floats = NDArray[np.float64]

_BLOCK = 64
"""Rows that are multiplied at a time, always just as many.

A matrix product may round differently when its shape differs. Blocks of one shape, the last
one padded, make a row's result the same bits in every batch. A single query pays for a whole
block, so blocks are no longer than large batches need to be multiplied at full speed.
"""


_LARGEST_GAP = 5.0
"""The largest h of a batch, in root mean squares of h: about that of a thousand items."""


_SKETCH = 8
"""Columns of the leverage sketch: its error is then about half of the leverage, which costs no
accuracy that could be measured, and encoding pays for each column."""


_ARRAYS = ("matrix", "offset", "variances")
_NUMBERS = ("n_targets", "leverage", "theta", "gap")


@dataclass(frozen=True, eq=False)
class Head:
    """Outputs of one modality: ``x @ matrix + offset``.

    The first `n_targets` columns predict the targets; the columns after them, if any, tell
    of the item's own uncertainty.

    Attributes
    ----------
    variances : array of shape (n_targets,)
        Error variance of each target at an item of ordinary leverage.
    leverage : float
        The ordinary leverage.
    theta : float
        The penalty that was used.
    gap : float
        The paper's h of an ordinary item; 0 where the columns do not tell it.
    """

    matrix: NDArray[Any]
    offset: NDArray[Any]
    n_targets: int
    variances: Floats
    leverage: float
    theta: float
    gap: float = 0.0

    @classmethod
    def of(cls, ridge: Ridge, extra: Floats | None, count: int, dtype: type) -> Head:
        """The head that a ridge regression gives, with `extra` columns."""
        columns = ridge.weights if extra is None else np.hstack([ridge.weights, extra])
        offset = -(ridge.mean @ columns)
        offset[: ridge.weights.shape[1]] += ridge.target_mean
        return cls(
            matrix=np.ascontiguousarray(columns, dtype=dtype),
            offset=offset.astype(dtype),
            n_targets=ridge.weights.shape[1],
            variances=ridge.variances,
            leverage=ridge.freedom / max(count, 1),
            theta=ridge.theta,
            gap=ridge.gap,
        )

    @classmethod
    def solved(
        cls,
        moments: Moments,
        theta: float,
        rule: str,
        *,
        center: bool,
        delta: float | None = None,
        factor: Floats | None = None,
        dtype: type = np.float32,
    ) -> Head:
        """The head that a rule of `modality_weights` needs, from the statistics.

        Parameters
        ----------
        delta : float, optional
            Penalty of the paper's auxiliary regression U; `theta` where it is not given.
        factor : array, optional
            As in `Moments.ridge`.
        """
        if rule in ("published", "calibrated"):
            ridge = moments.ridge(theta, center=center, delta=delta or theta, factor=factor)
            extra = ridge.auxiliary
        else:
            sketch = _SKETCH if rule == "precision" else 0
            ridge = moments.ridge(theta, center=center, sketch=sketch, factor=factor)
            extra = ridge.sketch
        return cls.of(ridge, extra, moments.count, dtype)

    def folded(self) -> Head:
        """The head of features whose last column, the constant 1, is left out from now on."""
        return replace(self, matrix=self.matrix[:-1], offset=self.offset + self.matrix[-1])

    def to_state(self, prefix: str) -> dict[str, Any]:
        """Plain values and arrays under names that begin with `prefix`."""
        arrays = {f"{prefix}.{name}": getattr(self, name).copy() for name in _ARRAYS}
        return arrays | {f"{prefix}.{name}": getattr(self, name) for name in _NUMBERS}

    @classmethod
    def from_state(cls, prefix: str, state: Mapping[str, Any]) -> Self:
        """What `to_state` wrote; a ValueError or KeyError where it is not whole."""
        values: dict[str, Any] = {name: numbers(state, f"{prefix}.{name}") for name in _ARRAYS}
        values |= {name: float(state[f"{prefix}.{name}"]) for name in _NUMBERS}
        return cls(**{**values, "n_targets": int(values["n_targets"])})

    def variances_at(self, values: NDArray[Any]) -> Floats:
        """Error variances at items, from outputs whose further columns are a leverage sketch.

        The variance of a ridge prediction grows with the item's leverage: how far the item
        lies from what the modality has learned.
        """
        sketch = values[:, self.n_targets :]
        own = 1.0 + np.einsum("ij,ij->i", sketch, sketch)[:, None].astype(np.float64)
        return np.asarray(self.variances * (own / (1.0 + self.leverage)))


def numbers(state: Mapping[str, Any], name: str) -> NDArray[Any]:
    """An array of a state, as a copy that nobody else holds."""
    array = np.array(state[name])
    if array.dtype.kind != "f" or not array.ndim:
        raise ValueError(f"{name} is no array of numbers")
    return array


Outputs: TypeAlias = tuple[NDArray[Any], NDArray[np.bool_]]
"""A head's outputs for a view, one row an item, and which items have the modality."""


def outputs(name: str, matrix: Matrix, head: Head, kernel: RBFKernel | None) -> Outputs:
    """A head's outputs for a view, and which items have the modality.

    Values are looked at only where the outputs are not finite: NaN and infinity cannot hide
    in a linear map, and a look at every feature would cost as much as the map itself.
    """

    def linear(rows: Any) -> NDArray[Any]:
        features = rows if kernel is None else kernel(rows)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(features.astype(head.matrix.dtype, copy=False) @ head.matrix)

    view = View(matrix, np.ones(matrix.shape[0], dtype=bool))
    if kernel is not None:
        view = filled(name, matrix)
    found = in_blocks(linear, view.matrix)
    if not np.isfinite(found).all():
        view = filled(name, matrix)
        found = in_blocks(linear, view.matrix)
        wrong = ~np.isfinite(found).all(axis=1)
        if wrong.any():
            raise ViewError(
                f"modality {name!r}, row {int(np.argmax(wrong))}: values too large for "
                f"{head.matrix.dtype}: scale the features down"
            )
    found += head.offset
    return found, view.present


def gaps(
    found: Mapping[str, Outputs], heads: Mapping[str, Head]
) -> tuple[Floats, NDArray[np.bool_]]:
    """The paper's h of each item and modality, Σ|Uᵀx|, and which are present."""
    columns = [
        np.abs(values[:, heads[name].n_targets :]).sum(axis=1)
        for name, (values, _) in found.items()
    ]
    return np.column_stack(columns), np.column_stack([present for _, present in found.values()])


def predicted(found: Mapping[str, Outputs], heads: Mapping[str, Head]) -> list[Floats]:
    """Each modality's prediction of the targets, 0 for items that lack it."""
    return [
        np.where(present[:, None], values[:, : heads[name].n_targets], 0.0)
        for name, (values, present) in found.items()
    ]


def fused(
    rule: str,
    found: Mapping[str, Outputs],
    heads: Mapping[str, Head],
    *,
    prior: tuple[Floats, Floats],
    mean: bool,
    emphasis: Mapping[str, float] | None = None,
) -> Floats:
    """The targets as all modalities of an item together predict them.

    Parameters
    ----------
    rule : {"precision", "published", "calibrated", "equal"}
        As in `modality_weights`.
    prior : mean and variance of the targets, for "precision"
    mean : bool
        Whether weights are scaled to a sum of 1.
    emphasis : mapping of modality to number, optional
        What a modality's weights are multiplied by; 1 where nothing is said.
    """
    predictions = predicted(found, heads)
    if rule == "precision":
        variances, factors = _variances(found, heads), _factors(found, emphasis)
        return modality_weights.precision_fusion(predictions, variances, *prior, factors)[0]
    weights = _weights(rule, found, heads, emphasis)
    if mean:
        weights = modality_weights.shares(weights)
    return np.asarray(sum(weights[:, [m]] * prediction for m, prediction in enumerate(predictions)))


def shares(
    rule: str,
    found: Mapping[str, Outputs],
    heads: Mapping[str, Head],
    *,
    prior_variance: Floats,
    emphasis: Mapping[str, float] | None = None,
) -> Floats:
    """The share of each modality in what `fused` gives, one row an item; their sum is 1."""
    if rule == "precision":
        return modality_weights.precision_shares(
            _variances(found, heads), prior_variance, _factors(found, emphasis)
        )
    return modality_weights.shares(_weights(rule, found, heads, emphasis))


def _variances(found: Mapping[str, Outputs], heads: Mapping[str, Head]) -> list[Floats]:
    return [
        np.where(present[:, None], heads[name].variances_at(values), np.inf)
        for name, (values, present) in found.items()
    ]


def _factors(names: Iterable[str], emphasis: Mapping[str, float] | None) -> list[float]:
    return [float((emphasis or {}).get(name, 1.0)) for name in names]


def _weights(
    rule: str,
    found: Mapping[str, Outputs],
    heads: Mapping[str, Head],
    emphasis: Mapping[str, float] | None,
) -> Floats:
    """Weights that are one number an item and modality: all rules but "precision"."""
    present = np.column_stack([present for _, present in found.values()])
    if rule == "equal":
        weights = modality_weights.equal(present)
    elif rule == "published":
        weights = modality_weights.published(gaps(found, heads)[0], present)
    else:
        largest = _LARGEST_GAP * max(head.gap for head in heads.values())
        weights = modality_weights.calibrated(gaps(found, heads)[0], present, largest)
    return weights * _factors(found, emphasis)


def in_blocks(function: Callable[[Any], NDArray[Any]], matrix: Matrix) -> NDArray[Any]:
    """Apply a function to rows, always `_BLOCK` at a time."""
    parts = []
    for start in range(0, max(matrix.shape[0], 1), _BLOCK):
        rows = matrix[start : start + _BLOCK]
        parts.append(function(_padded(rows))[: rows.shape[0]])
    return np.concatenate(parts)


def _padded(rows: Matrix) -> Matrix:
    """The rows, and rows of zeros up to `_BLOCK`, in one memory layout."""
    more = _BLOCK - rows.shape[0]
    if isinstance(rows, np.ndarray):
        if not more:
            return np.ascontiguousarray(rows)
        whole = np.zeros((_BLOCK, rows.shape[1]), dtype=rows.dtype)
        whole[: len(rows)] = rows
        return whole
    ends = np.pad(rows.indptr, (0, more), mode="edge")
    return sparse.csr_array((rows.data, rows.indices, ends), shape=(_BLOCK, rows.shape[1]))
