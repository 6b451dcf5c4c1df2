"""The penalty θ of a ridge regression, chosen from the statistics themselves.

Generalised cross-validation needs the eigenvalues λ of XᵀX and how much of the targets lies
along each. For narrow features they are computed. For wide ones some steps of the Lanczos
method give the same sums for any θ to a few percent, for a fraction of the price of one
factorisation. Nothing but the statistics goes into the choice, so a model that forgot items
has the θ of one that never saw them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, eigh, qr

from .moments import Moments

Floats = NDArray[np.float64]

_NARROW = 256  # features: up to here eigenvalues cost less than they are worth
_PROBES, _MIXTURES = 4, 8  # columns that stand for all features, and for all targets
_BASIS = (
    144  # columns that all steps together make: always as many, so that the cost stays the same
)

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
    spectrum = _estimated(moments, mean, cross)
    return _choice(spectrum, scale, count - center, np.trace(squares))


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


def _estimated(moments: Moments, mean: Floats, cross: Floats) -> _Spectrum:
    """Gauss quadrature by block Lanczos steps from random signs and from XᵀY.

    From columns V = Q₁R the steps make orthonormal blocks Q₁, Q₂ … in which XᵀX is block
    tridiagonal. Its eigenvalues, weighted by what R gives them in the first block, stand for
    the spectrum: Σ sizes f(values) approaches the trace of Vᵀ f(XᵀX) V.
    """
    starts = np.hstack([_signs(len(mean), _PROBES), cross])
    square = moments.mirrored()
    # SciPy's BLAS throughout: the threads of NumPy's own would stand in the way.
    block, first = qr(starts, mode="economic")
    width = block.shape[1]
    steps = -(-_BASIS // width)
    projected = np.zeros((steps * width, steps * width))
    before, beside = np.zeros_like(block), np.zeros((width, width))
    for step in range(steps):
        own = slice(step * width, (step + 1) * width)
        images = blas.dgemm(1.0, square, block)
        images -= moments.count * np.outer(mean, mean @ block)
        images = blas.dgemm(-1.0, before, beside, beta=1.0, c=images, trans_b=1, overwrite_c=1)
        projected[own, own] = inner = blas.dgemm(1.0, block, images, trans_a=1)
        images = blas.dgemm(-1.0, block, inner, beta=1.0, c=images, overwrite_c=1)
        before = block
        block, beside = qr(images, mode="economic")
        if step + 1 < steps:
            after = slice(own.stop, own.stop + width)
            projected[after, own], projected[own, after] = beside, beside.T
    values, vectors = eigh(projected)
    values = np.maximum(values, 0.0)
    sizes = np.square(first.T @ vectors[:width])
    return _Spectrum(values, sizes[:_PROBES].sum(axis=0), values, sizes[_PROBES:].sum(axis=0))


def _signs(n_rows: int, n_columns: int) -> Floats:
    """Fixed random signs, scaled so that the squares of a row sum to 1."""
    signs = np.random.default_rng(0).integers(0, 2, (n_rows, n_columns)) * 2.0 - 1.0
    return np.asarray(signs / np.sqrt(n_columns))
