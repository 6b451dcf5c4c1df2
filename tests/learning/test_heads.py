"""Outputs of a modality: what they are, that no batch changes them, and what is refused."""

import numpy as np
import pytest
from scipy import sparse

from omhash.errors import ViewError
from omhash.learning.heads import Head, fused, gaps, in_blocks, outputs
from omhash.learning.kernels import RBFKernel
from omhash.learning.moments import Moments


def ridge_of(width, n_targets, seed=0, sketch=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((400, width)) + 1
    y = x[:, :1] + rng.standard_normal((400, n_targets))
    return Moments.zeros(width, n_targets).added(x, y).ridge(2.0, center=True, sketch=sketch)


def head_of(width, n_targets, dtype=np.float32, sketch=0):
    ridge = ridge_of(width, n_targets, sketch=sketch)
    return Head.of(ridge, ridge.sketch if sketch else None, 400, dtype)


FORMS = {
    "float32": lambda x: x.astype(np.float32),
    "float64": np.asarray,
    "float16": lambda x: x.astype(np.float16),
    "columns first": lambda x: np.asfortranarray(x.astype(np.float32)),
    "every second": lambda x: np.repeat(x.astype(np.float32), 2, axis=1)[:, ::2],
    "sparse": lambda x: sparse.csr_array(np.where(x > 0.5, x, 0)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("width", "n_targets", "with_kernel"),
    [(1, 3, False), (130, 48, False), (600, 33, False), (40, 24, True)],
)
def test_an_items_outputs_are_the_same_bits_in_every_batch(
    form, dtype, width, n_targets, with_kernel
):
    rng = np.random.default_rng(1)
    x = FORMS[form](rng.standard_normal((530, width)))
    kernel = RBFKernel(rng.standard_normal((width, width)), 5.0) if with_kernel else None
    head = head_of(width, n_targets, dtype)
    whole, _ = outputs("a", x, head, kernel)

    alone = [outputs("a", x[i : i + 1], head, kernel)[0][0] for i in range(0, 530, 23)]
    parts = [outputs("a", x[s], head, kernel)[0] for s in (slice(0, 3), slice(3, 530))]

    assert np.array_equal(alone, whole[::23])
    assert np.array_equal(np.vstack(parts), whole)


@pytest.mark.parametrize("form", FORMS)
def test_outputs_are_the_regressions_predictions_and_the_further_columns(form):
    x = FORMS[form](np.random.default_rng(2).standard_normal((300, 20)))
    plain = (x.toarray() if sparse.issparse(x) else x).astype(np.float64)
    ridge = ridge_of(20, 3, sketch=4)
    head = Head.of(ridge, ridge.sketch, 400, np.float64)

    found, present = outputs("a", x, head, None)

    centred = plain - ridge.mean
    assert present.all()
    assert head.theta == 2.0
    assert np.allclose(found[:, : head.n_targets], centred @ ridge.weights + ridge.target_mean)
    assert np.allclose(found[:, head.n_targets :], centred @ ridge.sketch)


def test_float32_outputs_are_close_to_float64_ones():
    x = np.random.default_rng(3).standard_normal((10, 50))

    narrow, _ = outputs("a", x, head_of(50, 8), None)
    wide, _ = outputs("a", x, head_of(50, 8, np.float64), None)

    assert narrow.dtype == np.float32
    assert np.allclose(narrow, wide, atol=1e-5)


def test_a_kernel_stands_in_front():
    x = np.random.default_rng(4).standard_normal((6, 2))
    kernel = RBFKernel(np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), 1.5)
    head = head_of(3, 2, np.float64)

    found, _ = outputs("a", x, head, kernel)

    assert np.allclose(found, kernel(x) @ head.matrix + head.offset)


@pytest.mark.parametrize("with_kernel", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_missing_rows_are_absent_and_change_nothing_for_others(make, with_kernel):
    x = np.random.default_rng(5).standard_normal((5, 3))
    kernel = RBFKernel(np.eye(3), 1.0) if with_kernel else None
    holed = x.copy()
    holed[[1, 4]] = np.nan

    found, present = outputs("a", make(holed), head_of(3, 2), kernel)

    assert present.tolist() == [True, False, True, True, False]
    assert np.isfinite(found).all()
    assert np.array_equal(found[present], outputs("a", make(x), head_of(3, 2), kernel)[0][present])


@pytest.mark.parametrize("with_kernel", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("bad", [[np.inf, 1, 1], [np.inf, -np.inf, 0], [np.nan, 1, 1]])
def test_values_that_are_not_finite_are_refused(make, with_kernel, bad):
    x = np.vstack([np.ones((300, 3)), [bad]])
    kernel = RBFKernel(np.eye(3), 1.0) if with_kernel else None

    with pytest.raises(ViewError, match="modality 'sound', row 300: NaN or infinity"):
        outputs("sound", make(x), head_of(3, 2), kernel)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("size", [1e300, 3e38])
def test_values_too_large_for_the_outputs_are_refused(make, size):
    x = np.ones((3, 4))
    x[2] = size
    head = head_of(4, 2)
    loud = Head(
        head.matrix * 100, head.offset, head.n_targets, head.variances, head.leverage, head.theta
    )

    with pytest.raises(ViewError, match="modality 'sound', row 2: values too large for float32"):
        outputs("sound", make(x), loud, None)


def test_no_items_have_no_outputs():
    for x in (np.zeros((0, 3)), sparse.csr_array((0, 3))):
        found, present = outputs("a", x, head_of(3, 2), None)
        assert found.shape == (0, 2)
        assert present.shape == (0,)


def test_error_variances_grow_with_leverage_and_are_the_ridges_at_the_ordinary_one():
    ridge = ridge_of(6, 2, sketch=5)
    head = Head.of(ridge, ridge.sketch, 400, np.float64)
    ordinary = np.sqrt(ridge.freedom / 400)
    values = np.zeros((3, 7))
    values[1, 2] = ordinary
    values[2, 2:4] = [3.0, 4.0]

    found = head.variances_at(values)

    assert head.leverage == pytest.approx(ridge.freedom / 400)
    assert np.allclose(found[0], ridge.variances / (1 + head.leverage))
    assert np.allclose(found[1], ridge.variances)
    assert np.allclose(found[2], ridge.variances * 26 / (1 + head.leverage))


@pytest.fixture
def two_modalities():
    """Two heads of two targets and two further columns, and outputs for three items."""
    nothing = np.zeros(4)
    heads = {
        name: Head(np.zeros((1, 4)), nothing, 2, np.array(variances), 0.5, 1.0, gap)
        for name, variances, gap in (("a", [0.1, 0.2], 1.0), ("b", [0.3, 0.1], 0.5))
    }
    a = np.array([[1.0, 2.0, 0.5, -0.5], [0.0, 1.0, 2.0, 0.0], [3.0, 1.0, 0.0, 1.0]])
    b = np.array([[2.0, 0.0, 1.0, 2.0], [1.0, 1.0, -1.0, 0.0], [9.0, 9.0, 9.0, 9.0]])
    found = {"a": (a, np.array([True, True, True])), "b": (b, np.array([True, True, False]))}
    return found, heads


def test_gaps_are_sums_of_sizes_of_the_further_columns(two_modalities):
    values, present = gaps(*two_modalities)

    assert values.tolist() == [[1, 3], [2, 1], [1, 18]]
    assert present.tolist() == [[True, True], [True, True], [True, False]]


WEIGHTS = {
    # h_max is 3: that of the absent modality does not count.
    "published": [[2, 0], [1, 2], [2, 0]],
    "calibrated": [[4, 2], [3, 4], [4, 0]],
    "equal": [[1, 1], [1, 1], [1, 0]],
}


@pytest.mark.parametrize("mean", [True, False])
@pytest.mark.parametrize("rule", WEIGHTS)
def test_fused_targets_are_weighted_sums_or_means(two_modalities, rule, mean):
    found, heads = two_modalities
    weights = np.array(WEIGHTS[rule], dtype=float)
    wanted = weights[:, :1] * found["a"][0][:, :2] + weights[:, 1:] * found["b"][0][:, :2]
    if mean:
        wanted /= weights.sum(axis=1, keepdims=True)
    prior = np.zeros(2), np.ones(2)

    values = fused(rule, found, heads, prior=prior, mean=mean)

    assert np.allclose(values, wanted)


def test_a_mean_with_no_weight_at_all_is_zero(two_modalities):
    found, heads = two_modalities
    one = {"b": (found["b"][0][:1], found["b"][1][:1])}
    prior = np.zeros(2), np.ones(2)

    values = fused("published", one, heads, prior=prior, mean=True)

    assert values.tolist() == [[0, 0]]


def test_fusion_by_precision_uses_each_items_own_variances(two_modalities):
    found, heads = two_modalities
    mean, spread = np.array([0.5, 0.25]), np.array([4.0, 9.0])
    wanted = np.zeros((3, 2))
    for item in range(3):
        precision, evidence = 1 / spread, mean / spread
        for name, (values, present) in found.items():
            if present[item]:
                own = heads[name].variances * (1 + np.square(values[item, 2:]).sum()) / 1.5
                precision = precision + 1 / own - 1 / spread
                evidence = evidence + values[item, :2] / own - mean / spread
        wanted[item] = evidence / precision

    values = fused("precision", found, heads, prior=(mean, spread), mean=False)

    assert np.allclose(values, wanted)


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 600])
def test_blocks_join_to_what_the_function_gives_row_by_row(count):
    x = np.arange(2.0 * count).reshape(count, 2)

    found = in_blocks(lambda rows: rows + 1, x)

    assert np.array_equal(found, x + 1)
