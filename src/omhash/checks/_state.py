"""Checks of a hasher's state, and that nothing it holds is shared with anyone."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
from scipy import sparse

from ..errors import StateError, UnsupportedError
from ..hashers.base import Hasher, State
from ._compare import category_codes, refused, require, require_same_state, same_bytes
from ._samples import Sample, fresh, known_items, learned, new_items

_PLAIN = (bool, int, float, str, type(None))


def check_state_round_trip(hasher: Hasher) -> None:
    """A clone that takes over the state is the same model, bit for bit, and learns on as such."""
    model = learned(hasher, known_items(100, seed=1))
    twin = fresh(hasher).set_state(model.get_state())
    _require_twins(model, twin, "a clone with the state is the same model")
    for items in (known_items(100, seed=2), new_items()):
        try:
            model.partial_fit(items.views, items.labels)
        except UnsupportedError:
            break
        twin.partial_fit(items.views, items.labels)
        _require_twins(model, twin, "a clone with the state learns on as the model does")


def check_state_is_plain(hasher: Hasher) -> None:
    """A state holds arrays and plain values only, and survives .npz and JSON."""
    for n_bits in (hasher.n_bits, np.int64(hasher.n_bits)):
        model = fresh(hasher, n_bits=n_bits)
        items = known_items()
        state = model.partial_fit(items.views, items.labels).get_state()
        for name, value in state.items():
            require(isinstance(name, str), f"names in the state are text, and {name!r} is not")
            require(_is_plain(value), f"{name} of the state is {type(value)}, no plain value")
        read = _written_and_read(state)
        require_same_state(state, read, "the state survives .npz and JSON")
        twin = fresh(hasher, n_bits=n_bits).set_state(read)
        _require_twins(model, twin, "a clone with the state from .npz and JSON is the same model")


def check_foreign_state(hasher: Hasher) -> None:
    """A state that is not whole, or of another length of codes, is a StateError."""
    state = learned(hasher).get_state()
    model = learned(hasher, known_items(100, seed=1))
    for name, value in state.items():
        with refused(model, StateError, f"a state without {name}"):
            model.set_state({other: state[other] for other in state if other != name})
        if np.ndim(value) and len(value):
            with refused(model, StateError, f"a state whose {name} is cut short"):
                model.set_state({**state, name: value[:-1]})
    with refused(model, StateError, "an empty state"):
        model.set_state({})
    items = known_items()
    other = fresh(hasher, n_bits=8 if hasher.n_bits > 8 else 16)
    other.partial_fit(items.views, items.labels)
    with refused(model, StateError, "the state of codes of another length"):
        model.set_state(other.get_state())


def check_inputs_are_kept(hasher: Hasher) -> None:
    """No call changes what it is given: views, labels, category names or a state."""
    items, names = known_items(), sorted({name for own in known_items().labels for name in own})
    labels = _untidy(np.array([[float(name in own) for name in names] for own in items.labels]))
    mask = np.arange(len(items.labels)) % 5 == 0
    text = np.ma.array(items.views["text"], mask=np.broadcast_to(mask[:, None], (len(mask), 20)))
    # No item lacks both: a method that codes items by their views alone could not code it.
    missing = np.where(np.roll(mask, 1)[:, None], np.nan, items.views["image"])
    for views in (items.views, {"image": missing, "text": text}, _sparse(items)):
        given: dict[str, Any] = {**views, "labels": labels}
        before = {name: _parts(value) for name, value in given.items()}
        model = fresh(hasher).partial_fit(views, labels, categories=names)
        model.encode({"text": items.views["text"], "image": views["image"]})
        model.item_codes(views, labels, categories=names)
        for name, parts in before.items():
            same = all(map(same_bytes, parts, _parts(given[name])))
            require(same, f"a call changed its input {name!r} ({type(given[name]).__name__})")
    state = model.get_state()
    kept = _written_and_read(state)
    twin = fresh(hasher).set_state(state)
    twin.partial_fit(items.views, items.labels)
    require_same_state(kept, state, "set_state and learning on change no state that was given")


def check_nothing_is_shared(hasher: Hasher) -> None:
    """Writing into an input or a result afterwards changes nothing in the hasher."""
    probe = known_items(50, seed=2)
    items = known_items()
    model = fresh(hasher).partial_fit(items.views, items.labels)
    before, projection = _written_and_read(model.get_state()), model.project(probe.views)
    for view in items.views.values():
        view[:] = -7.0
    for own in items.labels:
        own[:] = ["category 7"]
    _require_unchanged(model, before, "writing into a round's arrays after it was learned")
    state = model.get_state()
    twin = fresh(hasher).set_state(state)
    results = [model.project(probe.views), model.encode(probe.views), category_codes(model)]
    results.append(model.item_codes(probe.views, probe.labels))
    _spoil({str(place): result for place, result in enumerate(results)})
    model.modalities_.clear()
    _require_unchanged(model, before, "writing into results")
    _spoil(state)
    _require_unchanged(model, before, "writing into a state that was given out")
    _require_unchanged(twin, before, "writing into a state after set_state")
    for copy in (model, twin):
        promise = "writing into foreign arrays changes no projection"
        require(same_bytes(copy.project(probe.views), projection), promise)


def _require_twins(model: Hasher, twin: Hasher, promise: str) -> None:
    views = known_items(100, seed=3).views
    require_same_state(model.get_state(), twin.get_state(), promise)
    require(same_bytes(model.project(views), twin.project(views)), f"{promise}: project differs")
    same = same_bytes(category_codes(model), category_codes(twin))
    require(same, f"{promise}: codes differ")
    require(model.categories_ == twin.categories_, f"{promise}: categories_ differ")
    require(model.modalities_ == twin.modalities_, f"{promise}: modalities_ differ")


def _require_unchanged(model: Hasher, before: State, what: str) -> None:
    require_same_state(before, model.get_state(), f"{what} changes nothing in the hasher")


def _is_plain(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiubU"
    if type(value) is list:
        return all(type(entry) in _PLAIN for entry in value)
    return type(value) in _PLAIN


def _written_and_read(state: State) -> State:
    """The state after a trip through .npz for arrays and JSON for the rest."""
    file = io.BytesIO()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    np.savez(file, **arrays)  # type: ignore[arg-type]  # any name may name an array
    text = json.dumps({name: value for name, value in state.items() if name not in arrays})
    file.seek(0)
    with np.load(file, allow_pickle=False) as read:
        again = {**json.loads(text), **{name: read[name] for name in read.files}}
    return {name: again[name] for name in state}


def _spoil(values: dict[str, Any]) -> None:
    for value in values.values():
        if isinstance(value, np.ndarray) and value.flags.writeable and value.dtype.kind in "fiub":
            value[...] = 1
        elif isinstance(value, list):
            value.clear()


def _untidy(labels: Any) -> sparse.csr_array:
    """A valid CSR matrix with columns out of order and a zero that is stored."""
    matrix = sparse.csr_array(labels)
    for start, stop in zip(matrix.indptr, matrix.indptr[1:], strict=False):
        matrix.indices[start:stop] = matrix.indices[start:stop][::-1].copy()
    first = sparse.csr_array(
        (
            np.append(matrix.data, 0.0),
            np.append(matrix.indices, _absent(labels[-1])),
            np.append(matrix.indptr[:-1], matrix.indptr[-1] + 1),
        ),
        shape=matrix.shape,
    )
    first.has_sorted_indices = False
    return first


def _absent(row: Any) -> int:
    return int(np.argmin(row))


def _sparse(items: Sample) -> dict[str, Any]:
    return {name: sparse.csr_array(view) for name, view in items.views.items()}


def _parts(value: Any) -> list[Any]:
    """Copies of all the arrays that a value is made of."""
    if sparse.issparse(value):
        return [value.data.copy(), value.indices.copy(), value.indptr.copy()]
    if isinstance(value, np.ma.MaskedArray):
        return [value.data.copy(), np.ma.getmaskarray(value).copy()]
    return [value.copy()]
