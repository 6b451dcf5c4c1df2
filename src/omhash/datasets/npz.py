"""NumPy archives: an array a view, with labels and the names of their columns."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError, ParameterError
from .base import LabelledData
from .checked import checked_items, labelled_data, reading
from .items import Part, key_of, part_of
from .npz_rows import StoredArray, StoredRows, check_csr

RESERVED = ("labels", "category_names", "category_vectors", "name", "key")
"""Arrays of an archive or MATLAB file that are not views."""
VOCABULARY = "_vocabulary"
"""How the names of arrays end that say what a view's columns are; they are left alone."""
_CSR_PARTS = ("data", "indices", "indptr", "shape")


def load_npz(path: str | os.PathLike[str]) -> LabelledData:
    """Load a NumPy archive; its form is in the guide, under "Data sets".

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form.
    """
    path = Path(path)
    # NumPy leaves a file that it opens itself open when it is corrupt.
    with reading(path), path.open("rb") as file:
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise DataFileError(f"{path}: is a single array, not an archive; use numpy.savez")
        arrays = {name: archive[name] for name in archive.files if not name.endswith(VOCABULARY)}
        for needed in ("labels", "category_names"):
            if needed not in arrays:
                raise DataFileError(f"{path}: has no array {needed!r}; add it to the archive")
        categories = arrays["category_names"]
        if categories.dtype.kind != "U" or categories.ndim != 1:
            raise DataFileError(f"{path}: 'category_names' must be a 1-D array of text")
        name = arrays.get("name")
        return labelled_data(
            path,
            name=path.stem if name is None or name.dtype.kind != "U" else str(name),
            views=_views(path, arrays),
            labels=arrays["labels"],
            categories=categories.tolist(),
            category_vectors=arrays.get("category_vectors"),
        )


def write_npz(data: LabelledData, path: str | os.PathLike[str]) -> None:
    """Write data as a compressed NumPy archive that `load_npz` reads back unchanged.

    The same data always give the same bytes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from omhash.datasets import load, synthetic, write_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(synthetic.make(n_items=20), Path(folder) / "small.npz")
    ...     load(Path(folder) / "small.npz").views["image"].shape
    (20, 32)
    """
    arrays: dict[str, NDArray[Any]] = {
        "name": np.array(data.name),
        "labels": data.labels,
        "category_names": np.array(data.categories, dtype=np.str_),
    }
    if data.category_vectors is not None:
        arrays["category_vectors"] = data.category_vectors
    for modality, view in data.views.items():
        if isinstance(view, np.ndarray):
            parts = {modality: view}
        else:
            shape = np.array(view.shape, dtype=np.int64)
            values = (view.data, view.indices, view.indptr, shape)
            parts = {
                f"{modality}_{part}": array for part, array in zip(_CSR_PARTS, values, strict=True)
            }
        if modality.endswith(VOCABULARY) or not arrays.keys().isdisjoint(parts):
            raise ParameterError(
                f"modality {modality!r} has a name that the archive needs for something else; "
                "rename it before writing"
            )
        arrays.update(parts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            # A ZipInfo of its own carries no date, so the bytes depend on the data alone.
            entry = zipfile.ZipInfo(f"{name}.npy")
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)


def npz_parts(path: Path, size: int, _: Mapping[str, int]) -> Iterator[Part]:
    """A NumPy archive in parts of `size` items.

    Every array is read from its first row to its last, compressed or not, so that only a part
    stands in memory; arrays in the order of columns are held as a whole. Before that, the
    archive is read once to see that it is whole.
    """
    with reading(path), zipfile.ZipFile(path) as archive:
        damaged = archive.testzip()
        if damaged is not None:
            raise DataFileError(f"{path}: {damaged!r} is corrupt: fetch or write the file again")
        arrays = {
            name.removesuffix(".npy"): StoredArray(archive, name)
            for name in archive.namelist()
            if name.endswith(".npy") and not name.endswith(f"{VOCABULARY}.npy")
        }
        dense, compressed = _layout(path, {name: array.shape for name, array in arrays.items()})
        views: dict[str, StoredArray | StoredRows] = {name: arrays[name] for name in dense}
        for modality, parts in compressed.items():
            views[modality] = StoredRows(path, modality, [arrays[part] for part in parts])
        counts = {name: view.shape[0] for name, view in views.items()}
        counts |= {name: arrays[name].shape[0] for name in ("labels", "key") if name in arrays}
        n_items = next(iter(counts.values()), 0)
        if not views or set(counts.values()) != {n_items}:
            told = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
            raise DataFileError(
                f"{path}: views, labels and keys need one row an item, and there must be a view: "
                f"{told or 'there is nothing'}"
            )
        categories = _texts(path, "category_names", arrays) if "labels" in arrays else []
        for start in range(0, n_items, size):
            n = min(size, n_items - start)
            given = arrays["key"].rows(n).tolist() if "key" in arrays else [None] * n
            items = checked_items(
                path,
                start=start,
                views={name: view.rows(n) for name, view in views.items()},
                labels=arrays["labels"].rows(n) if categories else np.zeros((n, 0), np.uint8),
                categories=categories,
                keys=[
                    key_of(key, path.stem, row, f"{path}, row {row}")
                    for row, key in enumerate(given, start)
                ],
            )
            yield part_of(start, items, n_items)


def _texts(path: Path, name: str, arrays: Mapping[str, StoredArray]) -> list[str]:
    array = arrays.get(name)
    if array is None:
        raise DataFileError(f"{path}: has no array {name!r}; add it to the archive")
    if array.dtype.kind != "U" or len(array.shape) != 1:
        raise DataFileError(f"{path}: {name!r} must be a 1-D array of text")
    return [str(text) for text in array.rows(array.shape[0])]


def _views(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    dense, compressed = _layout(path, {name: array.shape for name, array in arrays.items()})
    views: dict[str, Any] = {}
    for modality, parts in compressed.items():
        values, indices, indptr, shape = (arrays[part] for part in parts)
        check_csr(path, modality, [array.dtype for array in (indices, indptr, shape)], shape.shape)
        views[modality] = sparse.csr_array(
            (values, indices, indptr), shape=(int(shape[0]), int(shape[1]))
        )
    return views | {name: arrays[name] for name in dense}


def _layout(
    path: Path, shapes: Mapping[str, tuple[int, ...]]
) -> tuple[list[str], dict[str, list[str]]]:
    """The arrays that are dense views, and the four parts of each sparse one."""
    compressed: dict[str, list[str]] = {}
    for name in shapes:
        if name.endswith("_indptr"):
            modality = name.removesuffix("_indptr")
            compressed[modality] = [f"{modality}_{part}" for part in _CSR_PARTS]
            for part in compressed[modality]:
                if part not in shapes:
                    raise DataFileError(
                        f"{path}: view {modality!r} is stored as CSR and has no array {part!r}; "
                        f"store all of {', '.join(compressed[modality])}"
                    )
    used = {*RESERVED, *chain.from_iterable(compressed.values())}
    return [name for name in shapes if len(shapes[name]) == 2 and name not in used], compressed
