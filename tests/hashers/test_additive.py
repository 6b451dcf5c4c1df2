"""Learning in two steps: labels in order, sums in any order, whoever sums them."""

import pickle

import numpy as np
import pytest
from hcfw_items import Items, every_setting, hasher_of, same_state

from omhash.errors import LabelError, NotFittedError, ViewError
from omhash.learning.labels import label_matrix


def rounds():
    return [Items(40, 3, 3 + number, seed=number) for number in range(4)]


def counts_of(items):
    return label_matrix(items.labels).counts()


def begun(given_settings=None):
    made = rounds()
    hasher = hasher_of(given_settings).begin(made[0].views)
    return hasher.learn_labels(map(counts_of, made)), made


@every_setting
def test_any_order_and_any_grouping_give_what_partial_fit_gives(given_settings):
    hasher, made = begun(given_settings)
    adder = pickle.loads(pickle.dumps(hasher.adder()))  # noqa: S301 - as workers get it
    groups = [[made[3], made[0]], [made[2]], [], [made[1]]]
    total = adder.empty()
    for group in groups:
        sums = adder.empty()
        for items in group:
            sums = adder.added(sums, items.views, items.labels)
        total = total.merged(sums)
    hasher.take(total)
    wanted = hasher_of(given_settings)
    for items in made:
        wanted.partial_fit(items.views, items.labels)
    assert hasher.categories_ == wanted.categories_
    assert np.array_equal(hasher.category_codes_, wanted.category_codes_)
    for name, functions in wanted.hash_functions_.items():
        most = np.abs(functions).max()
        assert np.allclose(hasher.hash_functions_[name], functions, rtol=1e-5, atol=1e-5 * most)


def test_to_begin_again_changes_nothing():
    items = Items(30)
    hasher = hasher_of().partial_fit(items.views, items.labels)
    before = hasher.get_state()
    assert same_state(hasher.begin(Items(30, seed=1).views).get_state(), before)


def test_nothing_is_learned_before_the_first_round():
    for step in ("adder", "for_encoding"):
        with pytest.raises(NotFittedError):
            getattr(hasher_of(), step)()
    with pytest.raises(NotFittedError):
        hasher_of().learn_labels([])


def test_items_must_fit_what_was_learned():
    hasher, made = begun()
    adder, items = hasher.adder(), made[0]
    with pytest.raises(LabelError, match="'zebra' was never learned"):
        adder.added(adder.empty(), items.views, [["zebra"]] * 40)
    with pytest.raises(ViewError, match="columns"):
        adder.added(adder.empty(), {"image": np.ones((40, 3))}, items.labels)


@every_setting
def test_a_copy_for_encoding_gives_the_same_codes_and_is_light(given_settings):
    items = Items(200, 3)
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)
    light = pickle.loads(pickle.dumps(hasher.for_encoding()))  # noqa: S301 - as workers get it
    assert np.array_equal(light.project(items.views), hasher.project(items.views))
    assert np.array_equal(
        light.item_codes(items.views, items.labels), hasher.item_codes(items.views, items.labels)
    )
    assert hasher.partial_fit(items.views, items.labels)  # and has still all that it learned


def test_what_is_sent_does_not_grow_with_the_features_squared():
    rng = np.random.default_rng(0)
    views, labels = {"image": rng.standard_normal((30, 500))}, [["cat"], ["dog"], []] * 10
    hasher = hasher_of().partial_fit(views, labels)
    sums = 8 * 500**2
    assert len(pickle.dumps(hasher)) > sums
    assert len(pickle.dumps(hasher.for_encoding())) < sums / 4
    assert len(pickle.dumps(hasher.adder())) < sums / 100
