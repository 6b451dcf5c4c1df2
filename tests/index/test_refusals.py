"""What an index refuses, with which error, and that it stays as it was."""

import numpy as np
import pytest

from omhash.errors import InputError, ParameterError
from omhash.index import ExactIndex, Queries

N = np.int64


def filled():
    index = ExactIndex(16, {"image": 8})
    index.add(
        np.array([3, 4, 7]), np.arange(6, dtype=np.uint8).reshape(3, 2), {"image": sketches(3)}
    )
    return index


def sketches(n):
    return np.ones((n, 1), np.uint8)


def state(index):
    found = index.search(Queries.of(np.ones((1, 16)), rank="hamming"), 10)[0]
    return len(index), index.n_distinct, found.numbers.tolist(), found.scores.tolist()


CODES = np.zeros((2, 2), np.uint8)
SKETCHES = {"image": sketches(2)}
ADDITIONS = {
    "a number that is there": ([7, 8], CODES, SKETCHES, None),
    "falling numbers": ([9, 8], CODES, SKETCHES, None),
    "a number twice": ([9, 9], CODES, SKETCHES, None),
    "no whole numbers": ([8.0, 9.0], CODES, SKETCHES, None),
    "numbers in a matrix": ([[8, 9]], CODES, SKETCHES, None),
    "codes of another length": ([8, 9], np.zeros((2, 3), np.uint8), SKETCHES, None),
    "too few codes": ([8, 9], CODES[:1], SKETCHES, None),
    "codes that are not packed": ([8, 9], CODES.astype(np.float32), SKETCHES, None),
    "no sketches": ([8, 9], CODES, None, None),
    "sketches of another modality": ([8, 9], CODES, {**SKETCHES, "text": sketches(2)}, None),
    "sketches of another length": ([8, 9], CODES, {"image": CODES}, None),
    "too few sketches": ([8, 9], CODES, {"image": sketches(1)}, None),
    "present of another modality": ([8, 9], CODES, SKETCHES, {"text": np.ones(2, bool)}),
    "too few present": ([8, 9], CODES, SKETCHES, {"image": np.ones(1, bool)}),
    "present as numbers": ([8, 9], CODES, SKETCHES, {"image": np.ones(2)}),
}


@pytest.mark.parametrize("name", ADDITIONS)
def test_additions_that_do_not_fit(name):
    numbers, codes, own, present = ADDITIONS[name]
    index = filled()
    before = state(index)
    with pytest.raises(InputError):
        index.add(np.array(numbers), codes, own, present)
    assert state(index) == before
    index.add(np.array([8, 9]), CODES, SKETCHES)
    assert len(index) == 5


def test_a_negative_number():
    with pytest.raises(InputError, match="counted from 0"):
        ExactIndex(16).add(np.array([-1]), np.zeros((1, 2), np.uint8))


@pytest.mark.parametrize("numbers", [[5], [3, 8], [-3], [3, 3], [3.0], [[3]]])
def test_removals_that_do_not_fit(numbers):
    index = filled()
    before = state(index)
    with pytest.raises(InputError):
        index.remove(np.array(numbers))
    assert state(index) == before


def test_an_item_cannot_be_removed_twice_nor_its_number_used_again():
    index = filled()
    index.remove(np.array([7, 3]))
    with pytest.raises(InputError, match="item 7 is not in the index"):
        index.remove(np.array([7]))
    with pytest.raises(InputError, match="does not follow 7"):
        index.add(np.array([7]), CODES[:1], {"image": sketches(1)})
    assert len(index) == 1


@pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
def test_k(k):
    with pytest.raises(ParameterError, match="k must be"):
        filled().search(Queries.of(np.ones((1, 16))), k)


def test_queries_of_another_length():
    with pytest.raises(InputError, match="24 bits, and the index 16"):
        filled().search(Queries.of(np.ones((1, 24))), 1)


@pytest.mark.parametrize(("name", "bits"), [("image", 16), ("text", 8)])
def test_queries_with_other_sketches(name, bits):
    queries = Queries.of(np.ones((1, 16)), sketches={name: np.ones((1, bits))}, detail=1.0)
    with pytest.raises(InputError, match=f"{name!r}, and the"):
        filled().search(queries, 1)


@pytest.mark.parametrize("keep", [[4, 3], [3, 3], [3.0], [[3]]])
def test_a_filter_that_is_no_sorted_row_of_numbers(keep):
    with pytest.raises(InputError, match="keep must"):
        filled().search(Queries.of(np.ones((1, 16))), 1, keep=np.array(keep))


def test_a_filter_may_name_what_is_not_there():
    keep = np.array([0, 1, 4, 5, 7, 9, 1 << 60])
    found = filled().search(Queries.of(np.ones((1, 16))), 9, keep=keep)[0]
    assert sorted(found.numbers.tolist()) == [4, 7]


@pytest.mark.parametrize("bits", [0, -8, 12, 8.0, "8", True])
def test_bits(bits):
    with pytest.raises(ParameterError, match="multiple of 8"):
        ExactIndex(bits)
    with pytest.raises(ParameterError, match="multiple of 8"):
        ExactIndex(8, {"image": bits})


VALUES = np.ones((2, 8))
QUERIES = {
    "a single row": (InputError, {"projections": np.ones(8)}),
    "no columns": (InputError, {"projections": np.ones((2, 0))}),
    "odd columns": (InputError, {"projections": np.ones((2, 9))}),
    "text": (InputError, {"projections": np.array([["a"] * 8])}),
    "NaN": (InputError, {"projections": np.full((2, 8), np.nan)}),
    "infinity": (InputError, {"projections": np.full((2, 8), np.inf)}),
    "no such rank": (ParameterError, {"rank": "cosine"}),
    "negative detail": (ParameterError, {"detail": -0.1}),
    "infinite detail": (ParameterError, {"detail": float("inf")}),
    "detail not a number": (ParameterError, {"detail": "much"}),
    "NaN sketch": (InputError, {"sketches": {"image": np.full((2, 8), np.nan)}}),
    "too few sketches": (InputError, {"sketches": {"image": VALUES[:1]}}),
    "no sketch columns": (InputError, {"sketches": {"image": VALUES[:, :0]}}),
    "present of wrong length": (
        InputError,
        {"sketches": {"image": VALUES}, "present": {"image": np.ones(3, bool)}},
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries_that_do_not_fit(name):
    error, wrong = QUERIES[name]
    given = {"projections": VALUES, "detail": 0.5} | wrong
    with pytest.raises(error):
        Queries.of(given.pop("projections"), **given)


def test_an_empty_index_and_no_queries():
    index = ExactIndex(8)
    assert index.search(Queries.of(np.ones((2, 8))), 5)[1].numbers.tolist() == []
    assert filled().search(Queries.of(np.ones((0, 16))), 5) == []
    assert index.report() == {
        "engine": "exact",
        "items": 0,
        "distinct_codes": 0,
        "bytes": index.nbytes,
    }
