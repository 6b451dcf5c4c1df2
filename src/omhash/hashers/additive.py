"""The contract of methods whose items may be summed anywhere, in any order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from ..learning.labels import LabelCounts, Labels
from ..learning.moments import Moments
from ..learning.views import Views
from .base import Hasher


@dataclass(frozen=True, eq=False)
class Sums:
    """All that items add to what is learned.

    Attributes
    ----------
    moments : dict of str to Moments
        Of each modality: features with targets.
    code_moments : Moments
        Item codes with labels.
    """

    moments: dict[str, Moments]
    code_moments: Moments

    def merged(self, other: Self) -> Self:
        """The sums over both sets of items."""
        moments = {name: own.merged(other.moments[name]) for name, own in self.moments.items()}
        return type(self)(moments, self.code_moments.merged(other.code_moments))


class Adder(Protocol):
    """All that is needed to sum items: small enough to be sent to whoever reads them."""

    def empty(self) -> Sums:
        """The sums of no items."""

    def added(
        self,
        sums: Sums,
        views: Views,
        labels: Labels | None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Sums:
        """The sums with these items too; their categories must be known."""


class AdditiveHasher(Hasher):
    """A hasher that learns in two steps: labels in order, then sums of items in any order.

    What `partial_fit` makes of some rounds, one after the other, is what these make of them:

    1. `begin` with the views of the first round,
    2. `learn_labels` with what the labels of each round count, in order,
    3. `adder` sums the items, anywhere and in any order,
    4. `take` learns the sums.

    Examples
    --------
    >>> from omhash import HCFW
    >>> from omhash.datasets import synthetic
    >>> from omhash.learning.labels import label_matrix
    >>> data = synthetic.make(n_items=200, seed=0)
    >>> counts = label_matrix(data.labels, categories=data.categories).counts()
    >>> hasher = HCFW(16, random_state=0).begin(data.views).learn_labels([counts])
    >>> adder = hasher.adder()
    >>> sums = adder.added(adder.empty(), data.views, data.labels, categories=data.categories)
    >>> whole = HCFW(16, random_state=0)
    >>> whole = whole.partial_fit(data.views, data.labels, categories=data.categories)
    >>> bool((hasher.take(sums).encode(data.views) == whole.encode(data.views)).all())
    True
    """

    @abstractmethod
    def begin(self, views: Views) -> Self:
        """See the views of the first round; nothing happens where there was one before."""

    @abstractmethod
    def learn_labels(self, rounds: Iterable[LabelCounts]) -> Self:
        """Give the new categories of some rounds their codes, round by round."""

    @abstractmethod
    def adder(self) -> Adder:
        """What sums items of the rounds whose labels were learned."""

    @abstractmethod
    def take(self, sums: Sums) -> Self:
        """Learn sums of items."""
