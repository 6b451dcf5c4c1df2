"""Copies: from any engine to any, whole, compared, and gone on with."""

import numpy as np
import pytest

import omhash
from omhash import copying
from omhash.copying import copy
from omhash.errors import ParameterError, StoreError
from things import create, ingest, seen, some


@pytest.fixture
def source(tmp_path):
    with create(tmp_path / "source", sketch_bits={"image": 24}) as things:
        ingest(things, 1, 40, round_id="first")
        ingest(things, 2, 20, labelled=False)
        views, labels, _, _ = some(3, 6)
        views["text"][2] = np.nan
        payloads = [{"näme": ["a", {"b": None}], "number": 2.5e-300, "large": 2**62}, *[{}] * 5]
        keys = ["key 1-3", "a\nkey", 'with "quotes" \\', "ключ", "key 2-1", "😀"]
        things.ingest(views, labels, keys=keys, payloads=payloads)
        things.delete(["key 1-4", "key 2-2"])
    return tmp_path / "source"


def all_of(path):
    with omhash.open(path) as things:
        assert things.check() == []
        return seen(things)


def test_there_and_back(source, lite, tmp_path):
    there, back = next(lite), tmp_path / "back"
    whole = all_of(source)
    report = copy(source, there)
    assert (report.items, report.rounds, report.rounds_there_before) == (62, 3, 0)
    assert copy(there, back).items == 62
    for path in (there, back):
        copied = all_of(path)
        assert {**copied, "generation": 0} == {**whole, "generation": 0}
    with omhash.open(source) as one, omhash.open(there) as other:
        for things in (one, other):  # both learn on from the same
            ingest(things, 9, 30)
        assert seen(one)["found"] == seen(other)["found"]


@pytest.mark.parametrize("n_done", range(4))
def test_what_was_interrupted_is_gone_on_with(source, new_path, n_done, monkeypatch):
    target = new_path()
    changes = copying._changes

    def broken(reading, before):
        for number, change in enumerate(changes(reading, before)):
            if number == n_done:
                raise KeyboardInterrupt
            yield change
        raise KeyboardInterrupt

    monkeypatch.setattr(copying, "_changes", broken)
    with pytest.raises(KeyboardInterrupt):
        copy(source, target)
    monkeypatch.undo()
    report = copy(source, target)
    assert (report.items, report.rounds_there_before) == (62, n_done)
    assert copy(source, target).rounds_there_before == 3
    assert all_of(target)["found"] == all_of(source)["found"]


def test_what_holds_something_else_is_left_alone(source, new_path):
    target = new_path()
    with create(target) as things:
        ingest(things, 7)
    before = all_of(target)
    with pytest.raises(StoreError, match="other parameters"):
        copy(source, target)
    other = new_path()
    with create(other, sketch_bits={"image": 24}) as things:
        ingest(things, 7)
    with pytest.raises(StoreError, match="rounds of its own"):
        copy(source, other)
    assert all_of(target) == before


def test_a_difference_is_found(source, new_path):
    target = new_path()
    copy(source, target)
    with omhash.open(target) as things:
        things.delete(["key 1-7"])
    with pytest.raises(StoreError, match=r"the item 'key 1-[78]' is not that of"):
        copy(source, target)


def test_a_folder_with_an_index_of_its_own(tmp_path, new_path):
    with create(tmp_path / "source", index="ivf") as things:
        ingest(things, 1)
    target = new_path()
    assert copy(tmp_path / "source", target).items == 20
    assert copy(tmp_path / "source", target).rounds_there_before == 1
    with omhash.open(target) as things:
        in_a_folder = "://" not in things.status()["path"]
        assert things.status()["index"]["engine"] == ("ivf" if in_a_folder else "milvus")


def test_a_copy_onto_itself(source, lite, monkeypatch):
    monkeypatch.chdir(source.parent)
    there = next(lite)
    for one, other in (("source", source), (there, f"{there}?timeout=5")):
        with pytest.raises(ParameterError, match="one place"):
            copy(one, other)


def test_an_empty_collection(tmp_path, new_path):
    create(tmp_path / "empty").close()
    assert copy(tmp_path / "empty", new_path()).items == 0


def test_no_source(tmp_path):
    with pytest.raises(StoreError, match="no collection here"):
        copy(tmp_path / "nothing", tmp_path / "target")
    assert not (tmp_path / "target").exists()
