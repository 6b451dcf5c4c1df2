import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from dataset_files import DATA, WRITERS, assert_same
from hypothesis import given, settings
from hypothesis import strategies as st

from omhash.datasets import LabelledData, load
from omhash.errors import DataFileError


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    for name, write in WRITERS.items():
        write(folder / name)
    return {name: (folder / name).read_bytes() for name in WRITERS}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def assert_refused_or_sound(path: Path) -> None:
    try:
        data = load(path)
    except DataFileError as error:
        told = str(error)
    else:
        assert_sound(data)
        told = path.name
    assert path.name in told


def assert_sound(data: LabelledData) -> None:
    assert isinstance(data, LabelledData)
    assert set(np.unique(data.labels)) <= {0, 1}
    assert data.labels.shape[1] == len(data.categories)
    for view in data.views.values():
        assert view.ndim == 2
        assert view.shape[0] == len(data)
        assert view.dtype.kind in "fiu"


@pytest.mark.parametrize("name", WRITERS)
def test_whole_files_load(name, whole_files, folder):
    path = folder / name
    path.write_bytes(whole_files[name])
    assert_same(load(path), DATA)


@pytest.mark.parametrize("name", WRITERS)
@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_flipped_bytes(name, whole_files, folder, data):
    damaged = bytearray(whole_files[name])
    flips = st.tuples(st.integers(0, len(damaged) - 1), st.integers(1, 255))
    for position, mask in data.draw(st.lists(flips, min_size=1, max_size=4)):
        damaged[position] ^= mask
    path = folder / name
    path.write_bytes(damaged)
    assert_refused_or_sound(path)


@pytest.mark.parametrize("name", WRITERS)
@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=40, deadline=None)
def test_truncated_files(name, whole_files, folder, share):
    path = folder / name
    path.write_bytes(whole_files[name][: int(share * len(whole_files[name]))])
    if name.endswith(".jsonl"):  # cut at the end of a line, it is a whole, shorter file
        assert_refused_or_sound(path)
    else:
        with pytest.raises(DataFileError, match=name):
            load(path)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("content", [b"", b"\0" * 4096, b"not what the name says\n" * 20])
def test_other_content(name, content, folder):
    path = folder / name
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=name):
        load(path)


@pytest.mark.parametrize("name", [*WRITERS, "folder", "NUSWIDE21_deep.mat"])
def test_missing_file(name, tmp_path):
    with pytest.raises(DataFileError, match=name):
        load(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npz", ".jsonl", ".parquet", ".mat"])
def test_one_format_under_the_name_of_another(suffix, whole_files, tmp_path):
    for name, content in whole_files.items():
        if not name.endswith(suffix):
            path = tmp_path / f"{name}{suffix}"
            path.write_bytes(content)
            with pytest.raises(DataFileError, match=re.escape(path.name)):
                load(path)


@pytest.mark.parametrize("place", range(8))
def test_matlab_type_numbers_that_crash_scipy(place, whole_files, folder):
    # A data element whose type number lies outside SciPy's table of types.
    whole = whole_files["v5.mat"]
    start = whole.index(b"image") + 8 + 8 * place
    damaged = bytearray(whole)
    damaged[start : start + 4] = (171).to_bytes(4, "little")
    path = folder / "v5.mat"
    path.write_bytes(damaged)
    assert_refused_or_sound(path)


def test_unknown_suffix(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n")
    with pytest.raises(DataFileError, match=r"data\.csv.*\.npz, \.parquet, \.jsonl, \.mat"):
        load(path)


def test_nothing_is_unpickled(tmp_path):
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return Path.touch, (ran,)

    evil = np.empty(1, dtype=object)
    evil[0] = Evil()
    np.savez(tmp_path / "evil.npz", labels=evil, category_names=evil)
    with pytest.raises(DataFileError, match="evil"):
        load(tmp_path / "evil.npz")
    shutil.copy(tmp_path / "evil.npz", tmp_path / "evil.mat")
    with pytest.raises(DataFileError, match="evil"):
        load(tmp_path / "evil.mat")
    assert not ran.exists()
