"""MATLAB's two file formats, version 5 and version 7.3, by one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError
from .base import View
from .checked import matrix, reading
from .matlab5 import variables

SPARSE_BELOW = 0.05
"""Views with a smaller share of values other than 0 become CSR."""
_BLOCK_BYTES = 1 << 26
_MOST_COMPRESSED = 1100
"""Deflate cannot make data smaller than a 1032nd; a file that claims so is corrupt."""


class MatlabFile(ABC):
    """A MATLAB file's variables. Nothing in it is ever run or unpickled."""

    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        self.path = path
        self.names = names

    def require_rows(self, *names: str, count: int | None = None) -> None:
        """Require that variables have `count` rows, or as many as the first of them.

        Sizes are compared before anything is read, as a corrupt one could ask for more
        memory than there is.
        """
        for name in names:
            self._require(name)
            found = self.n_rows(name)
            if count is None:
                count = found
            if found != count:
                raise DataFileError(
                    f"{self.path}: {name!r} has {found} rows where {count} are needed; "
                    "views and labels have one row an item, vectors one a category"
                )

    def array(self, name: str) -> View:
        """A variable that is a matrix of numbers, rows as in MATLAB, as the file holds it."""
        self._require(name)
        return matrix(self.path, name, self._read(name))

    def view(self, name: str) -> View:
        """A variable as a view: CSR, in uint8 or float32, if few of its values are not 0."""
        return _compact(self.array(name))

    def slices(self, name: str) -> Callable[[int, int], View]:
        """A function that gives the rows of a view from one up to another."""
        whole = self.view(name)
        return lambda start, stop: whole[start:stop]

    @abstractmethod
    def texts(self, name: str) -> list[str]:
        """A variable that is a cell array of texts, or a character matrix with a text a row."""

    @abstractmethod
    def n_rows(self, name: str) -> int:
        """The rows that a variable says it has."""

    @abstractmethod
    def _read(self, name: str) -> Any:
        """A variable that is a matrix of numbers."""

    def _require(self, name: str) -> None:
        if name not in self.names:
            held = ", ".join(self.names) or "none"
            raise DataFileError(
                f"{self.path}: has no variable {name!r} (it has {held}); add it, or name it so"
            )

    def _not_numbers(self, name: str) -> DataFileError:
        return DataFileError(
            f"{self.path}: {name!r} is not a matrix of real numbers; store a numeric or sparse "
            "matrix, not a cell array, struct, text or complex matrix"
        )

    def _not_texts(self, name: str) -> DataFileError:
        return DataFileError(
            f"{self.path}: {name!r} must be a cell array of texts or a character matrix"
        )


@contextmanager
def open_matlab(path: Path) -> Iterator[MatlabFile]:
    """Open a MATLAB file; whatever goes wrong inside the block is a `DataFileError`."""
    with reading(path):
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                yield _Version73(path, file)
        else:
            yield _Version5(path)


class _Version5(MatlabFile):
    """Read by SciPy, a variable at a time, so that only one is held as the file holds it."""

    def __init__(self, path: Path) -> None:
        self._variables = variables(path)
        super().__init__(path, tuple(self._variables))

    def texts(self, name: str) -> list[str]:
        self._require(name)
        kind = self._variables[name].kind
        if kind not in ("text", "cell"):
            raise self._not_texts(name)
        found = self._load(name)
        if kind == "text":
            return [str(text).rstrip() for text in found.ravel()]
        return ["".join(cell.ravel()) for cell in found.ravel()]

    def n_rows(self, name: str) -> int:
        return self._variables[name].shape[0] if self._variables[name].shape else 0

    def _read(self, name: str) -> Any:
        if self._variables[name].kind != "matrix":
            raise self._not_numbers(name)
        return self._load(name)

    def _load(self, name: str) -> Any:
        with self.path.open("rb") as file:
            return scipy.io.loadmat(file, variable_names=[name], spmatrix=False)[name]


