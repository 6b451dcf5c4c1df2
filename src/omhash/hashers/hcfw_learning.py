"""How HCFW learns a round: each step takes a model and gives the next one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..learning import category_codes as codes_of
from ..learning.heads import Head
from ..learning.kernels import drawn_kernels
from ..learning.labels import LabelMatrix
from ..learning.moments import Moments
from ..learning.regularisation import best_theta
from ..learning.views import View
from .draws import first_seed, generator
from .hcfw_model import Floats, Model

if TYPE_CHECKING:
    from .hcfw import HCFW


def first_model(settings: HCFW, checked: Mapping[str, View]) -> Model:
    """The model before it has learned the first round: widths, seed and kernels."""
    model = Model.empty(
        {name: int(view.matrix.shape[1]) for name, view in checked.items()},
        settings.n_bits,
        n_targets=settings.n_bits if settings.targets == "codes" else 0,
        seed=first_seed(settings.random_state),
    )
    kernels = drawn_kernels(
        settings.kernels or {},
        checked,
        lambda place: generator(settings.random_state, model.seed, 1, place),
    )
    return model.with_kernels(kernels)


def with_categories(settings: HCFW, model: Model, read: LabelMatrix) -> Model:
    """Give the categories that are new in this round their codes."""
    known = set(model.categories)
    new = tuple(name for name in read.occurring() if name not in known)
    if not new:
        return model
    names = model.categories + new
    rng = generator(settings.random_state, model.seed, 0, len(model.categories))
    vectors = model.vectors
    if settings.category_codes == "semantic":
        fresh = _vectors(settings, new, vectors)
        vectors = vectors if len(vectors) else np.zeros((0, fresh.shape[1]))
        signs = codes_of.semantic(model.signs, vectors, fresh, settings.n_bits, rng)
        vectors = np.vstack([vectors, fresh])
    elif settings.category_codes == "hadamard":
        signs = codes_of.hadamard(len(known), len(new), settings.n_bits)
    else:
        labels = read.aligned(names)
        counts = (labels[:, len(known) :].T @ labels).toarray()
        totals = np.pad(model.code_moments.y_sum, (0, len(new))) + labels.sum(axis=0)
        signs = codes_of.cooccurrence(model.signs, counts, totals, settings.n_bits, rng)
    n_targets = settings.n_bits if settings.targets == "codes" else len(names)
    return model.with_categories(names, np.vstack([model.signs, signs]), vectors, n_targets)


def _vectors(settings: HCFW, names: tuple[str, ...], known: Floats) -> Floats:
    if settings.semantics is None:
        raise ParameterError(
            'category_codes="semantic" needs semantics=, which gives names vectors: '
            "see omhash.semantics"
        )
    return codes_of.checked_vectors(settings.semantics(names), names, known.shape[1])


def with_items(
    settings: HCFW, model: Model, checked: Mapping[str, View], read: LabelMatrix, *, forget: bool
) -> Model:
    """Add the labelled items to the statistics, or take them out."""
    labelled = np.diff(read.matrix.indptr) > 0
    labels = read.aligned(model.categories)
    bits = model.sums_of(read)
    moments = dict(model.moments)
    for name, view in checked.items():
        rows = np.flatnonzero(labelled & view.present)
        matrix = view.matrix[rows] if len(rows) < len(labelled) else view.matrix
        if name in model.kernels:
            matrix = model.kernels[name](matrix)
        targets = labels[rows] if settings.targets == "categories" else np.sign(bits[rows])
        moments[name] = _changed(moments[name], matrix, targets, forget=forget)
    rows = np.flatnonzero(labelled)
    stored = np.where(bits[rows] > 0, 1.0, -1.0)
    code_moments = _changed(model.code_moments, stored, labels[rows], forget=forget)
    return replace(model, moments=moments, code_moments=code_moments)


def with_heads(settings: HCFW, model: Model) -> Model:
    """Solve for the hash functions that the statistics now give."""
    if not model.categories:
        if model.heads:
            return model
        return model.with_random_heads(generator(settings.random_state, model.seed, 2))
    heads = {name: _head(settings, moments) for name, moments in model.moments.items()}
    return replace(model, heads=heads, decoder=model.solved_decoder())


def _head(settings: HCFW, moments: Moments) -> Head:
    center = settings.targets == "categories"
    theta = settings.theta
    theta = best_theta(moments, center=center) if theta == "auto" else float(theta)
    delta = settings.delta or theta
    if not settings.authors_program:
        return Head.solved(moments, theta, settings.weights, center=center, delta=delta)
    ridge = moments.ridge(theta, center=center)
    extra = np.linalg.pinv(moments.mirrored() + delta) @ (theta * ridge.weights)
    return Head.of(ridge, extra, moments.count, np.float64)


def _changed(moments: Moments, x: Any, y: Any, *, forget: bool) -> Moments:
    return moments.subtracted(x, y) if forget else moments.added(x, y)
