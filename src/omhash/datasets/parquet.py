"""Parquet: a column a modality, read in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import DataFileError
from .base import LabelledData, Rows
from .checked import reading
from .items import Items, Part, part_of
from .rows import DenseRows, ItemRows, SparseRows

BATCH_ROWS = 1024
_RESERVED = ("key", "categories")


def load_parquet(path: str | os.PathLike[str]) -> LabelledData:
    """Load a Parquet file; its form is in the guide, under "Data sets".

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form; the message names the column.
    """
    path = Path(path)
    with reading(path), opened_parquet(path) as file:
        rows = _rows(file, path, stored=False)
        if "categories" not in file.schema_arrow.names:
            raise DataFileError(f"{path}: has no column 'categories'; add one of lists of text")
        for batch in file.iter_batches(BATCH_ROWS, columns=[*rows.views, "categories"]):
            _add_batch(rows, batch)
        for modality, found in rows.views.items():
            if len(rows) and not found:
                raise DataFileError(
                    f"{path}: column {modality!r} has only nulls; leave it out or fill it"
                )
        return rows.labelled_data()


def parquet_parts(path: Path, size: int, widths: Mapping[str, int]) -> Iterator[Part]:
    """A Parquet file in parts of `size` items; a group of its rows is held beside them."""
    with reading(path), opened_parquet(path) as file:
        total = file.metadata.num_rows
        rows = _rows(file, path, stored=True)
        columns = [field.name for field in file.schema_arrow if _is_used(field)]
        for batch in file.iter_batches(min(size, BATCH_ROWS), columns=columns):
            at = 0
            while at < len(batch):
                piece = batch.slice(at, size - len(rows))
                _add_batch(rows, piece)
                at += len(piece)
                if len(rows) == size:
                    yield part_of(rows.start, rows.items(widths), total)
                    rows = _rows(file, path, rows.start + size, stored=True)
        if len(rows):
            yield part_of(rows.start, rows.items(widths), total)


def opened_parquet(source: Any) -> Any:
    """A path or a file, opened to be read in batches."""
    # Buffering ahead would hold the file in memory beside the views.
    return pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=False)


class SlicedRows:
    """Rows of an open Parquet file; only the groups that hold them are read.

    Parameters
    ----------
    path : Path
        What errors and items without a key are called by.
    """

    def __init__(self, file: Any, path: Path) -> None:
        self._file = file
        self._path = path

    def items(self, start: int, stop: int, widths: Mapping[str, int]) -> Items:
        """The items from `start` to `stop`."""
        rows = _rows(self._file, self._path, start, stored=True)
        columns = [field.name for field in self._file.schema_arrow if _is_used(field)]
        for batch in self._batches(start, stop, columns):
            _add_batch(rows, batch)
        return rows.items(widths)

    def labels(self, start: int, stop: int) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
        """Their labels, and the names of the columns."""
        rows = ItemRows(self._path, start, stored=True)
        if "categories" not in self._file.schema_arrow.names:
            return np.zeros((stop - start, 0), dtype=np.uint8), ()
        for batch in self._batches(start, stop, ["categories"]):
            _add_batch(rows, batch, fields=False)
        return rows.labels()

    def _batches(self, start: int, stop: int, columns: list[str]) -> Iterator[Any]:
        meta = self._file.metadata
        sizes = [meta.row_group(group).num_rows for group in range(meta.num_row_groups)]
        ends = np.cumsum(sizes)
        first, last = np.searchsorted(ends, [start, stop - 1], side="right")
        at = int(ends[first]) - sizes[first]
        groups = list(range(first, last + 1))
        for batch in self._file.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns):
            piece = batch.slice(max(start - at, 0))
            piece = piece.slice(0, stop - max(start, at))
            at += len(batch)
            if len(piece):
                yield piece
            if at >= stop:
                return


def _rows(file: Any, path: Path, start: int = 0, *, stored: bool) -> ItemRows:
    rows = ItemRows(path, start, stored=stored)
    for field in file.schema_arrow:
        if is_view(field.type) and field.name not in _RESERVED:
            sparse = pa.types.is_struct(field.type)
            rows.views[field.name] = SparseRows() if sparse else DenseRows()
    return rows


def _add_batch(rows: ItemRows, batch: Any, *, fields: bool = True) -> None:
    start = len(rows)
    first = rows.start + start
    for modality, found in rows.views.items():
        column = batch.column(modality)
        present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)) + start
        where = f"{rows.path}: column {modality!r}, rows {first} to {first + len(column) - 1}"
        if len(present):
            add_rows(found, present, column.drop_null(), where)
    if rows.stored and fields:
        _add_fields(rows, batch, first)
    names = batch.schema.names
    labels = batch.column("categories").to_pylist() if "categories" in names else repeat(None)
    for row, given in zip(range(first, first + len(batch)), labels, strict=False):
        rows.add_labels(given, f"{rows.path}, row {row} (counted from 0)")


def _add_fields(rows: ItemRows, batch: Any, first: int) -> None:
    fields = [field.name for field in batch.schema if _is_plain(field)]
    for row, values in enumerate(batch.select(fields).to_pylist(), first):
        rows.add_key(values.pop("key", None), f"{rows.path}, row {row} (counted from 0)")
        rows.payloads.append({name: value for name, value in values.items() if value is not None})


def _is_used(field: Any) -> bool:
    """Whether items that are stored have something of a column."""
    return field.name in _RESERVED or is_view(field.type) or _is_plain(field)


def _is_plain(field: Any) -> bool:
    """Whether a column holds a text, number or truth value for each item, or the key."""
    kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
    return bool(
        field.name == "key"
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
    )


def is_view(kind: Any) -> bool:
    """Whether a column's type is that of a view: lists of numbers, or indices and values."""
    if pa.types.is_struct(kind):
        fields = {field.name: field.type for field in kind}
        return bool(
            fields.keys() == {"indices", "values"}
            and _is_numbers(fields["values"])
            and _is_list(fields["indices"])
            and pa.types.is_integer(fields["indices"].value_type)
        )
    return _is_numbers(kind)


