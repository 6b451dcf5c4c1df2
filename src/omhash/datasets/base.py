"""A labelled collection of items, and a stream of rounds over it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

View: TypeAlias = "NDArray[np.generic] | sparse.csr_array"
Rows: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True)
class LabelledData:
    """Items with views, labels and category names.

    Attributes
    ----------
    name : str
        What tables and figures call it.
    views : mapping of modality to array or CSR array, one row an item
    labels : array of uint8, shape (n_items, n_categories), 0/1
    categories : tuple of str
        The name of each column of `labels`.
    category_vectors : array of shape (n_categories, k), optional
        Vectors that came with the data, for `omhash.semantics`.
    """

    name: str
    views: Mapping[str, View]
    labels: NDArray[np.uint8]
    categories: tuple[str, ...]
    category_vectors: NDArray[np.floating] | None = None

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Round:
    """One round of a stream: which items are learned and which are asked.

    `train` and `queries` are row numbers of the data; `categories` are the columns of
    its labels that are allowed up to and including this round.
    """

    train: Rows
    queries: Rows
    categories: Rows


@dataclass(frozen=True)
class Stream:
    """Rounds over labelled data, in a scenario of the paper."""

    data: LabelledData
    scenario: str
    rounds: Sequence[Round]
    seed: int = 0
