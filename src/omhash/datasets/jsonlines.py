"""JSON lines: one item a line, read line by line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..errors import DataFileError
from .base import LabelledData
from .checked import reading
from .items import Items, Part, digest
from .rows import DenseRows, ItemRows, SparseRows


def load_jsonlines(path: str | os.PathLike[str]) -> LabelledData:
    """Load a file with one JSON object a line; its form is in the guide, under "Data sets".

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form; the message names the line.
    """
    path = Path(path)
    rows = ItemRows(path, stored=False)
    with reading(path), path.open("rb") as lines:
        for number, line in _numbered(lines):
            _add_item(rows, line, f"{path}, line {number}")
        return rows.sorted().labelled_data()


def jsonlines_parts(
    path: Path, size: int, widths: Mapping[str, int], lines: BinaryIO | None = None
) -> Iterator[Part]:
    """A file of JSON lines, or `lines` that have no file, in parts of `size` items.

    A line is looked at when its part is read, so that parts are passed over quickly.
    """
    start, passed = 0, 0
    with reading(path), nullcontext(lines) if lines else path.open("rb") as opened:
        total = None if lines else path.stat().st_size
        numbered = _numbered(opened)
        while part := list(islice(numbered, size)):
            passed += sum(len(line) for _, line in part)
            yield Part(
                start,
                start + len(part),
                digest([path.stem, start, *(line for _, line in part)]),
                partial(_read, path, start, part, widths),
                passed / total if total else None,
            )
            start += len(part)


def _read(
    path: Path, start: int, part: Iterable[tuple[int, bytes]], widths: Mapping[str, int]
) -> Items:
    rows = ItemRows(path, start, stored=True)
    with reading(path):
        for number, line in part:
            _add_item(rows, line, f"{path}, line {number}")
        return rows.sorted().items(widths)


def _numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, counted from 1."""
    return ((number, line) for number, line in enumerate(lines, 1) if not line.isspace())


def _add_item(rows: ItemRows, line: bytes, where: str) -> None:
    item = _item(line, where)
    for modality, values in item["views"].items():
        if values is not None:
            _add(rows.views, modality, len(rows), values, where)
    if rows.stored:
        payload = item.get("payload")
        if payload is not None and not isinstance(payload, dict):
            raise DataFileError(f"{where}: 'payload' must be an object of fields")
        rows.payloads.append(payload or {})
        rows.add_key(item.get("key"), where)
    rows.add_labels(item.get("categories"), where)


def _item(line: bytes, where: str) -> dict[str, Any]:
    try:
        item = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataFileError(
            f"{where}: is not JSON ({error}); write one whole object a line, in UTF-8"
        ) from error
    if not isinstance(item, dict) or not isinstance(item.get("views"), dict):
        raise DataFileError(
            f'{where}: must be {{"views": {{modality: values}}, "categories": [names]}}'
        )
    return item


def _add(
    views: dict[str, DenseRows | SparseRows], modality: str, row: int, values: Any, where: str
) -> None:
    where = f"{where}, view {modality!r}"
    if isinstance(values, dict):
        rows = views.setdefault(modality, SparseRows())
        if not isinstance(rows, SparseRows):
            raise DataFileError(f"{where}: is sparse, and dense in an earlier line; choose one")
        if values.keys() != {"indices", "values"}:
            raise DataFileError(f'{where}: must be {{"indices": [...], "values": [...]}}')
        indices = _integers(values["indices"], where)
        entries = _numbers(values["values"], where)
        if len(indices) != len(entries):
            raise DataFileError(
                f"{where}: {len(indices)} indices and {len(entries)} values; "
                "each value needs its column number"
            )
        rows.add(np.array([row]), np.array([len(indices)]), indices, entries)
    else:
        rows = views.setdefault(modality, DenseRows())
        if not isinstance(rows, DenseRows):
            raise DataFileError(f"{where}: is dense, and sparse in an earlier line; choose one")
        entries = _numbers(values, where)
        if rows.width not in (None, len(entries)):
            raise DataFileError(
                f"{where}: has {len(entries)} values and earlier lines have {rows.width}; "
                "every item needs as many"
            )
        rows.add(np.array([row]), entries[None, :])


def _numbers(values: Any, where: str) -> NDArray[np.float32]:
    array = _array(values, where)
    try:
        with np.errstate(over="raise"):
            return array.astype(np.float32)
    except FloatingPointError:
        raise DataFileError(f"{where}: a number is too large for float32; scale the view") from None


def _integers(values: Any, where: str) -> NDArray[np.int64]:
    array = _array(values, where)
    if len(array) and (array.dtype.kind != "i" or array.min() < 0):
        raise DataFileError(f"{where}: indices must be column numbers, counted from 0")
    return array.astype(np.int64)


def _array(values: Any, where: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:  # lists of different lengths inside the list
        array = np.empty(0, dtype=object)
    if not isinstance(values, list) or array.ndim != 1 or array.dtype.kind not in "fi":
        raise DataFileError(f"{where}: must be a list of numbers")
    return array
