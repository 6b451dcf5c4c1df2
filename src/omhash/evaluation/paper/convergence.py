"""How the paper's alternation for category codes converges."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...hashers.draws import generator
from ...learning.category_codes import Signs, semantic_steps
from .blocks import Value


def losses(
    vectors: NDArray[np.float64], n_bits: int, seeds: Iterable[int], n_iterations: int
) -> list[Value]:
    """The share of the vectors that the codes leave unexplained, after 0, 1, … iterations.

    The codes are those that a hasher with the seed gives all categories in its first round.

    Examples
    --------
    >>> import numpy as np
    >>> vectors = np.random.default_rng(0).standard_normal((40, 30))
    >>> found = [value.mean for value in losses(vectors, 16, range(2), 3)]
    >>> found[0] > found[1] > found[3] > 0
    True
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    nothing = np.zeros((0, n_bits), dtype=np.int8)
    by_seed = []
    for seed in seeds:
        rng = generator(None, seed, 0, 0)
        steps = semantic_steps(nothing, unit[:0], unit, n_bits, rng)
        by_seed.append([_loss(codes, unit) for codes in islice(steps, n_iterations + 1)])
    return [Value.of(own) for own in zip(*by_seed, strict=True)]


def _loss(codes: Signs, unit: NDArray[np.float64]) -> float:
    signs = codes.astype(np.float64)
    rebuilt = signs @ np.linalg.lstsq(signs, unit, rcond=None)[0]
    return float(np.square(unit - rebuilt).sum() / np.square(unit).sum())
