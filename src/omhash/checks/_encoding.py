"""Checks of what a learned hasher says of items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..codes import pack
from ..errors import NotFittedError, UnsupportedError
from ..hashers.base import Hasher
from ._compare import require, require_category_codes, require_codes, require_near, same_bytes
from ._samples import MODALITIES, fresh, known_items, learned

_SPLITS = (1, 2, 7, 31, 257)


def check_outputs(hasher: Hasher) -> None:
    """Codes and projections have their types and shapes, and codes are the projections' signs."""
    model, items = learned(hasher), known_items(50, seed=1)
    projection = model.project(items.views)
    require(projection.dtype == np.float32, f"project gives float32, not {projection.dtype}")
    shape = (50, model.n_bits)
    require(projection.shape == shape, f"project gives shape {shape}, not {projection.shape}")
    require(np.isfinite(projection).all(), "project gives finite values")
    codes = model.encode(items.views)
    require_codes(codes, 50, model, "encode")
    require((codes == pack(projection)).all(), "encode gives the signs of project")
    require_category_codes(model, len(model.categories_))
    require(model.modalities_ == MODALITIES, "modalities_ gives the width of each modality")


def check_item_codes(hasher: Hasher) -> None:
    """Items are stored under their labels' codes, and without labels under encode's."""
    model, items = learned(hasher), known_items(50, seed=1)
    labels = [names if row % 3 else [] for row, names in enumerate(items.labels)]
    bare = np.arange(50) % 3 == 0
    codes = model.item_codes(items.views, labels)
    require_codes(codes, 50, model, "item_codes")
    alone = model.encode(items[bare].views)
    # Where the batch counts, the codes of encode are those of the same batch.
    by_batch = getattr(model, "depends_on_batch", False)
    wanted = model.encode(items.views)[bare] if by_batch else alone
    promise = "item_codes gives an item without labels the code of encode"
    require((codes[bare] == wanted).all(), promise)
    promise = "item_codes without labels is the same as with empty ones"
    require((model.item_codes(items[bare].views) == alone).all(), promise)
    if getattr(model, "recodes_database", False):
        return
    try:
        by_labels = model.label_codes(items[~bare].labels)
    except UnsupportedError:
        return
    require((codes[~bare] == by_labels).all(), "item_codes gives a labelled item its label code")


def check_batch_independence(hasher: Hasher) -> None:
    """An item's projection is the same, bit for bit, whatever else is in the batch.

    Codes are signs: where a projection moved by as little as rounding, a code would flip
    sooner or later. Skipped where the hasher declares `depends_on_batch`.
    """
    if getattr(hasher, "depends_on_batch", False):
        return
    model, items = learned(hasher), known_items(600, seed=1)
    for form, views in _forms(items.views).items():
        whole = model.project(views)
        for rows in [*_odd_splits(600), np.random.default_rng(0).permutation(600)]:
            _require_rows(model, views, rows, whole, f"a batch of {len(rows)} items, {form}")
        for row in range(0, 600, 7):
            _require_rows(model, views, np.array([row]), whole, f"item {row} alone, {form}")


def check_forms_of_views(hasher: Hasher) -> None:
    """Sparse and dense, integers and floats of all sizes: equal values, equal results."""
    known, items = known_items(), known_items(100, seed=1)
    whole_numbers = {
        form: (_whole_numbers(known.views, form), _whole_numbers(items.views, form))
        for form in ("float64", "float32", "float16", "int8", "int64", "CSR", "CSC", "CSR of int8")
    }
    plain = None
    for form, (to_learn, to_encode) in whole_numbers.items():
        model = fresh(hasher).partial_fit(to_learn, known.labels)
        projection = model.project(to_encode)
        plain = projection if plain is None else plain
        require_near(plain, projection, f"views of {form} give what those of float64 give")


