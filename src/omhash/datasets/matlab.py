"""MATLAB files of any data set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from ..errors import DataFileError
from .base import LabelledData, View
from .checked import checked_items, labelled_data
from .items import Part, key_of, part_of
from .matlab_files import MatlabFile, open_matlab
from .npz import RESERVED, VOCABULARY


def load_matlab(path: str | os.PathLike[str]) -> LabelledData:
    """Load a MATLAB file of version 5 or 7.3; its form is in the guide, under "Data sets".

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form.
    """
    path = Path(path)
    with open_matlab(path) as file:
        modalities = _modalities(file)
        file.require_rows("labels", *modalities)
        categories = file.texts("category_names")
        vectors = None
        if "category_vectors" in file.names:
            file.require_rows("category_vectors", count=len(categories))
            vectors = file.array("category_vectors")
        return labelled_data(
            path,
            name=path.stem,
            views={modality: file.view(modality) for modality in modalities},
            labels=file.array("labels"),
            categories=categories,
            category_vectors=vectors,
        )


def matlab_parts(path: Path, size: int, _: Mapping[str, int]) -> Iterator[Part]:
    """A MATLAB file in parts of `size` items.

    Full matrices of version 7.3 are read part by part; all others are held as a whole.
    """
    with open_matlab(path) as file:
        modalities = _modalities(file)
        labelled = "labels" in file.names
        file.require_rows(*modalities, *(["labels"] if labelled else []))
        n_items = file.n_rows(modalities[0])
        categories = file.texts("category_names") if labelled else []
        given = file.texts("key") if "key" in file.names else [None] * n_items
        if len(given) != n_items:
            raise DataFileError(f"{path}: 'key' has {len(given)} texts for {n_items} items")
        views = {modality: file.slices(modality) for modality in modalities}
        labels = (
            file.slices("labels") if labelled else lambda start, stop: _unlabelled(stop - start)
        )
        for start in range(0, n_items, size):
            stop = min(start + size, n_items)
            items = checked_items(
                path,
                start=start,
                views={modality: rows(start, stop) for modality, rows in views.items()},
                labels=labels(start, stop),
                categories=categories,
                keys=[
                    key_of(given[row], path.stem, row, f"{path}, row {row}")
                    for row in range(start, stop)
                ],
            )
            yield part_of(start, items, n_items)


def _modalities(file: MatlabFile) -> list[str]:
    found = [name for name in file.names if name not in RESERVED and not name.endswith(VOCABULARY)]
    if not found:
        raise DataFileError(f"{file.path}: holds no view; a view is a matrix with one row an item")
    return found


def _unlabelled(n: int) -> View:
    return np.zeros((n, 0), np.uint8)
