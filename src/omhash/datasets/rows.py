"""Views and labels put together from rows that come in batches, some of them missing."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError
from .base import LabelledData, Rows, View
from .checked import checked_items, labelled_data
from .items import Items, key_of


class DenseRows:
    """Batches of dense rows; items that no batch brought become rows of NaN."""

    def __init__(self) -> None:
        self._batches: deque[tuple[Rows, NDArray[Any]]] = deque()

    def __bool__(self) -> bool:
        return bool(self._batches)

    @property
    def width(self) -> int | None:
        """The number of columns; None before the first batch."""
        return self._batches[0][1].shape[1] if self._batches else None

    def add(self, rows: Rows, values: NDArray[Any]) -> None:
        """Add the values of some items, one row an item, all as wide as the first."""
        self._batches.append((rows, values))

    def view(self, n_items: int) -> NDArray[Any]:
        """The view of all items. The batches are given up as they are copied."""
        present = np.zeros(n_items, dtype=bool)
        for rows, _ in self._batches:
            present[rows] = True
        dtype = np.result_type(*(values.dtype for _, values in self._batches))
        if not present.all():
            dtype = np.result_type(dtype, np.float16)
        whole = np.empty((n_items, self.width or 0), dtype=dtype)
        if not present.all():
            whole[~present] = np.nan
        while self._batches:
            rows, values = self._batches.popleft()
            whole[rows] = values
        return whole


class SparseRows:
    """Batches of sparse rows; an item that no batch brought stores a single NaN."""

    def __init__(self) -> None:
        self._batches: list[tuple[Rows, NDArray[Any], NDArray[Any], NDArray[Any]]] = []

    def __bool__(self) -> bool:
        return bool(self._batches)

    def add(
        self, rows: Rows, lengths: NDArray[Any], indices: NDArray[Any], values: NDArray[Any]
    ) -> None:
        """Add items in the order of their rows: how many values each has, where, and which."""
        self._batches.append((rows, lengths, indices, values))

    def widest(self) -> tuple[int, int]:
        """The largest column number, and the row where it is; -1 where there is no value."""
        row, column = -1, -1
        for rows, lengths, indices, _ in self._batches:
            if indices.max(initial=-1) > column:
                at = np.searchsorted(np.cumsum(lengths), indices.argmax(), side="right")
                row, column = int(rows[at]), int(indices.max())
        return row, column

    def view(self, n_items: int, width: int | None = None) -> sparse.csr_array:
        """The view of all items, as wide as is said or as its largest column number asks for."""
        rows, lengths, indices, values = (
            np.concatenate(column) for column in zip(*self._batches, strict=True)
        )
        width = int(indices.max(initial=-1)) + 1 if width is None else width
        missing = np.ones(n_items, dtype=bool)
        missing[rows] = False
        counts = np.ones(n_items, dtype=np.int64)
        counts[rows] = lengths
        pointers = np.concatenate([[0], np.cumsum(counts)])
        if missing.any():
            kept = np.ones(pointers[-1], dtype=bool)
            kept[pointers[:-1][missing]] = False
            values = _spread(values.astype(np.result_type(values, np.float16)), kept, np.nan)
            indices = _spread(indices, kept, 0)
        return sparse.csr_array((values, indices, pointers), shape=(n_items, width))


class LabelRows:
    """The category names of items, in the order of the items."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._items: list[list[int]] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, names: Any, where: str) -> None:
        """Add one item's names; anything but a list of text is an error at `where`."""
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataFileError(
                f"{where}: 'categories' must be a list of text; an item without labels has []"
            )
        self._items.append([self._numbers.setdefault(name, len(self._numbers)) for name in names])

    def labels(self) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
        """The 0/1 matrix, and the names of its columns in alphabetical order."""
        names = sorted(self._numbers)
        column = np.empty(len(names), dtype=np.intp)
        column[[self._numbers[name] for name in names]] = np.arange(len(names))
        matrix = np.zeros((len(self._items), len(names)), dtype=np.uint8)
        rows = np.repeat(np.arange(len(self._items)), [len(item) for item in self._items])
        matrix[rows, column[_flat(self._items)]] = 1
        return matrix, tuple(names)


class ItemRows:
    """What a file of rows holds, put together batch by batch.

    Parameters
    ----------
    start : int
        The row of the file that is the first here.
    stored : bool
        Whether the items are to be stored: then they have keys and payloads, and need no
        categories.
    """

    def __init__(self, path: Path, start: int = 0, *, stored: bool) -> None:
        self.path = path
        self.start = start
        self.stored = stored
        self.views: dict[str, DenseRows | SparseRows] = {}
        self.keys: list[str] = []
        self.payloads: list[dict[str, Any]] = []
        self._labels = LabelRows()

    def __len__(self) -> int:
        return len(self._labels)

    def add_labels(self, names: Any, where: str) -> None:
        """Add one item's category names."""
        self._labels.add([] if names is None and self.stored else names, where)

    def add_key(self, given: Any, where: str) -> None:
        """Add one item's key, or what stands for it."""
        self.keys.append(key_of(given, self.path.stem, self.start + len(self.keys), where))

    def sorted(self) -> Self:
        """These rows, with the views in alphabetical order."""
        self.views = dict(sorted(self.views.items()))
        return self

    def labels(self) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
        """The labels alone: the 0/1 matrix, and the names of its columns."""
        return self._labels.labels()

    def labelled_data(self) -> LabelledData:
        """All of the file."""
        labels, categories = self._labels.labels()
        views = {name: rows.view(len(self)) for name, rows in self.views.items() if rows}
        return labelled_data(
            self.path, name=self.path.stem, views=views, labels=labels, categories=categories
        )

    def items(self, widths: Mapping[str, int]) -> Items:
        """The items; a sparse view is as wide as `widths` says, where it says so."""
        labels, categories = self._labels.labels()
        views: dict[str, View] = {}
        for name, rows in self.views.items():
            if isinstance(rows, DenseRows) and rows:
                views[name] = rows.view(len(self))
            elif isinstance(rows, SparseRows) and rows:
                row, column = rows.widest()
                if column >= widths.get(name, column + 1):
                    raise DataFileError(
                        f"{self.path}, item {self.start + row} (counted from 0): view {name!r} has "
                        f"a value in column {column}, and is {widths[name]} wide"
                    )
                views[name] = rows.view(len(self), widths.get(name))
        return checked_items(
            self.path,
            start=self.start,
            views=views,
            labels=labels,
            categories=categories,
            keys=self.keys,
            payloads=self.payloads,
        )


def _flat(items: Iterable[list[int]]) -> NDArray[np.intp]:
    return np.fromiter(chain.from_iterable(items), dtype=np.intp)


def _spread(values: NDArray[Any], kept: NDArray[np.bool_], fill: float) -> NDArray[Any]:
    spread = np.full(len(kept), fill, dtype=values.dtype)
    spread[kept] = values
    return spread
