"""How much each modality of an item counts when its projections are fused.

Four rules and one more, each from arrays of one row an item and one column a modality:

- `published`: the paper's, relative to the batch at hand;
- `calibrated`: the same with the maximum kept from the stream, so that an item's weights
  do not depend on its batch;
- `precision_fusion`, the default: each modality's prediction is weighted by how well the
  modality predicts at that very item;
- `equal`: the plain mean;
- `agreed`, the rule of methods that weigh modalities while they learn: by how far a modality
  agrees with the signs that all of them give together.

An item that lacks a modality gives it weight 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def published(gaps: Floats, present: Mask) -> Floats:
    """The paper's weights ``h_max - h``, h_max over all items and modalities of the batch.

    Parameters
    ----------
    gaps : array of shape (n, n_modalities)
        h, the sum over bits of ``|Uᵀx|``.
    present : array of bool, same shape

    Examples
    --------
    >>> import numpy as np
    >>> published(np.array([[1.0, 3.0], [2.0, 2.0]]), np.ones((2, 2), dtype=bool))
    array([[2., 0.],
           [1., 1.]])
    """
    largest = float(gaps[present].max(initial=0.0))
    return np.where(present, largest - gaps, 0.0)


def calibrated(gaps: Floats, present: Mask, largest: float) -> Floats:
    """The paper's weights relative to the largest gap kept from the stream.

    A gap above it, which the stream never showed, gives the least weight instead of none,
    so that an item's only modality always counts.

    Examples
    --------
    >>> import numpy as np
    >>> calibrated(np.array([[1.0, 5.0]]), np.ones((1, 2), dtype=bool), 4.0)
    array([[3.   , 0.004]])
    """
    return np.where(present, np.maximum(largest - gaps, 1e-3 * largest), 0.0)


def equal(present: Mask) -> Floats:
    """Weight 1 for each modality that is there."""
    return present.astype(np.float64)


def precision_fusion(
    predictions: list[Floats],
    variances: list[Floats],
    prior_mean: Floats,
    prior_variance: Floats,
    emphasis: Sequence[float] | None = None,
) -> tuple[Floats, Floats]:
    """Fuse predictions of the same targets as independent normal evidence.

    Each modality m predicts target j with an error variance e_mj that may differ from item
    to item. Given the target, the modalities are taken as independent, and what every one
    of them knows before it sees the item, the prior, is counted once:

    1 / v = 1 / v₀ + Σ (1 / e_m - 1 / v₀),   f / v = f₀ / v₀ + Σ (f_m / e_m - f₀ / v₀)

    A modality that an item lacks is left out by an infinite variance.

    Parameters
    ----------
    predictions, variances : lists of arrays of shape (n, k)
    prior_mean, prior_variance : arrays of shape (k,)
    emphasis : one number a modality, optional
        What its evidence is multiplied by; 1 where nothing is said.

    Returns
    -------
    fused prediction and its variance, arrays of shape (n, k)

    Examples
    --------
    >>> import numpy as np
    >>> fused, variance = precision_fusion(
    ...     [np.array([[1.0]]), np.array([[0.0]])],
    ...     [np.array([[0.1]]), np.array([[0.5]])],
    ...     np.array([0.5]),
    ...     np.array([1.0]),
    ... )
    >>> fused.round(3), variance.round(3)
    (array([[0.864]]), array([[0.091]]))
    """
    least = np.maximum(1e-6 * prior_variance, 1e-12)
    prior = 1.0 / np.maximum(prior_variance, least)
    known = prior * prior_mean
    precision = np.broadcast_to(prior, predictions[0].shape).copy()
    evidence = np.broadcast_to(known, predictions[0].shape).copy()
    factors = [1.0] * len(predictions) if emphasis is None else emphasis
    for prediction, variance, factor in zip(predictions, variances, factors, strict=True):
        # No modality knows less than the prior does: its precision is at least the prior's.
        own = np.maximum(1.0 / np.maximum(variance, least), prior)
        precision += factor * (own - prior)
        evidence += factor * np.where(np.isinf(variance), 0.0, own * prediction - known)
    evidence /= precision
    return evidence, 1.0 / precision


def agreed(
    predictions: list[Floats],
    weights: Floats,
    weigh: Callable[[Floats], Floats],
    *,
    n_steps: int,
    whole: bool,
) -> tuple[Floats, Floats]:
    """Fuse predictions by weights that follow from the signs of the fused prediction.

    Parameters
    ----------
    predictions : list of arrays of shape (n, k)
    weights : array of shape (n, n_modalities)
        What to begin with; 0 where an item lacks the modality, and it stays 0 there.
    weigh : callable
        Takes the modalities' distances from the signs to their weights.
    whole : bool
        Whether distances are those of the whole batch, as in the authors' programs, or of
        each item on its own.

    Returns
    -------
    fused prediction of shape (n, k), and the weights that follow from it

    Examples
    --------
    >>> import numpy as np
    >>> sure, unsure = np.array([[0.9, -1.1]]), np.array([[-0.5, -0.1]])
    >>> inverse = lambda distances: 1 / distances
    >>> agreed([sure, unsure], np.ones((1, 2)), inverse, n_steps=2, whole=False)[0].round(1)
    array([[ 6.1, -7.8]])
    """
    present = weights > 0
    for _ in range(n_steps):
        values = _weighted(predictions, weights)
        distances = sign_distances(predictions, present, np.sign(values), whole=whole)
        weights = np.where(present, weigh(distances), 0.0)
    return values, weights


def sign_distances(
    predictions: list[Floats], present: Mask, signs: Floats, *, whole: bool
) -> Floats:
    """How far each modality's predictions are from signs, one column a modality.

    Items that lack a modality do not count for it.
    """
    squares = np.column_stack(
        [
            np.where(here, np.square(signs - own).sum(axis=1), 0.0)
            for own, here in zip(predictions, present.T, strict=True)
        ]
    )
    if whole:
        squares = np.broadcast_to(squares.sum(axis=0), squares.shape)
    return np.asarray(np.sqrt(np.maximum(squares, 1e-24)))


def error_shares(predictions: list[Floats], present: Mask, signs: Floats) -> Floats:
    """Each modality's share of all distances between predictions and signs, over all items.

    A modality that no item has, or that errs nowhere, keeps a small share.
    """
    distances = sign_distances(predictions, present, signs, whole=True)[0]
    distances = np.maximum(distances, 1e-3 * distances.max())
    return np.asarray(distances / distances.sum())


def _weighted(predictions: list[Floats], weights: Floats) -> Floats:
    return np.asarray(sum(weights[:, [m]] * own for m, own in enumerate(predictions)))


def precision_shares(
    variances: list[Floats], prior_variance: Floats, emphasis: Sequence[float]
) -> Floats:
    """The share of each modality in what `precision_fusion` learns of an item beyond the prior.

    Mean over the targets, shape (n, n_modalities); a row's sum is 1, or 0 where nothing is
    learned of the item.

    Examples
    --------
    >>> import numpy as np
    >>> precision_shares([np.array([[0.25]]), np.array([[0.5]])], np.array([1.0]), [1.0, 1.0])
    array([[0.75, 0.25]])
    """
    least = np.maximum(1e-6 * prior_variance, 1e-12)
    prior = 1.0 / np.maximum(prior_variance, least)
    gains = [
        factor * np.maximum(1.0 / np.maximum(variance, least) - prior, 0.0)
        for variance, factor in zip(variances, emphasis, strict=True)
    ]
    total = np.sum(gains, axis=0)
    parts = [
        np.divide(gain, total, out=np.zeros_like(total), where=total > 0).sum(axis=1)
        for gain in gains
    ]
    return shares(np.column_stack(parts))


def shares(weights: Floats) -> Floats:
    """Weights as shares of their sum in each row; a row of zeros stays as it is."""
    total = weights.sum(axis=1, keepdims=True)
    return np.asarray(weights / np.where(total > 0, total, 1.0))
