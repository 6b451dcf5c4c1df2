"""A round as one Parquet file: what the client sends and the service reads.

The form is that of the data sets in Parquet, with the columns ``key`` (text), ``payload``
(text, a JSON object) and ``categories`` (lists of text), of which only ``key`` is needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from .datasets.parquet import add_rows, is_view
from .datasets.rows import DenseRows, SparseRows
from .errors import DataFileError, InputError
from .learning.labels import Labels, label_matrix
from .learning.views import Matrix, Views, filled, n_rows, shaped_views

KEY, CATEGORIES, PAYLOAD = "key", "categories", "payload"
_TEXTS = (KEY, CATEGORIES, PAYLOAD)
_BATCH = 1024


@dataclass(frozen=True, eq=False)
class Round:
    """What `Collection.ingest` takes."""

    views: Mapping[str, Matrix]
    keys: list[str]
    labels: list[list[str]]
    payloads: list[dict[str, Any]]


def to_parquet(
    views: Views,
    labels: Labels | None = None,
    *,
    keys: Sequence[str],
    payloads: Sequence[Mapping[str, Any]] | None = None,
    categories: Iterable[str] | None = None,
) -> bytes:
    """Write what `Collection.ingest` takes.

    Examples
    --------
    >>> import numpy as np
    >>> content = to_parquet({"image": np.eye(2)}, [["cat"], []], keys=["a", "b"])
    >>> from_parquet(content, {"image": 2}, most_items=10, most_bytes=1000).labels
    [['cat'], []]
    """
    matrices = shaped_views(views, None)
    n = n_rows(matrices)
    read = label_matrix(labels, n, categories=categories)
    if len(keys) != n or (payloads is not None and len(payloads) != n):
        raise InputError(f"there are {n} items, and not as many keys or payloads")
    names = [[read.names[place] for place in row] for row in read.sets(read.names)]
    columns: dict[str, Any] = {
        KEY: pa.array(list(keys), pa.string()),
        CATEGORIES: pa.array(names, pa.list_(pa.string())),
    }
    if payloads is not None:
        columns[PAYLOAD] = pa.array([json.dumps(one, allow_nan=False) for one in payloads])
    columns |= {name: _column(name, matrix) for name, matrix in matrices.items()}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression="zstd")
    return bytes(sink.getvalue())


def from_parquet(
    content: bytes, widths: Mapping[str, int], *, most_items: int, most_bytes: int
) -> Round:
    """Read a round, of no more items and no more bytes in memory than allowed."""
    buffer = pa.py_buffer(content)
    try:
        with pq.ParquetFile(buffer) as file:
            columns = [file.schema.column(place) for place in range(len(file.schema))]
        texts = [one.path for one in columns if one.path.split(".")[0] in _TEXTS]
        # A text that is repeated is held once, however often it is repeated.
        with pq.ParquetFile(buffer, page_checksum_verification=True, read_dictionary=texts) as file:
            return _read(file, widths, most_items, most_bytes)
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        if isinstance(error, InputError | DataFileError):
            raise
        raise DataFileError(f"the round is not readable as Parquet: {error}") from None


def _read(
    file: pq.ParquetFile, widths: Mapping[str, int], most_items: int, most_bytes: int
) -> Round:
    n = file.metadata.num_rows
    if not 0 < n <= most_items:
        raise InputError(f"the round has {n} items: at least 1 and at most {most_items}")
    kinds = {field.name: field.type for field in file.schema_arrow}
    if len(kinds) != len(file.schema_arrow) or KEY not in kinds:
        raise DataFileError(f"each column needs a name of its own, and one is {KEY!r}")
    for name in kinds:
        if name not in widths and name not in (KEY, CATEGORIES, PAYLOAD):
            raise DataFileError(f"column {name!r} is no modality of the collection")
        if name in widths and not is_view(kinds[name]):
            raise DataFileError(f"column {name!r} is {kinds[name]}, not lists of numbers")
    rows: dict[str, DenseRows | SparseRows] = {
        name: SparseRows() if pa.types.is_struct(kinds[name]) else DenseRows()
        for name in kinds
        if name in widths
    }
    keys: list[str] = []
    labels: list[list[str]] = []
    payloads: list[dict[str, Any]] = []
    size = 0
    for batch in file.iter_batches(_BATCH):
        batch.validate(full=True)  # places in a dictionary may point beyond its end
        where = f"items from {len(keys)} on"
        size += batch.nbytes + sum(_repeated(batch, name) for name in kinds if name not in widths)
        if size > most_bytes or len(keys) + len(batch) > most_items:
            raise InputError(f"the round takes more than {most_bytes} bytes: send it in parts")
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if name in rows:
                present = np.flatnonzero(column.is_valid().to_numpy(zero_copy_only=False))
                if len(present):
                    told = f"column {name!r}, {where}"
                    add_rows(rows[name], present + len(keys), column.drop_null(), told)
        keys += _texts(batch, KEY, where)
        if CATEGORIES in kinds:
            labels += _lists(batch, where)
        if PAYLOAD in kinds:
            payloads += [_payload(text, where) for text in _texts(batch, PAYLOAD, where)]
    views = {
        name: _wide(found.view(len(keys)), widths[name]) for name, found in rows.items() if found
    }
    if not views:
        raise DataFileError(f"the round has no views: a column for any of {', '.join(widths)}")
    empty: list[list[str]] = [[] for _ in keys]
    return Round(views, keys, labels or empty, payloads or [{} for _ in keys])


def _repeated(batch: Any, name: str) -> int:
    """Bytes of a column's texts once each stands for itself."""
    values = batch.column(name)
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values = values.flatten()
    if not pa.types.is_dictionary(values.type) or not len(values):
        return 0
    lengths = np.array([len(text or "") for text in values.dictionary.to_pylist()] or [0])
    used = values.indices.drop_null().to_numpy(zero_copy_only=False)
    return int(lengths[used].sum())


