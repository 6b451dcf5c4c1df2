"""The randomisation test against all of its draws written out."""

from itertools import product

import numpy as np
import pytest

from omhash.evaluation.paper.significance import by_item, compare, holm


def exact_p(differences):
    seen = abs(np.mean(differences)) - 1e-12
    means = [
        abs(np.dot(signs, differences)) / len(differences)
        for signs in product((-1, 1), repeat=len(differences))
    ]
    return np.mean([mean >= seen for mean in means])


def test_p_is_that_of_all_draws_of_signs():
    rng = np.random.default_rng(1)
    first = rng.random(10)
    for shift in (0.0, 0.1, 0.3):
        second = first - shift + 0.2 * rng.standard_normal(10)
        (found,) = compare({"first": first, "second": second})
        assert found.difference == pytest.approx(np.mean(first - second))
        assert found.p == pytest.approx(exact_p(first - second), abs=0.02)
        assert found.n_queries == 10


def test_equal_methods_do_not_differ():
    values = np.random.default_rng(0).random(30)
    (found,) = compare({"one": values, "same": values.copy()})
    assert (found.difference, found.p) == (0.0, 1.0)
    assert compare({"alone": values}) == []


def test_chance_alone_is_called_a_difference_in_one_of_twenty_tests():
    rng = np.random.default_rng(2)
    called = sum(
        compare({"a": rng.random(40), "b": rng.random(40)})[0].p < 0.05 for _ in range(100)
    )
    assert 1 <= called <= 12


def test_many_comparisons_are_corrected():
    rng = np.random.default_rng(3)
    values = {name: rng.random(40) for name in "abcdef"}
    values["best"] = values["a"] + 0.02 + 0.1 * rng.random(40)
    alone = compare({name: values[name] for name in ("a", "best")})[0].p
    among = {(one.first, one.second): one.p for one in compare(values)}
    assert len(among) == 21
    assert alone <= among["a", "best"] <= 21 * alone + 1e-9
    np.testing.assert_allclose(holm(np.array([0.2, 0.01, 0.02])), [0.2, 0.03, 0.04])
    np.testing.assert_allclose(holm(np.array([0.5, 0.9])), [1.0, 1.0])


def test_a_query_of_several_seeds_counts_once():
    items, values = by_item([[4, 2], [2, 9]], [[1.0, 0.0], [0.5, 0.25]])
    assert items.tolist() == [2, 4, 9]
    assert values.tolist() == [0.25, 1.0, 0.25]
