"""Checks that bad input and bad parameters are refused, by name, and change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..errors import LabelError, ParameterError, UnsupportedError, ViewError
from ..hashers.base import Hasher
from ._compare import refused, require_codes
from ._samples import fresh, known_items, learned

_BAD_LENGTHS = (-8, 0, 7, 12.5, 64.0, "64", None, True, 2048)


def check_n_bits(hasher: Hasher) -> None:
    """`n_bits` is a multiple of 8 from 8 to 1024; anything else is a ParameterError."""
    items = known_items(60)
    for n_bits in (8, 24, np.int64(16)):
        model = fresh(hasher, n_bits=n_bits).partial_fit(items.views, items.labels)
        require_codes(model.encode(items.views), 60, model, f"codes of {n_bits} bits")
    for wrong in _BAD_LENGTHS:
        with refused(fresh(hasher), ParameterError, f"n_bits={wrong!r}"):
            fresh(hasher, n_bits=wrong).partial_fit(items.views, items.labels)


def check_bad_views(hasher: Hasher) -> None:
    """Views of another shape, or with other values than numbers, are a ViewError."""
    items = known_items(10, seed=1)
    image, text = items.views["image"], items.views["text"]
    cases: dict[str, Any] = {
        "an unknown modality": {**items.views, "sound": image},
        "a view with too few columns": {"image": image[:, 1:], "text": text},
        "a view with too many columns": {"image": np.hstack([image, image]), "text": text},
        "views with different numbers of rows": {"image": image[1:], "text": text},
        "NaN in part of a row": {"image": _with(image, np.nan), "text": text},
        "infinity": {"image": _with(image, np.inf), "text": text},
        "rows of infinity": {"image": np.full_like(image, np.inf), "text": text},
    }
    malformed: dict[str, Any] = {
        "a view of one dimension": {"image": image[0], "text": text},
        "a view of text": {"image": image.astype(str), "text": text},
        "a view of complex numbers": {"image": image.astype(complex), "text": text},
        "a view that is not a matrix": {"image": [[1.0], [1.0, 2.0]], "text": text},
        "no views": {},
        "a matrix in place of a mapping": image,
    }
    model = learned(hasher)
    for what, views in {**cases, **malformed}.items():
        with refused(model, ViewError, f"learning {what}"):
            model.partial_fit(views, items.labels)
        with refused(model, ViewError, f"encoding {what}"):
            model.encode(views)
    model = fresh(hasher)
    for what, views in malformed.items():
        with refused(model, ViewError, f"a first round with {what}"):
            model.partial_fit(views, items.labels)


def check_bad_labels(hasher: Hasher) -> None:
    """Labels of another shape, or that are not names, are a LabelError."""
    items = known_items(4, seed=1)
    matrix, names = np.eye(4), [f"category {number}" for number in range(4)]
    cases: dict[str, tuple[Any, Iterable[Any] | None]] = {
        "labels of too few items": (items.labels[1:], None),
        "a text in place of labels": ("category 1", None),
        "a text in place of an item's labels": (["category 1"] * 4, None),
        "labels that are no collection": (5, None),
        "an item whose labels are no collection": ([None] * 4, None),
        "a name that is a number": ([[1]] * 4, None),
        "an empty name": ([[""]] * 4, None),
        "a 0/1 matrix without names": (matrix, None),
        "a 0/1 matrix with too few names": (matrix, names[1:]),
        "a 0/1 matrix with a name twice": (matrix, [*names[:3], names[0]]),
        "a 0/1 matrix whose names are no collection": (matrix, 5),  # type: ignore[dict-item]  # the error under test
        "a 0/1 matrix with too few rows": (matrix[1:], names),
        "a matrix with a 2": (2 * matrix, names),
        "a matrix with NaN": (np.where(matrix == 1, np.nan, 0.0), names),
        "a 0/1 matrix of one dimension": (matrix[0], names),
    }
    model = learned(hasher)
    for what, (labels, categories) in cases.items():
        with refused(model, LabelError, f"learning {what}"):
            model.partial_fit(items.views, labels, categories=categories)
        with refused(model, LabelError, f"item_codes of {what}"):
            model.item_codes(items.views, labels, categories=categories)
    _check_label_codes(model, cases)


def _check_label_codes(model: Hasher, cases: dict[str, tuple[Any, Any]]) -> None:
    try:
        model.label_codes([["category 1"]])
    except UnsupportedError:
        return
    with refused(model, LabelError, "label_codes of a category that was never learned"):
        model.label_codes([["never learned"]])
    for what, (labels, categories) in cases.items():
        # Without views, nothing says how many items there should be.
        if "too few items" not in what and "too few rows" not in what:
            with refused(model, LabelError, f"label_codes of {what}"):
                model.label_codes(labels, categories=categories)


def _with(view: Any, value: float) -> Any:
    spoilt = view.copy()
    spoilt[3, 2] = value
    return spoilt
