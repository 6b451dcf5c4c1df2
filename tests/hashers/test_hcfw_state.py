"""HCFW: the same again from the same seed, state or numbers."""

import numpy as np
import pytest
from hcfw_items import (
    FINE,
    Items,
    every_setting,
    every_setting_but,
    hasher_of,
    same_state,
    semantics,
    share_right,
)
from scipy import sparse
from sklearn.base import clone

from omhash.errors import (
    NotFittedError,
    ParameterError,
    StateError,
)
from omhash.hashers.hcfw import HCFW


@every_setting
def test_the_same_seed_gives_the_same_state_and_another_seed_another(given_settings):
    items = Items(60, categories=4)

    def state(seed):
        hasher = hasher_of(given_settings, random_state=seed)
        return hasher.partial_fit(items.views, items.labels).get_state()

    assert same_state(state(3), state(3))
    assert not same_state(state(3), state(4))


@pytest.mark.parametrize("random_state", [None, "generator"])
def test_fresh_draws_differ_from_hasher_to_hasher(random_state):
    items = Items(60)
    shared = np.random.default_rng(0) if random_state else None
    one, two = (
        hasher_of(random_state=shared).partial_fit(items.views, items.labels) for _ in range(2)
    )

    assert not np.array_equal(one.category_codes_, two.category_codes_)


def test_a_generator_is_drawn_from():
    items = Items(60)
    one, two = (
        hasher_of(random_state=np.random.default_rng(5)).partial_fit(items.views, items.labels)
        for _ in range(2)
    )

    assert np.array_equal(one.category_codes_, two.category_codes_)


@every_setting
def test_a_state_brings_the_hasher_back_bit_for_bit(given_settings):
    items, more = Items(80, categories=3), Items(80, seed=1)
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)

    back = hasher_of(given_settings).set_state(hasher.get_state())

    assert same_state(back.get_state(), hasher.get_state())
    assert np.array_equal(back.project(items.views), hasher.project(items.views))
    assert back.categories_ == hasher.categories_
    assert back.modalities_ == hasher.modalities_
    for each in (back, hasher):
        each.partial_fit(more.views, more.labels)
    assert same_state(back.get_state(), hasher.get_state())


def test_a_state_from_before_the_first_category_can_be_taken_over():
    items = Items(40)
    hasher = hasher_of().partial_fit(items.views)

    back = hasher_of().set_state(hasher.get_state())

    assert np.array_equal(back.encode(items.views), hasher.encode(items.views))


def test_a_state_holds_only_arrays_and_plain_values_of_its_own():
    items = Items(40)
    hasher = hasher_of({"kernels": {"image": 5}}).partial_fit(items.views, items.labels)
    state, kept = hasher.get_state(), hasher.get_state()

    back = hasher_of({"kernels": {"image": 5}}).set_state(state)
    for value in state.values():
        if isinstance(value, np.ndarray):
            assert value.dtype != object
            value[...] = 0
        else:
            assert isinstance(value, (int, float, str, list))

    assert same_state(hasher.get_state(), kept)
    assert same_state(back.get_state(), kept)


def test_input_is_neither_kept_nor_changed():
    items = Items(60)
    views = {name: view.copy() for name, view in items.views.items()}
    table = items.table.copy()
    hasher = hasher_of({"kernels": {"image": 5}})
    hasher.partial_fit(views, table, categories=items.names)
    before = hasher.get_state()

    assert all(np.array_equal(views[name], items.views[name]) for name in views)
    assert np.array_equal(table, items.table)
    for array in (*views.values(), table):
        array[...] = 0
    assert same_state(hasher.get_state(), before)
    hasher.hash_functions_["text"][...] = 0
    hasher.category_codes_[...] = 0
    hasher.modalities_.clear()
    assert same_state(hasher.get_state(), before)


def test_parameters_are_stored_and_cloned_as_they_are():
    hasher = HCFW.published(
        24, semantics=semantics, random_state=7, kernels={"image": (5, 2.0)}, authors_program=True
    )
    expected = {
        "n_bits": 24,
        "random_state": 7,
        "targets": "codes",
        "category_codes": "semantic",
        "weights": "published",
        "theta": 1.0,
        "delta": 1.0,
        "semantics": semantics,
        "kernels": {"image": (5, 2.0)},
        "authors_program": True,
    }

    assert hasher.get_params() == expected
    assert clone(hasher).get_params() == expected
    assert hasher.set_params(n_bits=32).n_bits == 32


