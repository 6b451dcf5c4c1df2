"""What every loader shares: one kind of error, and one look at what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError
from .base import LabelledData, View
from .items import Items


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises on a bad file into a `DataFileError`.

    The parsers of these formats belong to other libraries and meet corrupt bytes with
    almost any exception (of zip, zlib, struct, tokens, memory, ...), so all are caught.
    """
    try:
        yield
    except DataFileError:
        raise
    except FileNotFoundError:
        raise DataFileError(f"{path}: there is no such file; check the path") from None
    except OSError as error:
        raise DataFileError(
            f"{path}: cannot be read ({error}); check that it is a whole file of this format "
            "and that you may read it"
        ) from error
    except Exception as error:
        raise DataFileError(
            f"{path}: cannot be read ({type(error).__name__}: {error}); it is truncated, corrupt "
            "or not of the format that its name says: fetch or write it again"
        ) from error


def labelled_data(
    path: Path,
    *,
    name: str,
    views: Mapping[str, Any],
    labels: Any,
    categories: Sequence[str],
    category_vectors: Any = None,
) -> LabelledData:
    """Check that what a file held fits together."""
    if 0 in getattr(labels, "shape", ()):
        raise DataFileError(
            f"{path}: holds no item with a category (labels have shape {labels.shape}); "
            "store at least one item and one category"
        )
    if not views:
        raise DataFileError(f"{path}: holds no view; a view is a 2-D array with one row an item")
    indicator = matrix(path, "labels", labels)
    names = category_names(path, categories, indicator.shape[1])
    checked = {modality: matrix(path, modality, view) for modality, view in views.items()}
    for modality, view in checked.items():
        if view.shape[0] != indicator.shape[0]:
            raise DataFileError(
                f"{path}: view {modality!r} has {view.shape[0]} rows and the labels have "
                f"{indicator.shape[0]}: both need one row an item"
            )
    vectors = None
    if category_vectors is not None:
        found = matrix(path, "category_vectors", category_vectors)
        vectors = _dense(found)
        if vectors.shape[0] != len(names) or not np.isfinite(vectors).all():
            raise DataFileError(
                f"{path}: category vectors must be finite, one row a category "
                f"({len(names)}); they have shape {vectors.shape}"
            )
        if vectors.dtype.kind != "f":
            vectors = vectors.astype(np.float32)
    return LabelledData(name, checked, zeros_and_ones(path, indicator), names, vectors)


def checked_items(
    path: Path,
    *,
    start: int,
    views: Mapping[str, Any],
    labels: Any,
    categories: Sequence[str],
    keys: Sequence[str],
    payloads: Sequence[Mapping[str, Any]] | None = None,
) -> Items:
    """Check what a file held of the items from row `start` on."""
    n = len(keys)
    return Items(
        {modality: matrix(path, modality, view, start) for modality, view in views.items()},
        zeros_and_ones(path, labels, start),
        category_names(path, categories, labels.shape[1]),
        keys,
        [{}] * n if payloads is None else payloads,
    )


def matrix(path: Path, name: str, array: Any, start: int = 0) -> View:
    """Check that an array is a matrix of plain numbers, and make its bytes the machine's own.

    `start` is the row of the file that the array begins with.
    """
    if not sparse.issparse(array) and not isinstance(array, np.ndarray):
        raise DataFileError(f"{path}: {name!r} is not an array; store a 2-D array of numbers")
    if array.dtype.kind not in "fiub" or array.dtype.itemsize > 8:
        raise DataFileError(
            f"{path}: {name!r} holds {array.dtype} values; store numbers "
            "(float16, float32, float64 or integers)"
        )
    if array.ndim != 2 or 0 in array.shape:
        raise DataFileError(
            f"{path}: {name!r} has shape {array.shape}; store a 2-D array with one row an item "
            "and at least one column"
        )
    native = np.dtype(np.uint8) if array.dtype.kind == "b" else array.dtype.newbyteorder("=")
    if sparse.issparse(array):
        # The full check comes before anything that trusts the indices.
        compressed = array if array.format in ("csr", "csc") else array.tocsr()
        compressed.check_format(full_check=True)
        rows = sparse.csr_array(compressed.astype(native, copy=False))
        _refuse_repeats(path, name, rows, start)
        return rows
    return np.ascontiguousarray(array, dtype=native)


def _refuse_repeats(path: Path, name: str, rows: sparse.csr_array, start: int) -> None:
    rows.sort_indices()
    repeated = np.diff(rows.indices) == 0
    ends = rows.indptr[1:-1]
    repeated[ends[(ends > 0) & (ends < len(rows.indices))] - 1] = False
    if repeated.any():
        row = int(np.searchsorted(rows.indptr, np.argmax(repeated), side="right")) - 1
        raise DataFileError(
            f"{path}: {name!r}, row {start + row} (counted from 0): a column number is there "
            "twice; give each column one value"
        )


def zeros_and_ones(path: Path, labels: View, start: int = 0) -> NDArray[np.uint8]:
    """Labels, once they are known to be nothing else than 0 and 1."""
    values = _dense(labels)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = int(np.argmax(wrong.any(axis=1)))
        raise DataFileError(
            f"{path}: 'labels', row {start + row} (counted from 0): holds a value other than 0 "
            "and 1; a column is a category, and 1 says that the item has it"
        )
    return values.astype(np.uint8)


def category_names(path: Path, categories: Sequence[str], count: int) -> tuple[str, ...]:
    """The names of `count` columns of labels, none of them empty or there twice."""
    names = tuple(str(name) for name in categories)
    if len(names) != count:
        raise DataFileError(
            f"{path}: {len(names)} category names for {count} columns of labels; "
            "give each column its name"
        )
    if len(set(names)) < len(names) or "" in names:
        wrong = next(name for name in names if not name or names.count(name) > 1)
        raise DataFileError(
            f"{path}: category name {wrong!r} is empty or there twice; give each column its own"
        )
    return names


def _dense(view: View) -> NDArray[Any]:
    return view if isinstance(view, np.ndarray) else view.toarray()
