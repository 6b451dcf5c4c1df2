"""The data of a report, laid out so that many processes read one copy."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ... import semantics
from ...datasets.base import LabelledData, View
from .methods import OWN_VECTORS, SHIPPED_VECTORS

_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True, eq=False)
class ReportData:
    """Labelled data, the category vectors that methods may use, and digests of both.

    Attributes
    ----------
    data : LabelledData
    digest : str
        SHA-256 of everything in the data.
    vectors : dict of str to array of shape (n_categories, k)
    vector_digests : dict of str to str
    """

    data: LabelledData
    digest: str
    vectors: dict[str, NDArray[np.float64]]
    vector_digests: dict[str, str]

    @classmethod
    def of(cls, data: LabelledData, embeddings: Mapping[str, Path]) -> ReportData:
        """Data with their own vectors, those that omhash ships, and those of files."""
        shipped = semantics.embedded()
        own = shipped
        if data.category_vectors is not None:
            own = semantics.from_array(data.categories, data.category_vectors)
        sources = {OWN_VECTORS: own, SHIPPED_VECTORS: shipped}
        for name, path in embeddings.items():
            sources[name] = semantics.from_file(path, data.categories)
        vectors = {name: source(data.categories) for name, source in sources.items()}
        arrays = [array for view in data.views.values() for array in _arrays(view)]
        digest = _digest([*data.views, *data.categories], [*arrays, data.labels])
        return cls(
            data, digest, vectors, {name: _digest([], [found]) for name, found in vectors.items()}
        )

    @property
    def name(self) -> str:
        """What tables call the data."""
        return self.data.name

    def write(self, folder: Path) -> None:
        """Lay the data out as plain arrays, in place of what was there."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        widths = {}
        for place, (name, view) in enumerate(self.data.views.items()):
            widths[name] = list(view.shape) if sparse.issparse(view) else None
            for part, array in zip(_PARTS, _arrays(view), strict=False):
                np.save(folder / f"{place}.{part}.npy", array)
        np.save(folder / "labels.npy", self.data.labels)
        for place, found in enumerate(self.vectors.values()):
            np.save(folder / f"vectors.{place}.npy", found)
        header = {
            "name": self.name,
            "categories": list(self.data.categories),
            "sparse": widths,
            "vectors": list(self.vectors),
        }
        (folder / "header.json").write_text(json.dumps(header), encoding="utf-8")


def read(folder: Path) -> tuple[LabelledData, dict[str, NDArray[np.float64]]]:
    """What `ReportData.write` laid out: arrays that stay on disk until they are used."""
    header = json.loads((folder / "header.json").read_text(encoding="utf-8"))
    views: dict[str, View] = {}
    for place, (name, shape) in enumerate(header["sparse"].items()):
        if shape is None:
            views[name] = _mapped(folder / f"{place}.data.npy")
        else:
            parts = tuple(_mapped(folder / f"{place}.{part}.npy") for part in _PARTS)
            views[name] = sparse.csr_array(parts, shape=tuple(shape))
    vectors = {
        name: np.load(folder / f"vectors.{place}.npy")
        for place, name in enumerate(header["vectors"])
    }
    labels = np.load(folder / "labels.npy")
    return LabelledData(header["name"], views, labels, tuple(header["categories"])), vectors


def _mapped(path: Path) -> NDArray[np.generic]:
    return np.asarray(np.load(path, mmap_mode="r"))


def _arrays(view: View) -> list[NDArray[np.generic]]:
    return [view] if isinstance(view, np.ndarray) else [getattr(view, part) for part in _PARTS]


def _digest(names: list[str], arrays: list[NDArray[np.generic]]) -> str:
    found = hashlib.sha256(json.dumps(names).encode())
    for array in arrays:
        found.update(f"{array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()
