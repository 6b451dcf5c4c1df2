"""The rules of fusion, by hand and by their properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from omhash.learning.modality_weights import calibrated, equal, precision_fusion, published

numbers = st.floats(-3, 3)
variances = st.one_of(st.floats(0.01, 5), st.just(np.inf))


def test_published_weights_are_relative_to_the_largest_gap_of_the_batch():
    gaps = np.array([[1.0, 3.0], [2.0, 9.0], [0.5, 5.0]])
    present = np.array([[True, True], [True, False], [True, True]])

    # The gap of 9 is that of a modality which is not there.
    assert published(gaps, present).tolist() == [[4, 2], [3, 0], [4.5, 0]]


def test_published_weights_change_with_the_batch():
    gaps, present = np.array([[1.0, 3.0], [2.0, 9.0]]), np.ones((2, 2), dtype=bool)

    assert published(gaps, present)[0].tolist() == [8, 6]
    assert published(gaps[:1], present[:1])[0].tolist() == [2, 0]


def test_published_weights_of_no_items_are_none():
    assert published(np.zeros((0, 2)), np.zeros((0, 2), dtype=bool)).shape == (0, 2)


def test_calibrated_weights_are_relative_to_the_gap_that_was_kept():
    gaps = np.array([[1.0, 3.0], [8.0, 9.0], [2.0, 1.0]])
    present = np.array([[True, True], [True, True], [True, False]])

    weights = calibrated(gaps, present, 4.0)

    # A gap beyond the kept one counts a thousandth of it.
    assert np.allclose(weights, [[3, 1], [0.004, 0.004], [2, 0]])
    assert np.array_equal(calibrated(gaps[1:2], present[1:2], 4.0), weights[1:2])


def test_equal_weights_are_one_where_there_is_a_modality():
    assert equal(np.array([[True, False], [True, True]])).tolist() == [[1, 0], [1, 1]]


def test_precision_fusion_by_hand():
    # Prior N(1, 2); evidence 3 with variance 1/2 and -1 with variance 1.
    # Precision 1/2 + (2 - 1/2) + (1 - 1/2) = 5/2; mean (1/2 + (6 - 1/2) + (-1 - 1/2)) / (5/2).
    fused, variance = precision_fusion(
        [np.array([[3.0]]), np.array([[-1.0]])],
        [np.array([[0.5]]), np.array([[1.0]])],
        np.array([1.0]),
        np.array([2.0]),
    )

    assert fused.item() == pytest.approx(4.5 / 2.5)
    assert variance.item() == pytest.approx(0.4)


def test_precision_fusion_is_the_posterior_of_independent_measurements():
    """Each modality knows the posterior of its own measurement; together they know that of all."""
    rng = np.random.default_rng(0)
    mean, spread = np.array([0.3, -1.0]), np.array([0.8, 1.5])
    measured = rng.standard_normal((3, 5, 2))
    noise = np.array([0.5, 1.0, 2.0])[:, None, None] * np.ones((3, 5, 2))

    def posterior(which):
        precision = 1 / spread + (1 / noise[which]).sum(axis=0)
        evidence = mean / spread + (measured[which] / noise[which]).sum(axis=0)
        return evidence / precision, 1 / precision

    alone = [posterior([m]) for m in range(3)]
    fused, variance = precision_fusion([f for f, _ in alone], [v for _, v in alone], mean, spread)

    assert np.allclose(fused, posterior([0, 1, 2])[0])
    assert np.allclose(variance, posterior([0, 1, 2])[1])


@st.composite
def evidence(draw):
    n, k, m = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 4))
    return (
        draw(npst.arrays(float, (m, n, k), elements=numbers)),
        draw(npst.arrays(float, (m, n, k), elements=variances)),
        draw(npst.arrays(float, k, elements=numbers)),
        draw(npst.arrays(float, k, elements=st.floats(0.01, 5))),
    )


@given(evidence())
def test_the_order_of_modalities_does_not_matter(given_evidence):
    predictions, errors, mean, spread = given_evidence

    one = precision_fusion(list(predictions), list(errors), mean, spread)
    other = precision_fusion(list(predictions[::-1]), list(errors[::-1]), mean, spread)

    assert np.allclose(one, other, rtol=1e-9, atol=1e-9)


@given(evidence())
def test_a_missing_modality_is_as_if_it_were_left_out(given_evidence):
    predictions, errors, mean, spread = given_evidence
    nothing = np.full_like(errors[0], np.inf)

    with_it = precision_fusion(
        [*predictions, np.full_like(predictions[0], 7)], [*errors, nothing], mean, spread
    )
    without = precision_fusion(list(predictions), list(errors), mean, spread)

    assert np.array_equal(with_it, without)


@given(evidence())
def test_evidence_never_makes_less_certain_than_the_prior(given_evidence):
    _, variance = precision_fusion(*map(list, given_evidence[:2]), *given_evidence[2:])

    assert np.all(variance <= given_evidence[3] * (1 + 1e-12))


def test_without_any_evidence_the_prior_is_the_answer():
    fused, variance = precision_fusion(
        [np.zeros((2, 1))], [np.full((2, 1), np.inf)], np.array([0.25]), np.array([0.5])
    )

    assert np.allclose(fused, 0.25)
    assert np.allclose(variance, 0.5)


def test_a_modality_that_knows_less_than_the_prior_counts_as_much_as_the_prior():
    fused, variance = precision_fusion(
        [np.array([[0.9]])], [np.array([[7.0]])], np.array([0.5]), np.array([0.2])
    )

    assert fused.item() == pytest.approx(0.9)
    assert variance.item() == pytest.approx(0.2)


def test_an_exact_prediction_is_believed():
    fused, _ = precision_fusion(
        [np.array([[0.9]]), np.array([[0.1]])],
        [np.array([[0.0]]), np.array([[0.5]])],
        np.array([0.5]),
        np.array([1.0]),
    )

    assert fused.item() == pytest.approx(0.9, abs=1e-5)