def _texts(batch: Any, name: str, where: str) -> list[str]:
    column = batch.column(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)) or column.null_count:
        raise DataFileError(f"column {name!r}, {where}: every item needs a text")
    found: list[str] = column.to_pylist()
    return found


def _lists(batch: Any, where: str) -> list[list[str]]:
    found: list[list[str]] = batch.column(CATEGORIES).to_pylist()
    for names in found:
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise DataFileError(
                f"column {CATEGORIES!r}, {where}: must hold lists of text; an item without "
                "labels has []"
            )
    return found


def _payload(text: str, where: str) -> dict[str, Any]:
    try:
        payload = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataFileError(f"column {PAYLOAD!r}, {where}: not JSON: {error}") from None
    if not isinstance(payload, dict):
        raise DataFileError(f"column {PAYLOAD!r}, {where}: must hold JSON objects")
    return payload


def _wide(view: Matrix, width: int) -> Matrix:
    """A view of the expected width: a sparse one is as wide as its largest column number."""
    if isinstance(view, np.ndarray) or view.shape[1] > width:
        return view
    return sparse.csr_array((view.data, view.indices, view.indptr), shape=(view.shape[0], width))


def _column(name: str, matrix: Matrix) -> Any:
    view = filled(name, matrix)
    if isinstance(view.matrix, np.ndarray):
        flat = pa.array(np.ascontiguousarray(view.matrix).ravel())
        return pa.FixedSizeListArray.from_arrays(
            flat, view.matrix.shape[1], mask=pa.array(~view.present)
        )
    offsets = pa.array(view.matrix.indptr.astype(np.int32))
    fields = [
        pa.ListArray.from_arrays(offsets, pa.array(values))
        for values in (view.matrix.indices.astype(np.int32), view.matrix.data)
    ]
    return pa.StructArray.from_arrays(
        fields, names=["indices", "values"], mask=pa.array(~view.present)
    )
