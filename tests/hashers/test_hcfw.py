"""HCFW: what it learns from any stream, and what stays."""

import numpy as np
import pytest
from hcfw_items import (
    Items,
    every_setting,
    every_setting_but,
    hasher_of,
    same_state,
    share_right,
)
from hypothesis import given, settings
from scipy import sparse

from omhash.codes import pack, unpack
from omhash.errors import (
    LabelError,
)
from strategies import labels as drawn_labels


@every_setting
def test_encoding_comes_close_to_the_codes_of_the_labels(given_settings):
    items = Items(400)
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)

    assert share_right(hasher, Items(100, seed=1)) > 0.9


@pytest.mark.parametrize("modalities", [1, 2, 4])
@pytest.mark.parametrize("targets", ["categories", "codes"])
def test_any_number_of_modalities(modalities, targets):
    items = Items(400, modalities)
    hasher = hasher_of({"targets": targets}).partial_fit(items.views, items.labels)

    assert hasher.modalities_ == {name: view.shape[1] for name, view in items.views.items()}
    assert set(hasher.thetas_) == set(hasher.hash_functions_) == set(items.views)
    assert share_right(hasher, Items(100, modalities, seed=1)) > 0.9


@pytest.mark.parametrize("n_bits", [8, 24, 64, 200, 1024])
def test_any_number_of_bits(n_bits):
    items = Items(100)
    hasher = hasher_of(n_bits=n_bits).partial_fit(items.views, items.labels)

    projections = hasher.project(items.views)
    assert projections.shape == (100, n_bits)
    assert projections.dtype == np.float32
    assert np.array_equal(hasher.encode(items.views), pack(projections))
    assert hasher.category_codes_.shape == (5, n_bits // 8)
    assert hasher.category_codes_.dtype == np.uint8


@every_setting
def test_a_modality_may_be_left_out_of_a_query(given_settings):
    items, asked = Items(400, 3), Items(60, 3, seed=1)
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)
    holed = {name: view.copy() for name, view in asked.views.items()}
    holed["text"][:] = np.nan
    without = {name: view for name, view in asked.views.items() if name != "text"}

    assert np.array_equal(hasher.project(holed), hasher.project(without))
    asked.views = without
    assert share_right(hasher, asked) > 0.8


def test_the_order_of_modalities_in_a_query_does_not_matter():
    items = Items(100, 3)
    hasher = hasher_of().partial_fit(items.views, items.labels)
    turned = dict(reversed(items.views.items()))

    assert np.array_equal(hasher.encode(turned), hasher.encode(items.views))


@every_setting
def test_an_items_codes_do_not_depend_on_its_batch(given_settings):
    items = Items(530)
    items.views["text"][::9] = np.nan
    hasher = hasher_of(given_settings).partial_fit(items.views, items.labels)
    whole = hasher.project(items.views)

    alone = np.vstack([hasher.project(items.rows([row])) for row in range(0, 530, 23)])

    if given_settings.get("weights") == "published":
        assert not np.array_equal(alone, whole[::23])  # the paper's rule looks at the batch
    else:
        assert np.array_equal(alone, whole[::23])


# A kernel draws its anchors from the first round, and a round of its own has codes of its own:
# only regressions of categories on plain features can be compared.
@pytest.mark.parametrize("given_settings", [{}, {"weights": "published"}, {"theta": 2.0}])
def test_rows_without_a_modality_teach_only_the_others(given_settings):
    items = Items(120)
    holed = dict(items.views, text=items.views["text"].copy())
    holed["text"][:40] = np.nan
    one = hasher_of(given_settings).partial_fit(holed, items.labels)
    two = hasher_of(given_settings).partial_fit(
        {"image": items.views["image"][:40], "text": np.full((40, 9), np.nan)}, items.labels[:40]
    )
    two.partial_fit(items.rows(slice(40, None)), items.labels[40:])

    assert one.thetas_ == two.thetas_
    for name in items.views:
        wanted, found = (
            dict(zip(hasher.categories_, hasher.hash_functions_[name].T[:5], strict=True))
            for hasher in (one, two)
        )
        for category in items.names:
            assert np.allclose(found[category], wanted[category], atol=1e-5)


def test_a_masked_row_is_a_missing_row_and_a_sparse_view_a_view():
    items = Items(60)
    holed = items.views["text"].copy()
    holed[:20] = np.nan
    masked = np.ma.masked_array(items.views["text"], np.isnan(holed))
    labels = items.labels

    by_nan = hasher_of().partial_fit(dict(items.views, text=holed), labels)
    by_mask = hasher_of().partial_fit(dict(items.views, text=masked), labels)
    by_sparse = hasher_of().partial_fit(dict(items.views, text=sparse.csr_array(holed)), labels)

    assert same_state(by_nan.get_state(), by_mask.get_state())
    for name, functions in by_nan.hash_functions_.items():
        assert np.allclose(functions, by_sparse.hash_functions_[name], atol=1e-5)


