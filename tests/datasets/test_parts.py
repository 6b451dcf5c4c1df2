"""Files in parts: put together again they are what `load` reads, in bounded memory."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dataset_files import (
    DATA,
    WRITERS,
    dense,
    matlab_variables,
    names_of,
    write_savez,
    write_v5,
    write_v73,
)
from scipy import sparse

from omhash.datasets import LabelledData, load, parts, write_npz
from omhash.errors import DataFileError, ParameterError

WIDTHS = {modality: view.shape[1] for modality, view in DATA.views.items()}


def all_items(path, size=7, widths=WIDTHS):
    return [part.read() for part in parts(path, size, widths=widths)]


def categories_of(items):
    return [{items.categories[column] for column in np.flatnonzero(row)} for row in items.labels]


@pytest.fixture(params=[*WRITERS, "deflated.npz"])
def file(request, tmp_path):
    path = tmp_path / request.param
    if path.name == "deflated.npz":
        write_npz(DATA, path)
    else:
        WRITERS[path.name](path)
    return path


@pytest.mark.parametrize("size", [1, 7, 20, 1000])
def test_parts_together_are_the_whole(file, size):
    whole = load(file)
    found = all_items(file, size)
    assert [len(items) for items in found[:-1]] == [min(size, 20)] * (len(found) - 1)
    for modality, view in whole.views.items():
        together = np.vstack([dense(items.views[modality]) for items in found])
        np.testing.assert_array_equal(together, dense(view))
        assert file.suffix == ".mat" or all(
            sparse.issparse(items.views[modality]) == sparse.issparse(view) for items in found
        )
    categories = [names for items in found for names in categories_of(items)]
    assert categories == list(map(set, names_of(whole)))


def test_parts_know_their_place_and_what_they_are(file):
    first, again = list(parts(file, 8, widths=WIDTHS)), list(parts(file, 8, widths=WIDTHS))
    assert [(part.start, part.stop) for part in first] == [(0, 8), (8, 16), (16, 20)]
    assert [part.digest for part in first] == [part.digest for part in again]
    assert len({part.digest for part in first}) == 3
    assert first[-1].share == pytest.approx(1)
    assert sorted(part.share for part in first) == [part.share for part in first]
    other = {part.digest for part in parts(file, 9, widths=WIDTHS)}
    assert other.isdisjoint(part.digest for part in first)


def test_any_change_changes_the_digest(tmp_path):
    def digest_of(data, **more):
        write_savez(tmp_path / "a.npz", data, **more)
        (part,) = parts(tmp_path / "a.npz", 100)
        return part.digest

    text = DATA.views["text"].copy()
    text.data[3] += 1
    image = DATA.views["image"].copy()
    image[5, 2] = np.nextafter(image[5, 2], 9)
    labels = DATA.labels.copy()
    labels[4, 1] ^= 1
    digests = [
        digest_of(DATA),
        digest_of(LabelledData("", {**DATA.views, "text": text}, DATA.labels, DATA.categories)),
        digest_of(LabelledData("", {**DATA.views, "image": image}, DATA.labels, DATA.categories)),
        digest_of(LabelledData("", DATA.views, labels, DATA.categories)),
        digest_of(LabelledData("", DATA.views, DATA.labels, tuple("abcd"))),
        digest_of(DATA, key=np.array([f"k{row}" for row in range(20)])),
    ]
    assert len(set(digests)) == len(digests)
    assert digest_of(DATA) == digests[0]


def test_keys_are_the_files_or_its_name_and_the_row(file, tmp_path):
    given = range(20) if file.suffix == ".parquet" else [f"{file.stem} {row}" for row in range(20)]
    assert [key for items in all_items(file) for key in items.keys] == list(map(str, given))


def test_keys_and_payloads_of_rows(tmp_path):
    rows = [
        {"key": "a", "views": {"image": [1.0]}, "payload": {"price": 3, "tags": ["x"]}, "more": 1},
        {"key": 7, "views": {"image": [2.0]}, "categories": None},
        {"views": {"image": [3.0]}, "categories": ["c"], "payload": None},
    ]
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, rows)))
    found = all_items(tmp_path / "a.jsonl", 2)
    assert [list(items.keys) for items in found] == [["a", "7"], ["a 2"]]
    assert [list(items.payloads) for items in found] == [[{"price": 3, "tags": ["x"]}, {}], [{}]]
    assert [categories_of(items) for items in found] == [[set(), set()], [{"c"}]]
    table = {
        "key": ["a", None, "c"],
        "image": [[1.0], [2.0], [3.0]],
        "price": [3, None, 5],
        "title": pa.array(["x", "y", None]).dictionary_encode(),
        "new": [True, False, None],
        "tags": [["x"], [], None],
    }
    pq.write_table(pa.table(table), tmp_path / "b.parquet")
    found = all_items(tmp_path / "b.parquet", 2)
    assert [list(items.keys) for items in found] == [["a", "b 1"], ["c"]]
    expected = [[{"price": 3, "title": "x", "new": True}, {"title": "y", "new": False}]]
    assert [list(items.payloads) for items in found] == [*expected, [{"price": 5}]]


@pytest.mark.parametrize("write", [write_v5, write_v73])
def test_matlab_files_without_labels_and_with_keys(write, tmp_path):
    variables = matlab_variables()
    del variables["labels"], variables["category_names"]
    names = np.empty(20, dtype=object)
    names[:] = [f"k{row}" for row in range(20)]
    write(tmp_path / "a.mat", {**variables, "key": names})
    found = all_items(tmp_path / "a.mat")
    assert [key for items in found for key in items.keys] == names.tolist()
    assert {items.labels.shape[1] for items in found} == {0}
    assert found[0].views.keys() == {"image", "text"}


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_a_sparse_view_is_as_wide_as_is_said(name, tmp_path):
    words = [{"indices": [1], "values": [1.0]}, {"indices": [0, 4], "values": [1.0, 2.0]}]
    if name == "a.jsonl":
        lines = [json.dumps({"views": {"text": view}}) for view in words]
        (tmp_path / name).write_text("\n".join(lines))
    else:
        pq.write_table(pa.table({"text": words}), tmp_path / name)
    found = all_items(tmp_path / name, 1, {"text": 9})
    assert [items.views["text"].shape for items in found] == [(1, 9), (1, 9)]
    reading = parts(tmp_path / name, 1, widths={"text": 4})
    next(reading).read()
    with pytest.raises(DataFileError, match=r"item 1 .*'text'.*column 4.*4 wide"):
        next(reading).read()


def test_the_published_form_is_cut_as_well(tmp_path):
    rng = np.random.default_rng(0)
    variables = {
        f"{letter}_{part}": rng.random((4, width)) if letter != "L" else np.eye(4, 24)
        for part in ("tr", "te")
        for letter, width in (("I", 5), ("T", 6), ("L", 24))
    }
    write_v5(tmp_path / "MIRFLICKR_deep.mat", variables)
    found = all_items(tmp_path, 3)
    assert [len(items) for items in found] == [3, 3, 2]
    assert found[2].keys == ["MIRFLICKR_deep 6", "MIRFLICKR_deep 7"]
    images = np.vstack([items.views["image"] for items in found])
    np.testing.assert_array_equal(images, load(tmp_path).views["image"])


def test_arrays_in_the_order_of_columns(tmp_path):
    image = np.asfortranarray(np.arange(40.0).reshape(20, 2))
    write_savez(tmp_path / "a.npz", image=image)
    together = np.vstack([items.views["image"] for items in all_items(tmp_path / "a.npz")])
    np.testing.assert_array_equal(together, image)


def test_what_is_wrong_is_told_with_the_rows_of_the_file(tmp_path):
    lines = [json.dumps({"views": {"image": [1.0, 2.0]}})] * 5
    bad = {
        "{": r"line 6: is not JSON",
        '{"views": {"image": [1, 2]}, "key": 1.5}': r"line 6: 'key' must be text",
        '{"views": {"image": [1, 2]}, "payload": []}': r"line 6: 'payload' must be an object",
        '{"views": {"image": [1, 2]}, "categories": "a"}': r"line 6: 'categories' must be a list",
        '{"views": {"text": {"indices": [1, 1], "values": [1, 1]}}}': r"row 5 .*twice",
    }
    for line, told in bad.items():
        (tmp_path / "a.jsonl").write_text("\n".join([*lines, line]))
        reading = parts(tmp_path / "a.jsonl", 2)
        assert [len(next(reading).read()) for _ in range(2)] == [2, 2]
        with pytest.raises(DataFileError, match=told):
            next(reading).read()
    image = np.ones((20, 2))
    labels = DATA.labels.copy()
    labels[17, 0] = 3
    write_savez(tmp_path / "a.npz", image=image, labels=labels)
    with pytest.raises(DataFileError, match="'labels', row 17"):
        all_items(tmp_path / "a.npz")
    write_savez(tmp_path / "a.npz", image=image[1:])
    with pytest.raises(DataFileError, match="'image' has 19"):
        all_items(tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", name=np.array("b"))
    with pytest.raises(DataFileError, match="must be a view"):
        all_items(tmp_path / "b.npz")
    with pytest.raises(ParameterError, match="size"):
        parts(tmp_path / "a.npz", 0)


@pytest.mark.parametrize("name", WRITERS)
def test_a_damaged_file_gives_its_good_parts_or_nothing(name, tmp_path):
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    expected = [items.keys for items in all_items(path, 6)]
    rng = np.random.default_rng(0)
    for cut in rng.integers(1, len(whole), 40):
        path.write_bytes(whole[:cut])
        found, told = [], None
        try:
            for part in parts(path, 6, widths=WIDTHS):
                found.append(part.read().keys)  # noqa: PERF401 - what came before the error counts
        except DataFileError as error:
            told = str(error)
        # Cut at the end of a line, it is a whole, shorter file.
        assert name in (told or (name if name == "lines.jsonl" else ""))
        if name != "lines.jsonl":
            assert found == expected[: len(found)]
    if name.endswith(".npz"):
        flipped = bytearray(whole)
        flipped[whole.index(b"image.npy") + 300] ^= 1
        path.write_bytes(flipped)
        with pytest.raises(DataFileError, match="corrupt"):
            next(parts(path, 6))


def test_nothing_is_unpickled(tmp_path):
    evil = np.empty(20, dtype=object)
    write_savez(tmp_path / "a.npz", key=evil)
    with pytest.raises(DataFileError, match="Python objects"):
        all_items(tmp_path / "a.npz")


def write_many(path: Path, n_items: int, width: int = 64) -> None:
    """The same kind of items, however many, written a few at a time."""
    rng = np.random.default_rng(1)
    image = rng.standard_normal((n_items, width)).astype(np.float32)
    labels = np.eye(4, dtype=np.uint8)[np.arange(n_items) % 4]
    if path.suffix == ".npz":
        names = np.array(list("abcd"))
        save = np.savez_compressed if path.stem == "packed" else np.savez
        save(path, image=image, labels=labels, category_names=names)
    elif path.suffix == ".mat":
        write_v73(path, {"image": image})
    elif path.suffix == ".parquet":
        column = pa.FixedSizeListArray.from_arrays(image.ravel(), width)
        pq.write_table(pa.table({"image": column}), path, row_group_size=500)
    else:
        with path.open("w") as file:
            for row in image:
                file.write(json.dumps({"views": {"image": row.tolist()}}) + "\n")


@pytest.mark.parametrize(
    ("name", "n_items"),
    # An archive is first read through in pieces of 1 MB.
    [("a.jsonl", 200), ("a.parquet", 500), ("a.npz", 5000), ("packed.npz", 5000), ("a.mat", 500)],
)
def test_memory_does_not_grow_with_the_file(name, n_items, tmp_path):
    path, peaks = tmp_path / name, []
    for times in (1, 1, 8):  # the first run also pays for what is imported
        write_many(path, n_items * times)
        pool = pa.default_memory_pool()
        before, arrow = pool.bytes_allocated(), 0
        tracemalloc.start()
        for part in parts(path, n_items // 3):
            part.read()
            arrow = max(arrow, pool.bytes_allocated() - before)
        peaks.append(tracemalloc.get_traced_memory()[1] + arrow)
        tracemalloc.stop()
    assert peaks[2] < 1.5 * peaks[1]
