"""Category codes against the formulas, and the properties that they promise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omhash.errors import ParameterError, SemanticsError
from omhash.learning.category_codes import checked_vectors, cooccurrence, hadamard, semantic
from strategies import seeds


def signs(seed, n, n_bits):
    return np.random.default_rng(seed).choice([-1, 1], (n, n_bits)).astype(np.int8)


def plain_semantic(old, old_vectors, new_vectors, n_bits, draws):
    """The paper's formulas, letter by letter."""

    def sign(value):
        return 1.0 if value > 0 else -1.0

    K_n = np.array([v / np.sqrt(sum(v * v)) for v in new_vectors])
    K_o = np.array([v / np.sqrt(sum(v * v)) for v in old_vectors]).reshape(-1, K_n.shape[1])
    C_n = np.array([[sign(value) for value in row] for row in draws.T])
    C_o = old.astype(float)
    for _ in range(5):
        W = np.linalg.pinv(C_n.T @ C_n + C_o.T @ C_o) @ (C_n.T @ K_n + C_o.T @ K_o)
        for j in range(n_bits):
            rest = [b for b in range(n_bits) if b != j]
            for i in range(len(C_n)):
                C_n[i, j] = sign(K_n[i] @ W[j] - C_n[i, rest] @ W[rest] @ W[j])
    return C_n


@given(seeds, st.integers(0, 6), st.integers(1, 20), st.sampled_from([4, 8, 16]))
def test_semantic_codes_follow_the_paper(seed, n_old, n_new, n_bits):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n_old + n_new, 12)) * 3
    old = signs(seed, n_old, n_bits)
    before = old.copy()

    found = semantic(old, vectors[:n_old], vectors[n_old:], n_bits, np.random.default_rng(seed + 1))

    draws = np.random.default_rng(seed + 1).standard_normal((n_bits, n_new))
    wanted = plain_semantic(old, vectors[:n_old], vectors[n_old:], n_bits, draws)
    assert found.dtype == np.int8
    assert np.array_equal(found, wanted)
    assert np.array_equal(old, before)


@given(seeds, st.integers(1, 8))
def test_while_there_are_no_more_categories_than_bits_semantic_codes_are_the_draw(seed, n_new):
    vectors = np.random.default_rng(seed).standard_normal((n_new, 10))
    draws = np.random.default_rng(seed + 1).standard_normal((16, n_new))

    found = semantic(
        np.zeros((0, 16), np.int8),
        np.zeros((0, 10)),
        vectors,
        16,
        np.random.default_rng(seed + 1),
    )

    start = np.where(draws.T > 0, 1, -1)
    # Rows that the draw made alike, or that depend on each other, are all that may change.
    if np.linalg.matrix_rank(start) == n_new:
        assert np.array_equal(found, start)


def test_more_categories_than_bits_are_improved():
    vectors = np.random.default_rng(0).standard_normal((60, 10))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)

    def loss(codes):
        weights = np.linalg.lstsq(codes.astype(float), vectors, rcond=None)[0]
        return np.square(vectors - codes @ weights).sum()

    found = semantic(
        np.zeros((0, 8), np.int8), np.zeros((0, 10)), vectors, 8, np.random.default_rng(1)
    )

    assert loss(found) < 0.9 * loss(np.where(np.random.default_rng(1).random((60, 8)) > 0.5, 1, -1))


def test_no_new_category_needs_no_code():
    empty = np.zeros((0, 3))

    found = semantic(signs(0, 2, 8), np.ones((2, 3)), empty, 8, np.random.default_rng(0))

    assert found.shape == (0, 8)


@pytest.mark.parametrize("n_bits", [8, 16, 64, 1024])
def test_as_many_hadamard_rows_as_bits_are_orthogonal_when_bits_are_a_power_of_two(n_bits):
    rows = hadamard(0, n_bits, n_bits).astype(int)

    assert np.array_equal(rows @ rows.T, n_bits * np.eye(n_bits, dtype=int))


@pytest.mark.parametrize("n_bits", [32, 40, 104])
def test_many_hadamard_rows_are_all_different(n_bits):
    assert len(np.unique(hadamard(0, 3000, n_bits), axis=0)) == 3000


@given(st.integers(0, 300), st.integers(0, 50), st.integers(0, 50), st.sampled_from([8, 24, 64]))
def test_hadamard_rows_are_the_same_however_they_are_asked_for(start, first, second, n_bits):
    whole = hadamard(start, first + second, n_bits)
    parts = [hadamard(start, first, n_bits), hadamard(start + first, second, n_bits)]

    assert set(np.unique(whole)) <= {-1, 1}
    assert np.array_equal(whole, np.vstack(parts))


def test_hadamard_rows_end_somewhere():
    with pytest.raises(ParameterError, match="2\\^30 categories"):
        hadamard(1 << 30, 1, 8)


