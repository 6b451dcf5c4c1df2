"""Ingest by several processes: the collection that one would have made."""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from given_rounds import write_parquet

import omhash
from omhash.datasets import parts, slices, synthetic
from omhash.distributed import ingest
from omhash.errors import BusyError, ClusterError, DataFileError, InputError, UnsupportedError
from omhash.hashers import FOMH

SIZE = 50


@pytest.fixture(scope="module", name="flowers")
def made_flowers():
    return synthetic.make(n_items=500, n_categories=8, noise=2.0, seed=4, drift=0.3)


@pytest.fixture(name="files")
def written_files(flowers, tmp_path):
    """Two files: new categories in the second, and payloads; items of the first come again."""
    late = flowers.labels[:, 5:].any(axis=1)
    first, second = np.flatnonzero(~late), np.flatnonzero(late)
    write_parquet(tmp_path / "a.parquet", flowers, first)
    keys = [f"a {row}" if row < 20 else f"new {row}" for row in range(len(second))]
    write_parquet(tmp_path / "b.parquet", flowers, second, key=keys)
    return tmp_path


def create(files, flowers, name, **options):
    widths = {name: view.shape[1] for name, view in flowers.views.items()}
    return omhash.Collection.create(files / name, modalities=widths, n_bits=32, **options)


def ingested_alone(collection, files):
    reports = []
    for file in sorted(files.glob("*.parquet")):
        for part in parts(file, SIZE, widths=collection.status()["modalities"]):
            items = part.read()
            reports.append(
                collection.ingest(
                    items.views,
                    items.labels,
                    categories=items.categories,
                    keys=items.keys,
                    payloads=items.payloads,
                    round_id=part.round_id,
                )
            )
    return reports


def rounds_of(files, collection, size=SIZE):
    return slices(files / "*.parquet", size, widths=collection.status()["modalities"])


def items_of(collection):
    return [
        (item.key, item.categories, item.payload, item.code.tobytes())
        for item in collection.items()
    ]


def learned_items(collection):
    return collection.standing().coder.hasher.get_state()["code_moments.count"]


def assert_the_same(found, wanted, flowers):
    assert items_of(found) == items_of(wanted)
    assert found.categories() == wanted.categories()
    assert found.check() == []
    told = ["id", "items", "replaced", "labelled", "new_categories", "repeated"]
    for one, other in zip(found.rounds(), wanted.rounds(), strict=True):
        assert [getattr(one, name) for name in told] == [getattr(other, name) for name in told]
    queries = {name: view[:20] for name, view in flowers.views.items()}
    for options in ({"rank": "hamming"}, {"detail": 0.5}, {"where": {"price": {"<": 300}}}):
        pairs = zip(
            found.search(queries, **options), wanted.search(queries, **options), strict=True
        )
        for hits, others in pairs:
            scores = [[hit.score for hit in one] for one in (hits, others)]
            assert np.allclose(*scores, rtol=1e-4)


def test_the_collection_is_that_of_one_machine(client, files, flowers):
    with create(files, flowers, "one") as one, create(files, flowers, "many") as many:
        ingested_alone(one, files)
        reports = list(ingest(many, rounds_of(files, many), client=client))
        assert reports == many.rounds()
        assert_the_same(many, one, flowers)
        generation = many.status()["generation"]
        assert list(ingest(many, rounds_of(files, many), client=client)) == []
        assert many.status()["generation"] == generation
        assert all(report.repeated for report in ingested_alone(many, files))


def test_interrupted_it_goes_on_and_learns_nothing_twice(client, files, flowers, monkeypatch):
    monkeypatch.setattr("omhash.distributed.ingesting._ROUNDS", 3)  # several times to learn
    with create(files, flowers, "one") as one, create(files, flowers, "many") as many:
        ingested_alone(one, files)
        total = len(one.rounds())
        for n_stored in (1, 2, 4):
            list(itertools.islice(ingest(many, rounds_of(files, many), client=client), n_stored))
        with omhash.open(files / "many") as again:
            list(ingest(again, rounds_of(files, again), client=client))
        assert total > 6
        assert_the_same(many, one, flowers)
        assert learned_items(many) == learned_items(one) == 500


def test_modalities_and_labels_that_come_later(client, files, flowers):
    bare = {"categories": [[]] * 100}
    write_parquet(files / "0.parquet", flowers, range(100), **bare, text=pa.nulls(100))
    with create(files, flowers, "one") as one, create(files, flowers, "many") as many:
        ingested_alone(one, files)
        list(ingest(many, rounds_of(files, many), client=client))
        found, wanted = items_of(many), items_of(one)
        assert [item[:3] for item in found] == [item[:3] for item in wanted]
        labelled = [place for place, item in enumerate(wanted) if item[1]]
        assert labelled
        assert all(found[place] == wanted[place] for place in labelled)


