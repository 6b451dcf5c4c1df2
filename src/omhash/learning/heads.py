"""What one modality says of an item: linear outputs, and how far to trust them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ViewError
from .kernels import RBFKernel
from .moments import Ridge
from .views import Matrix, View, filled

_BLOCK = 256
"""Rows that are multiplied at a time, always just as many.

A matrix product may round differently when its shape differs. Blocks of one shape, the last
one padded, make a row's result the same bits in every batch.
"""


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
    """

    matrix: NDArray[Any]
    offset: NDArray[Any]
    n_targets: int
    variances: NDArray[np.float64]
    leverage: float
    theta: float

    @classmethod
    def of(cls, ridge: Ridge, extra: NDArray[np.float64] | None, count: int, dtype: type) -> Head:
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
        )

    def variances_at(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Error variances at items, from outputs whose further columns are a leverage sketch.

        The variance of a ridge prediction grows with the item's leverage: how far the item
        lies from what the modality has learned.
        """
        sketch = values[:, self.n_targets :]
        own = 1.0 + np.einsum("ij,ij->i", sketch, sketch)[:, None].astype(np.float64)
        return np.asarray(self.variances * (own / (1.0 + self.leverage)))


def outputs(
    name: str, matrix: Matrix, head: Head, kernel: RBFKernel | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """A head's outputs for a view, and which items have the modality.

    Values are looked at only where the outputs are not finite: NaN and infinity cannot hide
    in a linear map, and a look at every feature would cost as much as the map itself.
    """

    def linear(rows: Any) -> NDArray[Any]:
        features = rows if kernel is None else kernel(rows)
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


def in_blocks(function: Callable[[Any], NDArray[Any]], matrix: Matrix) -> NDArray[Any]:
    """Apply a function to rows, always `_BLOCK` at a time."""
    parts = []
    for start in range(0, max(matrix.shape[0], 1), _BLOCK):
        rows = matrix[start : start + _BLOCK]
        count = rows.shape[0]
        if isinstance(rows, np.ndarray) and count < _BLOCK:
            rows = np.concatenate([rows, np.zeros((_BLOCK - count, rows.shape[1]), rows.dtype)])
        parts.append(function(rows)[:count])
    return np.concatenate(parts)