def _is_list(kind: Any) -> bool:
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _is_numbers(kind: Any) -> bool:
    return _is_list(kind) and bool(
        pa.types.is_integer(kind.value_type) or pa.types.is_floating(kind.value_type)
    )


def add_rows(rows: DenseRows | SparseRows, present: Rows, column: Any, where: str) -> None:
    """Add what a column without nulls holds of the present items; `where` begins errors."""
    if isinstance(rows, SparseRows):
        lengths, indices = _lists(column.field("indices"), where)
        value_lengths, values = _lists(column.field("values"), where)
        if not np.array_equal(lengths, value_lengths):
            raise DataFileError(f"{where}: an item has more indices than values, or fewer")
        if len(indices) and indices.min() < 0:
            raise DataFileError(f"{where}: indices must be column numbers, counted from 0")
        rows.add(present, lengths, indices.astype(np.int64), values)
    else:
        lengths, values = _lists(column, where)
        width = rows.width if rows.width is not None else lengths[0]
        if (lengths != width).any():
            raise DataFileError(
                f"{where}: an item has {lengths[np.argmax(lengths != width)]} values where "
                f"others have {width}; every item needs as many"
            )
        rows.add(present, values.reshape(len(present), width))


def _lists(column: Any, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """The length of each list, and all their values in one array."""
    values = column.flatten()
    if column.null_count or values.null_count:
        raise DataFileError(
            f"{where}: a list holds a null; an item that lacks the modality is null as a whole"
        )
    if pa.types.is_fixed_size_list(column.type):
        lengths = np.full(len(column), column.type.list_size)
    else:
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    # Without the copy, each batch would keep a whole group of rows in memory.
    return lengths, values.to_numpy(zero_copy_only=False).copy()