def test_somebody_else_teaches_meanwhile(client, files, flowers):
    with create(files, flowers, "many") as many, omhash.open(files / "many") as other:
        rounds = rounds_of(files, many)

        def teach(done, total):
            if done == 1:
                few = {name: view[:30] for name, view in flowers.views.items()}
                keys = [f"other {row}" for row in range(30)]
                other.ingest(few, flowers.labels[:30], categories=flowers.categories, keys=keys)

        with pytest.raises(BusyError, match="somebody else taught the collection"):
            list(ingest(many, rounds, client=client, progress=teach))
        assert len(many) == 30
        list(ingest(many, rounds, client=client))
        assert len(many) == 30 + 500 - 20
        assert learned_items(many) == 30 + 500
        assert many.check() == []


def test_somebody_else_stores_one_of_the_rounds_meanwhile(client, files, flowers):
    """Without labels it teaches nothing, so what is learned meanwhile is still right."""
    with create(files, flowers, "many") as many, omhash.open(files / "many") as other:
        list(ingest(many, slices(files / "a.parquet", SIZE), client=client))
        before = learned_items(many)
        write_parquet(files / "0.parquet", flowers, range(40), categories=[[]] * 40)
        (bare,) = slices(files / "0.parquet", SIZE)

        def store(done, total):
            if done == 1:
                items = bare.read()
                other.ingest(items.views, keys=items.keys, round_id=bare.part().round_id)

        rounds = [bare, *slices(files / "b.parquet", SIZE)]
        first, *reports = ingest(many, rounds, client=client, progress=store)
        assert first.repeated
        assert not any(report.repeated for report in reports)
        assert learned_items(many) == 500 > before
        assert many.check() == []


def test_what_is_wrong_is_found_before_anything_is_learned(client, files, flowers):
    with create(files, flowers, "many") as many:
        twice = {"key": ["again"] * 60}
        write_parquet(files / "c.parquet", flowers, range(60), **twice)
        with pytest.raises(InputError, match=r"c\.parquet, items 0 to 49: keys: 'again'"):
            list(ingest(many, rounds_of(files, many), client=client))
        rounds = rounds_of(files, many)
        (files / "c.parquet").unlink()
        with pytest.raises(DataFileError, match=r"c\.parquet.*there is no such file"):
            list(ingest(many, rounds, client=client))
        assert (len(many), many.categories(), many.rounds()) == (0, (), [])
        assert list(ingest(many, rounds_of(files, many), client=client))


def test_a_hasher_that_cannot_be_summed_is_refused_at_once(client, files, flowers):
    class Alone(FOMH):
        recodes_database = False

    with (
        create(files, flowers, "many", hasher=Alone(32, random_state=0)) as many,
        pytest.raises(UnsupportedError, match="Alone learns each round"),
    ):
        list(ingest(many, rounds_of(files, many), client=client))


def test_slices_are_the_parts_of_the_file(files):
    url = f"file://{files}/*.parquet"
    for data in (files / "*.parquet", [files / "a.parquet", str(files / "b.parquet")], url):
        found = slices(data, SIZE)
        wanted = [part for file in ("a", "b") for part in parts(files / f"{file}.parquet", SIZE)]
        assert [one.part().round_id for one in found] == [part.round_id for part in wanted]
        for one in found:
            items = one.read()
            names = [
                [items.categories[column] for column in np.flatnonzero(row)] for row in items.labels
            ]
            read = one.labels()
            assert [[read.names[place] for place in row] for row in read.sets(read.names)] == names


def test_a_file_that_changed_meanwhile_is_not_read(files, flowers):
    (one, *_) = slices(files / "a.parquet", SIZE)
    write_parquet(files / "a.parquet", flowers, range(10))
    with pytest.raises(DataFileError, match="has 10 items, and had"):
        one.read()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("absent.parquet", "there is no such file"),
        ("*.absent.parquet", "there is no such file"),
        ("a.npz", "only Parquet files"),
        ("nonsense://a.parquet", "no library here reads such URLs"),
    ],
)
def test_files_that_cannot_be_cut(data, words, files, monkeypatch):
    monkeypatch.chdir(files)
    with pytest.raises((DataFileError, ValueError), match=words):
        slices(data)


def test_the_error_of_a_cluster_is_one_of_ours():
    assert issubclass(ClusterError, omhash.OmhashError)
