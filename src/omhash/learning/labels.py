"""Labels: which categories each item has, as one sparse 0/1 matrix."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import LabelError

Labels: TypeAlias = "Sequence[Collection[str]] | NDArray[Any] | sparse.sparray | sparse.spmatrix"
"""One collection of category names per item, or a 0/1 matrix."""


@dataclass(frozen=True)
class LabelMatrix:
    """Items by categories: `matrix` is CSR, 0/1; `names` names its columns."""

    matrix: sparse.csr_array
    names: tuple[str, ...]

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which items have a category."""
        return np.asarray(np.diff(self.matrix.indptr) > 0)

    def aligned(self, names: Sequence[str]) -> sparse.csr_array:
        """The columns called `names`, in that order; a name that is not here is a zero column."""
        return _aligned(self.matrix, self.names, names)

    def sets(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """The places in `names`, in order, of each item's categories."""
        matrix = self.aligned(names)
        matrix.sort_indices()
        columns, ends = matrix.indices.tolist(), matrix.indptr.tolist()
        return [tuple(columns[start:stop]) for start, stop in pairwise(ends)]

    def occurring(self) -> tuple[str, ...]:
        """The names that at least one item has."""
        counts = self.matrix.sum(axis=0)
        return tuple(name for name, count in zip(self.names, counts, strict=True) if count)

    def counts(self) -> LabelCounts:
        """How many items have each category, alone and together."""
        return LabelCounts(self.names, sparse.csr_array(self.matrix.T @ self.matrix))


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """How many items have each category, and each two of them: small, however many items.

    Attributes
    ----------
    names : tuple of str
    together : CSR array of shape (n_names, n_names)
        The diagonal counts the items of one category.
    """

    names: tuple[str, ...]
    together: sparse.csr_array

    def occurring(self) -> tuple[str, ...]:
        """The names that at least one item has."""
        counts = self.together.diagonal()
        return tuple(name for name, count in zip(self.names, counts, strict=True) if count)

    def aligned(self, names: Sequence[str]) -> sparse.csr_array:
        """The counts of `names`, in that order."""
        columns = _aligned(self.together, self.names, names)
        return _aligned(sparse.csr_array(columns.T), self.names, names)

    def merged(self, other: LabelCounts) -> LabelCounts:
        """The counts of both parts of a round, with the names that the whole round gives.

        Examples
        --------
        >>> one, other = (label_matrix([[name]]).counts() for name in ("dog", "cat"))
        >>> one.merged(other).names
        ('cat', 'dog')
        """
        same = self.names == other.names
        names = self.names if same else tuple(sorted({*self.names, *other.names}))
        return LabelCounts(names, self.aligned(names) + other.aligned(names))


def label_matrix(
    labels: Labels | None,
    n_items: int | None = None,
    *,
    categories: Iterable[str] | None = None,
) -> LabelMatrix:
    """Read labels in any of their forms.

    `n_items` is how many items there are, where anything else tells; only then may labels
    be None, which is no labels at all.

    New names from collections come in alphabetical order, so that sets, whose order is
    arbitrary, give the same matrix every time.

    Examples
    --------
    >>> read = label_matrix([{"dog", "cat"}, []], 2)
    >>> read.names, read.matrix.toarray().tolist()
    (('cat', 'dog'), [[1.0, 1.0], [0.0, 0.0]])
    """
    if labels is None and n_items is not None:
        return LabelMatrix(sparse.csr_array((n_items, 0)), ())
    if isinstance(labels, (str, bytes)):
        raise LabelError(_ONE_TEXT.format(where="labels", text=labels))
    if sparse.issparse(labels) or (isinstance(labels, np.ndarray) and labels.dtype.kind in "fiub"):
        found = _from_matrix(labels, categories)
    elif categories is not None:
        raise LabelError(
            "categories= names the columns of a 0/1 matrix; these labels are names themselves: "
            "leave it out"
        )
    else:
        found = _from_names(labels)
    if n_items is not None and found.matrix.shape[0] != n_items:
        raise LabelError(f"{found.matrix.shape[0]} items have labels, and {n_items} have views")
    return found


def _aligned(
    matrix: sparse.csr_array, names: Sequence[str], wanted: Sequence[str]
) -> sparse.csr_array:
    """The columns called `wanted`; one that is not there is zero."""
    place = {name: column for column, name in enumerate(wanted)}
    entries = matrix.tocoo()
    target = np.array([place.get(name, -1) for name in names], dtype=np.int64)
    columns = target[entries.col]
    kept = columns >= 0
    return sparse.csr_array(
        (entries.data[kept], (entries.row[kept], columns[kept])),
        shape=(matrix.shape[0], len(wanted)),
    )


_ONE_TEXT = "{where}: {text!r} is one text, not a collection of names: write [{text!r}]"


def _from_names(labels: Any) -> LabelMatrix:
    try:
        items = list(labels)
    except TypeError:
        raise LabelError(
            f"labels must be one collection of category names per item, not {type(labels).__name__}"
        ) from None
    rows: list[int] = []
    names: list[str] = []
    for row, item in enumerate(items):
        if isinstance(item, (str, bytes)):
            raise LabelError(_ONE_TEXT.format(where=f"labels, item {row}", text=item))
        if not isinstance(item, Collection):
            raise LabelError(
                f"labels, item {row}: {item!r} is not a collection of category names; "
                "an item without labels has an empty one"
            )
        for name in set(_names(item, f"labels, item {row}")):
            rows.append(row)
            names.append(name)
    vocabulary = sorted(set(names))
    place = {name: column for column, name in enumerate(vocabulary)}
    columns = [place[name] for name in names]
    matrix = sparse.csr_array(
        (np.ones(len(rows)), (rows, columns)), shape=(len(items), len(vocabulary))
    )
    return LabelMatrix(matrix, tuple(vocabulary))


def _from_matrix(labels: Any, categories: Iterable[str] | None) -> LabelMatrix:
    if categories is None:
        raise LabelError("a 0/1 matrix of labels needs categories=, the name of each column")
    names = _names(categories, "categories")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise LabelError(f"categories: {twice!r} is there twice")
    if labels.ndim != 2 or labels.shape[1] != len(names):
        raise LabelError(
            f"labels have shape {labels.shape}, and categories name {len(names)} columns"
        )
    # A copy: tidying up must not write into what was handed in.
    matrix = sparse.csr_array(labels, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    wrong = matrix.data != 1
    if wrong.any():
        entries = matrix.tocoo()
        at = int(np.argmax(wrong))
        raise LabelError(
            f"labels, row {entries.row[at]}, column {names[entries.col[at]]!r}: "
            f"{entries.data[at]} is neither 0 nor 1"
        )
    return LabelMatrix(matrix, names)


def _names(given: Iterable[Any], where: str) -> tuple[str, ...]:
    if isinstance(given, (str, bytes)):
        raise LabelError(_ONE_TEXT.format(where=where, text=given))
    try:
        names = tuple(given)
    except TypeError:
        raise LabelError(f"{where}: {given!r} is not a collection of names") from None
    for name in names:
        if not isinstance(name, str):
            raise LabelError(f"{where}: a category name must be text, not {name!r}")
        if not name:
            raise LabelError(f"{where}: a category name is empty")
    return tuple(str(name) for name in names)
