"""Which items are alike, by their labels, without a matrix of all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def similar(labels: Any, values: Floats) -> Floats:
    """``(2 L Lᵀ - 1 1ᵀ) values``, for L of one row an item and one column a category.

    Two items with s categories in common are alike by 2s - 1. All pairs are n² numbers; the
    product needs two thin ones.

    Examples
    --------
    >>> import numpy as np
    >>> L = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> similar(L, np.eye(3)).tolist()
    [[1.0, 1.0, -1.0], [1.0, 3.0, 1.0], [-1.0, 1.0, 1.0]]
    """
    return np.asarray(2.0 * (labels @ (labels.T @ values)) - values.sum(axis=0))
