"""The penalty θ of a ridge regression, chosen from the statistics themselves."""

from __future__ import annotations

import numpy as np

from .moments import Moments, Ridge

_STEPS_PER_DECADE = 2
_LOWEST, _HIGHEST = -12, 30  # steps: 1e-6 to 1e15
_MOST_FREEDOM = 0.9  # coefficients an item: beyond it, cross-validation is 0 / 0


def best_ridge(
    moments: Moments, *, center: bool, start: float | None = None, sketch: int = 0
) -> Ridge:
    """The ridge whose θ, a power of √10, has the least generalised cross-validation error.

    The error is the sum over targets. It has one valley as a rule, and the search walks
    along its slope from `start` until two neighbours slope towards each other; the valley
    depends on the statistics alone, so forgetting items leads back to the θ of a model
    that never saw them.

    Parameters
    ----------
    start : float, optional
        Where the search begins, such as the θ before this round; without it, at the mean of
        the features' sums of squares.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 20))
    >>> y = x[:, :1] + rng.standard_normal((200, 1))
    >>> round(best_ridge(Moments.zeros(20, 1).added(x, y), center=True).theta, 1)
    10.0
    """
    if start is None:
        start = max(float(np.trace(moments.xx)) / len(moments.xx), 10.0**_LOWEST)
    step = int(np.clip(round(_STEPS_PER_DECADE * np.log10(start)), _LOWEST, _HIGHEST))
    ridge = _at(moments, step, center, sketch)
    while True:
        upwards = _falls_upwards(ridge, moments.count)
        step += 1 if upwards else -1
        if not _LOWEST <= step <= _HIGHEST:
            return ridge
        neighbour = _at(moments, step, center, sketch)
        if _falls_upwards(neighbour, moments.count) != upwards:
            return min(ridge, neighbour, key=lambda found: _error(found, moments.count))
        ridge = neighbour


def _at(moments: Moments, step: int, center: bool, sketch: int) -> Ridge:
    return moments.ridge(10.0 ** (step / _STEPS_PER_DECADE), center=center, sketch=sketch)


def _falls_upwards(ridge: Ridge, count: int) -> bool:
    """Whether a larger θ is better."""
    return ridge.freedom > _MOST_FREEDOM * count or ridge.slope < 0


def _error(ridge: Ridge, count: int) -> float:
    return np.inf if ridge.freedom > _MOST_FREEDOM * count else float(ridge.variances.sum())
