"""Additive statistics of a modality, and the ridge regression that follows from them.

All sums are kept in float64. A float32 view is widened block by block on its way in: the
regression inverts ``XᵀX + θI`` with θ as small as 1 while the entries of ``XᵀX`` grow with
the stream, and float32 sums would lose just the digits that θ works on
(``benchmarks/learn.py`` prints the error of both).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import blas, lapack

from ..errors import InputError
from .views import Matrix

Floats = NDArray[np.float64]

_BLOCK_VALUES = 1 << 22  # values widened to float64 at a time: 32 MiB
_PROBES = 32
_ARRAYS = ("x_sum", "y_sum", "xy", "yy")


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over items x (features) with targets y; a value that never changes.

    Attributes
    ----------
    count : int
        Number of items.
    x_sum, y_sum : arrays of shape (d,) and (k,)
    xx : array of shape (d, d)
        Sum of x xᵀ, in its lower triangle; the upper one is working space.
    xy : array of shape (d, k)
        Sum of x yᵀ.
    yy : array of shape (k, k)
        Sum of y yᵀ.

    Examples
    --------
    >>> import numpy as np
    >>> x, y = np.eye(3), np.ones((3, 1))
    >>> seen = Moments.zeros(3, 1).added(x, y)
    >>> bool(np.allclose(seen.ridge(1.0, center=False).weights, 0.5))
    True
    """

    count: int
    x_sum: Floats
    y_sum: Floats
    xx: Floats
    xy: Floats
    yy: Floats

    @classmethod
    def zeros(cls, width: int, n_targets: int) -> Self:
        """Moments of no items."""
        return cls(
            count=0,
            x_sum=np.zeros(width),
            y_sum=np.zeros(n_targets),
            xx=np.zeros((width, width), order="F"),
            xy=np.zeros((width, n_targets)),
            yy=np.zeros((n_targets, n_targets)),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the sums take."""
        return sum(array.nbytes for array in (self.x_sum, self.y_sum, self.xx, self.xy, self.yy))

    def added(self, x: Matrix, y: Matrix) -> Self:
        """The moments with these items learned."""
        return self._changed(x, y, 1.0)

    def subtracted(self, x: Matrix, y: Matrix) -> Self:
        """The moments as if these items had never been learned."""
        if x.shape[0] > self.count:
            raise InputError(
                f"{x.shape[0]} items are to be forgotten, and only {self.count} were learned"
            )
        return self._changed(x, y, -1.0)

    def merged(self, other: Self) -> Self:
        """The moments of both streams together."""
        if self.xy.shape != other.xy.shape:
            raise InputError(
                f"moments of shape {self.xy.shape} and {other.xy.shape} cannot be merged: "
                "they speak of other features or other targets"
            )
        return replace(
            self,
            count=self.count + other.count,
            x_sum=self.x_sum + other.x_sum,
            y_sum=self.y_sum + other.y_sum,
            xx=self.xx + other.xx,
            xy=self.xy + other.xy,
            yy=self.yy + other.yy,
        )

    def widened(self, n_targets: int) -> Self:
        """The moments with further targets that were 0 for every item so far."""
        more = n_targets - len(self.y_sum)
        return replace(
            self,
            y_sum=np.pad(self.y_sum, (0, more)),
            xy=np.pad(self.xy, ((0, 0), (0, more))),
            yy=np.pad(self.yy, (0, more)),  # on both sides of the matrix
        )

    def targets(self) -> tuple[Floats, Floats]:
        """Mean and variance of each target over all items."""
        mean = self.y_sum / max(self.count, 1)
        return mean, np.maximum(self.yy.diagonal() / max(self.count, 1) - mean**2, 0.0)

    def mirrored(self) -> Floats:
        """The sum of x xᵀ itself, with both triangles filled: read it before the next call."""
        _mirror(self.xx)
        return self.xx

    def to_state(self, prefix: str) -> dict[str, Any]:
        """Plain values and arrays under names that begin with `prefix`."""
        triangle, _ = lapack.dtrttp(self.xx, uplo="L")
        arrays = {f"{prefix}.{name}": getattr(self, name).copy() for name in _ARRAYS}
        return {f"{prefix}.count": self.count, f"{prefix}.xx": triangle, **arrays}

    @classmethod
    def from_state(cls, prefix: str, state: Mapping[str, Any]) -> Self:
        """What `to_state` wrote; a ValueError or KeyError where it is not whole."""
        arrays = {name: np.array(state[f"{prefix}.{name}"], dtype=np.float64) for name in _ARRAYS}
        width, n_targets = arrays["xy"].shape
        triangle = np.asarray(state[f"{prefix}.xx"], dtype=np.float64)
        shapes = (triangle.shape, *(arrays[name].shape for name in ("x_sum", "y_sum", "yy")))
        wanted = ((width * (width + 1) // 2,), (width,), (n_targets,), (n_targets, n_targets))
        if shapes != wanted:
            raise ValueError(f"{prefix} has arrays of shapes {shapes}")
        square, _ = lapack.dtpttr(width, triangle, uplo="L")
        return cls(count=int(state[f"{prefix}.count"]), xx=np.asfortranarray(square), **arrays)

    def ridge(
        self,
        theta: float,
        *,
        center: bool,
        delta: float | None = None,
        sketch: int = 0,
        factor: Floats | None = None,
    ) -> Ridge:
        """Regress the targets on the features with the penalty `theta`.

        One factorisation serves all that is asked for (a second one where `delta` differs
        from `theta`).

        Parameters
        ----------
        center : bool
            Whether an intercept is fitted, which is not penalised.
        delta : float, optional
            The penalty of the auxiliary regression U; without it there is none.
        sketch : int
            Columns of the leverage sketch.
        factor : array, optional
            What `factored` yields for this `theta`, where it is at hand. `delta` must then be
            `theta`: the second factor would take the first one's place.
        """
        mean = self.x_sum / max(self.count, 1) if center else np.zeros_like(self.x_sum)
        target_mean = self.y_sum / max(self.count, 1) if center else np.zeros_like(self.y_sum)
        cross = self.xy - np.outer(mean, self.y_sum) if center else self.xy
        width = len(self.x_sum)
        known = nullcontext(factor) if factor is not None else self.factored(theta, center=center)
        with known as factor:
            weights = solved(factor, cross)
            # The trace of the inverse from fixed random signs: the same for the same
            # moments, for the price of one triangular solve.
            probes = np.random.default_rng(0).integers(0, 2, (width, _PROBES)) * 2.0 - 1.0
            half = blas.dtrsm(1.0, factor, np.asfortranarray(probes), lower=0, trans_a=1)
            inverse = np.square(half).sum() / _PROBES
            noise = np.random.default_rng(1).standard_normal((width, sketch))
            directions = np.asfortranarray(noise / np.sqrt(max(sketch, 1)))
            leverage = blas.dtrsm(1.0, factor, directions, lower=0)
            auxiliary = solved(factor, theta * weights) if delta == theta else None
        if delta is not None and auxiliary is None:
            with self.factored(delta, center=center) as second:
                auxiliary = solved(second, theta * weights)
        count = max(self.count, 1)
        gap = 0.0
        if auxiliary is not None and delta is not None:
            # XᵀX U is known from the equation that U solves.
            squares = auxiliary * (theta * weights - delta * auxiliary)
            gap = float(np.sqrt(np.maximum(squares.sum(axis=0), 0.0) / count).sum())
        freedom = float(width - theta * inverse)
        spread = self.yy.diagonal() / count - target_mean**2
        explained = np.einsum("ij,ij->j", weights, cross + theta * weights)
        residual = np.maximum(count * spread - explained, 0.0)
        left = max(count - freedom - center, 1e-3 * count)
        return Ridge(
            theta=theta,
            weights=weights,
            mean=mean,
            target_mean=target_mean,
            freedom=freedom,
            # Where nothing was learned, nothing is known of the error.
            variances=count * residual / left**2 if self.count else np.full_like(spread, np.inf),
            auxiliary=auxiliary,
            gap=gap,
            sketch=np.asarray(leverage),
        )

    @contextmanager
    def factored(self, theta: float, *, center: bool = False) -> Iterator[Floats]:
        """The Cholesky factor of ``XᵀX + θI``, in the upper triangle of `xx` itself.

        `solved` takes it. It is gone when the block ends, and one at a time can be had. The
        sums need only the lower triangle, so the factor costs no memory; the diagonal, which
        both use, is put back at the end.
        """
        square = self.mirrored()
        diagonal = square.diagonal().copy()
        try:
            if center and self.count:
                blas.dsyr(-1.0 / self.count, self.x_sum, lower=0, a=square, overwrite_a=1)
            square[np.diag_indices_from(square)] += theta
            _, failed = lapack.dpotrf(square, lower=0, clean=0, overwrite_a=1)
            if failed:
                raise InputError(
                    f"the features are so nearly dependent that theta={theta:g} cannot be "
                    "resolved in float64: raise theta or scale the features down"
                )
            yield square
        finally:
            square[np.diag_indices_from(square)] = diagonal

    def _changed(self, x: Matrix, y: Matrix, sign: float) -> Self:
        xx = self.xx.copy(order="F")
        x_sum, xy = self.x_sum.copy(), self.xy.copy()
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, targets in _blocks(x, y):
                x_sum += sign * rows.sum(axis=0)
                if isinstance(rows, np.ndarray):
                    # Both by SciPy: the threads of NumPy's own BLAS would stand in the way.
                    xx = blas.dsyrk(sign, rows.T, beta=1.0, c=xx, lower=1, overwrite_c=1)
                    cross = blas.dgemm(1.0, rows.T, _dense(targets).T, trans_b=1)
                else:
                    _add_lower(xx, sign * (rows.T @ rows))
                    cross = rows.T @ targets
                xy += sign * _dense(cross)
        # Where the sums of squares are finite, all other sums are.
        if not np.isfinite(xx.diagonal()).all():
            raise InputError(
                "the squares of some features overflow float64: scale the features down"
            )
        return replace(
            self,
            count=self.count + int(sign) * x.shape[0],
            x_sum=x_sum,
            y_sum=self.y_sum + sign * np.asarray(y.sum(axis=0), dtype=np.float64),
            xx=xx,
            xy=xy,
            yy=self.yy + sign * _dense(y.T @ y),
        )


@dataclass(frozen=True, eq=False)
class Ridge:
    """A ridge regression: targets ≈ ``(x - mean) @ weights + target_mean``.

    Attributes
    ----------
    freedom : float
        Effective number of coefficients, the trace of the hat matrix.
    variances : array of shape (k,)
        Error variance of each target on items not learned, by generalised cross-validation.
    auxiliary : array of shape (d, k), or None
        The paper's U: the regression of what the weights leave over.
    gap : float
        The sum over targets of the root mean square of what U predicts; 0 without U.
    sketch : array of shape (d, s)
        A matrix P such that ``‖(x - mean) P‖²`` estimates the leverage
        ``xᵀ(XᵀX + θI)⁻¹x`` without bias.
    """

    theta: float
    weights: Floats
    mean: Floats
    target_mean: Floats
    freedom: float
    variances: Floats
    auxiliary: Floats | None
    gap: float
    sketch: Floats


def _blocks(x: Matrix, y: Matrix) -> Iterator[tuple[Matrix, Matrix]]:
    """Rows in float64, a bounded number at a time."""
    step = max(_BLOCK_VALUES // max(x.shape[1], 1), 1)
    for start in range(0, x.shape[0], step):
        rows, targets = x[start : start + step], y[start : start + step]
        yield rows.astype(np.float64, copy=False), targets


def _dense(matrix: Any) -> NDArray[Any]:
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def _add_lower(target: Floats, addend: sparse.csr_array) -> None:
    entries = addend.tocoo()
    lower = entries.row >= entries.col
    target[entries.row[lower], entries.col[lower]] += entries.data[lower]


def _mirror(square: Floats, step: int = 64) -> None:
    """Copy the lower triangle to the upper one, in place, in tiles that fit a cache."""
    for start in range(0, len(square), step):
        rows = slice(start, start + step)
        for before in range(0, start, step):
            columns = slice(before, before + step)
            square[columns, rows] = square[rows, columns].T
        block = square[rows, rows]
        upper = np.triu_indices_from(block, 1)
        block[upper] = block.T[upper]


def solved(factor: Floats, right: Floats) -> Floats:
    """``(XᵀX + θI)⁻¹ right``, from what `Moments.factored` yields."""
    solution, _ = lapack.dpotrs(factor, np.asfortranarray(right), lower=0)
    return np.asarray(solution)
