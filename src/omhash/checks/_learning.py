"""Checks of how a hasher learns rounds."""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import InputError, UnsupportedError
from ..hashers.base import Hasher, State
from ._compare import (
    category_codes,
    refused,
    require,
    require_category_codes,
    require_codes,
    require_near,
    require_same_state,
    same_bytes,
)
from ._samples import fresh, known_items, learned, new_items


def check_seed(hasher: Hasher) -> None:
    """Equal parameters, seed and rounds give equal bytes, and learning changes no parameter."""
    rounds = known_items(100, seed=1), known_items(100, seed=2)
    one, other = learned(hasher, *rounds), learned(hasher, *rounds)
    promise = "two clones with one seed learn the same"
    require_same_state(one.get_state(), other.get_state(), promise)
    views = known_items(100, seed=3).views
    require(same_bytes(one.project(views), other.project(views)), promise)
    require(same_bytes(one.project(views), one.project(views)), "project twice gives the same")
    given, kept = fresh(hasher).get_params(deep=False), one.get_params(deep=False)
    changed = [
        name for name in given if kept[name] is not given[name] and kept[name] != given[name]
    ]
    require(not changed, f"learning changes no parameter, and {changed} changed")


def check_forms_of_labels(hasher: Hasher) -> None:
    """Lists, sets and 0/1 matrices of the same labels teach the same."""
    items = known_items()
    names = sorted({name for labels in items.labels for name in labels})
    matrix = np.array([[name in labels for name in names] for labels in items.labels])
    matrices = [matrix, matrix.astype(np.int64), matrix.astype(np.float32)]
    matrices.append(sparse.csr_array(matrix.astype(np.uint8)))
    wanted = learned(hasher).get_state()
    for labels in ([set(own) for own in items.labels], [own[::-1] for own in items.labels]):
        model = fresh(hasher).partial_fit(items.views, labels)
        promise = "the order of an item's category names does not count"
        require_same_state(wanted, model.get_state(), promise)
    for given in matrices:
        model = fresh(hasher).partial_fit(items.views, given, categories=names)
        promise = f"a 0/1 matrix ({type(given).__name__} of {given.dtype}) teaches as names do"
        require_same_state(wanted, model.get_state(), promise)


def check_split_of_rounds(hasher: Hasher) -> None:
    """After a common first round, the same items in one round or in several give one model.

    Skipped where the hasher declares `depends_on_rounds`.
    """
    if getattr(hasher, "depends_on_rounds", False):
        return
    items, probe = known_items(200, seed=1), known_items(100, seed=2)
    once = learned(hasher, items)
    for starts in ([0, 100], [0, 1, 150, 199]):
        parts = [items[a:b] for a, b in zip(starts, [*starts[1:], 200], strict=True)]
        model = learned(hasher, *parts)
        promise = f"200 items in {len(parts)} rounds teach what they teach in one"
        require(model.categories_ == once.categories_, promise)
        require(same_bytes(category_codes(model), category_codes(once)), promise)
        require_near(once.project(probe.views), model.project(probe.views), promise)


def check_new_categories(hasher: Hasher) -> None:
    """New categories leave the codes of old ones, and of labelled items, as they are.

    A method that cannot take new categories raises UnsupportedError and is unchanged.
    Skipped where the hasher declares `unsupervised`: it knows no categories.
    """
    if getattr(hasher, "unsupervised", False):
        return
    model, items = learned(hasher), known_items(100, seed=1)
    names, codes = model.categories_, category_codes(model)
    codes = None if codes is None else codes.copy()
    coded = _label_codes(model, items.labels)
    before = model.get_state()
    later = new_items()
    try:
        model.partial_fit(later.views, later.labels)
    except UnsupportedError:
        promise = "a hasher that refuses new categories is unchanged"
        require_same_state(before, model.get_state(), promise)
        return
    model.partial_fit(items.views, items.labels)
    require(model.categories_[: len(names)] == names, "old categories keep their places")
    expected = {*names, *(name for labels in later.labels for name in labels)}
    require(set(model.categories_) == expected, "categories_ holds every category learned")
    require_category_codes(model, len(expected))
    now = category_codes(model)
    if codes is not None and now is not None:
        kept = now[: len(names)]
        require(same_bytes(kept, codes), "the codes of old categories never change")
    if coded is not None:
        coded_now = _label_codes(model, items.labels)
        require(same_bytes(coded_now, coded), "label_codes of old labels never change")


def check_unlabelled_items(hasher: Hasher) -> None:
    """Items without labels teach nothing, alone or among labelled ones.

    Skipped where the hasher declares `unsupervised`: it learns from items, not from labels.
    """
    if getattr(hasher, "unsupervised", False):
        return
    probe, items = known_items(100, seed=2).views, known_items(100, seed=1)
    model = learned(hasher)
    before, categories = model.project(probe), model.categories_
    strange = {name: 5.0 * view for name, view in items.views.items()}
    nothing: list[list[str]] = [[]] * 100
    for labels in (None, nothing):
        model.partial_fit(strange, labels)
        promise = "a round without labels teaches nothing"
        require(model.categories_ == categories, promise)
        require_near(before, model.project(probe), promise)
    mixed = {name: np.vstack([items.views[name], view]) for name, view in strange.items()}
    model = learned(hasher).partial_fit(mixed, [*items.labels, *nothing])
    promise = "items without labels among labelled ones teach nothing"
    require_near(learned(hasher, items).project(probe), model.project(probe), promise)


