"""Category codes: one row of signs a category. Old rows are given and never change.

Three ways to make the rows of new categories:

- `cooccurrence`, the default: categories that share items get similar codes, all others
  codes as far apart as the length allows;
- `semantic`, the paper's: the codes reconstruct the vectors of the category names;
- `hadamard`: rows of a Hadamard matrix, all equally far apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ParameterError, SemanticsError

Floats = NDArray[np.float64]
Signs = NDArray[np.int8]

_SWEEPS = 10


def cooccurrence(
    old: Signs, counts: Floats, totals: Floats, n_bits: int, rng: np.random.Generator
) -> Signs:
    """Codes of new categories whose inner products follow the categories' co-occurrence.

    Two categories should agree in their codes as far as they share items: the target
    similarity is half their normalised co-occurrence, so that a category always stays
    nearest to itself. The squared difference between ``C Cᵀ / n_bits`` and the target, where
    common categories weigh more, is minimised over the new rows: signs of correlated normal
    draws to begin with, then the flip of one sign that helps most, column by column, until
    none helps.

    Parameters
    ----------
    old : array of shape (n_old, n_bits)
    counts : array of shape (n_new, n_old + n_new)
        How many items have both categories; old categories first.
    totals : array of shape (n_old + n_new,)
        How many items have each category.

    Returns
    -------
    array of int8, shape (n_new, n_bits)

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 4.0]])
    >>> rng = np.random.default_rng(0)
    >>> codes = cooccurrence(np.zeros((0, 64), np.int8), counts, np.full(3, 4.0), 64, rng)
    >>> codes.astype(int) @ codes.T.astype(int)
    array([[64, 32,  0],
           [32, 64,  0],
           [ 0,  0, 64]])
    """
    n_old, n_new = len(old), len(counts)
    scale = np.sqrt(np.maximum(totals, 1.0))
    target = 0.5 * counts / np.outer(scale[n_old:], scale)
    target[np.arange(n_new), n_old + np.arange(n_new)] = 1.0
    values, vectors = np.linalg.eigh(target[:, n_old:])
    spread = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = spread @ rng.standard_normal((n_new, n_bits)) + target[:, :n_old] @ old
    codes = np.vstack([old, np.where(draws > 0, 1.0, -1.0)])
    error = codes[n_old:] @ codes.T - n_bits * target
    error[np.arange(n_new), n_old + np.arange(n_new)] = 0.0
    weights = scale / scale.mean()
    for _ in range(_SWEEPS):
        if not sum(_improve_bit(codes[:, bit], error, weights) for bit in range(n_bits)):
            break
    return codes[n_old:].astype(np.int8)


def _improve_bit(column: Floats, error: Floats, weights: Floats) -> int:
    """Flip new signs of one column while that lowers the squared error; both change in place.

    A flip of sign i changes error[i, j] by -2 c_i c_j: the error, each pair weighted by
    w_i w_j, falls where c_i Σ_j w_j error[i, j] c_j exceeds the other categories' Σ_j w_j.
    """
    n_old = len(column) - len(error)
    new, own = column[n_old:], weights[n_old:]
    others = weights.sum() - own
    pull = error @ (weights * column)
    for flips in range(_SWEEPS * len(new)):
        gains = own * (new * pull - others)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-9:
            return flips
        sign = new[best]
        own_pull = pull[best] - 2.0 * sign * others[best]
        pull += 2.0 * own[best] * (new - sign * error[:, n_old + best])
        pull[best] = own_pull
        error[best] -= 2.0 * sign * column
        error[:, n_old + best] -= 2.0 * sign * new
        error[best, n_old + best] = 0.0
        new[best] = -sign
    return flips


def checked_vectors(vectors: ArrayLike, names: Sequence[str], width: int) -> Floats:
    """The vectors of category names, once they are known to be usable.

    Parameters
    ----------
    width : int
        What the vectors of earlier categories have; 0 where there are none.
    """
    try:
        checked = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SemanticsError(f"semantics gave no matrix of numbers: {error}") from None
    if checked.ndim != 2 or len(checked) != len(names):
        raise SemanticsError(
            f"semantics gave shape {checked.shape} for {len(names)} names: one row a name"
        )
    if width and checked.shape[1] != width:
        raise SemanticsError(
            f"semantics gave vectors of {checked.shape[1]} numbers, and earlier ones have {width}"
        )
    wrong = ~np.isfinite(checked).all(axis=1) | ~checked.any(axis=1)
    if wrong.any():
        raise SemanticsError(
            f"the vector of {names[int(np.argmax(wrong))]!r} is zero or not finite: "
            "give it another, or leave the category out"
        )
    return checked


def semantic(
    old: Signs,
    old_vectors: Floats,
    new_vectors: Floats,
    n_bits: int,
    rng: np.random.Generator,
    *,
    n_iterations: int = 5,
) -> Signs:
    """The paper's high-level codes: signs that reconstruct the name vectors linearly.

    Vectors are scaled to unit length here. While there are no more categories than bits,
    any signs reconstruct them and the random start is what comes back.

    Returns
    -------
    array of int8, shape (n_new, n_bits)
    """
    steps = semantic_steps(old, old_vectors, new_vectors, n_bits, rng)
    return next(islice(steps, n_iterations, None))


def semantic_steps(
    old: Signs,
    old_vectors: Floats,
    new_vectors: Floats,
    n_bits: int,
    rng: np.random.Generator,
) -> Iterator[Signs]:
    """The codes that `semantic` begins with, and those after 1, 2, … iterations."""
    draws = rng.standard_normal((n_bits, len(new_vectors)))
    codes = np.where(draws.T > 0, 1.0, -1.0)
    new, known = _unit_rows(new_vectors), _unit_rows(old_vectors)
    fixed = old.astype(np.float64)
    while True:
        yield codes.astype(np.int8)
        if not len(new):
            continue
        gram = codes.T @ codes + fixed.T @ fixed
        weights = np.linalg.pinv(gram) @ (codes.T @ new + fixed.T @ known)
        wanted = new @ weights.T
        for bit in range(n_bits):
            others = weights @ weights[bit]
            others[bit] = 0.0
            codes[:, bit] = np.where(wanted[:, bit] - codes @ others > 0, 1.0, -1.0)


def hadamard(n_old: int, n_new: int, n_bits: int) -> Signs:
    """Rows `n_old` to ``n_old + n_new`` of a Hadamard matrix without end.

    The first 2^k rows (2^k the smallest power of two that is not below `n_bits`) are those
    of Sylvester's matrix, cut to `n_bits` columns. Later rows repeat them with signs that a
    fixed draw gives each column, so that no two rows are alike.

    Examples
    --------
    >>> hadamard(1, 1, 8)
    array([[ 1, -1,  1, -1,  1, -1,  1, -1]], dtype=int8)
    """
    bits = int(max(n_bits - 1, 1)).bit_length()
    if n_old + n_new > 1 << 30:
        raise ParameterError("Hadamard codes are defined for 2^30 categories, not more")
    high = np.random.default_rng(0).integers(0, 1 << (30 - bits), n_bits, dtype=np.int64)
    columns = np.arange(n_bits, dtype=np.int64) | (high << bits)
    rows = np.arange(n_old, n_old + n_new, dtype=np.int64)
    odd = np.bitwise_count(rows[:, None] & columns[None, :]) & 1
    return np.where(odd, -1, 1).astype(np.int8)


def _unit_rows(vectors: Floats) -> Floats:
    if not len(vectors):
        return vectors
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
