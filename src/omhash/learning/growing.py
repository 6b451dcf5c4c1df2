"""Directions that come to represent a stream: a few at first, more where they do not do.

Features of all modalities stand side by side. A direction p gives the value Σ a_m p_mᵀ x_m,
where a_m is the weight of modality m; the directions stay as they are, the weights move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

Floats = NDArray[np.float64]


def unexplained(gram: Floats, widths: list[int], weights: Floats, directions: Floats) -> Floats:
    """The share of each modality's variance that no linear function of the values rebuilds.

    Parameters
    ----------
    gram : array of shape (d, d)
        Sum of x xᵀ over items, all modalities side by side.
    widths : list of int
        Features of each modality.
    weights : array of shape (n_modalities,)
    directions : array of shape (d, k)

    Examples
    --------
    >>> import numpy as np
    >>> unexplained(np.diag([3.0, 1.0]), [2], np.ones(1), np.array([[1.0], [0.0]]))
    array([0.25])
    """
    cross = gram @ (np.repeat(weights, widths)[:, None] * directions)
    inner = directions.T @ (np.repeat(weights, widths)[:, None] * cross)
    rebuilt = np.einsum("ij,ij->i", cross @ np.linalg.pinv(inner, hermitian=True), cross)
    starts = np.cumsum([0, *widths[:-1]])
    total = np.add.reduceat(gram.diagonal(), starts)
    left = total - np.add.reduceat(rebuilt, starts)
    return np.clip(left / np.where(total > 0, total, 1.0), 0.0, 1.0)


def more_directions(
    gram: Floats, widths: list[int], weights: Floats, directions: Floats, count: int, rng: Any
) -> Floats:
    """Directions of the most variance that the present ones leave over, randomly rotated.

    The rotation spreads the variance evenly over the new bits.
    """
    scale = np.sqrt(np.repeat(weights, widths))
    square = scale[:, None] * gram * scale
    known = square @ (scale[:, None] * directions)
    inner = directions.T @ (scale[:, None] * known)
    left = square - known @ np.linalg.pinv(inner, hermitian=True) @ known.T
    found = min(count, len(left))
    _, vectors = eigh(left, subset_by_index=(len(left) - found, len(left) - 1))
    # Which way a direction points is left open: the largest entry decides.
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(found)])
    mixing = rng.standard_normal((found, count))
    if found == count:
        mixing, _ = np.linalg.qr(mixing)
    return np.asarray(vectors @ mixing / scale[:, None])


def trust(shares: Floats) -> Floats:
    """Modality weights that sum to 1: the more, the less of a modality is left over."""
    inverse = 1.0 / np.sqrt(np.maximum(shares, 1e-6))
    return np.asarray(inverse / inverse.sum())