def together(seed, n_old, n_new):
    """Counts of items that share categories, from random labels, and of each category."""
    rng = np.random.default_rng(seed)
    labels = rng.random((80, n_old + n_new)) < 0.3
    return (labels[:, n_old:].T @ labels.astype(float)), labels.sum(axis=0).astype(float)


def squared_error(codes, counts, totals, n_old):
    """Over all pairs of categories with at least one new; common ones weigh more."""
    total = 0.0
    for i in range(n_old, len(codes)):
        for j in range(i):
            both = counts[i - n_old, j]
            weight = np.sqrt(max(totals[i], 1) * max(totals[j], 1))
            wanted = 0.5 * both / weight
            total += weight * (int(codes[i] @ codes[j]) / codes.shape[1] - wanted) ** 2
    return total


cases = pytest.mark.parametrize(("n_old", "n_new"), [(0, 6), (3, 5), (4, 1), (0, 1)])


@cases
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_single_sign_of_a_cooccurrence_code_could_be_better(n_old, n_new, seed):
    old = signs(seed, n_old, 16)
    counts, totals = together(seed, n_old, n_new)

    found = cooccurrence(old, counts, totals, 16, np.random.default_rng(seed))

    codes = np.vstack([old, found]).astype(int)
    reached = squared_error(codes, counts, totals, n_old)
    assert set(np.unique(found)) <= {-1, 1}
    for i in range(n_old, n_old + n_new):
        for j in range(16):
            flipped = codes.copy()
            flipped[i, j] *= -1
            assert squared_error(flipped, counts, totals, n_old) >= reached - 1e-9


@cases
def test_cooccurrence_codes_are_better_than_any_of_many_draws(n_old, n_new):
    old = signs(0, n_old, 32)
    counts, totals = together(5, n_old, n_new)

    found = cooccurrence(old, counts, totals, 32, np.random.default_rng(0))

    def error(new):
        return squared_error(np.vstack([old, new]).astype(int), counts, totals, n_old)

    assert error(found) <= min(error(signs(seed, n_new, 32)) for seed in range(50))


def test_cooccurrence_codes_are_the_same_for_the_same_draws_and_leave_old_ones_alone():
    old = signs(1, 3, 64)
    before = old.copy()
    counts, totals = together(2, 3, 4)

    one, two = (cooccurrence(old, counts, totals, 64, np.random.default_rng(7)) for _ in range(2))

    assert one.shape == (4, 64)
    assert np.array_equal(one, two)
    assert np.array_equal(old, before)


def test_categories_that_share_items_get_codes_that_are_close():
    counts = np.array([[10.0, 8.0, 0.0, 1.0], [8.0, 10.0, 0.0, 1.0], [0.0, 0.0, 10.0, 1.0]])
    totals = np.array([10.0, 10.0, 10.0, 10.0])
    # The first column is the old category: it shares 8 items with the second new one.
    counts = np.column_stack([[0.0, 8.0, 0.0], counts[:, :3]])
    old = signs(3, 1, 256)

    found = cooccurrence(old, counts, totals, 256, np.random.default_rng(0))

    codes = np.vstack([old, found]).astype(int)
    alike = codes @ codes.T / 256
    assert np.allclose(alike[1, 2], 0.4, atol=0.02)
    assert np.allclose(alike[0, 2], 0.4, atol=0.02)
    assert np.allclose([alike[0, 1], alike[0, 3], alike[1, 3], alike[2, 3]], 0, atol=0.02)


def test_checked_vectors_are_float64():
    found = checked_vectors([[1, 2], [3, 4]], ("a", "b"), 0)

    assert found.dtype == np.float64
    assert found.tolist() == [[1, 2], [3, 4]]
    assert checked_vectors(np.ones((1, 2), np.float32), ("a",), 2).tolist() == [[1, 1]]


REFUSED = {
    "too few": ([[1, 2]], 0, r"shape \(1, 2\) for 2 names: one row a name"),
    "one dimension": ([1, 2], 0, r"shape \(2,\) for 2 names"),
    "another width": ([[1, 2], [3, 4]], 3, "vectors of 2 numbers, and earlier ones have 3"),
    "zero": ([[1, 2], [0, 0]], 0, "the vector of 'b' is zero or not finite"),
    "not a number": ([[np.nan, 2], [1, 1]], 0, "the vector of 'a' is zero or not finite"),
    "infinite": ([[1, 2], [np.inf, 1]], 0, "the vector of 'b' is zero or not finite"),
    "no numbers": (np.zeros((2, 0)), 0, "the vector of 'a' is zero or not finite"),
    "text": ([["x"], ["y"]], 0, "semantics"),
    "ragged": ([[1], [1, 2]], 0, "semantics"),
}


@pytest.mark.parametrize(("vectors", "width", "words"), REFUSED.values(), ids=REFUSED)
def test_vectors_that_cannot_be_used_are_refused(vectors, width, words):
    with pytest.raises(SemanticsError, match=words):
        checked_vectors(vectors, ("a", "b"), width)
