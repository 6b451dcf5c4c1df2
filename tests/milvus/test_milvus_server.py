"""A collection on a real Milvus server, and what happens when that server fails."""

import threading
import time

import numpy as np
import pytest

import omhash
from omhash.copying import copy
from omhash.errors import BusyError, FormatError, StoreError, UnreachableError, UnsupportedError
from omhash.store.milvus import claims, store
from omhash.store.milvus.tables import document_rows, head_key
from things import create, ingest, seen, some

QUERY = {"image": np.ones((1, 6))}


@pytest.fixture(scope="module")
def shared(server):
    """The address of a collection of twenty items, which takes a while to make."""
    path = server.new_path()
    with create(path) as things:
        ingest(things, 1)
    return path


def same(one, other):
    """Whether the same is seen; rounds took their own time."""
    return one["items"] == other["items"] and one["found"] == other["found"]


def test_all_that_a_collection_does(server, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "STALE", 0.5)  # nobody else reads
    path = server.new_path()
    with create(path) as things, create(tmp_path / "twin") as twin:
        for one in (things, twin):
            ingest(one, 1, 60)
            ingest(one, 2, 30, labelled=False)
            assert one.delete(["key 1-1", "key 2-2", "never there"]) == 2
            views, labels, keys, payloads = some(3, 10)
            payloads[0]["odd \\ näme"] = "it's"
            one.ingest(views, labels, keys=[*keys[:5], *some(1, 5)[2]], payloads=payloads)
            assert ingest(one, 1, 60, round_id="round 1").repeated
        before = seen(things)
        assert same(before, seen(twin))
        keys = ["key 1-7", "key 1-8"]
        views = {name: view[7:9] for name, view in some(1, 60)[0].items()}
        reports = [one.forget(keys, views) for one in (things, twin)]
        assert [report.forgotten for report in reports] == [2, 2]
        assert same(seen(things), seen(twin))
        assert things.check() == []
        with pytest.raises(UnsupportedError, match="omhash copy"):
            things.backup(tmp_path / "backup")
        after = seen(things)
    with omhash.open(path) as again:
        assert seen(again) == after
    report = copy(path, tmp_path / "copy")
    assert report.items == len(after["items"])
    with omhash.open(tmp_path / "copy") as copied:
        assert seen(copied)["found"] == after["found"]
    with pytest.raises(StoreError, match="is there already"):
        create(path)


def test_who_reads_sees_whole_rounds_of_who_writes(server):
    path = server.new_path()
    with create(path) as things, omhash.open(path) as reader:
        done, sizes, wrong = threading.Event(), [], []

        def read():
            try:
                while not done.is_set():
                    (hits,) = reader.search(QUERY, k=1000)
                    sizes.append(len(hits))
            except BaseException as error:
                wrong.append(error)

        reading = threading.Thread(target=read)
        reading.start()
        for seed in range(2):
            ingest(things, seed, 50)
            things.delete([f"key {seed}-{place}" for place in range(10)])
            assert len(things) == len(things.search(QUERY, k=1000)[0]) == 40 * (seed + 1)
        end = time.monotonic() + 20
        while sizes[-1] != 80 and time.monotonic() < end and not wrong:
            time.sleep(0.1)
        done.set()
        reading.join()
        assert not wrong
        assert set(sizes) <= {0, 50, 40, 90, 80}
        assert sizes[-1] == 80


def test_a_second_writer_waits_and_is_told(shared):
    with omhash.open(shared) as things, omhash.open(shared, patience=0.2) as other:
        with things._store.writing():
            with pytest.raises(BusyError, match=r"0\.2 seconds"):
                other.delete(["key 1-1"])
            assert len(other.search(QUERY, k=100)[0]) == 20
        assert other.delete(["never there"]) == 0


def test_a_killed_writer_is_outwaited_by_the_impatient(shared, monkeypatch):
    monkeypatch.setattr(claims, "LEASE", 3.0)
    with omhash.open(shared, patience=0.2) as things:
        things._store._claims._put("killed", 0)  # what it leaves
        assert things.delete(["never there"]) == 0


def test_a_writer_that_was_taken_for_dead_is_told(server):
    path = server.new_path()
    with create(path) as things, omhash.open(path) as other:
        publish = things._store._commit.publish

        def late(head):
            ingest(other, 2, round_id="theirs")  # begins after what ours has reserved
            publish(head)

        things._store._claims.held = other._store._claims.held = free
        things._store._commit.publish = late
        with pytest.raises(BusyError, match="somebody else"):
            ingest(things, 3, round_id="ours")
        things._store._commit.publish = publish
        assert [report.id for report in things.rounds()] == ["theirs"]
        assert things.check() == []
        ingest(things, 3, round_id="ours")
        assert [report.id for report in things.rounds()] == ["theirs", "ours"]
        assert len(things) == 40


class free:  # noqa: N801 - stands for a method
    def __init__(self, patience):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_a_server_that_is_killed_and_comes_back(server):
    path = server.new_path("?timeout=90")
    with create(path) as things:
        ingest(things, 1, 40, round_id="1")
        before = seen(things)
        outcomes = []

        def write():
            try:
                ingest(things, 2, 40, round_id="2")
            except StoreError as error:
                outcomes.append(error)

        writing = threading.Thread(target=write)
        writing.start()
        time.sleep(0.7)  # some of a round is written
        server("kill")
        start = time.monotonic()
        with pytest.raises(UnreachableError, match="no Milvus server answers"):
            omhash.open(path.replace("timeout=90", "timeout=3"))
        assert time.monotonic() - start < 4
        server("start")
        writing.join()  # what was not yet answered is tried again until the server is back
        assert things.check() == []
        stored = [report.id for report in things.rounds()]
        assert stored in (["1"], ["1", "2"])
        assert len(stored) == 2 or (outcomes and seen(things)["found"] == before["found"])
        ingest(things, 2, 40, round_id="2")
        assert [report.id for report in things.rounds()] == ["1", "2"]
        assert len(things) == 80
        assert things.check() == []


def test_a_server_that_does_not_answer(server, shared):
    with omhash.open(f"{shared}?timeout=3") as things:
        server("freeze")
        try:
            start = time.monotonic()
            with pytest.raises(UnreachableError, match="no answer within 3 seconds"):
                things.search(QUERY)
            assert time.monotonic() - start < 5
        finally:
            server("thaw")
        assert len(things.search(QUERY, k=100)[0]) == 20


def test_a_newer_format(shared):
    with omhash.open(shared) as things:
        engine, log = things._store._engine, things._store._tables.log
        head = {**things._store._head("Strong"), "format": 99, "revision": 7}
        rows = document_rows(head_key(head), "head", head)
        engine.upsert(log, rows)
        with pytest.raises(FormatError, match="format 99"):
            omhash.open(shared)
        engine.delete(log, f'pk in ["{rows[0]["pk"]}"]')
    omhash.open(shared).close()


def test_no_collection(server):
    with pytest.raises(StoreError, match="there is no collection here"):
        omhash.open(server.new_path())
