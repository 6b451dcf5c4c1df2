"""RBF kernel features: similarity to anchors drawn from the first round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError, ViewError
from .views import Matrix, View


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


def drawn_kernels(
    wanted: Mapping[str, int | tuple[int, float]],
    checked: Mapping[str, View],
    rng_of: Callable[[int], Any],
) -> dict[str, RBFKernel]:
    """The kernels of some modalities, whose anchors are items of the first round.

    Parameters
    ----------
    wanted : mapping of modality to number of anchors, or to (number, bandwidth)
    rng_of : callable
        The generator of the kernel in that place.
    """
    kernels = {}
    for place, (name, own) in enumerate(wanted.items()):
        if name not in checked:
            raise ParameterError(f"kernels names {name!r}, and the views have no such modality")
        n_anchors, bandwidth = own if isinstance(own, (tuple, list)) else (own, None)
        view = checked[name]
        if not view.present.any():
            raise ViewError(
                f"no item of the first round has modality {name!r}, whose kernel needs anchors"
            )
        kernels[name] = RBFKernel.drawn(
            view.matrix[np.flatnonzero(view.present)],
            n_anchors,
            rng_of(place),
            bandwidth=bandwidth,
        )
    return kernels


def _squared_distances(x: Matrix, anchors: NDArray[np.float64]) -> NDArray[np.float64]:
    # SciPy tidies a sparse matrix in place before it squares it: not the one handed in.
    rows = x.astype(np.float64, copy=not isinstance(x, np.ndarray))
    squares = np.square(rows) if isinstance(rows, np.ndarray) else rows.power(2)
    lengths = np.asarray(squares.sum(axis=1)).reshape(-1, 1)
    distances = lengths - 2.0 * (rows @ anchors.T) + np.square(anchors).sum(axis=1)
    return np.asarray(np.maximum(distances, 0.0))


def _dense(x: Matrix) -> NDArray[np.float64]:
    return np.asarray(x if isinstance(x, np.ndarray) else x.toarray(), dtype=np.float64)
