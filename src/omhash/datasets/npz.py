"""NumPy archives: an array a view, with labels and the names of their columns."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import DataFileError, ParameterError
from .base import LabelledData
from .checked import labelled_data, reading

RESERVED = ("labels", "category_names", "category_vectors", "name")
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


def _views(path: Path, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    views: dict[str, Any] = {}
    parts_used = set(RESERVED)
    for key in arrays:
        if not key.endswith("_indptr"):
            continue
        modality = key.removesuffix("_indptr")
        parts = {part: f"{modality}_{part}" for part in _CSR_PARTS}
        for part in parts.values():
            if part not in arrays:
                raise DataFileError(
                    f"{path}: view {modality!r} is stored as CSR and has no array {part!r}; "
                    f"store all of {', '.join(parts.values())}"
                )
        values, indices, indptr, shape = (arrays[part] for part in parts.values())
        if shape.shape != (2,) or any(a.dtype.kind not in "iu" for a in (indices, indptr, shape)):
            raise DataFileError(
                f"{path}: view {modality!r}: {', '.join(list(parts.values())[1:])} must be "
                "integers, the last one two of them"
            )
        views[modality] = sparse.csr_array(
            (values, indices, indptr), shape=(int(shape[0]), int(shape[1]))
        )
        parts_used.update(parts.values())
    dense = {name: array for name, array in arrays.items() if array.ndim == 2}
    return views | {name: array for name, array in dense.items() if name not in parts_used}
