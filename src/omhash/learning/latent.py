"""Balanced, uncorrelated factors: what a code would be if it need not be signs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_RESOLUTION = 1e-9  # of the largest singular value: below it, directions are rounding
_AUTHORS_RESOLUTION = 1e-6  # of eigenvalues, whatever their size


def balanced_factor(wanted: Floats) -> Floats:
    """The V nearest to `wanted` whose columns sum to 0 and whose VᵀV is n times identity.

    Directions in which `wanted` does not vary are left out of V.

    Examples
    --------
    >>> import numpy as np
    >>> V = balanced_factor(np.array([[3.0, 1.0], [1.0, 5.0], [2.0, 2.0], [0.0, 9.0]]))
    >>> (V.T @ V).round(6) + 0.0
    array([[4., 0.],
           [0., 4.]])
    >>> (V.sum(axis=0).round(6) + 0.0).tolist()
    [0.0, 0.0]
    """
    left, sizes, right = np.linalg.svd(wanted - wanted.mean(axis=0), full_matrices=False)
    kept = sizes > _RESOLUTION * sizes.max(initial=1.0)
    return np.asarray(np.sqrt(len(wanted)) * (left[:, kept] @ right[kept]))


def authors_balanced_factor(wanted: Floats, rng: Any) -> Floats:
    """The same by the eigenvalues of a difference of large matrices, as OASIS's program does.

    Directions that it takes for missing, most of them by rounding, get random ones.
    """
    count, n_bits = wanted.shape
    sums = wanted.sum(axis=0)
    values, vectors = np.linalg.eigh(wanted.T @ wanted - np.outer(sums, sums) / count)
    kept = values > _AUTHORS_RESOLUTION
    left = (wanted - sums / count) @ (vectors[:, kept] / np.sqrt(values[kept]))
    noise = rng.standard_normal((count, int(n_bits - kept.sum())))
    known = np.hstack([left, np.full((count, 1), 1.0 / np.sqrt(count))])
    more, _ = np.linalg.qr(noise - known @ (known.T @ noise))
    # Fewer items than bits leave no room for all directions.
    missing = vectors[:, ~kept][:, : more.shape[1]]
    directions = np.hstack([vectors[:, kept], missing])
    return np.asarray(np.sqrt(count) * (np.hstack([left, more]) @ directions.T))
