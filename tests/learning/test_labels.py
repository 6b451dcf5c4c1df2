"""Labels in any of their forms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omhash.errors import LabelError
from omhash.learning.labels import label_matrix
from strategies import NAMES
from strategies import labels as drawn_labels


def items_of(read):
    """The names of each item."""
    return [{read.names[column] for column in np.flatnonzero(row)} for row in read.matrix.toarray()]


@given(st.integers(0, 8).flatmap(drawn_labels))
def test_collections_of_names_come_back_as_they_were(labels):
    read = label_matrix(labels, len(labels))

    assert items_of(read) == [set(item) for item in labels]
    assert list(read.names) == sorted(set().union(*labels))
    assert set(np.unique(read.matrix.toarray())) <= {0, 1}


@given(
    st.integers(0, 6).flatmap(drawn_labels),
    st.sampled_from(["dense", "bool", "float", "csr", "csc"]),
)
def test_a_matrix_says_the_same_as_names(labels, form):
    table = np.array([[name in item for name in NAMES] for item in labels], dtype=bool)
    table = table.reshape(len(labels), len(NAMES))
    given_labels = {
        "dense": lambda: table.astype(np.uint8),
        "bool": lambda: table,
        "float": lambda: table.astype(np.float32),
        "csr": lambda: sparse.csr_array(table),
        "csc": lambda: sparse.csc_matrix(table.astype(float)),
    }[form]()

    read = label_matrix(given_labels, len(labels), categories=NAMES)

    assert read.names == NAMES
    assert items_of(read) == [set(item) for item in labels]
    assert set(read.occurring()) == set().union(*labels)


@given(
    st.integers(0, 6).flatmap(drawn_labels), st.lists(st.sampled_from([*NAMES, "fox"]), unique=True)
)
def test_aligned_columns_are_those_of_the_names(labels, names):
    aligned = label_matrix(labels, len(labels)).aligned(names)

    assert aligned.shape == (len(labels), len(names))
    assert aligned.toarray().tolist() == [[float(n in item) for n in names] for item in labels]


def test_no_labels_are_items_without_categories():
    read = label_matrix(None, 3)

    assert read.names == ()
    assert read.matrix.shape == (3, 0)


def test_names_of_numpy_become_plain_text():
    read = label_matrix([np.array(["dog"])], 1)

    assert read.names == ("dog",)
    assert type(read.names[0]) is str


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_a_sparse_matrix_is_left_as_it_was(make):
    given_labels = make((np.array([1.0, 0.0, 1.0]), ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    data = given_labels.data.copy()

    read = label_matrix(given_labels, 2, categories=["a", "b"])

    assert items_of(read) == [{"a"}, {"b"}]
    assert np.array_equal(given_labels.data, data)
    assert given_labels.nnz == 3


REFUSED = {
    "one text": ("dog", None, r"labels: 'dog' is one text, .* write \['dog'\]"),
    "bytes": (b"dog", None, "is one text"),
    "a text an item": (["dog"], None, r"labels, item 0: 'dog' is one text"),
    "a number": (5, None, "labels must be one collection of category names per item, not int"),
    "a number an item": ([[], 5], None, "labels, item 1: 5 is not a collection"),
    "a name that is a number": ([["a"], [5]], None, "labels, item 1: .* must be text, not 5"),
    "an empty name": ([["a"], [""]], None, "labels, item 1: a category name is empty"),
    "names with categories": ([["a"]], ["a"], "categories= names the columns of a 0/1 matrix"),
    "too few": ([["a"]], None, "1 items have labels, and 2 have views"),
    "a matrix without names": (np.eye(2), None, "needs categories="),
    "a name twice": (np.eye(2), ["a", "a"], "'a' is there twice"),
    "categories as one text": (np.eye(2), "ab", "categories: 'ab' is one text"),
    "categories of numbers": (np.eye(2), [1, 2], "categories: .* must be text, not 1"),
    "other columns": (np.eye(2), ["a"], r"shape \(2, 2\), and categories name 1 columns"),
    "one dimension": (np.ones(2), ["a", "b"], r"shape \(2,\), and categories name 2"),
    "a two": (np.array([[0, 1], [1, 2]]), ["a", "b"], "row 1, column 'b': 2.0 is neither 0 nor 1"),
    "a NaN": (np.array([[0, np.nan], [0, 1]]), ["a", "b"], "row 0, column 'b': nan is neither"),
    "a sparse two": (
        sparse.csr_array(np.array([[0, 0], [-1, 0]])),
        ["a", "b"],
        "row 1, column 'a': -1.0 is neither 0 nor 1",
    ),
}


@pytest.mark.parametrize(("labels", "categories", "words"), REFUSED.values(), ids=REFUSED)
def test_what_are_no_labels_is_refused(labels, categories, words):
    with pytest.raises(LabelError, match=words):
        label_matrix(labels, 2, categories=categories)
