"""Counts of labels: what codes of new categories follow, from parts of a round."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omhash.learning.labels import label_matrix

NAMES = st.lists(st.sets(st.sampled_from("abcde"), max_size=3), min_size=1, max_size=8)


def plain(items, names):
    return [[sum({one, other} <= item for item in items) for other in names] for one in names]


@given(NAMES)
def test_counts_are_those_of_the_items(items):
    counts = label_matrix(items).counts()
    assert counts.aligned(counts.names).toarray().tolist() == plain(items, counts.names)
    assert counts.aligned("edcbaz").toarray().tolist() == plain(items, "edcbaz")
    assert counts.occurring() == tuple(sorted(set().union(*items)))


@given(NAMES, NAMES)
def test_parts_of_a_round_count_as_the_whole(one, other):
    whole = label_matrix(one + other).counts()
    parts = label_matrix(one).counts().merged(label_matrix(other).counts())
    assert parts.names == whole.names
    assert np.array_equal(parts.together.toarray(), whole.together.toarray())


@pytest.mark.parametrize("rows", [slice(0, 2), slice(2, 4)])
def test_columns_of_a_matrix_keep_their_order(rows):
    matrix = np.array([[1, 0, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0]])
    names = ["dog", "cat", "ant"]
    part = label_matrix(matrix[rows], categories=names).counts()
    whole = label_matrix(matrix, categories=names).counts()
    other = label_matrix(
        matrix[[r for r in range(4) if r not in range(*rows.indices(4))]], categories=names
    ).counts()
    assert part.merged(other).names == tuple(names)
    assert part.merged(other).occurring() == whole.occurring()
