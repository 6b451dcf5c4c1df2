"""What a score is, to the last bit: every engine computes it just so.

A query's projection p is rounded to whole numbers, ``g = rint(p / max|p| · 32767)`` (for
Hamming ranking g is the signs of p: -1 or +1). With an item's signs b and all sums whole

    units = Σ g_j b_j        code score = units / √(Σ g_j² · n_bits)

is a cosine c; for Hamming ranking it is ``1 - 2 d / n_bits``. Without detail it is the score,
and also for a query without a sketch. With detail the score is

    (1 - (1 - c)⁴ / 2) + detail · (min(max(a, 0), ½)² + max(a - ½, 0) / 4)

The first part is nearly flat where c is large, and steep where it is small: it tells apart what
is alike from what is not, and hardly what is alike from what is more so. That is left to a, which
tells how far the sketches agree. The steeper the fall, the fewer codes are so near that detail
could lift their items among the best. The query's sketch projection of each modality m is
rounded to ``u = rint(v / max|v| · 7)``, as three bits find nearly what all would, and adds to a

    √(π / 2) / (M · √(Σ u_j² · bits_m)) · Σ u_j s_j

for each modality that both the query and the item have (M: how many the query has). Signs
shorten cosines by √(2 / π), so that a is the mean cosine of the features, in which a modality
that the item lacks counts 0. Its square is next to nothing for all but few items. What goes
beyond ½ counts less: chance hardly reaches so far with 128 bits, and the search can stop the
sooner the less an item can still gain. Modalities are summed in the order of their names. An
all-zero projection has cosines of 0. Equal scores are in order of arrival.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Grid = NDArray[np.int32]

CODE_BITS, SKETCH_BITS = 15, 3
"""Bits of the rounded size of a projection's values."""

ENOUGH = 0.5
"""How far sketches agree before more of it counts less."""


def on_grid(values: NDArray[Any], bits: int) -> Grid:
    """Rows of real values, each scaled and rounded to whole numbers of at most `bits` bits.

    Examples
    --------
    >>> import numpy as np
    >>> on_grid(np.array([[0.5, -1.0, 0.0]]), 7)
    array([[  64, -127,    0]], dtype=int32)
    """
    exact = values.astype(np.float64)
    largest = np.abs(exact).max(axis=1, keepdims=True, initial=0.0)
    exact /= np.where(largest > 0, largest, 1.0)
    exact *= (1 << bits) - 1
    return np.rint(exact, out=exact).astype(np.int32)


def lengths(grid: Grid) -> Floats:
    """``√(Σ g² · n)`` of each row of n whole numbers; 1 for a row of zeros."""
    squares = np.square(grid.astype(np.int64)).sum(axis=1) * grid.shape[1]
    return np.asarray(np.sqrt(np.maximum(squares, 1), dtype=np.float64))
