"""Sketches: what tells an item from others of its kind, in a few bits a modality.

A code says what kind of thing an item is. A sketch is the signs of a random rotation of the
item's own features, brought to unit length, centred, and scaled so that common features do not
drown rare ones: two items' sketches agree as far as their features then point the same way.
Centre and scale are those of the first items, so a stored sketch never changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ViewError
from .heads import in_blocks, numbers
from .views import Matrix, filled

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Sketcher:
    """The sketches of one modality: ``(x / |x| - centre) @ rotation``, of which a bit is the sign.

    Attributes
    ----------
    rotation : array of shape (d, bits)
        Orthonormal columns (where there are more bits than features, several such blocks),
        whose rows are divided by the square roots of the features' standard deviations.
    offset : array of shape (bits,)
        The rotated centre.

    Examples
    --------
    >>> import numpy as np
    >>> from omhash.codes import pack
    >>> x = np.random.default_rng(0).standard_normal((5, 20))
    >>> sketcher = Sketcher.fitted(x, np.ones(5, dtype=bool), bits=16, seed=0)
    >>> pack(sketcher.project(x)).shape
    (5, 2)
    """

    rotation: Floats
    offset: Floats

    @classmethod
    def fitted(cls, matrix: Matrix, present: NDArray[np.bool_], bits: int, seed: int) -> Self:
        """A sketcher with the centre and the scale of the items that have the modality."""
        if not present.any():
            raise InputError("no item has the modality: a sketch needs one to be centred on")
        centre, variances = _moments(matrix, present)
        rotation = _rotation(matrix.shape[1], bits, np.random.default_rng(seed))
        rotation /= variances[:, None] ** 0.25
        return cls(rotation, centre @ rotation)

    @property
    def bits(self) -> int:
        """Bits of a sketch."""
        return int(self.rotation.shape[1])

    def project(self, matrix: Matrix) -> NDArray[np.float32]:
        """Rotated features of unit length, centred; a row never depends on other rows.

        The rows of items that lack the modality mean nothing.
        """
        if matrix.shape[1] != len(self.rotation):
            raise ViewError(
                f"the view has {matrix.shape[1]} columns, and sketches were made of "
                f"{len(self.rotation)}"
            )

        def rotated(rows: Any) -> NDArray[Any]:
            # (x R) / |x| - c R, so that a sparse view stays sparse.
            wide = rows.astype(np.float64, copy=False)
            turned = np.asarray(wide @ self.rotation) / _lengths(wide)[:, None]
            return (turned - self.offset).astype(np.float32)

        return in_blocks(rotated, matrix)

    def to_state(self, prefix: str) -> dict[str, Any]:
        """Arrays under names that begin with `prefix`."""
        return {
            f"{prefix}.rotation": self.rotation.copy(),
            f"{prefix}.offset": self.offset.copy(),
        }

    @classmethod
    def from_state(cls, prefix: str, state: Mapping[str, Any]) -> Self:
        """What `to_state` wrote; a ValueError or KeyError where it is not whole."""
        rotation = numbers(state, f"{prefix}.rotation")
        offset = numbers(state, f"{prefix}.offset")
        if rotation.ndim != 2 or offset.shape != rotation.shape[1:]:
            raise ValueError(f"{prefix} has arrays of shapes {rotation.shape}, {offset.shape}")
        return cls(rotation, offset)


@dataclass(frozen=True)
class Sketchers:
    """The sketchers of an item's modalities: those that are there, and how to make the others.

    Attributes
    ----------
    bits : dict of str to int
        Of every modality that gets sketches.
    """

    bits: dict[str, int]
    seed: int
    known: Mapping[str, Sketcher]

    def fitted(self, matrices: Mapping[str, Matrix]) -> Self:
        """With sketchers of modalities that are seen for the first time."""
        known = dict(self.known)
        for place, (name, bits) in enumerate(self.bits.items()):
            if name in known or name not in matrices:
                continue
            view = filled(name, matrices[name])
            if view.present.any():
                seed = np.random.SeedSequence([self.seed, place]).generate_state(1)[0]
                known[name] = Sketcher.fitted(view.matrix, view.present, bits, int(seed))
        return type(self)(self.bits, self.seed, known)

    def projected(
        self, matrices: Mapping[str, Matrix], n: int
    ) -> tuple[dict[str, NDArray[np.float32]], dict[str, NDArray[np.bool_]]]:
        """Sketch projections of items, and which have the modality; zeros where none is known."""
        values = {name: np.zeros((n, bits), np.float32) for name, bits in self.bits.items()}
        present = {name: np.zeros(n, dtype=bool) for name in self.bits}
        for name, sketcher in self.known.items():
            if name in matrices:
                view = filled(name, matrices[name])
                values[name] = sketcher.project(view.matrix)
                present[name] = view.present
        return values, present

    def to_state(self) -> dict[str, Any]:
        """Arrays and plain values."""
        state: dict[str, Any] = {"known": list(self.known)}
        for place, sketcher in enumerate(self.known.values()):
            state |= sketcher.to_state(f"{place}")
        return state

    def with_state(self, state: Mapping[str, Any]) -> Self:
        """With the sketchers that `to_state` told of."""
        known = {
            name: Sketcher.from_state(f"{place}", state)
            for place, name in enumerate(state["known"])
        }
        return type(self)(self.bits, self.seed, known)


def _rotation(width: int, bits: int, rng: np.random.Generator) -> Floats:
    blocks = [
        np.linalg.qr(rng.standard_normal((width, min(width, bits - start))))[0]
        for start in range(0, bits, width)
    ]
    return np.ascontiguousarray(np.hstack(blocks))


def _lengths(rows: Matrix) -> Floats:
    """Lengths of rows; 1 for a row of zeros."""
    squares = np.square(rows) if isinstance(rows, np.ndarray) else rows.multiply(rows)
    lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64))
    return np.where(lengths > 0, lengths, 1.0)


def _moments(matrix: Matrix, present: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Means and variances of the features of items of unit length.

    One item more, of the average variance, keeps features that hardly vary within bounds.
    """
    rows = matrix[present].astype(np.float64)
    weights = 1 / _lengths(rows)
    mean = np.asarray(rows.T @ weights) / len(weights)
    squares = np.square(rows) if isinstance(rows, np.ndarray) else rows.multiply(rows).tocsr()
    found = np.maximum(np.asarray(squares.T @ weights**2) / len(weights) - mean**2, 0.0)
    average = found.mean() or 1.0
    return mean, (len(weights) * found + average) / (len(weights) + 1)