class _Version73(MatlabFile):
    """Read by h5py. MATLAB stores by columns, so every matrix is found transposed."""

    def __init__(self, path: Path, file: h5py.File) -> None:
        # MATLAB keeps what cells refer to in groups whose names begin with "#".
        super().__init__(path, tuple(name for name in file if not name.startswith("#")))
        self._file = file

    def view(self, name: str) -> View:
        self._require(name)
        stored = self._file[name]
        if isinstance(stored, h5py.Group):
            return super().view(name)
        self._require_numbers(name, stored)
        # Twice through the file in blocks: a sparse matrix that MATLAB stores as a dense
        # one (NUS-WIDE's words take 8 GB) never stands in memory as such.
        filled = sum(np.count_nonzero(block) for block in _blocks(stored))
        if filled >= SPARSE_BELOW * stored.size:
            return super().array(name)
        rows = sparse.vstack([sparse.csr_array(block) for block in _blocks(stored)], format="csr")
        return _compact(matrix(self.path, name, rows))

    def slices(self, name: str) -> Callable[[int, int], View]:
        stored = self._file[name]
        if isinstance(stored, h5py.Group):  # a sparse matrix, stored by columns
            return super().slices(name)
        self._require_numbers(name, stored)
        return lambda start, stop: _compact(matrix(self.path, name, stored[:, start:stop].T))

    def texts(self, name: str) -> list[str]:
        self._require(name)
        stored = self._file[name]
        if not isinstance(stored, h5py.Dataset):
            raise self._not_texts(name)
        if h5py.check_ref_dtype(stored.dtype) is h5py.Reference:
            cells = [self._file[reference] for reference in stored[()].ravel()]
            return ["".join(self._rows_of_text(name, cell)) for cell in cells]
        return [text.rstrip() for text in self._rows_of_text(name, stored)]

    def _rows_of_text(self, name: str, stored: Any) -> list[str]:
        if not isinstance(stored, h5py.Dataset) or stored.dtype != np.uint16 or stored.ndim != 2:
            raise self._not_texts(name)
        return [row.tobytes().decode("utf-16-le") for row in stored[()].T.astype("<u2")]

    def n_rows(self, name: str) -> int:
        stored = self._file[name]
        if isinstance(stored, h5py.Group):
            return int(stored.attrs.get("MATLAB_sparse", 0))
        return int(stored.shape[-1]) if stored.shape else 0

    def _read(self, name: str) -> Any:
        stored = self._file[name]
        if isinstance(stored, h5py.Group):
            return self._sparse(name, stored)
        self._require_numbers(name, stored)
        whole = np.empty(stored.shape[::-1], dtype=stored.dtype)
        start = 0
        for block in _blocks(stored):
            whole[start : start + len(block)] = block
            start += len(block)
        return whole

    def _require_numbers(self, name: str, stored: Any) -> None:
        numbers = stored.ndim == 2 and stored.dtype.kind in "fiub" and 0 not in stored.shape
        # Texts are stored as numbers, and an empty matrix as its shape.
        if (
            not numbers
            or stored.attrs.get("MATLAB_class") == b"char"
            or "MATLAB_empty" in stored.attrs
        ):
            raise self._not_numbers(name)
        if stored.nbytes > _MOST_COMPRESSED * stored.id.get_storage_size():
            raise DataFileError(
                f"{self.path}: {name!r} claims {stored.nbytes} bytes and holds "
                f"{stored.id.get_storage_size()}; the file is corrupt: fetch or write it again"
            )

    def _sparse(self, name: str, group: h5py.Group) -> Any:
        if "jc" not in group or "MATLAB_sparse" not in group.attrs:
            raise self._not_numbers(name)
        pointers = group["jc"][()].ravel().astype(np.int64)
        shape = (int(group.attrs["MATLAB_sparse"]), len(pointers) - 1)
        # MATLAB leaves both out of a matrix without values.
        rows = group["ir"][()].ravel().astype(np.int64) if "ir" in group else np.empty(0, np.int64)
        values = group["data"][()].ravel() if "data" in group else np.empty(0)
        return sparse.csc_array((values, rows, pointers), shape=shape)


def _blocks(stored: h5py.Dataset) -> Iterator[NDArray[Any]]:
    """The rows of a matrix that is stored transposed, in blocks."""
    step = max(1, _BLOCK_BYTES // (stored.dtype.itemsize * stored.shape[0]))
    for start in range(0, stored.shape[1], step):
        yield stored[:, start : start + step].T


def _compact(view: View) -> View:
    if isinstance(view, np.ndarray):
        if np.count_nonzero(view) >= SPARSE_BELOW * view.size:
            return view
        view = sparse.csr_array(view)
    small = np.all((view.data >= 0) & (view.data <= 255) & (view.data == np.floor(view.data)))
    with np.errstate(over="raise"):
        return view.astype(np.uint8 if small else np.float32)
