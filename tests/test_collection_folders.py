"""What cannot be made, or is no collection, is refused and left as it was."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import omhash
from omhash import HCFW, Collection
from omhash.errors import (
    FormatError,
    ParameterError,
    StoreError,
    UnsupportedError,
)
from omhash.hashers import FOMH, OMHDQ, SAPMH
from omhash.store.records import seal
from things import WIDTHS, create, ingest, seen

QUERY = {"image": np.ones((1, 6))}


@pytest.fixture(scope="module")
def things(tmp_path_factory):
    with create(tmp_path_factory.mktemp("refusals") / "things") as made:
        ingest(made, 1)
        before = seen(made)
        yield made
        assert seen(made) == before
        assert made.check() == []


CREATES = {
    "n_bits": ({"hasher": None, "n_bits": 12}, "n_bits"),
    "n_bits twice": ({"hasher": HCFW(16), "n_bits": 32}, "leave it out"),
    "no modalities": ({"modalities": {}}, "modalities"),
    "width 0": ({"modalities": {"image": 0}}, "width"),
    "width text": ({"modalities": {"image": "6"}}, "width"),
    "modality no text": ({"modalities": {3: 6}}, "name must be text"),
    "sketch bits": ({"sketch_bits": 12}, "multiple of 8"),
    "sketches of what": ({"sketch_bits": {"sound": 8}}, "no modality 'sound'"),
    "seed": ({"seed": -1}, "seed"),
    "seed None": ({"seed": None}, "seed"),
}


@pytest.mark.parametrize("case", CREATES)
def test_create(tmp_path, case):
    changed, words = CREATES[case]
    with pytest.raises(ParameterError, match=words):
        create(tmp_path / "new", **changed)
    assert list(tmp_path.iterdir()) == []
    create(tmp_path / "new").close()


@pytest.mark.parametrize("hasher", [FOMH(), OMHDQ(), SAPMH()], ids=lambda it: type(it).__name__)
def test_a_hasher_that_changes_stored_codes_is_refused(tmp_path, hasher):
    with pytest.raises(UnsupportedError, match="use another hasher"):
        create(tmp_path / "new", hasher=hasher)
    assert list(tmp_path.iterdir()) == []


def test_numbers_of_numpy_are_numbers(tmp_path):
    made = Collection.create(
        tmp_path / "new",
        n_bits=np.int64(16),
        modalities={"image": np.int32(6), "text": 4},
        sketch_bits=np.int64(8),
        seed=np.int64(3),
    )
    ingest(made, 1)
    made.close()
    omhash.open(tmp_path / "new").close()


def test_a_path_that_is_something_else(tmp_path):
    file, empty, full = tmp_path / "file", tmp_path / "empty", tmp_path / "full"
    file.write_text("something")
    empty.mkdir()
    full.mkdir()
    (full / "something").write_text("else")
    with pytest.raises(StoreError, match="is a file"):
        omhash.open(file)
    with pytest.raises(StoreError, match="no collection here"):
        omhash.open(tmp_path / "nowhere")
    for path in (empty, full):
        with pytest.raises(StoreError, match=r"items\.sqlite: is missing"):
            omhash.open(path)
    for path in (file, full, file / "below"):
        with pytest.raises(StoreError, match=path.name):
            create(path)
    assert file.read_text() == "something"
    assert [path.name for path in full.iterdir()] == ["something"]
    create(empty).close()  # an empty folder is as good as none


def test_a_collection_is_not_created_twice(things):
    with pytest.raises(StoreError, match="there already"):
        create(things.status()["path"])


def test_a_future_format(tmp_path):
    create(tmp_path / "new").close()
    with closing(sqlite3.connect(tmp_path / "new" / "items.sqlite")) as connection, connection:
        ((text,),) = connection.execute("SELECT document FROM head")
        text = json.dumps({"format": 99, "generation": 0, "something": json.loads(text)})
        connection.execute("UPDATE head SET document = ?, seal = ?", (text, seal(text)))
    with pytest.raises(FormatError, match="format 99"):
        omhash.open(tmp_path / "new")


READ_ONLY = """
import os, sys
import numpy as np
import omhash
from omhash.errors import StoreError
from things import ingest, seen
path, other = sys.argv[1:]
with omhash.open(other) as things:
    seen(things)  # loads what only this user may read
if os.getuid() == 0:
    os.setuid(65534)
with omhash.open(path) as things:
    assert len(things.search({"image": np.ones((1, 6))}, k=3)[0]) == 3
    assert len(list(things.items())) == 20
    assert things.check() == []
    for write in (lambda: ingest(things, 9), lambda: things.delete(["key 1-1"]), things.compact):
        try:
            write()
        except StoreError as error:
            assert path in str(error) and "denied" in str(error), error
        else:
            raise AssertionError("it was written")
    assert len(things.search({"image": np.ones((1, 6))}, k=3)[0]) == 3
"""


def test_a_folder_that_may_only_be_read(things):
    # Not below pytest's own folder, which nobody else may enter.
    with tempfile.TemporaryDirectory() as outside:
        Path(outside).chmod(0o755)
        folder = Path(outside) / "things"
        things.backup(folder)
        for path in folder.iterdir():
            path.chmod(0o444)
        folder.chmod(0o555)
        paths = [str(Path(__file__).parent), *sys.path]
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-c", READ_ONLY, str(folder), things.status()["path"]],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
        )
        folder.chmod(0o755)
        with Collection.restore(folder, Path(outside) / "restored") as restored:
            assert len(restored) == 20
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr


def test_widths_are_the_collections(things):
    assert things.status()["modalities"] == WIDTHS
