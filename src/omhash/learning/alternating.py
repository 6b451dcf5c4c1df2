"""Regression on a round's features while the targets, a round's codes, still change."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .moments import Moments
from .views import Matrix

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RoundRegression:
    """One modality of a round, beside all that earlier rounds gave.

    The features' sums are added once, so that what depends on them alone can be factorised
    once while the targets change.

    Attributes
    ----------
    past : Moments
        Of the items of earlier rounds.
    grown : Moments
        `past` with the round's features; its sums with targets are still those of `past`.
    x : matrix of shape (n_present, d)
        The round's features.
    rows : array of shape (n_present,)
        Which items of the round have the modality.
    """

    past: Moments
    grown: Moments
    x: Matrix
    rows: NDArray[np.intp]

    @classmethod
    def of(cls, past: Moments, x: Matrix, rows: NDArray[np.intp]) -> RoundRegression:
        """The regression of a round whose targets are not known yet."""
        nothing = np.zeros((len(rows), 0))
        fresh = replace(
            past,
            y_sum=np.zeros(0),
            xy=np.zeros((len(past.x_sum), 0)),
            yy=np.zeros((0, 0)),
        )
        bare = fresh.added(x, nothing) if len(rows) else fresh
        grown = replace(bare, y_sum=past.y_sum, xy=past.xy, yy=past.yy)
        return cls(past, grown, x, rows)

    def cross(self, targets: Floats) -> Floats:
        """The sum of x yᵀ over all rounds, with these targets for the items of this one."""
        return np.asarray(self.past.xy + self.x.T @ targets[self.rows])

    def predicted(self, weights: Floats, count: int) -> Floats:
        """The targets that weights predict; 0 for items that lack the modality."""
        values = np.zeros((count, weights.shape[1]))
        values[self.rows] = self.x @ weights
        return values

    def moments(self, targets: Floats) -> Moments:
        """The sums over all rounds, with these targets for the items of this one."""
        own = targets[self.rows]
        return replace(
            self.grown,
            y_sum=self.past.y_sum + own.sum(axis=0),
            xy=self.cross(targets),
            yy=self.past.yy + own.T @ own,
        )
