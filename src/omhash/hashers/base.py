"""The contract of every hashing method."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..codes import Codes, pack
from ..errors import LabelError, ParameterError, UnsupportedError, ViewError
from ..learning.labels import LabelMatrix, Labels, label_matrix
from ..learning.views import View, Views, filled, n_rows, shaped_views

State: TypeAlias = dict[str, Any]
"""A hasher's state: a flat mapping of names to arrays and plain values."""


@dataclass(frozen=True)
class Constraint:
    """What a parameter must be: in words, and as a test."""

    words: str
    holds: Callable[[Any], bool]


def one_of(*names: str) -> Constraint:
    """A parameter that is one of some names."""
    return Constraint(
        "one of " + ", ".join(map(repr, names)),
        lambda value: isinstance(value, str) and value in names,
    )


def either(*constraints: Constraint) -> Constraint:
    """A parameter that keeps any of several constraints."""
    return Constraint(
        " or ".join(constraint.words for constraint in constraints),
        lambda value: any(constraint.holds(value) for constraint in constraints),
    )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


NOTHING = Constraint("None", lambda value: value is None)
POSITIVE = Constraint(
    "a number above 0",
    lambda value: (
        isinstance(value, Real) and not isinstance(value, bool) and 0 < float(value) < float("inf")
    ),
)
BOOLEAN = Constraint("True or False", lambda value: isinstance(value, bool))
CALLABLE = Constraint("a callable", callable)
N_BITS = Constraint(
    "a multiple of 8 from 8 to 1024",
    lambda value: _is_whole(value) and 8 <= value <= 1024 and value % 8 == 0,
)
COUNT = Constraint("a whole number from 1", lambda value: _is_whole(value) and value >= 1)


def _is_kernel(value: Any) -> bool:
    anchors, bandwidth = (
        value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, 1.0)
    )
    return COUNT.holds(anchors) and POSITIVE.holds(bandwidth)


KERNELS = Constraint(
    "a mapping of modality to number of anchors or (number, bandwidth)",
    lambda value: isinstance(value, Mapping) and all(map(_is_kernel, value.values())),
)
RANDOM_STATE = Constraint(
    "None, an integer from 0, or a NumPy Generator",
    lambda value: (
        value is None or (_is_whole(value) and value >= 0) or hasattr(value, "standard_normal")
    ),
)


def read_round(
    views: Views,
    labels: Labels | None,
    categories: Iterable[str] | None,
    widths: Mapping[str, int] | None,
) -> tuple[dict[str, View], LabelMatrix]:
    """A round's views and labels, once they are known to be usable.

    Parameters
    ----------
    widths : mapping of modality to width, or None
        What was learned so far; None before the first round.
    """
    matrices = shaped_views(views, widths)
    count = n_rows(matrices)
    if not count:
        raise ViewError("the round has no items")
    checked = {name: filled(name, matrix) for name, matrix in matrices.items()}
    return checked, label_matrix(labels, count, categories=categories)


def refuse_unknown(read: LabelMatrix, categories: Iterable[str]) -> None:
    """Raise `LabelError` where an item has a category that was never learned."""
    known = set(categories)
    unknown = [name for name in read.occurring() if name not in known]
    if unknown:
        raise LabelError(
            f"category {unknown[0]!r} was never learned: a category becomes known with the "
            "first round that has it"
        )


class Hasher(BaseEstimator):  # type: ignore[misc]  # scikit-learn ships no types
    """Learns codes from a stream of rounds.

    A subclass stores its parameters in ``__init__`` and does nothing else there, declares
    in `constraints` what they must be, and implements the methods below. `omhash.checks`
    tells whether it keeps the contract.
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_bits": N_BITS,
        "random_state": RANDOM_STATE,
    }

    n_bits: int

    @property
    @abstractmethod
    def modalities_(self) -> dict[str, int]:
        """The width of each modality's views."""

    @property
    @abstractmethod
    def categories_(self) -> tuple[str, ...]:
        """The known categories, in the order in which they were learned."""

    @property
    @abstractmethod
    def category_codes_(self) -> Codes:
        """Packed codes of the categories. A row never changes once it is there."""

    @abstractmethod
    def partial_fit(
        self, views: Views, labels: Labels | None = None, *, categories: Iterable[str] | None = None
    ) -> Self:
        """Learn one round of the stream.

        Parameters
        ----------
        views : mapping of modality to array or sparse matrix
            One row an item. A row of NaN, or a wholly masked one, means that the item lacks
            the modality; a modality that is left out is lacking throughout.
        labels : one collection of category names per item, or a 0/1 matrix
            An empty collection is an item without labels, which teaches nothing.
        categories : category names, for a 0/1 matrix
            The name of each column.
        """

    @abstractmethod
    def project(self, views: Views) -> NDArray[np.float32]:
        """Fused real values, shape (n, n_bits), whose signs are the codes."""

    @abstractmethod
    def label_codes(self, labels: Labels, *, categories: Iterable[str] | None = None) -> Codes:
        """Codes of items whose categories are known."""

    @abstractmethod
    def item_codes(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Codes:
        """The codes under which items are stored: from their labels, else from their views."""

    @abstractmethod
    def get_state(self) -> State:
        """All that was learned, as arrays and plain values."""

    @abstractmethod
    def set_state(self, state: State) -> Self:
        """Take over what `get_state` of an equally configured hasher gave."""

    def for_encoding(self) -> Self:
        """A copy that gives the same codes and need not be able to learn: light to send."""
        return copy(self)

    def encode(self, views: Views) -> Codes:
        """Packed codes of items, shape (n, n_bits / 8)."""
        return pack(self.project(views))

    def project_with(self, views: Views, emphasis: Mapping[str, float]) -> NDArray[np.float32]:
        """Projections in which modalities count more or less than was learned.

        Parameters
        ----------
        emphasis : mapping of modality to number from 0
            1, also where nothing is said, is as learned; 0 leaves the modality out.
        """
        if any(factor not in (0, 1) for factor in emphasis.values()):
            raise UnsupportedError(f"{type(self).__name__} cannot weigh modalities anew")
        return self.project({name: view for name, view in views.items() if emphasis.get(name, 1)})

    def modality_weights(
        self,
        views: Views,  # noqa: ARG002 - for the methods that have weights
        emphasis: Mapping[str, float] | None = None,  # noqa: ARG002 - likewise
    ) -> dict[str, NDArray[np.float64]]:
        """The share of each modality in an item's projection; shares of an item add up to 1."""
        raise UnsupportedError(f"{type(self).__name__} has no weights of modalities")

    def check_parameters(self) -> None:
        """Raise `ParameterError` where a parameter breaks its declared constraint."""
        for name, constraint in self.constraints.items():
            value = getattr(self, name)
            if not constraint.holds(value):
                raise ParameterError(
                    f"{type(self).__name__}: {name} must be {constraint.words}, not {value!r}"
                )
