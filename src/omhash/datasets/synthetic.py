"""Generated data with known noise, correlation between categories and drift."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special

from ..errors import ParameterError
from .base import LabelledData, View

_MODALITIES: Mapping[str, int] = {"image": 32, "text": 64}
_WORDS_PER_ITEM = 10
_VECTOR_WIDTH = 16


def make(
    n_items: int = 400,
    n_categories: int = 8,
    *,
    modalities: Mapping[str, int] = _MODALITIES,
    noise: float | Mapping[str, float] = 1.0,
    correlation: float = 0.5,
    labels_per_item: float = 2.0,
    drift: float = 0.0,
    sparse_modalities: Collection[str] = (),
    seed: int = 0,
) -> LabelledData:
    """Generate items with several modalities and labels.

    Each category has a pattern in each modality, and an item shows the mean pattern of
    its categories, and noise. Categories 0 and 1, 2 and 3, ... share a theme, and their
    frequencies differ. Items are in order of time.

    Parameters
    ----------
    n_items, n_categories : int
    modalities : mapping of modality to width
    noise : float, or mapping of modality to float
        How strong the noise is, relative to the patterns.
    correlation : float from 0 to 1
        How much the categories of a theme occur together; so do their vectors.
    labels_per_item : float
        Labels an item has on average, about; each has at least one.
    drift : float from 0 to 1
        How much of each pattern another one has replaced by the last item.
    sparse_modalities : names of modalities
        These are counts of words, in CSR; the others are real values, dense.
    seed : int

    Returns
    -------
    LabelledData
        With category vectors. The same parameters give the same data.

    Examples
    --------
    >>> from omhash.datasets import synthetic
    >>> data = synthetic.make(n_items=100, n_categories=4, sparse_modalities=["text"])
    >>> len(data), data.views["image"].shape, data.views["text"].dtype
    (100, (100, 32), dtype('uint8'))
    """
    noises = noise if isinstance(noise, Mapping) else dict.fromkeys(modalities, noise)
    _check(n_items, n_categories, modalities, noises, correlation, labels_per_item, drift)
    unknown = set(sparse_modalities) - modalities.keys()
    if unknown:
        raise ParameterError(f"sparse_modalities: {min(unknown)!r} is not among the modalities")
    rng = np.random.default_rng(seed)
    labels = _labels(rng, n_items, n_categories, correlation, labels_per_item)
    shares = labels / labels.sum(axis=1, keepdims=True, dtype=np.float32)
    passed = drift * np.linspace(0, 1, n_items, dtype=np.float32)[:, None]
    # What an item shows of the first patterns, and of those that come in their place.
    shown = np.hstack([shares * (1 - passed), shares * passed])
    views: dict[str, View] = {}
    for modality, width in modalities.items():
        draw = _counts if modality in sparse_modalities else _features
        views[modality] = draw(rng, shown, width, noises[modality])
    return LabelledData(
        name="synthetic",
        views=views,
        labels=labels,
        categories=tuple(f"category {number}" for number in range(n_categories)),
        category_vectors=_themed(rng, (_VECTOR_WIDTH, n_categories), correlation).T,
    )


def _labels(
    rng: np.random.Generator, n_items: int, n_categories: int, correlation: float, mean: float
) -> NDArray[np.uint8]:
    weights = rng.permutation(1 / np.sqrt(np.arange(1, n_categories + 1)))
    frequencies = np.minimum(mean * weights / weights.sum(), 0.95)
    margins: NDArray[np.float64] = _themed(
        rng, (n_items, n_categories), correlation
    ) + special.ndtri(frequencies)
    labels = (margins > 0).astype(np.uint8)
    labels[np.arange(n_items), margins.argmax(axis=1)] = 1
    return labels


def _themed(
    rng: np.random.Generator, shape: tuple[int, int], correlation: float
) -> NDArray[np.float32]:
    """Standard normal values whose columns correlate within each pair of columns."""
    themes = rng.standard_normal((shape[0], (shape[1] + 1) // 2), dtype=np.float32)
    own = rng.standard_normal(shape, dtype=np.float32)
    shared = np.repeat(themes, 2, axis=1)[:, : shape[1]]
    return np.asarray(
        np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own, dtype=np.float32
    )


def _features(
    rng: np.random.Generator, shown: NDArray[np.float32], width: int, noise: float
) -> NDArray[np.float32]:
    patterns = rng.standard_normal((shown.shape[1], width), dtype=np.float32)
    view = shown @ patterns
    view += np.float32(noise) * rng.standard_normal(view.shape, dtype=np.float32)
    return view


def _counts(
    rng: np.random.Generator, shown: NDArray[np.float32], width: int, noise: float
) -> sparse.csr_array:
    # A small shape parameter gives each category few words of its own.
    words = rng.gamma(0.05, size=(shown.shape[1], width)) + 1e-9
    words *= _WORDS_PER_ITEM / words.sum(axis=1, keepdims=True)
    rates = shown @ words + noise * _WORDS_PER_ITEM / width
    return sparse.csr_array(np.minimum(rng.poisson(rates), 255).astype(np.uint8))


def _check(
    n_items: int,
    n_categories: int,
    modalities: Mapping[str, int],
    noises: Mapping[str, float],
    correlation: float,
    labels_per_item: float,
    drift: float,
) -> None:
    if n_items < 1 or n_categories < 1:
        raise ParameterError("n_items and n_categories must be 1 or more")
    if not modalities or min(modalities.values()) < 1:
        raise ParameterError("modalities must name at least one, each with a width of 1 or more")
    if noises.keys() != modalities.keys() or min(noises.values()) < 0:
        raise ParameterError("noise must be 0 or more, and one number or one for each modality")
    if not 0 <= correlation <= 1:
        raise ParameterError(f"correlation must be from 0 to 1, not {correlation!r}")
    if not 0 < labels_per_item <= n_categories:
        raise ParameterError(
            f"labels_per_item must be above 0 and at most n_categories, not {labels_per_item!r}"
        )
    if not 0 <= drift <= 1:
        raise ParameterError(f"drift must be from 0 to 1, not {drift!r}")
