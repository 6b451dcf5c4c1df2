"""What a collection in a folder does beyond what every collection does."""

import shutil
import threading

import pytest

import omhash
from omhash import HCFW, Collection
from omhash.errors import StoreError
from omhash.store import SQLiteStore, problems
from things import create, ingest, seen, some


@pytest.fixture
def path(tmp_path):
    return tmp_path / "things"


@pytest.fixture
def things(path):
    with create(path) as made:
        yield made


def test_nothing_of_the_forgotten_is_left_in_the_files(things, path):
    ingest(things, 1, 50)
    views, labels, _, _ = some(2, 50)
    keys = [f"SECRETKEY{place:03}" for place in range(50)]
    payloads = [{"price": 1, "note": f"SECRETNOTE{place:03} " * 300} for place in range(50)]
    things.ingest(views, labels, keys=keys, payloads=payloads)
    codes = [item.code.tobytes() for item in things.items()][50:]
    things.ingest(views, labels, keys=keys, payloads=payloads)  # replaced once, too
    things.delete(["key 1-0"])
    records = [at for at in stored(path) if b"SECRETKEY" in at or b"SECRETNOTE" in at]
    assert records
    things.forget(keys, views)
    assert [at for at in stored(path) if b"SECRETKEY" in at or b"SECRETNOTE" in at] == []
    assert len(codes) == 50
    things.close()
    assert [at for at in stored(path) if b"SECRET" in at] == []


def stored(path):
    return [file.read_bytes() for file in path.iterdir()]


def test_a_forgotten_code_is_not_left_in_the_files(path):
    with create(path, hasher=HCFW(128, random_state=0, theta=1.0), sketch_bits=64) as things:
        ingest(things, 1, 30)
        views, _, keys, _ = some(2, 1, labelled=False)
        things.ingest(views, keys=keys)  # an encoded code, which no other item has
        *others, item = things.items()
        code = item.code.tobytes()
        assert code not in {other.code.tobytes() for other in others}
        assert any(code in content for content in stored(path))
        things.forget(keys, views)
        assert not any(code in content for content in stored(path))


def test_backup_and_restore(things, tmp_path):
    ingest(things, 1)
    ingest(things, 2, labelled=False)
    before = seen(things)
    things.backup(tmp_path / "deeper" / "saved")
    ingest(things, 3)
    things.delete(["key 1-0"])
    assert problems(tmp_path / "deeper" / "saved") == []
    with Collection.restore(tmp_path / "deeper" / "saved", tmp_path / "restored") as restored:
        assert seen(restored) == before
        ingest(restored, 3)
        assert restored.check() == []
    with pytest.raises(StoreError, match="there already"):
        things.backup(tmp_path / "restored")
    with pytest.raises(StoreError, match="there already"):
        Collection.restore(tmp_path / "deeper" / "saved", tmp_path / "restored")
    assert not list(tmp_path.rglob("*.unfinished"))


def test_backup_while_another_thread_ingests(things, tmp_path):
    ingest(things, 0)
    done = threading.Event()
    wrong = []

    def write():
        try:
            for seed in range(1, 41):
                ingest(things, seed, 5)
        except Exception as error:
            wrong.append(error)
        finally:
            done.set()

    writer = threading.Thread(target=write)
    writer.start()
    backups = []
    while not done.is_set() or not backups:
        backups.append(tmp_path / f"saved {len(backups)}")
        things.backup(backups[-1])
    writer.join()
    assert not wrong
    sizes = []
    for backup in backups:
        assert problems(backup) == []
        with omhash.open(backup) as copy:
            n_rounds = len(copy.rounds())
            assert len(copy) == 20 + 5 * (n_rounds - 1)
            sizes.append(len(copy))
    assert sizes == sorted(sizes)
    assert things.check() == []


def test_compact_gives_space_back(things, path):
    views, labels, keys, _ = some(1, 200)
    things.ingest(views, labels, keys=keys, payloads=[{"text": "x" * 2000}] * 200)
    things.delete(keys[:190])
    before = things.status()["bytes_on_disk"]
    picture = seen(things)
    assert things.compact()
    assert things.status()["bytes_on_disk"] < before / 4
    assert seen(things) == picture
    ingest(things, 2)
    assert things.check() == []


def test_a_reader_outruns_the_removal_of_old_states(things, path, monkeypatch):
    ingest(things, 1)
    with omhash.open(path) as reader:
        ingest(things, 2)
        load_state = SQLiteStore.load_state

        def late(store, reference):
            monkeypatch.undo()
            ingest(things, 3)  # removes the file that is about to be loaded
            return load_state(store, reference)

        monkeypatch.setattr(SQLiteStore, "load_state", late)
        assert len(reader) == 60
        assert seen(reader) == seen(things)


def test_a_backup_outruns_the_removal_of_old_states(things, tmp_path, monkeypatch):
    ingest(things, 1)
    copyfile = shutil.copyfile

    def late(*paths):
        monkeypatch.undo()
        ingest(things, 2)  # removes the file that is about to be copied
        return copyfile(*paths)

    monkeypatch.setattr(shutil, "copyfile", late)
    things.backup(tmp_path / "saved")
    assert problems(tmp_path / "saved") == []
    with omhash.open(tmp_path / "saved") as copy:
        assert len(copy) == 40


def test_the_size_is_that_of_all_files(things, path):
    ingest(things, 1)
    size = sum(file.stat().st_size for file in path.iterdir())
    assert things.status()["bytes_on_disk"] == size
