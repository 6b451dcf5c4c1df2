"""MATLAB files of any data set."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import DataFileError
from .base import LabelledData
from .checked import labelled_data
from .matlab_files import open_matlab
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
        modalities = [
            name for name in file.names if name not in RESERVED and not name.endswith(VOCABULARY)
        ]
        if not modalities:
            raise DataFileError(f"{path}: holds no view; a view is a matrix with one row an item")
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
