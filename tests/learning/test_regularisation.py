"""The chosen penalty against a plain search over the whole grid."""

import numpy as np
import pytest

from omhash.learning.moments import Moments
from omhash.learning.regularisation import best_ridge

GRID = [10.0 ** (step / 2) for step in range(-12, 31)]


def drawn(seed, n, d, noise, scale=1.0):
    rng = np.random.default_rng(seed)
    spectrum = np.geomspace(1, 0.01, d)
    x = scale * (rng.standard_normal((n, d)) * spectrum + 1)
    y = x / scale @ rng.standard_normal((d, 3)) + noise * rng.standard_normal((n, 3))
    return x, y


def generalised_error(x, y, theta, center):
    """Generalised cross-validation, with the exact hat matrix."""
    x, y = (x - x.mean(axis=0), y - y.mean(axis=0)) if center else (x, y)
    hat = x @ np.linalg.solve(x.T @ x + theta * np.eye(x.shape[1]), x.T)
    return len(x) * np.square(y - hat @ y).sum() / (len(x) - np.trace(hat) - center) ** 2


def chosen(x, y, start=None, center=True):
    moments = Moments.zeros(x.shape[1], y.shape[1]).added(x, y)
    return best_ridge(moments, center=center, start=start)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_no_penalty_of_the_grid_is_clearly_better(center, noise, scale):
    x, y = drawn(0, 120, 30, noise, scale)

    theta = chosen(x, y, center=center).theta

    best = min(generalised_error(x, y, other, center) for other in GRID)
    assert generalised_error(x, y, theta, center) <= 1.02 * best
    assert min(abs(np.log10(theta / other)) for other in GRID) < 1e-9


def test_more_noise_asks_for_more_penalty():
    thetas = [chosen(*drawn(1, 120, 30, noise)).theta for noise in (0.05, 0.5, 5.0)]

    assert thetas[0] < thetas[1] < thetas[2]


@pytest.mark.parametrize("start", [1e-9, 1e-3, 1.0, 3e2, 1e6, 1e20])
@pytest.mark.parametrize("shape", [(150, 20), (30, 60)])
def test_where_the_search_starts_does_not_matter(start, shape):
    x, y = drawn(2, *shape, 1.0)

    assert chosen(x, y, start=start).theta == chosen(x, y).theta


def test_fewer_items_than_features_keep_a_penalty_that_leaves_something_over():
    x, y = drawn(3, 25, 80, 0.3)

    ridge = chosen(x, y)

    assert ridge.freedom <= 0.9 * len(x)
    assert np.isfinite(ridge.variances).all()
    assert np.all(ridge.variances > 0)


def test_pure_noise_is_hardly_followed():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((200, 20)), rng.standard_normal((200, 3))

    assert chosen(x, y).freedom < 2


def test_a_sketch_that_is_asked_for_is_there():
    x, y = drawn(5, 40, 6, 1.0)

    assert best_ridge(Moments.zeros(6, 3).added(x, y), center=True, sketch=7).sketch.shape == (6, 7)


@pytest.mark.parametrize("start", [None, 1.0])
def test_without_items_there_is_still_an_answer(start):
    ridge = best_ridge(Moments.zeros(4, 2), center=True, start=start)

    assert not ridge.weights.any()
    assert np.isfinite(ridge.theta)


@pytest.mark.parametrize("x", [np.zeros((10, 2)), np.ones((10, 2))], ids=["zero", "constant"])
def test_features_that_say_nothing_predict_the_mean(x):
    y = np.arange(10.0).reshape(-1, 1)

    ridge = chosen(x, y)

    assert np.allclose((x - ridge.mean) @ ridge.weights + ridge.target_mean, 4.5)
