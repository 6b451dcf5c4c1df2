"""HCFW against the formulas of its regressions and weights, and exact forgetting."""

import numpy as np
import pytest
from hcfw_items import (
    WIDTHS,
    Items,
    every_setting,
    hasher_of,
    semantics,
)

from omhash.codes import unpack
from omhash.hashers.hcfw import HCFW


@pytest.mark.parametrize("authors_program", [False, True])
def test_hash_functions_are_the_papers_regressions(authors_program):
    """W, and U of what W leaves over, from plain formulas; a tie is 0 in the target."""
    items, delta = Items(300), 0.5
    hasher = HCFW(
        16,
        random_state=0,
        targets="codes",
        weights="published",
        theta=1.0,
        delta=delta,
        authors_program=authors_program,
    ).partial_fit(items.views, items.labels)
    sums = items.table @ unpack(hasher.category_codes_).astype(int)
    assert (sums == 0).any()
    targets = np.sign(sums)
    for name, x in items.views.items():
        gram, width = x.T @ x, x.shape[1]
        added = delta * (np.ones((width, width)) if authors_program else np.eye(width))
        w = np.linalg.solve(gram + np.eye(width), x.T @ targets)
        u = np.linalg.solve(gram + added, x.T @ targets - gram @ w)

        found = hasher.hash_functions_[name]

        assert found.dtype == (np.float64 if authors_program else np.float32)
        assert np.allclose(found[:, :16], w, atol=1e-5)
        assert np.allclose(found[:, 16:], u, atol=1e-5)


def test_delta_is_theta_where_it_is_not_given():
    items = Items(60)

    def functions(**given_settings):
        hasher = hasher_of({"weights": "published", "theta": 3.0, **given_settings})
        return hasher.partial_fit(items.views, items.labels).hash_functions_["text"]

    assert np.array_equal(functions(), functions(delta=3.0))
    assert not np.array_equal(functions(), functions(delta=1.0))


def test_a_theta_that_is_given_is_kept_and_another_is_chosen_for_each_modality():
    items = Items(150)
    items.views["text"] = items.views["text"] * 100

    given_theta = hasher_of({"theta": 2.5}).partial_fit(items.views, items.labels)
    chosen = hasher_of().partial_fit(items.views, items.labels)

    assert given_theta.thetas_ == {"image": 2.5, "text": 2.5}
    assert chosen.thetas_["text"] > 100 * chosen.thetas_["image"]


def papers_projection(hasher, views, n_bits, h_max=None):
    """The paper's fusion: z_m = h_max - h_m, the largest over all queries and modalities."""
    functions = hasher.hash_functions_
    h = {
        name: np.abs(x @ functions[name][:, n_bits:].astype(float)).sum(axis=1)
        for name, x in views.items()
    }
    h_max = h_max or max(gap.max() for gap in h.values())
    return sum(
        (h_max - h[name])[:, None] * (x @ functions[name][:, :n_bits].astype(float))
        for name, x in views.items()
    ), h_max


def test_the_published_rule_is_the_papers():
    items, asked = Items(300), Items(40, seed=1)
    hasher = HCFW.published(16, semantics=semantics, random_state=0)
    hasher.partial_fit(items.views, items.labels)

    wanted, h_max = papers_projection(hasher, asked.views, 16)

    assert h_max > 0
    assert np.allclose(hasher.project(asked.views), wanted, rtol=1e-3, atol=1e-3 * h_max)


def test_the_calibrated_rule_is_the_papers_with_five_times_the_ordinary_gap():
    items, asked = Items(300), Items(40, seed=1, noise=0.01)
    hasher = hasher_of({"targets": "codes", "weights": "calibrated", "theta": 1.0}, n_bits=16)
    hasher.partial_fit(items.views, items.labels)
    h_max = 5 * max(
        np.sqrt(np.square(x @ hasher.hash_functions_[name][:, 16:]).mean(axis=0)).sum()
        for name, x in items.views.items()
    )

    wanted, _ = papers_projection(hasher, asked.views, 16, h_max)

    # Below the kept gap, the rule is the paper's.
    assert np.allclose(hasher.project(asked.views), wanted, rtol=1e-3, atol=1e-3 * h_max)


def test_equal_weights_are_the_sum_of_the_modalities_projections():
    items = Items(100)
    hasher = hasher_of({"targets": "codes", "weights": "equal", "theta": 1.0})
    hasher.partial_fit(items.views, items.labels)

    wanted = sum(x @ hasher.hash_functions_[name] for name, x in items.views.items())

    assert np.allclose(hasher.project(items.views), wanted, atol=1e-4)


def test_precision_weights_leave_out_a_modality_that_knows_nothing():
    items, asked = Items(500), Items(100, seed=1)
    rng = np.random.default_rng(0)
    for data in (items, asked):
        data.views["text"] = 10 * rng.standard_normal(data.views["text"].shape)
    moved = {}
    for weights in ("precision", "equal"):
        hasher = hasher_of({"weights": weights}).partial_fit(items.views, items.labels)
        both = hasher.project(asked.views)
        alone = hasher.project({"image": asked.views["image"]})
        moved[weights] = np.abs(both - alone).mean() / np.abs(alone).mean()

    assert moved["precision"] < 0.02
    assert moved["equal"] > 0.2


def test_kernels_stand_in_front_of_their_modality_only():
    items = Items(100)
    hasher = hasher_of({"kernels": {"text": np.int64(7)}}).partial_fit(items.views, items.labels)

    assert hasher.hash_functions_["text"].shape[0] == 7
    assert hasher.hash_functions_["image"].shape[0] == WIDTHS["image"]
    assert hasher.modalities_ == {"image": 12, "text": 9}


@every_setting
def test_what_is_forgotten_is_as_if_it_had_never_been_learned(given_settings):
    first, more, asked = Items(150), Items(60, seed=1), Items(50, seed=2)
    remembers = hasher_of(given_settings).partial_fit(first.views, first.labels)
    forgets = hasher_of(given_settings).partial_fit(first.views, first.labels)
    codes = forgets.category_codes_
    forgets.partial_fit(more.views, more.labels)
    learned = forgets.hash_functions_

    forgets.forget(more.views, more.labels)

    assert np.array_equal(forgets.category_codes_, codes)
    assert forgets.thetas_ == remembers.thetas_
    for name, functions in remembers.hash_functions_.items():
        assert np.allclose(forgets.hash_functions_[name], functions, atol=1e-5)
        assert not np.allclose(learned[name], functions, atol=1e-5)
    projections = remembers.project(asked.views)
    scale = np.abs(projections).max()
    assert np.allclose(forgets.project(asked.views), projections, atol=1e-3 * scale)


def test_forgetting_all_leaves_only_the_category_codes():
    items = Items(50)
    hasher = hasher_of({"theta": 1.0}).partial_fit(items.views, items.labels)
    codes = hasher.label_codes(items.labels)

    hasher.forget(items.views, items.table, categories=items.names)

    assert np.array_equal(hasher.label_codes(items.labels), codes)
    assert np.allclose(hasher.hash_functions_["image"][:, :5], 0, atol=1e-6)
