"""Parquet: a column a modality, read in batches."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import DataFileError
from .base import LabelledData, Rows
from .checked import labelled_data, reading
from .rows import DenseRows, LabelRows, SparseRows

BATCH_ROWS = 1024


def load_parquet(path: str | os.PathLike[str]) -> LabelledData:
    """Load a Parquet file; its form is in the guide, under "Data sets".

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form; the message names the column.
    """
    path = Path(path)
    with (
        reading(path),
        # Buffering ahead would hold the file in memory beside the views.
        pq.ParquetFile(path, page_checksum_verification=True, pre_buffer=False) as file,
    ):
        views: dict[str, DenseRows | SparseRows] = {
            field.name: SparseRows() if pa.types.is_struct(field.type) else DenseRows()
            for field in file.schema_arrow
            if is_view(field.type)
        }
        if "categories" not in file.schema_arrow.names:
            raise DataFileError(f"{path}: has no column 'categories'; add one of lists of text")
        labels = LabelRows()
        for batch in file.iter_batches(BATCH_ROWS, columns=[*views, "categories"]):
            start = len(labels)
            for modality, rows in views.items():
                column = batch.column(modality)
                present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False)) + start
                where = f"{path}: column {modality!r}, rows {start} to {start + len(column) - 1}"
                if len(present):
                    add_rows(rows, present, column.drop_null(), where)
            for row, names in enumerate(batch.column("categories").to_pylist(), start):
                labels.add(names, f"{path}, row {row} (counted from 0)")
        for modality, rows in views.items():
            if len(labels) and not rows:
                raise DataFileError(
                    f"{path}: column {modality!r} has only nulls; leave it out or fill it"
                )
        indicator, categories = labels.labels()
        return labelled_data(
            path,
            name=path.stem,
            views={modality: rows.view(len(labels)) for modality, rows in views.items() if rows},
            labels=indicator,
            categories=categories,
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
