"""Views: what is taken, what is refused, and with which words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from omhash.errors import ViewError
from omhash.learning.views import filled, n_rows, shaped_views
from strategies import views as drawn_views


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@given(st.integers(0, 6).flatmap(lambda n: st.tuples(st.just(n), drawn_views(n))))
def test_any_form_of_view_keeps_its_numbers(drawn):
    count, (given_views, plain) = drawn

    shaped = shaped_views(given_views, {name: view.shape[1] for name, view in plain.items()})

    assert n_rows(shaped) == count
    for name, matrix in shaped.items():
        view = filled(name, matrix)
        assert view.present.all()
        assert sparse.issparse(view.matrix) == sparse.issparse(given_views[name])
        assert np.array_equal(dense(view.matrix), plain[name])


def test_lists_and_booleans_are_views_too():
    shaped = shaped_views({"a": [[1, 2]], "b": np.array([[True]])}, None)

    assert shaped["a"].tolist() == [[1, 2]]
    assert shaped["b"].tolist() == [[1]]


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.sampled_from(["nan", "mask", "csr"]))
def test_a_missing_row_becomes_zero_and_absent(missing, form):
    rows = np.flatnonzero(missing)
    plain = np.arange(1.0, 3 * len(missing) + 1).reshape(-1, 3)
    given_view = plain.copy()
    if form == "mask":
        given_view = np.ma.masked_array(plain, np.zeros_like(plain, dtype=bool))
        given_view[rows] = np.ma.masked
    else:
        given_view[rows] = np.nan
    if form == "csr":
        given_view = sparse.csr_array(given_view)
    expected = plain.copy()
    expected[rows] = 0

    view = filled("a", shaped_views({"a": given_view}, None)["a"])

    assert view.present.tolist() == [not absent for absent in missing]
    assert np.array_equal(dense(view.matrix), expected)


def test_a_masked_view_of_integers_can_have_missing_rows():
    masked = np.ma.masked_array([[1, 2], [3, 4]], [[True, True], [False, False]])

    view = filled("a", shaped_views({"a": masked}, None)["a"])

    assert view.present.tolist() == [False, True]
    assert view.matrix.tolist() == [[0, 0], [3, 4]]


def test_what_is_masked_does_not_matter():
    masked = np.ma.masked_array([[np.inf, np.nan], [3, 4]], [[True, True], [False, False]])

    assert filled("a", shaped_views({"a": masked}, None)["a"]).matrix.tolist() == [[0, 0], [3, 4]]


def test_an_empty_row_of_a_sparse_view_is_zero_and_not_missing():
    view = sparse.csr_array(np.array([[np.nan, np.nan], [0, 0]]))

    assert filled("a", view).present.tolist() == [False, True]


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
@pytest.mark.parametrize("bad", [[np.nan, 1], [np.inf, np.inf], [np.inf, np.nan], [-np.inf, 0]])
def test_values_that_are_not_finite_are_refused_with_their_row(make, bad):
    view = make(np.array([[1, 2], [np.nan, np.nan], bad, bad]))

    with pytest.raises(ViewError, match="modality 'a', row 2: NaN or infinity"):
        filled("a", view)


def test_filling_leaves_the_input_alone():
    for make in (np.array, sparse.csr_array):
        given_view = make(np.array([[1.0, 2.0], [np.nan, np.nan]]))
        filled("a", given_view)
        assert np.isnan(dense(given_view)[1]).all()


REFUSED = {
    "not a mapping": ([np.eye(2)], None, "views must be a mapping .* not list"),
    "nothing": ({}, None, "views are empty"),
    "unknown modality": ({"b": np.eye(2)}, {"a": 2}, "unknown modality 'b': this hasher knows a"),
    "other widths": ({"a": np.eye(3)}, {"a": 2}, "'a' has 3 columns, and 2 were learned"),
    "other rows": (
        {"a": np.eye(2), "b": np.eye(3)},
        None,
        "differ in their number of rows: 'a' has 2, 'b' has 3",
    ),
    "no columns": ({"a": np.zeros((2, 0))}, None, "'a' has no columns"),
    "one dimension": ({"a": np.zeros(2)}, None, r"'a' has 1 dimension\(s\), not 2"),
    "masked, one dimension": (
        {"a": np.ma.masked_array([1.0], [True])},
        None,
        r"'a' has 1 dimension\(s\), not 2",
    ),
    "ragged": ({"a": [[1], [1, 2]]}, None, "'a' is not a matrix"),
    "text": ({"a": [["x"]]}, None, "'a' holds .*, not numbers"),
    "complex": ({"a": np.eye(2, dtype=complex)}, None, "'a' holds complex128, not numbers"),
    "objects": ({"a": np.array([[None]])}, None, "'a' holds object, not numbers"),
    "a number as name": ({1: np.eye(2)}, None, "name must be text, not 1"),
    "an empty name": ({"": np.eye(2)}, None, "name must be text, not ''"),
    "masked in part": (
        {"a": np.ma.masked_array(np.eye(2), [[False, False], [True, False]])},
        None,
        "'a', row 1: masked in part",
    ),
}


@pytest.mark.parametrize(("given_views", "widths", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_view_is_refused(given_views, widths, words):
    with pytest.raises(ViewError, match=words):
        shaped_views(given_views, widths)
