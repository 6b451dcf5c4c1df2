"""Statistics against plain sums, and the regression against plain solves."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omhash.errors import InputError
from omhash.learning.moments import Moments
from strategies import matrices, seeds

SUMS = ("x_sum", "y_sum", "xy", "yy")


def moments_of(x, y):
    return Moments.zeros(x.shape[1], y.shape[1]).added(x, y)


def assert_close(found, wanted, tolerance=1e-12):
    assert found.count == wanted.count
    for name in SUMS:
        assert np.allclose(getattr(found, name), getattr(wanted, name), tolerance, tolerance)
    assert np.allclose(found.mirrored(), wanted.mirrored(), tolerance, tolerance)


def assert_same(found, wanted):
    one, other = found.to_state("m"), wanted.to_state("m")
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.array_equal(value, other[name])


def drawn(seed, n, d, k):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return x, x[:, :1] + rng.standard_normal((n, k))


@given(st.data(), st.integers(0, 8), st.integers(1, 5), st.integers(0, 3))
def test_sums_are_those_of_the_items(data, n, d, k):
    x, plain_x = data.draw(matrices(n, d))
    x = sparse.csr_array(x) if sparse.issparse(x) else x
    y = data.draw(st.sampled_from([np.asarray, sparse.csr_array]))(
        np.random.default_rng(n).integers(-2, 3, (n, k)).astype(float)
    )
    plain_y = y.toarray() if sparse.issparse(y) else y

    found = moments_of(x, y)

    # All numbers are small multiples of 1/4, so sums are exact.
    assert found.count == n
    assert np.array_equal(found.x_sum, plain_x.sum(axis=0))
    assert np.array_equal(found.y_sum, plain_y.sum(axis=0))
    assert np.array_equal(found.mirrored(), plain_x.T @ plain_x)
    assert np.array_equal(found.xy, plain_x.T @ plain_y)
    assert np.array_equal(found.yy, plain_y.T @ plain_y)


@given(seeds, st.integers(0, 6), st.integers(0, 6), st.sampled_from([np.asarray, sparse.csr_array]))
def test_parts_add_up_merge_and_are_forgotten(seed, n, more, make):
    x, y = drawn(seed, n + more, 3, 2)
    whole = moments_of(make(x), y)
    first, rest = moments_of(make(x[:n]), y[:n]), moments_of(make(x[n:]), y[n:])

    assert_close(first.added(make(x[n:]), y[n:]), whole)
    assert_close(first.merged(rest), whole)
    assert_close(rest.merged(first), whole)
    assert_close(whole.subtracted(make(x[n:]), y[n:]), first)
    assert_same(first, moments_of(make(x[:n]), y[:n]))


def test_what_is_forgotten_leaves_the_same_regression():
    x, y = drawn(0, 300, 12, 3)
    remembered = moments_of(x[:200], y[:200])

    forgotten = moments_of(x, y).subtracted(x[200:], y[200:])

    found, wanted = (m.ridge(1.0, center=True) for m in (forgotten, remembered))
    assert np.allclose(found.weights, wanted.weights, rtol=1e-9)
    assert np.allclose(found.variances, wanted.variances, rtol=1e-9)


def test_more_cannot_be_forgotten_than_was_learned():
    x, y = drawn(0, 3, 2, 1)

    with pytest.raises(InputError, match="3 items are to be forgotten, and only 2 were learned"):
        moments_of(x[:2], y[:2]).subtracted(x, y)


@pytest.mark.parametrize("shape", [(3, 1), (2, 2)])
def test_moments_of_other_shapes_cannot_be_merged(shape):
    with pytest.raises(InputError, match="cannot be merged"):
        Moments.zeros(2, 1).merged(Moments.zeros(*shape))


def test_a_target_that_comes_later_was_zero_before():
    x, y = drawn(1, 9, 3, 2)
    late = np.column_stack([y, np.zeros(9)])

    assert_same(moments_of(x, y).widened(3), moments_of(x, late))


def test_bytes_are_those_of_the_arrays():
    assert Moments.zeros(10, 3).nbytes == 8 * (10 + 3 + 100 + 30 + 9)


def test_a_view_of_many_blocks_is_summed_whole():
    n = (1 << 22) + 3
    x = (np.arange(n) % 5).astype(np.int8).reshape(-1, 1)

    found = moments_of(x, np.ones((n, 1)))

    numbers = x.ravel().astype(np.int64)
    assert found.count == n
    assert found.xy.item() == numbers.sum()
    assert found.mirrored().item() == (numbers**2).sum()


def test_a_wide_sparse_view_is_never_made_dense():
    x = sparse.random_array((40_000, 1000), density=1e-3, rng=np.random.default_rng(0)).tocsr()
    y = sparse.csr_array(np.ones((40_000, 1)))
    empty = Moments.zeros(1000, 1)

    tracemalloc.start()
    found = empty.added(x, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert peak < 8 * x.shape[0] * x.shape[1] / 4
    assert np.allclose(found.mirrored(), (x.T @ x).toarray())


def test_float32_items_are_summed_as_exactly_as_the_same_numbers_in_float64():
    x, y = drawn(2, 500, 20, 2)
    x = x.astype(np.float32)

    assert_same(moments_of(x, y), moments_of(x.astype(np.float64), y))


def test_float32_sums_would_lose_what_theta_works_on():
    """Nearly dependent features, as deep ones are: the reason for float64 sums."""
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((5000, 3)) @ rng.standard_normal((3, 40)) * 30).astype(np.float32)
    x += rng.standard_normal(x.shape).astype(np.float32) * 0.02
    y = rng.standard_normal((5000, 1))
    exact = x.astype(np.longdouble)
    gram, cross = (exact.T @ exact).astype(float), (exact.T @ y).astype(float)
    wanted = np.linalg.solve(gram + np.eye(40), cross)

    def error(weights):
        return np.abs(weights - wanted).max() / np.abs(wanted).max()

    ours = error(moments_of(x, y).ridge(1.0, center=False).weights)
    narrow = error(np.linalg.solve((x.T @ x).astype(float) + np.eye(40), cross))

    assert ours < 1e-6
    assert narrow > 1e3 * ours


def plain_ridge(x, y, theta, center):
    x = x - x.mean(axis=0) if center else x
    gram = x.T @ x + theta * np.eye(x.shape[1])
    return x, gram, np.linalg.solve(gram, x.T @ (y - y.mean(axis=0) if center else y))


both = pytest.mark.parametrize("center", [True, False])


@both
@given(seeds, st.integers(1, 30), st.integers(1, 8), st.sampled_from([1e-2, 1.0, 30.0]))
def test_weights_are_those_of_a_plain_ridge(center, seed, n, d, theta):
    x, y = drawn(seed, n, d, 2)

    ridge = moments_of(x, y).ridge(theta, center=center)

    assert ridge.theta == theta
    assert ridge.auxiliary is None
    assert np.allclose(ridge.weights, plain_ridge(x, y, theta, center)[2], rtol=1e-6, atol=1e-8)
    assert np.allclose(ridge.mean, x.mean(axis=0) if center else 0)
    assert np.allclose(ridge.target_mean, y.mean(axis=0) if center else 0)


@both
@pytest.mark.parametrize("delta", [2.0, 0.3])
def test_the_auxiliary_is_the_regression_of_what_the_weights_leave_over(center, delta):
    x, y = drawn(4, 50, 6, 3)
    centred, _, weights = plain_ridge(x, y, 2.0, center)
    gram, cross = centred.T @ centred, centred.T @ y
    wanted = np.linalg.solve(gram + delta * np.eye(6), cross - gram @ weights)

    ridge = moments_of(x, y).ridge(2.0, center=center, delta=delta)

    assert np.allclose(ridge.auxiliary, wanted)


@both
def test_freedom_estimates_the_trace_of_the_hat_matrix(center):
    x, y = drawn(5, 80, 40, 1)
    centred, gram, _ = plain_ridge(x, y, 20.0, center)
    inverse = np.linalg.inv(gram)
    exact = np.trace(centred @ inverse @ centred.T)
    off_diagonal = 20.0 * (inverse - np.diag(inverse.diagonal()))
    deviation = np.sqrt(2 * np.square(off_diagonal).sum() / 32)

    assert moments_of(x, y).ridge(20.0, center=center).freedom == pytest.approx(
        exact, abs=4 * deviation
    )


@both
def test_variances_are_generalised_cross_validation(center):
    x, y = drawn(6, 60, 10, 3)
    centred, _, weights = plain_ridge(x, y, 3.0, center)
    left = (y - y.mean(axis=0) if center else y) - centred @ weights

    ridge = moments_of(x, y).ridge(3.0, center=center)

    freedom = ridge.freedom + center
    assert np.allclose(ridge.variances, 60 * np.square(left).sum(axis=0) / (60 - freedom) ** 2)


@both
def test_variances_are_the_error_on_items_left_out(center):
    x, y = drawn(7, 150, 15, 3)
    errors = []
    for item in range(150):
        others = np.arange(150) != item
        ridge = moments_of(x[others], y[others]).ridge(5.0, center=center)
        errors.append((x[item] - ridge.mean) @ ridge.weights + ridge.target_mean - y[item])

    found = moments_of(x, y).ridge(5.0, center=center).variances

    assert np.allclose(found, np.square(errors).mean(axis=0), rtol=0.05)


@both
def test_many_columns_of_sketch_give_the_leverage(center):
    x, y = drawn(8, 60, 8, 1)
    centred, gram, _ = plain_ridge(x, y, 2.0, center)
    leverage = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(gram), centred)

    ridge = moments_of(x, y).ridge(2.0, center=center, sketch=20_000)

    assert ridge.sketch.shape == (8, 20_000)
    assert np.allclose(np.square((x - ridge.mean) @ ridge.sketch).sum(axis=1), leverage, rtol=0.06)


def test_without_items_nothing_is_predicted_and_nothing_is_known():
    ridge = Moments.zeros(3, 2).ridge(1.0, center=True, sketch=2)

    assert not ridge.weights.any()
    assert not ridge.target_mean.any()
    assert np.isinf(ridge.variances).all()


@both
def test_solving_leaves_the_sums_as_they_were(center):
    x, y = drawn(9, 30, 300, 1)
    moments, untouched = moments_of(x, y), moments_of(x, y)

    moments.ridge(1.0, center=center, delta=2.0, sketch=3)

    assert_same(moments, untouched)


@pytest.mark.parametrize("theta", [1e-12, -1.0])
def test_a_penalty_that_cannot_be_resolved_is_refused_and_the_sums_stay(theta):
    x = np.repeat(np.random.default_rng(0).standard_normal((20, 1)) * 1e6, 3, axis=1)
    y = np.ones((20, 1))
    moments = moments_of(x, y)

    with pytest.raises(InputError, match=f"theta={theta:g} cannot be resolved"):
        moments.ridge(theta, center=False)

    assert_same(moments, moments_of(x, y))


@given(seeds, st.integers(0, 5), st.integers(1, 6), st.integers(0, 3))
def test_a_state_brings_the_moments_back_bit_for_bit(seed, n, d, k):
    x, y = drawn(seed, n, d, 1)
    moments = moments_of(x, np.repeat(y, k, axis=1))

    state = moments.to_state("some.name")
    back = Moments.from_state("some.name", state)

    assert_same(back, moments)
    assert np.array_equal(back.mirrored(), moments.mirrored())
    assert not any(np.shares_memory(value, moments.xy) for value in state.values())


def test_a_state_that_is_not_whole_is_refused():
    whole = moments_of(*drawn(0, 5, 3, 2)).to_state("m")
    for name, value in whole.items():
        with pytest.raises(KeyError):
            Moments.from_state("m", {key: whole[key] for key in whole if key != name})
        if name != "m.count":
            with pytest.raises(ValueError, match=r"m has arrays of shapes|unpack"):
                Moments.from_state("m", {**whole, name: value.ravel()[:-1]})
