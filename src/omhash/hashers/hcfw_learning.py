"""How HCFW learns a round: each step takes a model and gives the next one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..errors import ParameterError
from ..learning import category_codes as codes_of
from ..learning.heads import Head
from ..learning.kernels import drawn_kernels
from ..learning.labels import LabelCounts, LabelMatrix, Labels
from ..learning.moments import Moments
from ..learning.regularisation import best_theta
from ..learning.views import View, Views
from .additive import Sums
from .base import read_round, refuse_unknown
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


def with_categories(settings: HCFW, model: Model, round_: LabelCounts, totals: Floats) -> Model:
    """Give the categories that are new in a round their codes.

    Parameters
    ----------
    totals : array of shape (n_categories,)
        How many items of all rounds before have each category.
    """
    known = set(model.categories)
    new = tuple(name for name in round_.occurring() if name not in known)
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
        together = round_.aligned(names)
        counts = together[len(known) :].toarray()
        totals = np.pad(totals, (0, len(new))) + together.diagonal()
        signs = codes_of.cooccurrence(model.signs, counts, totals, settings.n_bits, rng)
    n_targets = settings.n_bits if settings.targets == "codes" else len(names)
    return model.with_categories(names, np.vstack([model.signs, signs]), vectors, n_targets)


def with_labels(settings: HCFW, model: Model, rounds: Iterable[LabelCounts]) -> Model:
    """Learn the labels of some rounds, in order; their items are still to be summed."""
    totals = model.code_moments.y_sum
    for round_ in rounds:
        model = with_categories(settings, model, round_, totals)
        totals = np.pad(totals, (0, len(model.categories) - len(totals)))
        totals = totals + round_.aligned(model.categories).diagonal()
        if not model.categories:
            model = with_heads(settings, model)
    return model


def _vectors(settings: HCFW, names: tuple[str, ...], known: Floats) -> Floats:
    if settings.semantics is None:
        raise ParameterError(
            'category_codes="semantic" needs semantics=, which gives names vectors: '
            "see omhash.semantics"
        )
    return codes_of.checked_vectors(settings.semantics(names), names, known.shape[1])


@dataclass(frozen=True, eq=False)
class HCFWAdder:
    """Sums items for HCFW; see `Adder`.

    Attributes
    ----------
    model : Model
        Of which only codes and kernels matter.
    targets : {"categories", "codes"}
    """

    model: Model
    targets: str

    @classmethod
    def of(cls, settings: HCFW, model: Model) -> Self:
        """An adder for a model, without the sums and hash functions, which it does not need."""
        bare = model.with_sums(Sums({}, Moments.zeros(0, 0)))
        return cls(replace(bare, heads={}, decoder=bare.decoder[:0]), settings.targets)

    def empty(self) -> Sums:
        """The sums of no items."""
        return self.model.empty_sums(codes=self.targets == "codes")

    def added(
        self,
        sums: Sums,
        views: Views,
        labels: Labels | None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Sums:
        """The sums with these items too."""
        checked, read = read_round(views, labels, categories, self.model.modalities)
        refuse_unknown(read, self.model.categories)
        return summed(self.model, sums, checked, read, targets=self.targets)


def summed(
    model: Model,
    sums: Sums,
    checked: Mapping[str, View],
    read: LabelMatrix,
    *,
    targets: str,
    forget: bool = False,
) -> Sums:
    """Add the labelled items to the sums, or take them out; the model's own sums do not count."""
    labelled = read.labelled
    labels = read.aligned(model.categories)
    bits = model.signs_of(read)
    moments = dict(sums.moments)
    for name, view in checked.items():
        rows = np.flatnonzero(labelled & view.present)
        matrix = view.matrix[rows] if len(rows) < len(labelled) else view.matrix
        if name in model.kernels:
            matrix = model.kernels[name](matrix)
        wanted = labels[rows] if targets == "categories" else np.sign(bits[rows])
        moments[name] = _changed(moments[name], matrix, wanted, forget=forget)
    rows = np.flatnonzero(labelled)
    stored = np.where(bits[rows] > 0, 1.0, -1.0)
    return Sums(moments, _changed(sums.code_moments, stored, labels[rows], forget=forget))


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
