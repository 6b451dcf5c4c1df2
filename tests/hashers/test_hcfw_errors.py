"""HCFW refuses bad input with clear words, and stays as it was."""

import numpy as np
import pytest
from hcfw_items import (
    FINE,
    Items,
    hasher_of,
    same_state,
)

from omhash.errors import (
    InputError,
    LabelError,
    NotFittedError,
    OmhashError,
    ParameterError,
    SemanticsError,
    ViewError,
)
from omhash.hashers.hcfw import HCFW


def with_view(**changed):
    return {"views": {**FINE.views, **changed}}


def with_bad_value(value):
    image = FINE.views["image"].copy()
    image[3, 1] = value
    return with_view(image=image)


BAD_ROUNDS = {
    "NaN": (with_bad_value(np.nan), ViewError, "'image', row 3: NaN or infinity"),
    "infinity": (with_bad_value(np.inf), ViewError, "'image', row 3: NaN or infinity"),
    "width": (with_view(text=np.ones((30, 8))), ViewError, "'text' has 8 columns, and 9 were"),
    "rows": (with_view(text=np.ones((29, 9))), ViewError, "'image' has 30, 'text' has 29"),
    "modality": (with_view(smell=np.ones((30, 2))), ViewError, "unknown modality 'smell'"),
    "a vector": (with_view(text=np.ones(9)), ViewError, "'text' has 1 dimension"),
    "text": (with_view(text=np.full((30, 9), "x")), ViewError, "'text' holds .* not numbers"),
    "no views": ({"views": {}}, ViewError, "views are empty"),
    "a matrix": ({"views": np.ones((30, 12))}, ViewError, "views must be a mapping"),
    "empty round": (
        {"views": {"image": np.zeros((0, 12))}, "labels": []},
        ViewError,
        "the round has no items",
    ),
    "few labels": ({"labels": FINE.labels[:-1]}, LabelError, "29 items have labels, and 30"),
    "one text": ({"labels": "c0"}, LabelError, "'c0' is one text"),
    "a number": ({"labels": 3}, LabelError, "one collection of category names per item"),
    "a category that is a number": ({"labels": [[1]] * 30}, LabelError, "must be text, not 1"),
    "a category without a name": ({"labels": [["new", ""]] * 30}, LabelError, "is empty"),
    "no names": ({"labels": FINE.table}, LabelError, "needs categories="),
    "names that are no collection": (
        {"labels": FINE.table, "categories": 5},
        LabelError,
        "categories",
    ),
    "matrix of another shape": (
        {"labels": FINE.table, "categories": ["c0"]},
        LabelError,
        r"shape \(30, 5\), and categories name 1",
    ),
    "matrix of twos": (
        {"labels": 2 * FINE.table, "categories": FINE.names},
        LabelError,
        "is neither 0 nor 1",
    ),
    "values beyond float64": (
        with_view(image=np.full((30, 12), 1e200)),
        InputError,
        "",
    ),
}


def arguments(changed):
    return {"views": FINE.views, "labels": FINE.labels, **changed}


@pytest.mark.parametrize("given_settings", [{}, {"theta": 1.0, "weights": "calibrated"}])
@pytest.mark.parametrize("method", ["partial_fit", "forget"])
@pytest.mark.parametrize(("changed", "error", "words"), BAD_ROUNDS.values(), ids=BAD_ROUNDS)
def test_a_bad_round_is_refused_and_the_model_stays(given_settings, method, changed, error, words):
    hasher = hasher_of(given_settings).partial_fit(FINE.views, FINE.labels)
    before, codes = hasher.get_state(), hasher.encode(FINE.views)

    with pytest.raises(error, match=words or None):
        getattr(hasher, method)(**arguments(changed))

    assert same_state(hasher.get_state(), before)
    assert np.array_equal(hasher.encode(FINE.views), codes)


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        case
        for name, case in BAD_ROUNDS.items()
        if name not in ("width", "modality")  # anything goes in the first round
    ],
)
def test_a_bad_first_round_leaves_nothing(changed, error, words):
    hasher = hasher_of()

    with pytest.raises(error, match=words or None):
        hasher.partial_fit(**arguments(changed))

    with pytest.raises(NotFittedError):
        hasher.get_state()


def test_after_a_refused_round_the_stream_goes_on_as_if_it_had_not_been():
    hasher, untouched = hasher_of(), hasher_of()
    for each in (hasher, untouched):
        each.partial_fit(FINE.views, FINE.labels)
    with pytest.raises(OmhashError):
        hasher.partial_fit(**arguments(with_bad_value(np.nan)))

    more = Items(30, categories=9, seed=1)
    for each in (hasher, untouched):
        each.partial_fit(more.views, more.labels)

    assert same_state(hasher.get_state(), untouched.get_state())


def test_forgetting_what_was_never_learned_is_refused():
    hasher = hasher_of().partial_fit(FINE.views, FINE.labels)
    before = hasher.get_state()
    twice = {name: np.vstack([view, view]) for name, view in FINE.views.items()}

    with pytest.raises(LabelError, match="category 'new' was never learned"):
        hasher.forget(FINE.views, [["new"]] * 30)
    with pytest.raises(InputError, match="60 items are to be forgotten, and only 30 were learned"):
        hasher.forget(twice, FINE.labels * 2)

    assert same_state(hasher.get_state(), before)


