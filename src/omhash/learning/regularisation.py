"""The penalty θ of a ridge regression, chosen from the statistics themselves.

Generalised cross-validation needs the eigenvalues λ of XᵀX and how much of the targets lies
along each. For narrow features they are computed. For wide ones a few steps of the Lanczos
method give the same sums for any θ to a few percent, for a fraction of the price of one
factorisation. Nothing but the statistics goes into the choice, so a model that forgot items
has the θ of one that never saw them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigh_tridiagonal

from .moments import Moments

Floats = NDArray[np.float64]

_NARROW = 256  # features: up to here eigenvalues cost less than they are worth
_PROBES, _MIXTURES = 4, 8  # columns that stand for all features, and for all targets
_STEPS, _MOST_STEPS = 8, 64  # after so many the choice is looked at again

_POWERS_PER_DECADE = 2
_RESOLUTION = 1e-6  # of the features' mean square: what float32 features still tell
_HIGHEST = 1e6  # likewise: beyond it nothing is learned
_MOST_FREEDOM = 0.9  # coefficients an item: beyond it, cross-validation is 0 / 0


@dataclass(frozen=True, eq=False)
class _Spectrum:
    """Eigenvalues with weights whose sums over f(eigenvalue) give traces.

    Attributes
    ----------
    values, sizes : arrays
        Σ sizes f(values) is the trace of f(XᵀX).
    target_values, target_sizes : arrays
        Σ sizes f(values) is the trace of YᵀX f(XᵀX) XᵀY.
    """

    values: Floats
    sizes: Floats
    target_values: Floats
    target_sizes: Floats

    def errors(self, thetas: Floats, count: int, total: float) -> Floats:
        """The generalised cross-validation error at each penalty.

        Parameters
        ----------
        count : int
            Items, less one where an intercept is fitted.
        total : float
            The targets' sum of squares.
        """
        shrunk = self.values / (self.values + thetas[:, None])
        freedom = shrunk @ self.sizes
        inverse = 1.0 / (self.target_values + thetas[:, None])
        explained = (inverse * (1.0 + thetas[:, None] * inverse)) @ self.target_sizes
        left = np.maximum(count - freedom, 1e-3 * max(count, 1))
        errors = np.maximum(total - explained, 0.0) / left**2
        return np.where(freedom <= _MOST_FREEDOM * count, errors, np.inf)


def best_theta(moments: Moments, *, center: bool) -> float:
    """The power of √10 with the least generalised cross-validation error over all targets.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((200, 20))
    >>> y = x[:, :1] + rng.standard_normal((200, 1))
    >>> round(best_theta(Moments.zeros(20, 1).added(x, y), center=True), 1)
    10.0
    """
    count = moments.count
    mean = moments.x_sum / max(count, 1) if center else np.zeros_like(moments.x_sum)
    target_mean = moments.y_sum / max(count, 1) if center else np.zeros_like(moments.y_sum)
    scale = (np.trace(moments.xx) - count * (mean @ mean)) / len(mean)
    if not scale > 0:
        return 1.0
    cross = moments.xy - np.outer(mean, moments.y_sum) if center else moments.xy
    squares = moments.yy - count * np.outer(target_mean, target_mean)
    if len(mean) <= _NARROW:
        return _choice(_computed(moments, mean, cross), scale, count - center, np.trace(squares))
    if cross.shape[1] > _MIXTURES:
        mixtures = _signs(cross.shape[1], _MIXTURES)
        cross, squares = cross @ mixtures, mixtures.T @ squares @ mixtures
    chosen = 0.0
    for spectrum in _estimates(moments, mean, cross):
        before, chosen = chosen, _choice(spectrum, scale, count - center, np.trace(squares))
        if chosen == before:
            break
    return chosen


def _choice(spectrum: _Spectrum, scale: float, count: int, total: float) -> float:
    lowest, highest = np.log10([_RESOLUTION * scale, _HIGHEST * scale]) * _POWERS_PER_DECADE
    thetas = 10.0 ** (np.arange(round(lowest), round(highest) + 1) / _POWERS_PER_DECADE)
    errors = spectrum.errors(thetas, count, total)
    # Of equal errors the one with the most penalty: it follows the noise least.
    return float(thetas[::-1][np.argmin(errors[::-1])])


def _computed(moments: Moments, mean: Floats, cross: Floats) -> _Spectrum:
    square = np.tril(moments.xx) - moments.count * np.tril(np.outer(mean, mean))
    values, vectors = eigh(square, lower=True)
    values = np.maximum(values, 0.0)
    along = np.square(vectors.T @ cross).sum(axis=1)
    return _Spectrum(values, np.ones_like(values), values, along)


def _estimates(moments: Moments, mean: Floats, cross: Floats) -> Iterator[_Spectrum]:
    """Gauss quadrature by Lanczos steps from random signs and from XᵀY, better and better.

    From a row v, Σ sizes f(values) approaches vᵀ f(XᵀX) v.
    """
    starts = np.vstack([_signs(len(mean), _PROBES).T, cross.T])
    lengths = np.linalg.norm(starts, axis=1)[:, None]
    vectors = starts / np.where(lengths > 0, lengths, np.inf)
    square = moments.mirrored()
    before, beside = np.zeros_like(vectors), np.zeros_like(lengths)
    diagonals: list[Floats] = []
    besides: list[Floats] = []
    for step in range(1, _MOST_STEPS + 1):
        images = vectors @ square
        images -= moments.count * np.outer(vectors @ mean, mean) + beside * before
        diagonals.append(np.einsum("ij,ij->i", vectors, images)[:, None])
        images -= diagonals[-1] * vectors
        beside = np.linalg.norm(images, axis=1)[:, None]
        # What remains of a subspace that is exhausted is rounding.
        beside[beside <= 1e-10 * np.max(diagonals)] = 0.0
        besides.append(beside)
        before = vectors
        vectors = images / np.where(beside > 0, beside, np.inf)
        if step % _STEPS == 0:
            rows = zip(np.hstack(diagonals), np.hstack(besides[:-1]), strict=True)
            found = [eigh_tridiagonal(diagonal, off) for diagonal, off in rows]
            values = np.maximum([own for own, _ in found], 0.0)
            sizes = np.square([own[0] for _, own in found]) * lengths**2
            yield _Spectrum(
                values[:_PROBES].ravel(),
                sizes[:_PROBES].ravel(),
                values[_PROBES:].ravel(),
                sizes[_PROBES:].ravel(),
            )


def _signs(n_rows: int, n_columns: int) -> Floats:
    """Fixed random signs, scaled so that the squares of a row sum to 1."""
    signs = np.random.default_rng(0).integers(0, 2, (n_rows, n_columns)) * 2.0 - 1.0
    return np.asarray(signs / np.sqrt(n_columns))
