"""FOMH to the letter: against a recorded run of the authors' own program."""

import numpy as np
import pytest
from recorded import apart, draws_of, result_of, run_of, views_of

from omhash.codes import unpack
from omhash.hashers import FOMH


@pytest.fixture
def learned(shared, items):
    """The hasher after the three rounds, and what was recorded after them."""
    record = run_of(shared, "fomh")
    result = result_of(record, 1) | {"query_index": record["query_index"]}
    hasher = FOMH(16, kernels=None, random_state=draws_of(record), authors_program=True)
    names = items["category_names"].tolist()
    for rows in np.split(result["train_index"], 3):
        hasher.partial_fit(views_of(items, rows), items["labels"][rows], categories=names)
    return hasher, result


def test_hash_functions_are_the_recorded_ones(learned):
    hasher, result = learned
    for name, number in (("image", 1), ("text", 2)):
        functions = np.vstack([hasher.hash_functions_[name], hasher.intercepts_[name]])
        assert functions.dtype == np.float64
        assert apart(functions.T, result[f"W{number}"]) <= 1e-6


@pytest.mark.parametrize(
    ("index", "signs"), [("query_index", "B_query"), ("train_index", "B_database")]
)
def test_codes_are_the_recorded_ones(learned, items, index, signs):
    hasher, result = learned
    codes = hasher.encode(views_of(items, result[index]))

    assert np.array_equal(unpack(codes), result[signs])


def test_a_round_of_another_size_teaches_nothing(learned, items):
    hasher, _ = learned
    before = hasher.get_state()
    names = items["category_names"].tolist()
    hasher.partial_fit(views_of(items, range(150)), items["labels"][:150], categories=names)

    after = hasher.get_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
