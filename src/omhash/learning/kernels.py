"""RBF kernel features: similarity to anchors drawn from the first round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .views import Matrix


@dataclass(frozen=True, eq=False)
class RBFKernel:
    """Features ``exp(-‖x - a‖² / (2 σ²))``, one for each anchor a.

    Attributes
    ----------
    anchors : array of shape (n_anchors, d)
    bandwidth : float
        σ.

    Examples
    --------
    >>> import numpy as np
    >>> kernel = RBFKernel(np.array([[0.0], [2.0]]), bandwidth=1.0)
    >>> kernel(np.array([[0.0]])).round(3)
    array([[1.   , 0.135]])
    """

    anchors: NDArray[np.float64]
    bandwidth: float

    @classmethod
    def drawn(
        cls, x: Matrix, n_anchors: int, rng: np.random.Generator, *, bandwidth: float | None = None
    ) -> RBFKernel:
        """Anchors drawn from items without replacement; σ the median distance to them."""
        rows = np.sort(rng.choice(x.shape[0], min(n_anchors, x.shape[0]), replace=False))
        anchors = _dense(x[rows])
        if bandwidth is None:
            distances = np.sqrt(_squared_distances(anchors, anchors))
            apart = distances[np.triu_indices(len(anchors), 1)]
            bandwidth = float(np.median(apart)) if apart.size else 1.0
        return cls(anchors, bandwidth or 1.0)

    def __call__(self, x: Matrix) -> NDArray[np.float64]:
        """Kernel features of items, shape (n, n_anchors)."""
        return np.exp(_squared_distances(x, self.anchors) / (-2.0 * self.bandwidth**2))


def _squared_distances(x: Matrix, anchors: NDArray[np.float64]) -> NDArray[np.float64]:
    # SciPy tidies a sparse matrix in place before it squares it: not the one handed in.
    rows = x.astype(np.float64, copy=not isinstance(x, np.ndarray))
    squares = np.square(rows) if isinstance(rows, np.ndarray) else rows.power(2)
    lengths = np.asarray(squares.sum(axis=1)).reshape(-1, 1)
    distances = lengths - 2.0 * (rows @ anchors.T) + np.square(anchors).sum(axis=1)
    return np.asarray(np.maximum(distances, 0.0))


def _dense(x: Matrix) -> NDArray[np.float64]:
    return np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
