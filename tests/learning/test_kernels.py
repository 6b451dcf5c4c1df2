"""RBF features against the formula, item by item."""

from math import dist, exp
from statistics import median

import numpy as np
import pytest
from scipy import sparse

from omhash.learning.kernels import RBFKernel


def features(x, anchors, bandwidth):
    return [[exp(-(dist(row, a) ** 2) / (2 * bandwidth**2)) for a in anchors] for row in x]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, np.asfortranarray])
def test_features_follow_the_formula(make):
    rng = np.random.default_rng(0)
    x, anchors = rng.standard_normal((20, 4)), rng.standard_normal((5, 4))
    x[rng.random(x.shape) < 0.5] = 0
    kernel = RBFKernel(anchors, bandwidth=1.7)

    assert np.allclose(kernel(make(x)), features(x, anchors, 1.7), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, bool])
def test_features_of_narrow_numbers_are_those_of_the_same_numbers(dtype):
    x = np.array([[0, 1], [1, 1], [1, 0]])
    kernel = RBFKernel(np.array([[0.5, 2.0]]), bandwidth=0.9)

    assert np.array_equal(kernel(x.astype(dtype)), kernel(x.astype(float)))


def test_an_anchor_is_wholly_similar_to_itself_also_far_from_the_origin():
    anchors = np.array([[1e6, 1e6], [1e6 + 1, 1e6]])

    assert np.all(RBFKernel(anchors, bandwidth=1.0)(anchors).diagonal() == 1)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_anchors_are_drawn_items_and_the_bandwidth_is_their_median_distance(make):
    x = np.random.default_rng(1).standard_normal((30, 3))

    kernel = RBFKernel.drawn(make(x), 7, np.random.default_rng(2))

    rows = [next(i for i in range(30) if np.array_equal(x[i], a)) for a in kernel.anchors]
    assert len(set(rows)) == 7
    distances = [dist(x[i], x[j]) for i in rows for j in rows if i < j]
    assert kernel.bandwidth == pytest.approx(median(distances))


def test_the_same_generator_draws_the_same_anchors_and_another_draws_others():
    x = np.arange(100.0).reshape(50, 2)

    def anchors(seed):
        return RBFKernel.drawn(x, 5, np.random.default_rng(seed)).anchors.tolist()

    assert anchors(0) == anchors(0)
    assert anchors(0) != anchors(1)


def test_there_are_no_more_anchors_than_items():
    kernel = RBFKernel.drawn(np.array([[0.0], [2.0], [6.0]]), 10, np.random.default_rng(0))

    assert sorted(kernel.anchors.ravel()) == [0, 2, 6]
    assert kernel.bandwidth == 4


def test_a_bandwidth_that_is_given_is_kept():
    kernel = RBFKernel.drawn(np.eye(4), 3, np.random.default_rng(0), bandwidth=2.5)

    assert kernel.bandwidth == 2.5


@pytest.mark.parametrize("x", [np.eye(3)[:1], np.ones((5, 2))], ids=["one anchor", "all alike"])
def test_where_no_distance_tells_the_bandwidth_is_one(x):
    assert RBFKernel.drawn(x, 4, np.random.default_rng(0)).bandwidth == 1


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_a_sparse_view_is_left_as_it_was_even_with_entries_in_two_parts(make):
    x = make((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    kernel = RBFKernel(np.array([[1.0, 1.0]]), bandwidth=3.0)
    expected = features([[3.0, 0.0], [0.0, 5.0]], kernel.anchors, 3.0)

    assert np.allclose(kernel(x), expected)
    assert x.data.tolist() == [1, 2, 5]
