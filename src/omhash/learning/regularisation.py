"""The penalty θ of a ridge regression, chosen from the statistics themselves."""

from __future__ import annotations

import numpy as np

from .moments import Moments, Ridge

_STEPS_PER_DECADE = 2
_LOWEST, _HIGHEST = -12, 30  # steps: 1e-6 to 1e15

_MOST_FREEDOM = 0.9  # coefficients an item: beyond it, cross-validation is 0 / 0
_NEVER = 1e6
_TINY = 1e-300


def best_ridge(
    moments: Moments, *, center: bool, start: float | None = None, sketch: int = 0
) -> Ridge:
    """The ridge whose θ, a power of √10, has the least generalised cross-validation error.

    The error is the sum over targets. It has one valley as a rule, and the search walks down
    from `start`; the valley depends on the statistics alone, so forgetting items leads back
    to the θ of a model that never saw them.

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
    tried: dict[int, Ridge] = {}

    def error(step: int) -> float:
        if step not in tried:
            theta = 10.0 ** (step / _STEPS_PER_DECADE)
            tried[step] = moments.ridge(theta, center=center, sketch=sketch)
        share = tried[step].freedom / max(moments.count, 1)
        if share > _MOST_FREEDOM:
            return _NEVER + share
        return float(np.log(tried[step].variances.sum() + _TINY))

    if start is None:
        start = max(float(np.trace(moments.xx)) / len(moments.xx), _TINY)
    here = int(np.clip(round(_STEPS_PER_DECADE * np.log10(start)), _LOWEST, _HIGHEST))
    while True:
        around = [step for step in (here, here - 1, here + 1) if _LOWEST <= step <= _HIGHEST]
        best = min(around, key=error)
        if best == here:
            return tried[here]
        here = best
