"""The chosen penalty against a plain search over the whole grid."""

import numpy as np
import pytest

from omhash.learning.moments import Moments
from omhash.learning.regularisation import best_theta

GRID = [10.0 ** (step / 2) for step in range(-16, 31)]


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


def chosen(x, y, center=True):
    return best_theta(Moments.zeros(x.shape[1], y.shape[1]).added(x, y), center=center)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("noise", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_no_penalty_of_the_grid_is_clearly_better(center, noise, scale):
    x, y = drawn(0, 120, 30, noise, scale)

    theta = chosen(x, y, center=center)

    best = min(generalised_error(x, y, other, center) for other in GRID)
    assert generalised_error(x, y, theta, center) <= 1.02 * best
    assert min(abs(np.log10(theta / other)) for other in GRID) < 1e-9


def test_more_noise_asks_for_more_penalty():
    thetas = [chosen(*drawn(1, 120, 30, noise)) for noise in (0.05, 0.5, 5.0)]

    assert thetas[0] < thetas[1] < thetas[2]


@pytest.mark.parametrize("n", [200, 500, 1500])
@pytest.mark.parametrize("noise", [0.5, 5.0])
@pytest.mark.parametrize("n_targets", [3, 30])
def test_for_wide_features_an_estimate_chooses_nearly_as_well(n, noise, n_targets):
    rng = np.random.default_rng(n)
    x, _ = drawn(6, n, 400, noise)
    y = x @ rng.standard_normal((400, n_targets)) + noise * rng.standard_normal((n, n_targets))

    theta = chosen(x, y)

    best = min(generalised_error(x, y, other, True) for other in GRID)
    assert generalised_error(x, y, theta, True) <= 1.2 * best


def test_what_was_forgotten_leaves_no_trace_in_the_choice():
    for width in (20, 300):
        x, y = drawn(2, 150, width, 1.0)
        more, targets = drawn(3, 400, width, 30.0)
        seen = Moments.zeros(width, 3).added(x, y)
        forgot = seen.added(more, targets).subtracted(more, targets)

        assert best_theta(forgot, center=True) == best_theta(seen, center=True)


def test_wide_features_of_low_rank_are_no_trouble():
    rng = np.random.default_rng(7)
    x = np.tile(rng.standard_normal((100, 3)), (1, 100))
    y = x[:, :2] + 0.1 * rng.standard_normal((100, 2))

    best = min(generalised_error(x, y, other, True) for other in GRID)
    assert generalised_error(x, y, chosen(x, y), True) <= 1.01 * best


def test_fewer_items_than_features_keep_a_penalty_that_leaves_something_over():
    x, y = drawn(3, 25, 80, 0.3)

    ridge = Moments.zeros(80, 3).added(x, y).ridge(chosen(x, y), center=True)

    assert ridge.freedom <= 0.92 * len(x)
    assert np.isfinite(ridge.variances).all()
    assert np.all(ridge.variances > 0)


def test_pure_noise_is_hardly_followed():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((200, 20)), rng.standard_normal((200, 3))

    ridge = Moments.zeros(20, 3).added(x, y).ridge(chosen(x, y), center=True)

    assert ridge.freedom < 2


@pytest.mark.parametrize("width", [4, 300])
def test_without_items_there_is_still_an_answer(width):
    theta = best_theta(Moments.zeros(width, 2), center=True)

    assert 0 < theta < np.inf


@pytest.mark.parametrize("width", [2, 300])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_features_that_say_nothing_predict_the_mean(width, value):
    x, y = np.full((10, width), value), np.arange(10.0).reshape(-1, 1)
    moments = Moments.zeros(width, 1).added(x, y)

    ridge = moments.ridge(best_theta(moments, center=True), center=True)

    assert np.allclose((x - ridge.mean) @ ridge.weights + ridge.target_mean, 4.5)