def check_unlabelled_start(hasher: Hasher) -> None:
    """A stream may begin with items that have no labels: they get codes all the same."""
    items = known_items()
    model = fresh(hasher).partial_fit(items.views)
    require(model.categories_ == (), "without labels there are no categories")
    require_category_codes(model, 0)
    require_codes(model.encode(items.views), len(items.labels), model, "encode without labels")
    twin = fresh(hasher).set_state(model.get_state())
    for copy in (model, twin):
        copy.partial_fit(items.views, items.labels)
    names = {name for labels in items.labels for name in labels}
    if not getattr(hasher, "unsupervised", False):
        promise = "categories are learned after a start without labels"
        require(set(model.categories_) == names, promise)
    promise = "the state of a start without labels holds all of it"
    require_same_state(model.get_state(), twin.get_state(), promise)


def check_missing_in_rounds(hasher: Hasher) -> None:
    """Rows of NaN, masked rows and a modality left out teach one and the same."""
    items, probe = known_items(100, seed=1), known_items(100, seed=2).views
    mask = np.ones_like(items.views["text"], dtype=bool)
    left_out = learned(hasher).partial_fit(items.only("image"), items.labels)
    require(left_out.modalities_.keys() == items.views.keys(), "modalities_ stay known")
    forms = {
        "rows of NaN": np.where(mask, np.nan, items.views["text"]),
        "masked rows": np.ma.array(items.views["text"], mask=mask),
    }
    for form, view in forms.items():
        model = learned(hasher).partial_fit({**items.views, "text": view}, items.labels)
        promise = f"a round with {form} teaches what the round without the modality teaches"
        require_near(left_out.project(probe), model.project(probe), promise)
    half = items.views["text"].copy()
    half[::2] = np.nan
    model = learned(hasher).partial_fit({**items.views, "text": half}, items.labels)
    promise = "items that lack a modality do not stop the others from being learned"
    require(np.isfinite(model.project(probe)).all(), promise)


def check_single_item(hasher: Hasher) -> None:
    """One item is a round, also the first one, and can be encoded."""
    item = known_items(1, seed=1)
    for model in (learned(hasher, item), fresh(hasher).partial_fit(item.views, item.labels)):
        require_codes(model.encode(item.views), 1, model, "encode of one item")
        require(np.isfinite(model.project(item.views)).all(), "one item has finite projections")


def check_empty_round(hasher: Hasher) -> None:
    """A round without items is an InputError."""
    nothing = known_items()[:0]
    for model, when in ((learned(hasher), "later on"), (fresh(hasher), "at the start")):
        for labels in (nothing.labels, None):
            with refused(model, InputError, f"an empty round {when}"):
                model.partial_fit(nothing.views, labels)


def check_bounded_memory(hasher: Hasher) -> None:
    """What is kept does not grow with the number of items.

    Skipped where the hasher declares `keeps_items`: a batch method trains on all of them.
    """
    if getattr(hasher, "keeps_items", False):
        return
    rounds = [known_items(400, seed=seed) for seed in (1, 2, 3, 4)]
    model = learned(hasher, *rounds[:2])
    size = _size(model.get_state())
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        model.partial_fit(rounds[2].views, rounds[2].labels)
        held = _held()
        for items in (rounds[3], *rounds):
            model.partial_fit(
                {name: view.copy() for name, view in items.views.items()}, items.labels
            )
        grown = _held() - held
    finally:
        if not tracing:
            tracemalloc.stop()
    now = _size(model.get_state())
    require(now <= size, f"the state grew from {size} to {now} values with no new category")
    per_item = grown / (5 * 400)
    promise = f"the hasher holds {per_item:.0f} more bytes for each item that it learned"
    # A round of bare sums holds nothing; a code or a label kept for each item is 8 bytes or more.
    require(per_item < 4, promise)


def check_forgetting(hasher: Hasher) -> None:
    """Where there is `forget`, forgotten items leave no trace but their category codes."""
    forget: Any = getattr(hasher, "forget", None)
    if forget is None:
        return
    gone, kept, probe = (known_items(100, seed=seed) for seed in (1, 2, 3))
    model: Any = learned(hasher, gone, kept)
    try:
        model.forget(gone.views, gone.labels)
    except UnsupportedError:
        return
    never = learned(hasher, kept)
    promise = "a hasher that forgot items is one that never saw them"
    require(same_bytes(category_codes(model), category_codes(never)), promise)
    require_near(never.project(probe.views), model.project(probe.views), promise)
    with refused(model, InputError, "forgetting no items"):
        model.forget(gone[:0].views, gone[:0].labels)
    with refused(model, InputError, "forgetting a category that was never learned"):
        model.forget(gone[:1].views, [["never learned"]])


def _label_codes(model: Hasher, labels: list[list[str]]) -> Any:
    try:
        return model.label_codes(labels)
    except UnsupportedError:
        return None


def _size(state: State) -> int:
    return sum(np.size(value) for value in state.values())


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]
