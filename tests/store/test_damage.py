"""Damaged files: `check` names them, and no answer is silently short or wrong.

``OMHASH_FULL=1`` tries many more places to damage.
"""

import os
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

import omhash
from omhash.errors import DamagedError, InputError, StoreError
from omhash.store import problems
from things import create, ingest, seen

TIMES = 100 if os.environ.get("OMHASH_FULL") == "1" else 8
WITHOUT_CONTENT = ("lock", "items.sqlite-shm")  # made anew by whoever opens the collection


@pytest.fixture(scope="module", params=["closed", "killed"])
def folder(request, tmp_path_factory):
    """A collection that was closed, or whose process was killed before the log was emptied."""
    made, copied = tmp_path_factory.mktemp("made") / "a", tmp_path_factory.mktemp("copied") / "a"
    things = create(made)
    ingest(things, 1, 40)
    ingest(things, 2, 30, labelled=False)
    things.delete(["key 1-3", "key 2-9"])
    ingest(things, 3, 30, keys=[f"key 1-{place}" for place in range(10, 40)])
    if request.param == "closed":
        things.close()
    shutil.copytree(made, copied)
    things.close()
    return copied


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """What is to be seen of it."""
    copy = tmp_path_factory.mktemp("whole") / "a"
    shutil.copytree(folder, copy)
    with omhash.open(copy) as things:
        return seen(things)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def damaged(folder, name, tmp_path, damage):
    """A copy with a damaged file, another such, and whether the damage changed anything."""
    copy, other = tmp_path / "damaged", tmp_path / "likewise"
    for path in (copy, other):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(folder, copy)
    content = (copy / name).read_bytes()
    (copy / name).unlink()
    left = damage(bytearray(content))
    if left is not None:
        (copy / name).write_bytes(left)
    shutil.copytree(copy, other)
    return copy, other, left is None or bytes(left) != content


def seen_or_refused(copy):
    """What is to be seen, or None where an error tells of the damage."""
    try:
        with omhash.open(copy) as things:
            return seen(things)
    except StoreError as error:
        told = str(error)
    assert str(copy) in told
    return None


@pytest.mark.parametrize(
    "damage",
    [lambda content: content[: len(content) // 2], lambda _: b"", lambda _: None],
    ids=["cut", "emptied", "removed"],
)
def test_cut_emptied_removed(folder, whole, tmp_path, damage):
    for name in names(folder):
        copy, other, changed = damaged(folder, name, tmp_path, damage)
        told, answers = problems(copy), seen_or_refused(other)
        if name in WITHOUT_CONTENT or not changed:
            assert told == []
        elif told or name != "items.sqlite" or "items.sqlite-wal" not in names(folder):
            assert any(name in problem for problem in told), (name, told)
        # Only the mark of the last commit, and pages that are in the log too, can be spared.
        assert answers == whole if not told or name == "generation" else answers is None, name


@pytest.mark.parametrize("n_bytes", [1, 20, 2000])
def test_flipped_bytes(folder, whole, tmp_path, n_bytes):
    rng = np.random.default_rng(n_bytes)
    found = 0
    for name in names(folder) * TIMES:

        def flip(content):
            places = rng.integers(0, max(len(content), 1), n_bytes if content else 0)
            for place in places:
                content[place] ^= int(rng.integers(1, 256))
            return content

        copy, other, changed = damaged(folder, name, tmp_path, flip)
        told, answers = problems(copy), seen_or_refused(other)
        assert answers in (None, whole), name
        if told:
            found += 1
            assert name not in WITHOUT_CONTENT
            assert any(name in problem for problem in told), (name, told)
        else:
            # Space between rows, or pages of the log that are in the database already.
            assert answers == whole, name
            assert not changed or name in (*WITHOUT_CONTENT, "items.sqlite", "items.sqlite-wal")
    assert found > TIMES


def test_the_marks_damage_is_mended(folder, whole, tmp_path):
    copy, other, _ = damaged(folder, "generation", tmp_path, lambda _: b"7 7")
    assert seen_or_refused(other) == whole
    assert "generation" in problems(copy)[0]
    assert "rebuilt" in problems(copy, repair=True)[0]
    assert problems(copy) == []
    assert seen_or_refused(copy) == whole


def test_a_damaged_index_of_the_database_is_mended(tmp_path):
    path = tmp_path / "things"
    with create(path) as things:
        ingest(things, 1, 40)
        whole = seen(things)
    database = path / "items.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        ((page,),) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_items_1'"
        )
        ((size,),) = connection.execute("PRAGMA page_size")
    content = bytearray(database.read_bytes())
    at = content.index(b"key 1-17", (page - 1) * size, page * size)
    content[at + 7] = ord("x")
    database.write_bytes(content)

    with omhash.open(path) as things:
        with pytest.raises(InputError, match="no item with the key"):
            things.search(key="key 1-17")
        with pytest.raises(DamagedError, match=r"items\.sqlite"):
            things.search(key="key 1-1x")
        assert any("items.sqlite" in problem for problem in things.check())
        assert all("rebuilt" in problem for problem in things.check(repair=True))
        assert things.check() == []
        assert things.search(key="key 1-17", k=3)
        assert seen(things) == whole


def test_a_filter_on_damaged_payloads_is_refused(tmp_path):
    path = tmp_path / "things"
    with create(path) as things:
        ingest(things, 1, 40, payloads=[{"price": 3}] * 40)
    database = path / "items.sqlite"
    database.write_bytes(database.read_bytes().replace(b'{"price": 3}', b'{"price": 4}', 1))
    assert any("items.sqlite" in problem for problem in problems(path))
    with omhash.open(path) as things:
        for price in (3, 4):
            with pytest.raises(DamagedError, match=r"items\.sqlite"):
                things.search({"image": np.ones((1, 6))}, where={"price": price})


def test_a_damaged_backup_is_not_restored(tmp_path):
    with create(tmp_path / "things") as things:
        ingest(things, 1)
        things.backup(tmp_path / "saved")
    (state,) = (tmp_path / "saved").glob("state-*")
    state.write_bytes(state.read_bytes()[:-1])
    with pytest.raises(DamagedError, match="state-"):
        omhash.Collection.restore(tmp_path / "saved", tmp_path / "restored")
    assert not (tmp_path / "restored").exists()


def test_a_damaged_collection_is_not_backed_up(tmp_path):
    with create(tmp_path / "things") as things:
        ingest(things, 1)
        (state,) = (tmp_path / "things").glob("state-*")
        state.unlink()
        with pytest.raises(DamagedError, match=state.name):
            things.backup(tmp_path / "saved")
    assert [path.name for path in tmp_path.iterdir()] == ["things"]