def check_missing_modality(hasher: Hasher) -> None:
    """At encode time a modality may be left out, of all items or of some, in every form."""
    model, items = learned(hasher), known_items(100, seed=1)
    without = np.arange(100) % 2 == 0
    both = model.project(items.views)
    for name in items.views:
        others = [other for other in items.views if other != name]
        left_out = model.project(items.only(*others))
        require(np.isfinite(left_out).all(), f"without {name!r}, projections are finite")
        for form, view in _lacking(items.views[name], np.full(100, True)).items():
            lacking = model.project({**items.views, name: view})
            promise = f"{form} in {name!r} mean the same as leaving it out"
            require_near(left_out, lacking, promise)
        if getattr(hasher, "depends_on_batch", False):
            continue
        for form, view in _lacking(items.views[name], without).items():
            mixed = model.project({**items.views, name: view})
            promise = f"{form} in {name!r} for some items"
            require_near(left_out[without], mixed[without], f"{promise}: the others carry them")
            require_near(both[~without], mixed[~without], f"{promise} change no other item")


def check_no_rows(hasher: Hasher) -> None:
    """No items have no codes, and that is no error."""
    model, items = learned(hasher), known_items(10, seed=1)
    nothing = {name: view[:0] for name, view in items.views.items()}
    sparse_nothing = {name: sparse.csr_array(view) for name, view in nothing.items()}
    for views in (nothing, sparse_nothing):
        require_codes(model.encode(views), 0, model, "encode of no items")
        shape = model.project(views).shape
        require(shape == (0, model.n_bits), f"project of no items has shape {shape}")
        require_codes(model.item_codes(views), 0, model, "item_codes of no items")


def check_not_fitted(hasher: Hasher) -> None:
    """Before the first round every question is answered by NotFittedError."""
    items = known_items(5)
    questions: dict[str, Callable[[Hasher], Any]] = {
        "project": lambda model: model.project(items.views),
        "encode": lambda model: model.encode(items.views),
        "label_codes": lambda model: model.label_codes(items.labels),
        "item_codes": lambda model: model.item_codes(items.views, items.labels),
        "get_state": lambda model: model.get_state(),
    }
    for name, ask in questions.items():
        try:
            ask(fresh(hasher))
        except (NotFittedError, UnsupportedError):
            continue
        except Exception as error:
            raise AssertionError(
                f"{name} before the first round: raised {type(error).__name__} ({error}), "
                "not NotFittedError"
            ) from error
        raise AssertionError(f"{name} before the first round: NotFittedError is promised")


def _forms(views: dict[str, NDArray[Any]]) -> dict[str, dict[str, Any]]:
    """The same views in several layouts, which a matrix product may treat differently."""
    changes: dict[str, Callable[[Any], Any]] = {
        "float64": lambda view: view,
        "float32": lambda view: view.astype(np.float32),
        "column by column": np.asfortranarray,
        "every other column": lambda view: np.repeat(view, 2, axis=1)[:, ::2],
        "CSR of float64": sparse.csr_array,
        "CSR of float32": lambda view: sparse.csr_array(view.astype(np.float32)),
    }
    return {
        form: {name: change(view) for name, view in views.items()}
        for form, change in changes.items()
    }


def _odd_splits(n_items: int) -> list[NDArray[np.intp]]:
    return np.split(np.arange(n_items), np.cumsum(_SPLITS))


def _require_rows(
    model: Hasher, views: dict[str, Any], rows: NDArray[np.intp], whole: NDArray[Any], what: str
) -> None:
    part = model.project({name: view[rows] for name, view in views.items()})
    apart = np.abs(part - whole[rows]).max()
    require(
        same_bytes(part, np.ascontiguousarray(whole[rows])),
        f"{what}: projections differ by up to {apart:.2g} from those in a batch of {len(whole)}, "
        "and an item's code may not depend on its batch",
    )


def _whole_numbers(views: dict[str, NDArray[Any]], form: str) -> dict[str, Any]:
    whole = {name: np.clip(np.round(4.0 * view), -100, 100) for name, view in views.items()}
    kinds = {"CSR": sparse.csr_array, "CSC": sparse.csc_array}
    if form in kinds:
        return {name: kinds[form](view) for name, view in whole.items()}
    if form == "CSR of int8":
        return {name: sparse.csr_array(view.astype(np.int8)) for name, view in whole.items()}
    return {name: view.astype(form) for name, view in whole.items()}


def _lacking(view: NDArray[Any], rows: NDArray[np.bool_]) -> dict[str, Any]:
    mask = np.broadcast_to(rows[:, None], view.shape)
    return {
        "rows of NaN": np.where(mask, np.nan, view),
        "masked rows": np.ma.array(view, mask=mask),
        "sparse rows of NaN": sparse.csr_array(np.where(mask, np.nan, view)),
    }
