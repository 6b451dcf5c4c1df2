"""Searches on Milvus find what an index in memory finds, scores and ties included."""

import numpy as np
import pytest

import omhash
from omhash.copying import copy
from omhash.finding import milvus as finding
from omhash.hashers import HCFW
from things import create, ingest, some

FILTERS = (
    None,
    {"categories": ["ant", "bee"]},
    {"categories": {"all": ["ant", "bee"]}},
    {"categories": {"none": "cat"}},
    {"price": {">=": 2, "<": 6}},
    {"price": {"in": [1, 3.0, "x", None]}},
    {"price": {"!=": 2}},
    {"mixed": {">": 1}},
    {"mixed": {"<": "b"}},
    {"mixed": {">=": 2.5}},
    {"mixed": True},
    {"mixed": None},
    {"mixed": {"!=": None}},
    {"mixed": {"!=": "it's"}},
    {"mixed": {"in": [1, "a", 2.5, 'quoted "x"']}},
    {"mixed": "[1,null]"},
    {"mixed": {">": 2**53}},
    {"odd \\ näme": 'quoted "x"', "price": {"<": 8}},
    {"categories": "dog", "mixed": {"<=": 2}},
    {"price": {"in": list(range(-3000, 3))}},
)
MIXED = (
    1,
    True,
    False,
    2.5,
    0,
    -3,
    "a",
    "it's",
    'quoted "x"',
    None,
    [1, None],
    {"a": 1},
    2**60,
    "",
)


@pytest.fixture(scope="module")
def both(lite, tmp_path_factory):
    """The same items in a folder and on Milvus Lite."""
    folder = tmp_path_factory.mktemp("both") / "things"
    with create(folder, sketch_bits={"image": 64}) as things:
        for seed in range(4):
            views, labels, keys, payloads = some(seed, 120, labelled=seed != 2)
            views["image"][::7] = np.nan
            for place, payload in enumerate(payloads):
                if place % 3:
                    payload["mixed"] = MIXED[(place + seed) % len(MIXED)]
                if place % 5 == 0:
                    payload["odd \\ näme"] = 'quoted "x"'
            things.ingest(views, labels, keys=keys, payloads=payloads)
        things.delete([f"key {seed}-{place}" for seed in range(4) for place in range(0, 120, 11)])
        ingest(things, 0, 30)
    path = next(lite)
    copy(folder, path)
    with omhash.open(folder) as one, omhash.open(path) as other:
        yield one, other


@pytest.mark.parametrize("where", FILTERS, ids=lambda where: str(where)[:40])
def test_the_same_is_found(both, where, monkeypatch):
    one, other = both
    if where is not None and "price" in where:
        monkeypatch.setattr(finding, "FEW", 0)  # as if it kept many
    queries = some(99, 5)[0]
    for rank in ("hamming", "asymmetric"):
        for detail in (0.0, 0.3, 3.0):
            for k in (1, 7, 1000):
                asked = {"k": k, "rank": rank, "detail": detail, "where": where}
                assert one.search(queries, **asked) == other.search(queries, **asked), asked
    key = "key 1-1"
    assert one.search(key=key, k=9, where=where) == other.search(key=key, k=9, where=where)


def test_a_short_shortlist_is_made_longer_where_it_must(both, monkeypatch):
    one, other = both
    monkeypatch.setattr(finding, "FEW", 0)
    other._finder._shortlist = 3
    queries = some(98, 8)[0]
    try:
        for k in (1, 5, 60, 1000):
            for where in (None, {"price": 3}, {"categories": "dog"}):
                asked = {"k": k, "rank": "hamming", "where": where}
                assert one.search(queries, **asked) == other.search(queries, **asked), asked
        # What is asked for is all there is, so that no shorter list will do.
        assert one.search(queries, k=1000) == other.search(queries, k=1000)
        (found,) = other.search({"image": queries["image"][:1]}, k=3)
        assert len(found) == 3
        told = other.status()["index"]
        assert told["shortlist"] == 3
        assert 0 < told["recall"] <= 1
    finally:
        other._finder._shortlist = finding.SHORTLIST


def test_codes_of_many_items_do_not_crowd_out_others(new_path):
    views, labels, _, _ = some(1, 2)
    with create(new_path()) as one:
        rows = {name: np.repeat(view[:1], 3000, axis=0) for name, view in views.items()}
        one.ingest(rows, labels[:1] * 3000, keys=[f"many {place}" for place in range(3000)])
        one.ingest(views, labels, keys=["this", "that"])
        (hits,) = one.search({name: view[:1] for name, view in views.items()}, k=3001)
        assert [hit.key for hit in hits] == [*(f"many {place}" for place in range(3000)), "this"]
        (hits,) = one.search({name: view[1:] for name, view in views.items()}, k=1)
        assert hits[0].key == "that"
        one.delete([f"many {place}" for place in range(2990)])
        (hits,) = one.search({name: view[:1] for name, view in views.items()}, k=11)
        assert [hit.key for hit in hits] == [
            *(f"many {place}" for place in range(2990, 3000)),
            "this",
        ]


def test_many_distinct_codes(tmp_path, lite):
    rng = np.random.default_rng(0)
    views = {"image": rng.standard_normal((3000, 6)), "text": rng.standard_normal((3000, 4))}
    keys = [f"{place}" for place in range(3000)]
    own = HCFW(64, random_state=0)
    path = next(lite)
    with create(tmp_path / "one", hasher=own) as one:
        one.ingest(views, keys=keys)
        queries = {name: view[:4] + 0.1 for name, view in views.items()}
        expected = {
            rank: one.search(queries, k=20, rank=rank) for rank in ("hamming", "asymmetric")
        }
    copy(tmp_path / "one", path)
    with omhash.open(path) as other:
        told = other.status()["index"]
        assert told["distinct_codes"] > 1024
        assert other.search(queries, k=20, rank="hamming") == expected["hamming"]
        found = other.search(queries, k=20)
        shares = [
            len({hit.key for hit in hits} & {hit.key for hit in right}) / 20
            for hits, right in zip(found, expected["asymmetric"], strict=True)
        ]
        assert np.mean(shares) > 0.9
        assert told["recall"] > 0.9


def test_recall_where_nothing_is_left(lite):
    with create(next(lite)) as things:
        ingest(things, 0, 40)
        things._finder._shortlist = 1
        assert things.status()["index"]["distinct_codes"] > 1
        things.delete([item.key for item in things.items()])
        assert things.status()["index"]["recall"] == 1.0
