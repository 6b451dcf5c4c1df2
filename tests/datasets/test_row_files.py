"""Parquet and JSON lines: what their rows may be, and what is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_files import DATA, assert_same, write_parquet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from omhash.datasets import load
from omhash.errors import DataFileError


def write_lines(path, items):
    path.write_text("\n".join(json.dumps(item) for item in items))


def write_table(path, items):
    modalities = sorted({modality for item in items for modality in item["views"]})
    columns = {m: [item["views"].get(m) for item in items] for m in modalities}
    pq.write_table(pa.table(columns | {"categories": [i["categories"] for i in items]}), path)


BOTH = pytest.mark.parametrize(
    ("write", "name"), [(write_lines, "a.jsonl"), (write_table, "a.parquet")]
)


def item(categories=("a",), **views):
    return {"views": views, "categories": list(categories)}


def words(indices, values):
    return {"indices": indices, "values": values}


@pytest.mark.parametrize("fixed", [True, False])
def test_parquet_lists(fixed, tmp_path):
    write_parquet(tmp_path / "a.parquet", fixed=fixed)
    assert_same(load(tmp_path / "a.parquet"), DATA)


@pytest.mark.parametrize("kind", [pa.float16(), pa.float64(), pa.int16(), pa.uint8()])
@pytest.mark.parametrize("of", [pa.list_, pa.large_list])
def test_parquet_keeps_the_type(kind, of, tmp_path):
    values = np.array([[1, 2], [3, 4]], dtype=kind.to_pandas_dtype())
    columns = {"image": pa.array(list(values), of(kind)), "categories": [["a"], []]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    view = load(tmp_path / "a.parquet").views["image"]
    assert view.dtype == values.dtype
    np.testing.assert_array_equal(view, values)


@BOTH
def test_items_without_a_modality(write, name, tmp_path):
    items = [
        item(image=[1.0, 2.0], text=words([4], [1.5])),
        item(text=words([0, 2], [1.0, 2.0])),
        item(image=[3.0, 4.0]),
        item(text=words([], [])),
    ]
    write(tmp_path / name, items)
    data = load(tmp_path / name)
    nan = np.nan
    np.testing.assert_array_equal(data.views["image"], [[1, 2], [nan, nan], [3, 4], [nan, nan]])
    text = data.views["text"]
    assert isinstance(text, sparse.csr_array)
    assert text.shape == (4, 5)
    np.testing.assert_array_equal(
        text[[0, 1, 3]].toarray()[:, [0, 2, 4]].tolist(), [[0, 0, 1.5], [1, 2, 0], [0, 0, 0]]
    )
    # All that the row of the item without words stores is NaN.
    assert np.isnan(text.data[text.indptr[2] : text.indptr[3]]).tolist() == [True]


@BOTH
def test_categories_are_sorted_and_unlabelled_items_stay(write, name, tmp_path):
    items = [item(["b", "a", "b"], image=[1.0]), item([], image=[2.0]), item(["c"], image=[3.0])]
    write(tmp_path / name, items)
    data = load(tmp_path / name)
    assert data.categories == ("a", "b", "c")
    assert data.labels.tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]


@BOTH
@pytest.mark.parametrize(
    ("items", "told"),
    [
        ([], "no item"),
        ([item([], image=[1.0])], "no item with a category"),
        ([item(image=[1.0, 2.0]), item(image=[1.0])], "1 values.* 2"),
        ([item(image=[1.0, None])], "image"),
        ([item(text=words([1], [1.0, 2.0]))], "text"),
        ([item(text=words([-1], [1.0]))], "text.*counted from 0"),
        ([item(), item(text=words([1, 1], [1.0, 2.0]))], "text.*row 1.*twice"),
        ([item([""], image=[1.0])], "empty"),
    ],
)
def test_refusals(write, name, items, told, tmp_path):
    write(tmp_path / name, items)
    with pytest.raises(DataFileError, match=rf"{name}.*{told}" if items else name):
        load(tmp_path / name)


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "3",
        '{"views": {}}',
        '{"views": [], "categories": []}',
        '{"views": {}, "categories": "a"}',
        '{"views": {}, "categories": [1]}',
        '{"views": {"image": 1}, "categories": ["a"]}',
        '{"views": {"image": ["1"]}, "categories": ["a"]}',
        '{"views": {"image": [true]}, "categories": ["a"]}',
        '{"views": {"image": [[1]]}, "categories": ["a"]}',
        '{"views": {"image": [[1], [1, 2]]}, "categories": ["a"]}',
        '{"views": {"image": [1e300]}, "categories": ["a"]}',
        '{"views": {"image": [1' + 400 * "0" + ']}, "categories": ["a"]}',
        '{"views": {"image": {"indices": [0]}}, "categories": ["a"]}',
        '{"views": {"image": {"indices": [0.5], "values": [1]}}, "categories": ["a"]}',
        '{"views": {"image": [1], "text": [1]}, "categories": ["a"]}',
        "[" * 100_000,
        '{"views": {"image": [1]',
    ],
)
def test_json_lines_name_the_bad_line(line, tmp_path):
    good = json.dumps(item(image=[1.0], text=words([0], [1.0])))
    (tmp_path / "a.jsonl").write_text(f"{good}\n\n{line}\n{good}\n")
    with pytest.raises(DataFileError, match=r"a\.jsonl, line 3.*"):
        load(tmp_path / "a.jsonl")


def test_json_lines_without_a_single_word(tmp_path):
    write_lines(tmp_path / "a.jsonl", [item(text=words([], []))])
    with pytest.raises(DataFileError, match=r"a\.jsonl.*text.*column"):
        load(tmp_path / "a.jsonl")


def test_json_lines_dense_then_sparse(tmp_path):
    write_lines(tmp_path / "a.jsonl", [item(image=[1.0]), item(image=words([0], [1.0]))])
    with pytest.raises(DataFileError, match=r"line 2.*image.*sparse, and dense"):
        load(tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"image": [[1.0]]}, "categories"),
        ({"image": [[1.0]], "categories": ["a"]}, "row 0"),
        ({"image": [[1.0]], "categories": [None]}, "row 0"),
        ({"image": pa.array([None], pa.list_(pa.float32())), "categories": [["a"]]}, "nulls"),
        ({"key": [1], "categories": [["a"]]}, "no view"),
    ],
)
def test_parquet_refusals(columns, told, tmp_path):
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(DataFileError, match=rf"a\.parquet.*{told}"):
        load(tmp_path / "a.parquet")


ITEMS = st.lists(
    st.tuples(
        st.none() | st.lists(st.integers(-9, 9), min_size=3, max_size=3),
        st.none() | st.dictionaries(st.integers(0, 6), st.integers(1, 9), max_size=4),
        st.sets(st.sampled_from("abcd")),
    ),
    min_size=1,
    max_size=12,
)


@BOTH
@given(items=ITEMS)
@settings(max_examples=40, deadline=None)
def test_against_plain_reading(write, name, tmp_path_factory, items):
    # The last item has all, so that every modality has a width and some item a category.
    items = [*items, ([1, 2, 3], {6: 1}, {"a"})]
    written = []
    for image, text, categories in items:
        views = {}
        if image is not None:
            views["image"] = [float(value) for value in image]
        if text is not None:
            views["text"] = words(list(text), [float(value) for value in text.values()])
        written.append({"views": views, "categories": sorted(categories)})
    path = tmp_path_factory.mktemp("plain") / name
    write(path, written)
    data = load(path)
    pointers = data.views["text"].indptr
    rows = data.views["text"].toarray()
    for row, (image, text, categories) in enumerate(items):
        assert {c for c, has in zip(data.categories, data.labels[row], strict=True) if has} == (
            categories
        )
        np.testing.assert_array_equal(data.views["image"][row], image or [np.nan] * 3)
        stored = data.views["text"].data[pointers[row] : pointers[row + 1]]
        if text is None:
            assert np.isnan(stored).all()
            assert len(stored) == 1
        else:
            assert rows[row].tolist() == [text.get(j, 0) for j in range(7)]


def test_parquet_over_several_batches(tmp_path):
    # The file's row groups and the loader's batches end at different rows.
    n = 2500
    image = [[float(i), -float(i)] if i % 7 else None for i in range(n)]
    columns = {"image": image, "categories": [["even"] if i % 2 == 0 else [] for i in range(n)]}
    pq.write_table(pa.table(columns), tmp_path / "a.parquet", row_group_size=700)
    data = load(tmp_path / "a.parquet")
    expected = [row or [np.nan, np.nan] for row in image]
    np.testing.assert_array_equal(data.views["image"], expected)
    assert data.labels[:, 0].tolist() == [1 - i % 2 for i in range(n)]


@BOTH
def test_whole_numbers_make_room_for_nan(write, name, tmp_path):
    write(tmp_path / name, [item(image=[1, 2]), item(text=words([1], [7])), item(image=[300, 4])])
    views = load(tmp_path / name).views
    np.testing.assert_array_equal(views["image"], [[1, 2], [np.nan, np.nan], [300, 4]])
    assert views["text"][[1]].toarray().tolist() == [[0, 7]]
