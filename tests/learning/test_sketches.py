"""Sketches against the plain formula, and what must never change in them."""

import numpy as np
import pytest
from scipy import sparse

from omhash.errors import InputError, ViewError
from omhash.learning.sketches import Sketcher, Sketchers


def items(n, width=30, seed=0):
    """Word counts: sparse, and of very different frequencies."""
    rng = np.random.default_rng(seed)
    return rng.poisson(rng.gamma(0.5, size=width), size=(n, width)).astype(float)


def fitted(x, bits=64, seed=0):
    return Sketcher.fitted(x, np.ones(x.shape[0], dtype=bool), bits, seed)


def prepared(first, x):
    """The features whose angles sketches follow, row by row."""

    def unit(rows):
        return np.array([row / (np.linalg.norm(row) or 1.0) for row in rows])

    known = unit(first)
    variances = known.var(axis=0)
    variances = (len(known) * variances + variances.mean()) / (len(known) + 1)
    return (unit(x) - known.mean(axis=0)) / np.sqrt(np.sqrt(variances))


def test_projections_are_a_rotation_of_the_prepared_features():
    first, x = items(50), items(20, seed=1)

    projected = fitted(first, bits=30).project(x)

    expected = prepared(first, x)
    assert np.allclose(projected @ projected.T, expected @ expected.T, atol=1e-4)


@pytest.mark.parametrize("bits", [2048, 4096])
def test_the_share_of_equal_bits_follows_the_angle(bits):
    first, x = items(50, width=40), items(12, width=40, seed=1)

    signs = np.where(fitted(first, bits=bits).project(x) > 0, 1.0, -1.0)

    rows = prepared(first, x)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    angles = np.arccos(np.clip(rows @ rows.T, -1, 1))
    assert np.abs(signs @ signs.T / bits - (1 - 2 * angles / np.pi)).max() < 5 / np.sqrt(bits)


def test_more_bits_than_features_are_several_orthonormal_blocks():
    first = items(50, width=5)

    projected = fitted(first, bits=15).project(first)

    expected = prepared(first, first)
    for block in np.split(projected, 3, axis=1):
        assert np.allclose(block @ block.T, expected @ expected.T, atol=1e-4)
    assert not np.allclose(projected[:, :5], projected[:, 5:10])


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.asfortranarray])
def test_an_item_has_the_same_sketch_in_every_batch_bit_for_bit(make):
    x = items(300)
    sketcher = fitted(make(x))
    whole = sketcher.project(make(x))

    for rows in (slice(0, 1), slice(100, 163), [5, 299, 7]):
        assert sketcher.project(make(x[rows])).tobytes() == whole[rows].tobytes()


def test_sparse_views_give_what_dense_ones_give():
    x = items(200)
    dense, thin = fitted(x), fitted(sparse.csr_array(x))

    assert np.allclose(dense.project(x), thin.project(sparse.csr_array(x)), atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32])
def test_narrow_numbers_are_the_same_numbers(dtype):
    x = items(200)

    assert np.array_equal(fitted(x.astype(dtype)).project(x.astype(dtype)), fitted(x).project(x))


def test_the_size_of_an_item_does_not_matter():
    x = items(40)
    sketcher = fitted(x)

    assert np.allclose(sketcher.project(8 * x), sketcher.project(x), atol=1e-6)


def test_a_row_of_zeros_and_features_that_never_vary_are_finite():
    x = items(20)
    x[:, 3] = 0
    alike = np.ones((4, 30))

    assert np.isfinite(fitted(x).project(np.vstack([x, np.zeros(30), np.eye(30)]))).all()
    assert np.isfinite(fitted(alike).project(x)).all()


def test_items_that_lack_the_modality_do_not_move_the_centre():
    x = items(60)
    present = np.arange(60) % 3 > 0
    holed = np.where(present[:, None], x, 0.0)

    some = Sketcher.fitted(holed, present, 32, 0)
    only = fitted(x[present], bits=32)

    assert np.allclose(some.project(x), only.project(x), atol=1e-6)


def test_the_same_seed_gives_the_same_sketches_and_another_one_others():
    x = items(30)

    assert np.array_equal(fitted(x, seed=3).project(x), fitted(x, seed=3).project(x))
    assert not np.allclose(fitted(x, seed=3).project(x), fitted(x, seed=4).project(x))


def test_what_does_not_fit_is_refused():
    x = items(5)

    with pytest.raises(InputError, match="no item has the modality"):
        Sketcher.fitted(x, np.zeros(5, dtype=bool), 16, 0)
    with pytest.raises(ViewError, match="31 columns"):
        fitted(x).project(items(5, width=31))


def test_sketchers_are_made_once_and_never_change():
    blank = Sketchers({"image": 16, "text": 24}, seed=7, known={})

    first = blank.fitted({"image": items(50)})
    later = first.fitted({"image": 9 + items(50, seed=1), "text": items(50, seed=2)})

    assert list(first.known) == ["image"]
    assert list(later.known) == ["image", "text"]
    assert later.known["image"] is first.known["image"]


def test_a_modality_gets_the_same_sketches_whenever_it_comes_first():
    words, blank = items(50, seed=2), Sketchers({"image": 16, "text": 24}, seed=7, known={})

    late = blank.fitted({"image": items(50)}).fitted({"text": words})
    early = blank.fitted({"text": words})

    same = [sketchers.projected({"text": words}, 50)[0]["text"] for sketchers in (late, early)]
    assert np.array_equal(*same)


def test_who_lacks_a_modality_is_told_and_has_zeros_where_none_is_known():
    sketchers = Sketchers({"image": 16, "text": 24}, seed=7, known={})
    x = items(10)
    x[4] = np.nan
    sketchers = sketchers.fitted({"image": x})

    values, present = sketchers.projected({"image": x}, 10)

    assert np.flatnonzero(~present["image"]).tolist() == [4]
    assert not present["text"].any()
    assert values["text"].shape == (10, 24)
    assert not values["text"].any()
    others = np.arange(10) != 4
    assert np.array_equal(
        values["image"][others], sketchers.projected({"image": x[others]}, 9)[0]["image"]
    )


def test_a_modality_that_nobody_has_waits_for_the_first_who_does():
    sketchers = Sketchers({"image": 16}, seed=7, known={})
    nobody = np.full((5, 30), np.nan)

    assert sketchers.fitted({"image": nobody}).known == {}
    assert list(sketchers.fitted({"image": nobody}).fitted({"image": items(5)}).known) == ["image"]


def test_a_state_gives_the_same_sketchers():
    views = {"image": items(50), "text": items(50, width=8, seed=1)}
    blank = Sketchers({"image": 16, "text": 24}, seed=7, known={})
    sketchers = blank.fitted(views)

    loaded = blank.with_state(sketchers.to_state())

    before, after = sketchers.projected(views, 50)[0], loaded.projected(views, 50)[0]
    assert all(before[name].tobytes() == after[name].tobytes() for name in views)


@pytest.mark.parametrize(
    "damage", [{"0.offset": np.zeros(3)}, {"0.rotation": np.zeros(16)}, {"0.offset": "text"}]
)
def test_a_damaged_state_is_refused(damage):
    blank = Sketchers({"image": 16}, seed=7, known={})
    state = blank.fitted({"image": items(20)}).to_state()

    with pytest.raises(ValueError, match="0"):
        blank.with_state(state | damage)