# A kernel draws its anchors from all items, and the largest gap is that of all items of a round.
@every_setting_but("kernels", "calibrated", "calibrated, codes")
def test_items_without_labels_teach_nothing(given_settings):
    items = Items(100)
    labels = items.labels
    labels[60:] = [[]] * 40
    with_them = hasher_of(given_settings).partial_fit(items.views, labels)
    without = hasher_of(given_settings).partial_fit(items.rows(slice(60)), labels[:60])

    assert np.array_equal(with_them.category_codes_, without.category_codes_)
    for name, functions in with_them.hash_functions_.items():
        assert np.allclose(functions, without.hash_functions_[name], atol=1e-6)
    codes = with_them.item_codes(items.views, labels)
    assert np.array_equal(codes[:60], with_them.label_codes(labels[:60]))
    assert np.array_equal(codes[60:], with_them.encode(items.rows(slice(60, None))))


@every_setting
def test_a_stream_may_begin_without_any_label(given_settings):
    items = Items(300)
    hasher = hasher_of(given_settings).partial_fit(items.views)

    first = hasher.encode(items.views)
    assert hasher.categories_ == ()
    assert len(np.unique(first, axis=0)) > 20
    assert np.array_equal(hasher.item_codes(items.views), first)
    hasher.partial_fit(items.views, [[]] * 300)
    assert np.array_equal(hasher.encode(items.views), first)
    with pytest.raises(LabelError, match="'c0' was never learned"):
        hasher.label_codes([["c0"]])

    hasher.partial_fit(items.views, items.labels)
    assert share_right(hasher, Items(100, seed=1)) > 0.9


@every_setting
def test_new_categories_come_at_any_round_and_old_codes_stay(given_settings):
    hasher = hasher_of(given_settings)
    rounds = [
        Items(150, categories=2),
        Items(150, categories=4, seed=1, first=1),
        Items(150, seed=2),
    ]
    kept, stored = np.zeros((0, 4), np.uint8), []
    for items in rounds:
        hasher.partial_fit(items.views, items.labels)
        assert np.array_equal(hasher.category_codes_[: len(kept)], kept)
        for labels, codes in stored:
            assert np.array_equal(hasher.label_codes(labels), codes)
        kept = hasher.category_codes_
        stored.append((items.labels, hasher.label_codes(items.labels)))

    assert hasher.categories_ == tuple(rounds[-1].names)
    assert len(np.unique(kept, axis=0)) == 5
    assert share_right(hasher, Items(100, seed=3)) > 0.8


@every_setting
def test_categories_that_come_one_at_a_time_get_codes_of_their_own(given_settings):
    hasher = hasher_of(given_settings, n_bits=64)
    for number in range(4):
        items = Items(40, categories=number + 1, seed=number, first=number)
        hasher.partial_fit(items.views, items.labels)

    signs = unpack(hasher.category_codes_).astype(int)
    alike = np.abs(signs @ signs.T - 64 * np.eye(4))
    assert alike.max() <= 32


def test_categories_are_those_that_items_had():
    items = Items(50, categories=3)
    table = np.column_stack([items.table, np.zeros(50)])

    hasher = hasher_of().partial_fit(items.views, table, categories=[*items.names, "none"])

    assert hasher.categories_ == ("c0", "c1", "c2")


@every_setting
def test_names_and_matrices_of_labels_mean_the_same(given_settings):
    items = Items(80)
    forms = [
        (items.labels, None),
        ([set(item) for item in items.labels], None),
        (items.table, items.names),
        (sparse.csr_array(items.table), items.names),
    ]

    states = [
        hasher_of(given_settings)
        .partial_fit(items.views, labels, categories=categories)
        .get_state()
        for labels, categories in forms
    ]

    assert all(same_state(state, states[0]) for state in states[1:])


@settings(max_examples=30, deadline=None)
@given(drawn_labels(12))
def test_label_codes_are_the_majority_of_the_categories_signs(labels):
    items = Items(12)
    hasher = hasher_of(n_bits=16).partial_fit(items.views, labels)
    signs = dict(zip(hasher.categories_, unpack(hasher.category_codes_).astype(int), strict=True))
    having = [set(item) for item in labels if item]
    if not having:
        return

    codes = hasher.label_codes(having)

    # A tie, a sum of 0, is bit 0.
    sums = [sum(signs[name] for name in item) for item in having]
    assert np.array_equal(np.unpackbits(codes, axis=1), np.array(sums) > 0)
