"""The form of the files that the paper's authors published, whichever the data set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from ..errors import DataFileError
from .base import LabelledData, View
from .checked import labelled_data
from .matlab_files import MatlabFile, open_matlab

_VECTOR_FILES = "*_Groundtrue_Vec.mat"
_PARTS = ("tr", "te")


@dataclass(frozen=True)
class Published:
    """What the paper says about a data set.

    Attributes
    ----------
    name : str
    file : str
        The name of the authors' file.
    vectors : str
        The variable with the category vectors, in a file beside it.
    categories : tuple of str
        The names of the authors' label columns.
    n_queries, round_size : int
        Of the IID scenario.
    by_frequency : bool
        Whether the groups number the categories by falling frequency, or by column.
    overlap, non_overlap : groups of category numbers, counted from 1 as in the paper
    """

    name: str
    file: str
    vectors: str
    categories: tuple[str, ...]
    n_queries: int
    round_size: int
    by_frequency: bool
    overlap: Sequence[Sequence[int]]
    non_overlap: Sequence[Sequence[int]]

    def load(self, path: Path) -> LabelledData:
        """Load the authors' file, its train and its test part stacked in that order."""
        with open_matlab(path) as file:
            for part in _PARTS:
                file.require_rows(f"L_{part}", f"I_{part}", f"T_{part}")
            labels = _stacked(file, "L", [file.array(f"L_{part}") for part in _PARTS])
            if labels.shape[1] != len(self.categories):
                raise DataFileError(
                    f"{path}: L_tr and L_te have {labels.shape[1]} columns, and {self.name} has "
                    f"{len(self.categories)} categories; other data are loaded from a file of "
                    "another name, in the general form"
                )
            return labelled_data(
                path,
                name=self.name,
                views={
                    modality: _stacked(
                        file, letter, [file.view(f"{letter}_{part}") for part in _PARTS]
                    )
                    for modality, letter in (("image", "I"), ("text", "T"))
                },
                labels=labels,
                categories=self.categories,
                category_vectors=self._vectors_beside(path),
            )

    def _vectors_beside(self, path: Path) -> View | None:
        for candidate in sorted(path.parent.glob(_VECTOR_FILES)):
            with open_matlab(candidate) as file:
                if self.vectors not in file.names:
                    continue
                file.require_rows(self.vectors, count=len(self.categories))
                return file.array(self.vectors)
        return None


def _stacked(file: MatlabFile, letter: str, parts: list[View]) -> View:
    train, test = parts
    if train.shape[1] != test.shape[1]:
        raise DataFileError(
            f"{file.path}: {letter}_tr has {train.shape[1]} columns and {letter}_te has "
            f"{test.shape[1]}; the train and test parts must be of one form"
        )
    if isinstance(train, np.ndarray) and isinstance(test, np.ndarray):
        return np.concatenate([train, test])
    return sparse.csr_array(sparse.vstack([sparse.csr_array(train), sparse.csr_array(test)]))