def test_a_clone_has_learned_nothing():
    items = Items(40)
    hasher = hasher_of().partial_fit(items.views, items.labels)

    with pytest.raises(NotFittedError):
        clone(hasher).encode(items.views)


@pytest.mark.parametrize("make", [np.zeros, sparse.csr_array])
def test_no_query_has_no_code(make):
    items = Items(40)
    hasher = hasher_of().partial_fit(items.views, items.labels)
    none = {name: make((0, view.shape[1])) for name, view in items.views.items()}

    assert hasher.encode(none).shape == (0, 4)
    assert hasher.item_codes(none).shape == (0, 4)
    assert hasher.label_codes([]).shape == (0, 4)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint16, bool])
def test_numbers_of_any_kind_teach_the_same_as_in_float64(dtype):
    items = Items(80)
    views = {name: np.clip(view.round(), 0, 1).astype(dtype) for name, view in items.views.items()}

    narrow = hasher_of().partial_fit(views, items.labels)
    wide = hasher_of().partial_fit(
        {name: view.astype(float) for name, view in views.items()}, items.labels
    )

    assert same_state(narrow.get_state(), wide.get_state())
    assert np.array_equal(narrow.encode(views), wide.encode(views))


@pytest.mark.parametrize("given_settings", [{}, {"targets": "codes"}, {"weights": "equal"}])
def test_a_single_item_can_be_learned(given_settings):
    items = Items(1)
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)

    assert np.isfinite(hasher.project(items.views)).all()
    assert np.array_equal(
        hasher.item_codes(items.views, items.labels), hasher.label_codes(items.labels)
    )


@every_setting_but("kernels")  # a kernel needs anchors in the first round
def test_a_modality_that_no_item_had_yet_may_come_later(given_settings):
    items, more = Items(150), Items(150, seed=1)
    absent = np.full_like(items.views["text"], np.nan)
    hasher = hasher_of(given_settings).partial_fit(dict(items.views, text=absent), items.labels)
    assert np.isfinite(hasher.project(more.views)).all()

    hasher.partial_fit(more.views, more.labels)

    asked = Items(60, seed=2)
    del asked.views["image"]
    assert share_right(hasher, asked) > 0.8


STATE_SETTINGS = {"kernels": {"image": 6}}
STATE = hasher_of(STATE_SETTINGS).partial_fit(FINE.views, FINE.labels).get_state()


@pytest.mark.parametrize("name", STATE)
def test_a_state_without_one_of_its_values_is_refused(name):
    state = {key: value for key, value in STATE.items() if key != name}

    with pytest.raises(StateError, match="the state"):
        hasher_of(STATE_SETTINGS).set_state(state)


ARRAYS = [name for name, value in STATE.items() if isinstance(value, np.ndarray) and value.size]


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("spoilt", ["truncated", "nothing", "text"])
def test_a_state_with_a_spoilt_array_is_refused_and_the_model_stays(name, spoilt):
    hasher = hasher_of(STATE_SETTINGS).partial_fit(FINE.views, FINE.labels)
    before = hasher.get_state()

    value = {"truncated": STATE[name][:-1], "nothing": None, "text": "x"}[spoilt]

    with pytest.raises(StateError):
        hasher.set_state({**STATE, name: value})

    assert same_state(hasher.get_state(), before)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"n_bits": 64}, "n_bits=64, and this hasher has n_bits=32"),
        ({"targets": "codes"}, "targets='codes', and this hasher has targets='categories'"),
        ({"hasher": "OASIS"}, "hasher='OASIS', and this hasher has hasher='HCFW'"),
        ({"categories": ["c0"]}, "the state is not whole: signs has shape"),
        ({"widths": [12]}, "the state is not whole"),
        ({"widths": ["wide", 9]}, "the state is not whole"),
    ],
)
def test_a_state_of_something_else_is_refused(changed, words):
    with pytest.raises(StateError, match=words):
        hasher_of(STATE_SETTINGS).set_state({**STATE, **changed})


def test_a_state_needs_good_parameters():
    with pytest.raises(ParameterError, match="n_bits must be"):
        HCFW(13).set_state(STATE)
