"""A round from what is handed in to what is stored: checked, then coded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np

from ._arguments import checked_keys, checked_payloads
from .codes import pack
from .errors import InputError
from .hashers.base import Hasher
from .learning.labels import LabelMatrix, Labels, label_matrix
from .learning.sketches import Sketchers
from .learning.views import Matrix, n_rows
from .store import Additions
from .store.records import Layout


@dataclass(frozen=True, eq=False)
class GivenRound:
    """What a round brings, once it is known to be usable.

    Attributes
    ----------
    payloads : JSON text of each item's payload
    fields : names of all their fields
    """

    matrices: Mapping[str, Matrix]
    read: LabelMatrix
    keys: list[str]
    payloads: list[str]
    fields: set[str]

    @classmethod
    def of(
        cls,
        matrices: Mapping[str, Matrix],
        labels: Labels | None,
        *,
        keys: Sequence[str],
        payloads: Sequence[Mapping[str, Any]] | None,
        categories: Iterable[str] | None,
    ) -> Self:
        """Checked views, and all else as it was handed in."""
        n = n_rows(matrices)
        if not n:
            raise InputError("the round has no items")
        names = checked_keys(keys, n)
        texts, fields = checked_payloads(payloads, n)
        return cls(matrices, label_matrix(labels, n, categories=categories), names, texts, fields)

    @property
    def labelled(self) -> int:
        """How many items have categories."""
        return int(np.count_nonzero(self.read.labelled))

    @property
    def digest(self) -> str:
        """By which the round is known again."""
        return sha256("\0".join(self.keys).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Coder:
    """All that gives items what is stored of them."""

    hasher: Hasher
    sketchers: Sketchers
    layout: Layout

    def coded(self, given: GivenRound) -> Additions:
        """Codes and sketches of a round."""
        codes = self.hasher.item_codes(
            given.matrices, given.read.matrix, categories=given.read.names
        )
        values, present = self.sketchers.projected(given.matrices, len(given.keys))
        packed = {name: pack(rows) for name, rows in values.items()}
        return Additions(
            given.keys,
            given.read.sets(self.hasher.categories_),
            self.layout.packed(codes, packed, present),
            given.payloads,
            given.fields,
        )


@dataclass(frozen=True, eq=False)
class CodedRound:
    """A round that needs only to be stored.

    Attributes
    ----------
    id : str
    added : Additions
    digest : str
    labelled : int
    new_categories : tuple of str
        Those that were first seen in this round.
    seconds : float
    """

    id: str
    added: Additions
    digest: str
    labelled: int
    new_categories: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, eq=False)
class Standing:
    """Where a collection stands, for who learns and codes elsewhere.

    Attributes
    ----------
    coder : Coder
        Its hasher and sketchers; the hasher is a copy that may learn.
    files : list of references
        Of what the hasher has learned, and of the sketchers.
    modalities : dict of str to int
    stored : set of str
        Rounds that are there.
    taught : dict of str to tuple of str
        Rounds that were learned together with others and need not be there yet, each with the
        categories that it was the first to have.
    """

    coder: Coder
    files: list[dict[str, str]]
    modalities: dict[str, int]
    stored: set[str]
    taught: dict[str, tuple[str, ...]]
