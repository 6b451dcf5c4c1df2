"""The approximate engine: true scores, always k results, and a recall that is true."""

import subprocess
import sys

import numpy as np
import pytest
from both import Both, some_codes

import omhash
from omhash import Collection
from omhash.codes import pack, unpack
from omhash.errors import ParameterError
from omhash.index import ExactIndex, IVFIndex, Queries

pytest.importorskip("faiss")

N = 12_000


@pytest.fixture(scope="module")
def stored():
    """Items of many clusters, in both kinds of index."""
    rng = np.random.default_rng(0)
    codes, sketches = some_codes(rng, N, 64, 300), some_codes(rng, N, 16, 5)
    indexes = IVFIndex(64, {"image": 16}), ExactIndex(64, {"image": 16})
    for index in indexes:
        index.add(np.arange(N), codes, {"image": sketches})
    return codes, *indexes


def asked(codes, seed, **options):
    rng = np.random.default_rng(seed)
    signs = unpack(codes[rng.integers(0, len(codes), 20)])
    values = signs + 0.5 * rng.standard_normal(signs.shape)
    return Queries.of(values, sketches={"image": rng.standard_normal((20, 16))}, **options)


@pytest.mark.parametrize("rank", ["hamming", "asymmetric"])
@pytest.mark.parametrize("detail", [0.0, 0.3])
def test_what_is_found_has_its_true_score_in_true_order(stored, rank, detail):
    codes, index, exact = stored
    queries = asked(codes, 1, rank=rank, detail=detail)
    everything = exact.search(queries, N)
    for found, all_of_them in zip(index.search(queries, 30), everything, strict=True):
        places = {number: i for i, number in enumerate(all_of_them.numbers.tolist())}
        at = [places[number] for number in found.numbers.tolist()]
        assert len(at) == 30
        assert at == sorted(set(at))
        assert found.scores.tolist() == all_of_them.scores[at].tolist()
        assert found.distances.tolist() == all_of_them.distances[at].tolist()


def test_filters_are_exact_and_few_results_are_made_up_for(stored):
    codes, index, exact = stored
    queries = asked(codes, 2)
    keep = np.arange(0, N, 37)
    for k, kept in ((50, keep), (1000, keep), (N + 5, None)):
        pairs = zip(
            index.search(queries, k, keep=kept), exact.search(queries, k, keep=kept), strict=True
        )
        for found, expected in pairs:
            assert found.numbers.tolist() == expected.numbers.tolist()


def test_recall_is_what_a_count_finds_and_falls_when_codes_drift(stored):
    codes, index, _ = stored
    assert index.report()["engine"] == "ivf"
    clustered = index.report()["recall"]
    assert clustered > 0.9

    rng = np.random.default_rng(3)
    drifting = IVFIndex(64)
    drifting.add(np.arange(N), codes)
    uniform = pack(rng.standard_normal((2 * N, 64)))
    drifting.add(np.arange(N, 3 * N), uniform)
    assert drifting.report()["recall"] < clustered - 0.02
    assert drifting.report()["trained_on"] == N

    signs = np.where(unpack(np.vstack([codes, uniform])) > 0, 1, -1).astype(np.float32)
    some = rng.integers(0, 3 * N, 100)
    shares = []
    for found, own in zip(
        drifting.search(Queries.of(signs[some], rank="hamming"), 100), signs[some], strict=True
    ):
        hundredth = np.sort((64 - signs @ own) / 2)[99]
        shares.append(np.mean(found.distances <= hundredth))
    assert abs(np.mean(shares) - drifting.report()["recall"]) < 0.03


def test_removed_items_are_not_found_and_lists_are_made_anew():
    rng = np.random.default_rng(4)
    both = Both(32, ["image"], make=IVFIndex)
    both.add(rng, N, clusters=200)
    gone = both.some(rng, 0.15)
    both.remove(gone)
    values = rng.standard_normal((10, 32))
    for found in both.index.search(Queries.of(values), 200):
        assert len(found.numbers) == 200
        assert not set(found.numbers.tolist()) & set(gone)
    trained_on = both.index.report()["trained_on"]
    both.remove(both.some(rng, 0.9))
    assert both.index.report()["trained_on"] != trained_on
    both.check(rng, 3, 20, detail=0.3)  # so few that search is exact
    assert both.index.report()["recall"] == 1.0


def test_the_same_items_make_the_same_lists(stored):
    codes, index, _ = stored
    again = IVFIndex(64, {"image": 16})
    again.add(np.arange(N), codes, {"image": np.zeros((N, 2), np.uint8)})
    queries = asked(codes, 5, detail=0.0)
    for one, other in zip(index.search(queries, 40), again.search(queries, 40), strict=True):
        assert one.numbers.tolist() == other.numbers.tolist()


def test_faiss_keeps_its_number_of_threads(stored):
    import faiss

    codes, index, _ = stored
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(3)
    try:
        index.search(asked(codes, 6), 5)
        assert faiss.omp_get_max_threads() == 3
    finally:
        faiss.omp_set_num_threads(before)


def test_a_collection_is_approximate_where_that_was_chosen(tmp_path):
    rng = np.random.default_rng(7)
    views = {"image": rng.standard_normal((300, 16))}
    things = Collection.create(
        tmp_path / "things", modalities={"image": 16}, n_bits=16, index="ivf"
    )
    things.ingest(views, [["a"]] * 300, keys=[str(i) for i in range(300)])
    things.close()
    with omhash.open(tmp_path / "things") as things:
        assert things.status()["index"]["engine"] == "ivf"
        assert things.status()["index"]["recall"] == 1.0
        assert len(things.search({"image": views["image"][:2]}, k=7)[1]) == 7
    with Collection.create(tmp_path / "others", modalities={"image": 16}) as others:
        assert others.status()["index"]["engine"] == "exact"
    with pytest.raises(ParameterError, match="exact, ivf"):
        Collection.create(tmp_path / "none", modalities={"image": 16}, index="hnsw")
    assert not (tmp_path / "none").exists()


def test_without_faiss_only_the_approximate_engine_is_missing(tmp_path):
    program = f"""
import sys
sys.modules["faiss"] = None
from omhash import Collection
from omhash.errors import UnsupportedError
path = {str(tmp_path / "things")!r}
try:
    Collection.create(path, modalities={{"image": 4}}, index="ivf")
except UnsupportedError as error:
    print(error)
Collection.create(path, modalities={{"image": 4}}).close()
"""
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "pip install 'omhash[faiss]'" in done.stdout