BAD_QUERIES = {
    "NaN": (with_bad_value(np.nan), "'image', row 3: NaN or infinity"),
    "infinity": (with_bad_value(-np.inf), "'image', row 3: NaN or infinity"),
    "too large": (with_bad_value(1e300), "'image', row 3: values too large for float32"),
    "width": (with_view(text=np.ones((30, 8))), "'text' has 8 columns, and 9 were learned"),
    "rows": (with_view(text=np.ones((29, 9))), "differ in their number of rows"),
    "modality": (with_view(smell=np.ones((30, 2))), "unknown modality 'smell'"),
    "nothing": ({"views": {}}, "views are empty"),
    "one vector": ({"views": {"image": np.ones(12)}}, "'image' has 1 dimension"),
    "an item without anything": (
        {"views": {name: np.full((2, w), np.nan) for name, w in (("image", 12), ("text", 9))}},
        "row 0: the item lacks every modality",
    ),
}


@pytest.mark.parametrize("method", ["encode", "project", "item_codes"])
@pytest.mark.parametrize(("changed", "words"), BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_a_bad_query_is_refused(method, changed, words):
    hasher = hasher_of().partial_fit(FINE.views, FINE.labels)

    with pytest.raises(ViewError, match=words):
        getattr(hasher, method)(changed["views"])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_row_of_a_bad_item_is_its_own_also_among_labelled_ones(value):
    hasher = hasher_of().partial_fit(FINE.views, FINE.labels)
    labels = FINE.labels
    labels[3] = labels[7] = []

    with pytest.raises(ViewError, match="'image', row 3: NaN"):
        hasher.item_codes(with_bad_value(value)["views"], labels)
    lacking = {name: view.copy() for name, view in FINE.views.items()}
    for view in lacking.values():
        view[7] = np.nan
    with pytest.raises(ViewError, match="row 7: the item lacks every modality"):
        hasher.item_codes(lacking, labels)


BAD_LABELS = {
    "unknown": ([["c0"], ["new"]], "category 'new' was never learned"),
    "none": ([["c0"], []], "item 1 has no category, so only encode"),
    "one text": ("c0", "'c0' is one text"),
    "a number": (5, "labels"),
    "nothing": (None, "labels"),
    "a lone number of NumPy": (np.array(1), "labels"),
}


@pytest.mark.parametrize(("labels", "words"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels_have_no_codes(labels, words):
    hasher = hasher_of().partial_fit(FINE.views, FINE.labels)

    with pytest.raises(LabelError, match=words):
        hasher.label_codes(labels)


def test_item_codes_of_unknown_categories_are_refused():
    hasher = hasher_of().partial_fit(FINE.views, FINE.labels)

    with pytest.raises(LabelError, match="category 'new' was never learned"):
        hasher.item_codes(FINE.views, [["new"]] * 30)


BAD_PARAMETERS = [
    *({"n_bits": value} for value in (0, -8, 12, 1032, 8.0, "64", None, True)),
    *({"random_state": value} for value in (-1, 0.5, "0", True)),
    {"targets": "bits"},
    {"category_codes": "random"},
    {"weights": None},
    *({"theta": value} for value in (0, -1.0, np.nan, np.inf, "best", None, True)),
    *({"delta": value} for value in (0, "auto", np.inf)),
    {"semantics": {"c0": [1.0]}},
    {"authors_program": 1},
    *(
        {"kernels": value}
        for value in (
            5,
            ["image"],
            {"image": 0},
            {"image": 2.5},
            {"image": True},
            {"image": (5, 0.0)},
            {"image": (5, 1.0, 2.0)},
            {"image": (5, "wide")},
        )
    ),
]


@pytest.mark.parametrize("parameters", BAD_PARAMETERS, ids=str)
def test_a_bad_parameter_is_named(parameters):
    (name,) = parameters
    hasher = HCFW(**parameters)

    with pytest.raises(ParameterError, match=f"HCFW: {name} must be .*, not "):
        hasher.partial_fit(FINE.views, FINE.labels)


def test_a_kernel_needs_its_modality():
    with pytest.raises(ParameterError, match="kernels names 'smell'"):
        hasher_of({"kernels": {"smell": 5}}).partial_fit(FINE.views, FINE.labels)
    with pytest.raises(ViewError, match="no item of the first round has modality 'text'"):
        hasher_of({"kernels": {"text": 5}}).partial_fit(
            dict(FINE.views, text=np.full((30, 9), np.nan)), FINE.labels
        )


def test_semantic_codes_need_semantics():
    with pytest.raises(ParameterError, match="needs semantics="):
        hasher_of({"category_codes": "semantic"}).partial_fit(FINE.views, FINE.labels)


@pytest.mark.parametrize(
    "vectors",
    [
        lambda names: np.ones((len(names) + 1, 4)),
        lambda names: np.ones(len(names)),
        lambda names: np.zeros((len(names), 4)),
        lambda names: np.ones((len(names), 5)),
        lambda names: [["x"]] * len(names),
    ],
    ids=["rows", "shape", "zero", "other width", "text"],
)
def test_vectors_that_do_not_fit_are_refused_and_the_model_stays(vectors):
    answers = iter([lambda names: np.random.default_rng(0).random((len(names), 4)), vectors])
    hasher = HCFW.published(16, semantics=lambda names: next(answers)(names), random_state=0)
    hasher.partial_fit(FINE.views, FINE.labels)
    before = hasher.get_state()

    with pytest.raises(SemanticsError):
        hasher.partial_fit(FINE.views, [["new"]] * 30)

    assert same_state(hasher.get_state(), before)


def test_before_the_first_round_there_is_nothing_to_ask():
    hasher = hasher_of()
    for ask in (
        lambda: hasher.encode(FINE.views),
        lambda: hasher.item_codes(FINE.views),
        lambda: hasher.label_codes(FINE.labels),
        lambda: hasher.forget(FINE.views, FINE.labels),
        hasher.get_state,
        lambda: hasher.categories_,
        lambda: hasher.category_codes_,
        lambda: hasher.modalities_,
        lambda: hasher.thetas_,
    ):
        with pytest.raises(NotFittedError, match="call partial_fit first"):
            ask()
