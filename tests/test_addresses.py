"""Addresses of collections: what they mean, and what is said of those that mean nothing."""

import subprocess
import sys

import pytest

import omhash
from omhash.addresses import TOKEN, is_there, milvus_place
from omhash.errors import ParameterError, StoreError, UnreachableError, UnsupportedError
from things import create, ingest, seen


def test_servers():
    place = milvus_place("milvus+http://host/flowers")
    assert (place.uri, place.name) == ("http://host:19530", "flowers")
    place = milvus_place("milvus+https://[::1]:443/flowers?timeout=2.5")
    assert (place.uri, place.timeout) == ("https://[::1]:443", 2.5)
    assert milvus_place("flowers.omhash") is milvus_place("some/flowers") is None


def test_secrets_are_not_shown(monkeypatch):
    place = milvus_place("milvus+http://me:p%40ss@host:1/flowers")
    assert place.token == "me:p@ss"  # noqa: S105 - of nobody
    monkeypatch.setenv(TOKEN, "hidden")
    other = milvus_place("milvus+http://host:1/flowers")
    assert other.token == "hidden"  # noqa: S105 - of nobody
    for one in (place, other):
        assert not {"ss@", "p%40", "hidden", "me:"} & {repr(one), one.address}
        assert "hidden" not in repr(one)
        assert "p@ss" not in repr(one)
    with pytest.raises(ParameterError) as caught:
        milvus_place("milvus+http://me:secret@host:1/not a name")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "milvus+file://things.txt",
        "milvus+file://a b.db",
        "milvus+file://things.db/not-a-name",
        "milvus+http:///flowers",
        "milvus+http://host",
        "milvus+http://host:no/flowers",
        "milvus+http://host:99999/flowers",
        "milvus+http://host/9flowers",
        "milvus+http://host/flowers?patience=3",
        "milvus+http://host/flowers?timeout=0",
        "milvus+http://host/flowers?timeout",
        "milvus+http://host/flowers#x",
        "milvus://host/flowers",
        "http://host:19530/flowers",
        "s3://bucket/flowers",
    ],
)
def test_what_is_no_address(address):
    for use in (omhash.open, is_there, create):
        with pytest.raises(ParameterError, match=r"write|begins with|wrong|timeout=SECONDS|name"):
            use(address)


def test_nobody_answers():
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:9/flowers.*within 1 seconds"):
        omhash.open("milvus+http://127.0.0.1:9/flowers?timeout=2")


def test_a_file_that_is_not_there(tmp_path):
    path = f"milvus+file://{tmp_path}/things.db"
    with pytest.raises(StoreError, match="there is no collection here"):
        omhash.open(path)
    assert not is_there(path)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StoreError, match="there is no folder"):
        create(f"milvus+file://{tmp_path}/deeper/things.db")


def test_a_file_of_something_else(tmp_path, capfd):
    pytest.importorskip("milvus_lite", reason="needs Milvus Lite: see docs/milvus.md")
    (tmp_path / "letter.db").write_text("not what it takes it for")
    (tmp_path / "folder.db").mkdir()
    for use in (omhash.open, create):
        with pytest.raises(StoreError, match=r"letter\.db is no file of Milvus Lite"):
            use(f"milvus+file://{tmp_path}/letter.db/things")
        with pytest.raises(StoreError, match=r"folder\.db: cannot read"):
            use(f"milvus+file://{tmp_path}/folder.db/things")
    assert capfd.readouterr().err == ""


def test_several_collections_in_one_file(lite):
    one, other = next(lite), next(lite)
    with create(one) as first:
        assert not is_there(other)
        with pytest.raises(StoreError, match="there is no collection here"):
            omhash.open(other)
        with create(other) as second:
            ingest(first, 1)
            assert (len(first), len(second)) == (20, 0)
            assert is_there(other)
            with pytest.raises(StoreError, match="is there already"):
                create(one)
            assert len(first) == 20


def test_a_relative_file(tmp_path, monkeypatch):
    pytest.importorskip("milvus_lite", reason="needs Milvus Lite: see docs/milvus.md")
    monkeypatch.chdir(tmp_path)
    with create("milvus+file://things.db") as things:
        ingest(things, 1)
        before = seen(things)
        assert things.status()["path"] == "milvus+file://things.db/omhash"
    with omhash.open("milvus+file://things.db") as things:
        assert seen(things) == before


def test_another_process_is_told(lite):
    path = next(lite)
    with create(path):
        program = "import omhash, sys; omhash.open(sys.argv[1])"
        done = subprocess.run(  # noqa: S603 - this Python
            [sys.executable, "-c", program, path], capture_output=True, text=True
        )
    assert done.returncode == 1
    assert "is another process using it?" in done.stderr
    assert done.stderr.startswith("Traceback")  # nothing is said but what is raised


def test_what_only_folders_can(lite, tmp_path):
    path = next(lite)
    with create(path) as things, create(tmp_path / "things") as folder:
        with pytest.raises(UnsupportedError, match="omhash copy"):
            things.backup(tmp_path / "backup")
        with pytest.raises(UnsupportedError, match="must be a folder"):
            folder.backup(path)
    with pytest.raises(UnsupportedError, match="must be a folder"):
        omhash.Collection.restore(tmp_path / "things", path)
    with pytest.raises(ParameterError, match="index"):
        create(next(lite), index="ivf")


def test_versions_that_do_not_work(tmp_path, monkeypatch):
    lite = pytest.importorskip("omhash.store.milvus.lite", reason="needs omhash[milvus]")
    path = f"milvus+file://{tmp_path}/things.db"
    monkeypatch.setattr(lite, "version", lambda _: "3.0.1")
    with pytest.raises(UnsupportedError, match=r"3\.0\.1.*2\.5\.1 works.*refuse binary vectors"):
        create(path)

    def missing(name):
        raise lite.PackageNotFoundError(name)

    monkeypatch.setattr(lite, "version", missing)
    with pytest.raises(UnsupportedError, match=r"pip install 'milvus-lite==2\.5\.1'"):
        create(path)
    engine = pytest.importorskip("omhash.store.milvus.engine")
    with pytest.raises(UnsupportedError, match=r"Milvus v2\.2\.9.*2\.3 or later"):
        engine.check_version("v2.2.9", milvus_place("milvus+http://host/flowers"))
    engine.check_version("2.3.5-lite", milvus_place("milvus+http://host/flowers"))


@pytest.mark.parametrize("missing", [["pymilvus"], ["pymilvus", "grpc"]])
def test_without_the_extra(missing, monkeypatch):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    for name in [name for name in sys.modules if name.startswith("omhash.store.milvus.")]:
        if not name.endswith("place"):
            monkeypatch.delitem(sys.modules, name)
    with pytest.raises(UnsupportedError, match=r"pip install 'omhash\[milvus\]'"):
        omhash.open("milvus+http://host/flowers")


def test_what_others_keep_there_is_left_alone(tmp_path):
    pytest.importorskip("milvus_lite", reason="needs Milvus Lite: see docs/milvus.md")
    from pymilvus import MilvusClient

    path = f"milvus+file://{tmp_path}/shared.db/mine"
    with create(f"milvus+file://{tmp_path}/shared.db/other"):  # its server is this client's too
        client = MilvusClient(f"{tmp_path}/shared.db")
        client.create_collection("mine_items", dimension=4)
        with pytest.raises(StoreError, match="mine_items that is not omhash's"):
            create(path)
        assert "mine_items" in client.list_collections()
        client.drop_collection("mine_items")
        create(path).close()
        client.close()
