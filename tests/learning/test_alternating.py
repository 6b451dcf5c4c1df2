"""What the alternating methods share, against plain computation."""

import numpy as np

from omhash.learning.alternating import RoundRegression
from omhash.learning.growing import more_directions, unexplained
from omhash.learning.latent import authors_balanced_factor, balanced_factor
from omhash.learning.modality_weights import agreed
from omhash.learning.moments import Moments, solved
from omhash.learning.similarity import similar

RNG = np.random.default_rng(0)


def test_similarity_is_that_of_all_pairs():
    labels = (RNG.random((30, 5)) < 0.3).astype(float)
    values = RNG.standard_normal((30, 4))
    pairs = 2 * labels @ labels.T - 1

    assert np.allclose(similar(labels, values), pairs @ values)


def test_a_rounds_regression_is_that_of_all_rows():
    old, new = RNG.standard_normal((40, 6)), RNG.standard_normal((25, 6))
    known, targets = RNG.standard_normal((40, 3)), RNG.standard_normal((30, 3))
    rows = np.arange(5, 30)  # the first five items lack the modality
    one = RoundRegression.of(Moments.zeros(6, 3).added(old, known), new, rows)
    every, wanted = np.vstack([old, new]), np.vstack([known, targets[rows]])
    gram = every.T @ every + 0.5 * np.eye(6)
    plain = np.linalg.solve(gram, every.T @ wanted)

    with one.grown.factored(0.5) as factor:
        weights = solved(factor, one.cross(targets))
        ridge = one.moments(targets).ridge(0.5, center=False, delta=0.5, factor=factor)

    assert np.allclose(weights, plain)
    assert np.allclose(ridge.weights, plain)
    assert np.allclose(
        ridge.auxiliary, 0.5 * np.linalg.solve(every.T @ every + 0.5 * np.eye(6), plain)
    )
    whole, added = one.moments(targets), Moments.zeros(6, 3).added(every, wanted)
    for name in ("x_sum", "y_sum", "xy", "yy"):
        assert np.allclose(getattr(whole, name), getattr(added, name)), name
    assert np.allclose(whole.mirrored(), added.mirrored())
    predicted = one.predicted(weights, 30)
    assert np.allclose(predicted[rows], new @ weights)
    assert not predicted[:5].any()


def test_the_balanced_factor_is_the_nearest_one():
    wanted = RNG.standard_normal((50, 4)) @ np.diag([5.0, 2.0, 1.0, 0.5])
    factor = balanced_factor(wanted)

    assert np.allclose(factor.T @ factor, 50 * np.eye(4))
    assert np.allclose(factor.sum(axis=0), 0)
    assert np.allclose(factor, authors_balanced_factor(wanted, np.random.default_rng(0)))
    for _ in range(20):
        other = balanced_factor(RNG.standard_normal((50, 4)))
        assert (other * wanted).sum() < (factor * wanted).sum()


def test_a_direction_that_nothing_determines_is_left_out_or_random():
    wanted = np.outer(RNG.standard_normal(50), [1.0, 2.0, 0.0])

    assert np.linalg.matrix_rank(balanced_factor(wanted)) == 1
    filled = authors_balanced_factor(wanted, np.random.default_rng(0))
    assert np.allclose(filled.T @ filled, 50 * np.eye(3))
    assert np.allclose(filled.sum(axis=0), 0)


def test_weights_follow_from_agreement_of_each_item_or_of_the_batch():
    predictions = [RNG.standard_normal((6, 8)), RNG.standard_normal((6, 8))]
    start = np.ones((6, 2))
    start[0, 1] = 0  # the item lacks the second modality
    each, _ = agreed(predictions, start, np.reciprocal, n_steps=3, whole=False)

    for row in range(6):
        alone, _ = agreed(
            [own[[row]] for own in predictions], start[[row]], np.reciprocal, n_steps=3, whole=True
        )
        assert np.allclose(each[row], alone[0])
    assert np.allclose(np.sign(each[0]), np.sign(predictions[0][0]))


def test_what_is_left_unexplained_is_what_regression_leaves():
    x = RNG.standard_normal((200, 7)) @ RNG.standard_normal((7, 7))
    weights, directions = np.array([0.3, 0.7]), RNG.standard_normal((7, 2))
    values = x @ (np.repeat(weights, [3, 4])[:, None] * directions)
    left = x - values @ np.linalg.lstsq(values, x, rcond=None)[0]

    found = unexplained(x.T @ x, [3, 4], weights, directions)
    for share, columns in zip(found, (slice(3), slice(3, 7)), strict=True):
        assert np.isclose(share, np.square(left[:, columns]).sum() / np.square(x[:, columns]).sum())


def test_more_directions_explain_what_was_left():
    x = RNG.standard_normal((300, 8)) * [9, 7, 5, 4, 1, 1, 0.1, 0.1]
    gram, weights = x.T @ x, np.array([0.5, 0.5])
    directions = np.zeros((8, 0))
    shares = []
    for _ in range(3):
        more = more_directions(gram, [4, 4], weights, directions, 2, np.random.default_rng(1))
        directions = np.hstack([directions, more])
        shares.append(unexplained(gram, [4, 4], weights, directions).mean())

    assert shares[0] > shares[1] > shares[2]
    # Six independent directions of the eight leave only the two that hardly vary.
    assert shares[2] < 1e-2
