"""Views: one modality's features, one row an item, checked once at the door."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import ViewError

Matrix: TypeAlias = "NDArray[Any] | sparse.csr_array"
Views: TypeAlias = Mapping[str, Any]
"""Modality -> 2-D array (NumPy, masked, or SciPy sparse), one row an item."""


@dataclass(frozen=True)
class View:
    """One modality of some items: numbers, and which items have the modality.

    Rows of items without it are zero in `matrix` and False in `present`.
    """

    matrix: Matrix
    present: NDArray[np.bool_]


def shaped_views(views: Views, widths: Mapping[str, int] | None) -> dict[str, Matrix]:
    """Views as numeric 2-D arrays or CSR matrices of the expected widths.

    Only shapes and types are looked at here, so the cost does not depend on the number
    of values; `filled` looks at the values.

    Parameters
    ----------
    widths : mapping of modality to width, or None
        What the modalities must be; None takes what comes.
    """
    if not isinstance(views, Mapping):
        raise ViewError(
            f"views must be a mapping of modality to matrix, not {type(views).__name__}: "
            'pass {"image": features}'
        )
    if not views:
        raise ViewError("views are empty: pass at least one modality")
    if widths is not None:
        unknown = [name for name in views if name not in widths]
        if unknown:
            raise ViewError(
                f"unknown modality {unknown[0]!r}: this hasher knows {', '.join(widths)}"
            )
    shaped = {name: _shaped(name, view) for name, view in views.items()}
    counts = {name: matrix.shape[0] for name, matrix in shaped.items()}
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{name!r} has {count}" for name, count in counts.items())
        raise ViewError(f"views differ in their number of rows: {told}")
    for name, matrix in shaped.items():
        if widths is not None and matrix.shape[1] != widths[name]:
            raise ViewError(
                f"modality {name!r} has {matrix.shape[1]} columns, and {widths[name]} were learned"
            )
        if matrix.shape[1] == 0:
            raise ViewError(f"modality {name!r} has no columns")
    return shaped


def filled(name: str, matrix: Matrix) -> View:
    """Look at the values: missing rows become zero, anything else not finite is an error.

    Examples
    --------
    >>> import numpy as np
    >>> filled("image", np.array([[1.0, 2.0], [np.nan, np.nan]])).present
    array([ True, False])
    """
    if matrix.dtype.kind != "f":
        return View(matrix, np.ones(matrix.shape[0], dtype=bool))
    if isinstance(matrix, np.ndarray):
        bad = ~np.isfinite(matrix)
        if not bad.any():
            return View(matrix, np.ones(len(matrix), dtype=bool))
        missing = np.asarray(np.isnan(matrix).all(axis=1))
        _refuse_bad_row(name, bad.any(axis=1) & ~missing)
        return View(np.where(missing[:, None], matrix.dtype.type(0), matrix), ~missing)
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    bad_per_row = np.bincount(rows[~np.isfinite(matrix.data)], minlength=matrix.shape[0])
    if not bad_per_row.any():
        return View(matrix, np.ones(matrix.shape[0], dtype=bool))
    nan_per_row = np.bincount(rows[np.isnan(matrix.data)], minlength=matrix.shape[0])
    missing = np.asarray((nan_per_row > 0) & (nan_per_row == np.diff(matrix.indptr)))
    _refuse_bad_row(name, (bad_per_row > 0) & ~missing)
    kept = sparse.csr_array(
        (np.where(missing[rows], matrix.dtype.type(0), matrix.data), matrix.indices, matrix.indptr),
        shape=matrix.shape,
    )
    return View(kept, ~missing)


def n_rows(matrices: Mapping[str, Matrix]) -> int:
    """The number of items that checked views speak of."""
    return int(next(iter(matrices.values())).shape[0])


def completed(matrices: Mapping[str, Matrix], widths: Mapping[str, int]) -> dict[str, Matrix]:
    """Checked views, and one of missing rows for each modality that none of them speaks of."""
    n = n_rows(matrices)
    missing = {
        name: np.full((n, width), np.nan, dtype=np.float32)
        for name, width in widths.items()
        if name not in matrices
    }
    return {**matrices, **missing}


def _shaped(name: str, view: Any) -> Matrix:
    if not isinstance(name, str) or not name:
        raise ViewError(f"a modality's name must be text, not {name!r}")
    if sparse.issparse(view):
        matrix: Matrix = sparse.csr_array(view)
    elif isinstance(view, np.ma.MaskedArray):
        matrix = _unmasked(name, view)
    else:
        try:
            matrix = np.asarray(view)
        except ValueError as error:
            raise ViewError(f"modality {name!r} is not a matrix: {error}") from None
    if matrix.ndim != 2:
        raise ViewError(
            f"modality {name!r} has {matrix.ndim} dimension(s), not 2: one row an item, "
            "also for a single item"
        )
    if matrix.dtype.kind not in "fiub":
        raise ViewError(f"modality {name!r} holds {matrix.dtype}, not numbers")
    return matrix


def _unmasked(name: str, view: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
    mask = np.ma.getmaskarray(view)
    partly = mask.any(axis=-1) & ~mask.all(axis=-1)
    if partly.any():
        raise ViewError(
            f"modality {name!r}, row {int(np.argmax(partly))}: masked in part; "
            "an item has the whole modality or lacks it"
        )
    values = view.data if view.dtype.kind == "f" else view.data.astype(np.float64)
    return np.where(mask, values.dtype.type(np.nan), values)


def _refuse_bad_row(name: str, bad: NDArray[np.bool_]) -> None:
    if bad.any():
        raise ViewError(
            f"modality {name!r}, row {int(np.argmax(bad))}: NaN or infinity. A whole row of NaN "
            "means that the item lacks the modality; anything else must be finite"
        )
