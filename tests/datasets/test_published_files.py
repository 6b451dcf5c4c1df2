"""The authors' files, in small."""

from pathlib import Path

import numpy as np
import pytest
from dataset_files import dense, write_v5, write_v73
from scipy import sparse

from omhash.datasets import load, overlap
from omhash.datasets.mirflickr import MIRFLICKR
from omhash.datasets.nuswide import NUSWIDE
from omhash.errors import DataFileError

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
EACH = pytest.mark.parametrize("published", [MIRFLICKR, NUSWIDE], ids=lambda p: p.name)
MATLAB = pytest.mark.parametrize("write", [write_v5, write_v73])


def authors_variables(published, *, n_train=30, n_test=12):
    rng = np.random.default_rng(3)
    n_categories = len(published.categories)
    variables = {}
    for part, n in (("tr", n_train), ("te", n_test)):
        variables[f"I_{part}"] = rng.standard_normal((n, 11))
        variables[f"T_{part}"] = (rng.random((n, 40)) < 0.02).astype(np.float64)
        variables[f"L_{part}"] = (rng.random((n, n_categories)) < 0.2).astype(np.float64)
    return variables


def stacked(variables, letter):
    return np.vstack([dense(variables[f"{letter}_tr"]), dense(variables[f"{letter}_te"])])


@EACH
@MATLAB
@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("words", [np.asarray, sparse.csc_array])
def test_folder(published, write, compress, words, tmp_path):
    variables = authors_variables(published)
    for part in ("tr", "te"):
        variables[f"T_{part}"] = words(variables[f"T_{part}"])
    vectors = np.random.default_rng(0).standard_normal((len(published.categories), 300))
    write(tmp_path / published.file, variables, compress=compress)
    write(tmp_path / "Other_Groundtrue_Vec.mat", {"other_gt_vec": vectors + 1})
    write(tmp_path / "Some_Groundtrue_Vec.mat", {published.vectors: vectors})
    data = load(tmp_path)
    assert data.name == published.name
    assert data.categories == published.categories
    np.testing.assert_array_equal(data.views["image"], stacked(variables, "I"))
    assert isinstance(data.views["text"], sparse.csr_array)
    assert data.views["text"].dtype == np.uint8
    np.testing.assert_array_equal(data.views["text"].toarray(), stacked(variables, "T"))
    np.testing.assert_array_equal(data.labels, stacked(variables, "L"))
    np.testing.assert_array_equal(data.category_vectors, vectors)


@EACH
@MATLAB
def test_file_alone(published, write, tmp_path):
    write(tmp_path / published.file, authors_variables(published))
    data = load(tmp_path / published.file)
    assert data.category_vectors is None
    assert len(data) == 42
    overlap(data)


@MATLAB
def test_parts_of_which_one_is_sparse(write, tmp_path):
    variables = authors_variables(MIRFLICKR)
    variables["T_te"] = np.ones_like(variables["T_te"])
    write(tmp_path / MIRFLICKR.file, variables)
    text = load(tmp_path).views["text"]
    assert isinstance(text, sparse.csr_array)
    np.testing.assert_array_equal(text.toarray(), stacked(variables, "T"))


@MATLAB
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("I_tr", None, "I_tr"),
        ("L_te", None, "L_te"),
        ("T_te", np.ones((12, 39)), "T_tr has 40 columns and T_te has 39"),
        ("I_te", np.ones((13, 11)), "I_te.*13 rows.*12"),
        ("L_te", np.ones((12, 23)), "L_tr has 24 columns and L_te has 23"),
        ("L_te", np.full((12, 24), 2.0), "labels.*row 30"),
        ("T_tr", np.ones((30, 40)) * 1j, "T_tr"),
    ],
)
def test_refusals(write, name, value, told, tmp_path):
    variables = authors_variables(MIRFLICKR) | {name: value}
    write(tmp_path / MIRFLICKR.file, {n: v for n, v in variables.items() if v is not None})
    with pytest.raises(DataFileError, match=rf"{MIRFLICKR.file}.*{told}"):
        load(tmp_path)


def test_rows_that_only_add_up(tmp_path):
    variables = authors_variables(MIRFLICKR, n_train=20, n_test=20)
    images = stacked(variables, "I")
    write_v5(tmp_path / MIRFLICKR.file, variables | {"I_tr": images[:19], "I_te": images[19:]})
    with pytest.raises(DataFileError, match=r"I_tr.*19 rows.*20"):
        load(tmp_path)


def test_other_number_of_categories(tmp_path):
    write_v5(tmp_path / MIRFLICKR.file, authors_variables(NUSWIDE))
    with pytest.raises(DataFileError, match="21 columns, and MIRFlickr has 24"):
        load(tmp_path)


@MATLAB
def test_vectors_of_another_form(write, tmp_path):
    write(tmp_path / MIRFLICKR.file, authors_variables(MIRFLICKR))
    write(tmp_path / "MIR_Groundtrue_Vec.mat", {"mir_gt_vec": np.ones((300, 24))})
    with pytest.raises(DataFileError, match=r"MIR_Groundtrue_Vec\.mat.*300 rows.*24"):
        load(tmp_path)


def test_folder_with_both_or_neither(tmp_path):
    with pytest.raises(DataFileError, match="neither"):
        load(tmp_path)
    for published in (MIRFLICKR, NUSWIDE):
        write_v5(tmp_path / published.file, authors_variables(published))
    with pytest.raises(DataFileError, match="both"):
        load(tmp_path)
    assert load(tmp_path / NUSWIDE.file).name == "NUS-WIDE"


@pytest.mark.parametrize(
    ("published", "file"),
    [(MIRFLICKR, "MIRFLICKR_word2vec300.npz"), (NUSWIDE, "NUSWIDE21_word2vec300.npz")],
)
def test_names_are_in_the_order_of_the_authors(published, file):
    if not (SHARED / file).exists():
        pytest.skip("the authors' category vectors are not beside the checkout")
    names = np.load(SHARED / file)["category_names"].tolist()
    assert [{"wate": "water"}.get(name, name) for name in names] == list(published.categories)


@EACH
def test_groups_hold_every_category_once(published):
    for groups in (published.overlap, published.non_overlap):
        numbers = [number for group in groups for number in group]
        assert sorted(numbers) == list(range(1, len(published.categories) + 1))
    assert [len(MIRFLICKR.overlap), len(MIRFLICKR.non_overlap)] == [10, 4]
    assert [len(NUSWIDE.overlap), len(NUSWIDE.non_overlap)] == [20, 8]
