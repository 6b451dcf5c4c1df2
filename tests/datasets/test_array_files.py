"""NumPy archives and MATLAB files: what their arrays may be, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dataset_files import (
    DATA,
    assert_same,
    cells,
    matlab_variables,
    write_savez,
    write_v5,
    write_v73,
)
from scipy import sparse

from omhash.datasets import LabelledData, load, synthetic, write_npz
from omhash.errors import DataFileError, ParameterError

COCO = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "coco_dev.npz"
MATLAB = pytest.mark.parametrize("write", [write_v5, write_v73])


def test_npz_round_trip(tmp_path):
    write_npz(DATA, tmp_path / "a.npz")
    loaded = load(tmp_path / "a.npz")
    assert_same(loaded, DATA)
    assert loaded.name == DATA.name
    np.testing.assert_array_equal(loaded.category_vectors, DATA.category_vectors)
    for modality, view in DATA.views.items():
        assert loaded.views[modality].dtype == view.dtype


def test_npz_bytes_depend_on_the_data_alone(tmp_path):
    write_npz(DATA, tmp_path / "a.npz")
    write_npz(DATA, tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("modality", ["labels", "name", "words_vocabulary", "text_indptr"])
def test_npz_refuses_modality_names_it_could_not_read_back(modality, tmp_path):
    views = {"text": DATA.views["text"], modality: DATA.views["image"]}
    with pytest.raises(ParameterError, match=modality):
        write_npz(replace(DATA, views=views), tmp_path / "a.npz")


def test_npz_takes_its_name_from_the_file(tmp_path):
    write_savez(tmp_path / "flowers.npz")
    assert load(tmp_path / "flowers.npz").name == "flowers"


@pytest.mark.parametrize(
    ("array", "value", "told"),
    [
        ("labels", None, "labels"),
        ("labels", DATA.labels * 2, "row 0"),
        ("labels", DATA.labels[:-1], "19"),
        ("labels", np.zeros((0, 4)), "no item"),
        ("labels", DATA.labels.astype(str), "labels"),
        ("category_names", None, "category_names"),
        ("category_names", np.arange(4), "category_names"),
        ("category_names", np.array(list("aabc")), "'a'"),
        ("category_names", np.array(list("abc")), "3 category names for 4"),
        ("category_vectors", np.ones((3, 5)), "category vectors"),
        ("category_vectors", np.full((4, 5), np.nan), "category vectors"),
        ("image", np.ones((19, 6)), "image.*19 rows"),
        ("image", np.ones((20, 6), dtype=complex), "image.*complex"),
        ("image", np.full((20, 6), "a"), "image.*U1"),
        ("image", np.ones((20, 0)), "image.*column"),
        ("text_indices", None, "text_indices"),
        ("text_indices", DATA.views["text"].indices + 29, "corrupt"),
        ("text_indices", DATA.views["text"].indices * 0, "text.*twice"),
        ("text_indices", DATA.views["text"].indices * 1.0, "text_indices"),
        ("text_indptr", DATA.views["text"].indptr[:-1], "corrupt"),
        ("text_shape", np.array([20]), "text_shape"),
    ],
)
def test_npz_refusals(array, value, told, tmp_path):
    write_savez(tmp_path / "bad.npz", **{array: value})
    with pytest.raises(DataFileError, match=rf"bad\.npz.*{told}"):
        load(tmp_path / "bad.npz")


def test_npz_without_views(tmp_path):
    np.savez(tmp_path / "a.npz", labels=DATA.labels, category_names=np.array(DATA.categories))
    with pytest.raises(DataFileError, match="no view"):
        load(tmp_path / "a.npz")


def test_file_that_is_a_single_array(tmp_path):
    with (tmp_path / "a.npz").open("wb") as file:
        np.save(file, np.ones(3))
    with pytest.raises(DataFileError, match=r"a\.npz.*single array"):
        load(tmp_path / "a.npz")


def test_npz_in_another_byte_order(tmp_path):
    write_savez(tmp_path / "a.npz", image=DATA.views["image"].astype(">f4"))
    loaded = load(tmp_path / "a.npz")
    assert_same(loaded, DATA)
    assert loaded.views["image"].dtype == np.dtype(np.float32)


@pytest.mark.skipif(not COCO.exists(), reason="the development data are not beside the checkout")
def test_coco():
    data = load(COCO)
    assert {name: view.shape for name, view in data.views.items()} == {
        "image": (6000, 1280),
        "text": (6000, 1332),
    }
    assert data.views["image"].dtype == np.float16
    assert len(data.categories) == 80
    assert data.category_vectors.shape == (80, 300)


@MATLAB
def test_matlab_character_matrix_and_ignored_vocabulary(write, tmp_path):
    variables = matlab_variables() | {
        "category_names": np.array(["a", "long name", "b", "c"]),
        "text_vocabulary": cells([f"word {j}" for j in range(30)]),
        "category_vectors": DATA.category_vectors,
    }
    write(tmp_path / "a.mat", variables)
    loaded = load(tmp_path / "a.mat")
    assert_same(loaded, replace(DATA, categories=("a", "long name", "b", "c")))
    np.testing.assert_array_equal(loaded.category_vectors, DATA.category_vectors)


@MATLAB
@pytest.mark.parametrize(
    ("value", "kind"),
    [(3.0, np.uint8), (0.5, np.float32), (-3.0, np.float32), (256.0, np.float32)],
)
def test_matlab_views_become_sparse_below_five_percent(write, value, kind, tmp_path):
    thin = np.zeros((20, 30))
    thin[::2, 7] = value  # 10 of 600 values
    full = np.zeros((20, 30))
    full[:, :2] = value  # 40 of 600
    write(tmp_path / "a.mat", matlab_variables() | {"thin": thin, "full": full})
    views = load(tmp_path / "a.mat").views
    assert isinstance(views["thin"], sparse.csr_array)
    assert views["thin"].dtype == kind
    np.testing.assert_array_equal(views["thin"].toarray(), thin)
    assert isinstance(views["full"], np.ndarray)
    assert views["full"].dtype == np.float64
    np.testing.assert_array_equal(views["full"], full)


@MATLAB
def test_matlab_sparse_matrix_without_values(write, tmp_path):
    write(tmp_path / "a.mat", matlab_variables() | {"empty": sparse.csc_array((20, 9))})
    assert load(tmp_path / "a.mat").views["empty"].shape == (20, 9)


@MATLAB
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("labels", None, "labels"),
        ("labels", DATA.labels + 1.0, "row 0"),
        ("category_names", None, "category_names"),
        ("category_names", np.ones((4, 1)), "category_names"),
        ("category_names", cells(["a", "b"]), "2 category names"),
        ("category_vectors", np.ones((5, 3)), "category_vectors.*5 rows"),
        ("image", cells(["a"] * 20), "image"),
        ("image", np.array(["a"] * 20), "image"),
        ("image", np.ones((20, 2)) * 1j, "image"),
        ("image", np.ones((5, 20)), "5 rows"),
        ("text", sparse.csc_array((21, 3)), "text.*21 rows"),
    ],
)
def test_matlab_refusals(write, name, value, told, tmp_path):
    variables = matlab_variables() | {name: value}
    write(tmp_path / "bad.mat", {n: v for n, v in variables.items() if v is not None})
    with pytest.raises(DataFileError, match=rf"bad\.mat.*{told}"):
        load(tmp_path / "bad.mat")


def test_matlab_struct_and_nested_cells(tmp_path):
    inner = np.empty(2, dtype=object)
    inner[:] = [cells(["a"]), np.ones(3)]
    for odd in ({"a": 1.0}, inner):
        write_v5(tmp_path / "bad.mat", matlab_variables() | {"odd": odd})
        with pytest.raises(DataFileError, match="odd"):
            load(tmp_path / "bad.mat")
        write_v5(tmp_path / "fine.mat", matlab_variables() | {"odd_vocabulary": odd})
        assert_same(load(tmp_path / "fine.mat"), DATA)


def test_matlab_of_larger_blocks(tmp_path, monkeypatch):
    # Small blocks, so that a view takes several and the last is smaller.
    monkeypatch.setattr("omhash.datasets.matlab_files._BLOCK_BYTES", 200)
    thin = np.zeros((20, 30))
    thin[3, 3] = thin[19, 29] = 2
    write_v73(tmp_path / "a.mat", matlab_variables() | {"thin": thin})
    loaded = load(tmp_path / "a.mat")
    expected = replace(DATA, views={**DATA.views, "thin": sparse.csr_array(thin)})
    assert_same(loaded, expected)


def test_name_survives_so_that_groups_do(tmp_path):
    data: LabelledData = replace(synthetic.make(), name="MIRFlickr")
    write_npz(data, tmp_path / "copy.npz")
    assert load(tmp_path / "copy.npz").name == "MIRFlickr"
