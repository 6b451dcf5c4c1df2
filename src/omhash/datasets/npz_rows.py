"""The arrays of a NumPy archive, a few rows at a time."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError


class StoredArray:
    """An array of an archive, read from its first row to its last, once."""

    def __init__(self, archive: zipfile.ZipFile, name: str) -> None:
        self._stream = archive.open(name)
        version = npy.read_magic(self._stream)
        read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        self.shape, by_columns, self.dtype = read_header(self._stream)
        if self.dtype.hasobject:
            raise DataFileError(f"{archive.filename}: {name!r} holds Python objects, not numbers")
        self._whole: NDArray[Any] | None = None
        if by_columns and len(self.shape) > 1:
            self._whole = self._values(self.shape[::-1]).T
        self._at = 0

    def rows(self, n: int) -> NDArray[Any]:
        """The next rows."""
        start, self._at = self._at, self._at + n
        if self._whole is not None:
            return self._whole[start : self._at]
        return self._values((n, *self.shape[1:]))

    def _values(self, shape: tuple[int, ...]) -> NDArray[Any]:
        content = self._stream.read(self.dtype.itemsize * math.prod(shape))
        return np.frombuffer(content, dtype=self.dtype).reshape(shape)


class StoredRows:
    """A sparse view of an archive: the parts of a CSR matrix, in the order of its rows."""

    def __init__(self, path: Path, modality: str, parts: Sequence[StoredArray]) -> None:
        self._values, self._indices, self._pointers, shape = parts
        whole = [part.dtype for part in (self._indices, self._pointers, shape)]
        check_csr(path, modality, whole, shape.shape)
        n_items, width = shape.rows(2).tolist()
        self.shape = (int(n_items), int(width))
        self._end = int(self._pointers.rows(1)[0])

    def rows(self, n: int) -> sparse.csr_array:
        """The next rows."""
        start, ends = self._end, self._pointers.rows(n).astype(np.int64)
        self._end = int(ends[-1])
        count = self._end - start
        if count < 0:
            raise ValueError("row pointers fall")
        pointers = np.concatenate([[0], ends - start])
        return sparse.csr_array(
            (self._values.rows(count), self._indices.rows(count), pointers),
            shape=(n, self.shape[1]),
        )


def check_csr(
    path: Path, modality: str, whole: Sequence[np.dtype[Any]], shape: tuple[int, ...]
) -> None:
    """Require that the parts of a sparse view are of the right kind, but for its values."""
    if shape != (2,) or any(dtype.kind not in "iu" for dtype in whole):
        parts = ", ".join(f"{modality}_{part}" for part in ("indices", "indptr", "shape"))
        raise DataFileError(
            f"{path}: view {modality!r}: {parts} must be integers, the last one two of them"
        )
