"""What a collection does, through its public functions, on every engine."""

import threading

import numpy as np
import pytest

import omhash
from omhash import HCFW
from omhash.errors import InputError, StoreError, UnsupportedError
from omhash.semantics import from_array
from things import NAMES, WIDTHS, create, hasher, ingest, plain, seen, some


@pytest.fixture
def things(path):
    with create(path) as made:
        yield made


def test_codes_are_the_hashers(things):
    views, labels, keys, payloads = some(1, 30)
    labels[5:10] = [[]] * 5
    report = things.ingest(views, labels, keys=keys, payloads=payloads)
    learned = hasher().partial_fit(views, labels)
    assert [item.key for item in things.items()] == keys
    assert [item.payload for item in things.items()] == payloads
    assert [set(item.categories) for item in things.items()] == [set(names) for names in labels]
    codes = np.array([item.code for item in things.items()])
    np.testing.assert_array_equal(codes, learned.item_codes(views, labels))
    assert (report.items, report.labelled, report.replaced) == (30, 25, 0)
    assert set(report.new_categories) == set(NAMES)
    assert (len(things), things.rounds()) == (30, [report])


def test_reopening_changes_nothing(things, path):
    ingest(things, 1)
    ingest(things, 2, labelled=False)
    before = seen(things)
    things.close()
    with omhash.open(path) as again:
        assert seen(again) == before
        ingest(again, 3)
        after = seen(again)
    with omhash.open(path) as again:
        assert seen(again) == after != before


def test_closed(things):
    things.close()
    things.close()
    with pytest.raises(StoreError, match="closed"):
        things.search({"image": np.ones((1, 6))})
    with pytest.raises(StoreError, match="closed"):
        ingest(things, 1)


def test_a_round_is_taken_once(things):
    first = ingest(things, 1, round_id="a")
    before = seen(things)
    again = ingest(things, 1, round_id="a")
    assert again.repeated
    assert (again.items, again.id) == (first.items, "a")
    with pytest.raises(InputError, match="other keys"):
        ingest(things, 2, round_id="a")
    assert seen(things) == before


def test_rounds_without_a_name_never_repeat_another(things):
    ingest(things, 1, round_id="round 2")
    assert not ingest(things, 1).repeated
    assert len({report.id for report in things.rounds()}) == 2


def test_an_item_of_a_known_key_replaces_the_one_before(things):
    ingest(things, 1)
    views, labels, keys, _ = some(2, 3)
    report = things.ingest(
        views, labels, keys=["key 1-4", keys[1], "key 1-0"], payloads=[{"new": True}] * 3
    )
    assert (report.items, report.replaced, len(things)) == (3, 2, 21)
    items = list(things.items())
    assert [item.key for item in items[-3:]] == ["key 1-4", keys[1], "key 1-0"]
    assert [item.payload for item in items[-3:]] == [{"new": True}] * 3
    (hits,) = things.search({"image": views["image"][:1]}, k=100)
    assert sorted(hit.key for hit in hits) == sorted(item.key for item in items)


def test_delete(things):
    ingest(things, 1)
    assert things.delete(["key 1-1", "never there", "key 1-2", "key 1-1"]) == 2
    assert things.delete(["key 1-1"]) == 0
    assert len(things) == 18
    (hits,) = things.search({"image": some(1, 1)[0]["image"]}, k=100)
    assert {hit.key for hit in hits} == {item.key for item in things.items()}
    ingest(things, 1, round_id="again")
    assert len(things) == 20


def test_search_like_an_item(things):
    ingest(things, 1, 30)
    (hits,) = things.search(key="key 1-3", k=29, detail=0.5)
    assert len(hits) == 29
    assert "key 1-3" not in {hit.key for hit in hits}
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    (few,) = things.search(key="key 1-3", k=4, detail=0.5)
    assert few == hits[:4]


def test_detail_finds_the_very_item(things):
    ingest(things, 1, 100)
    views, _, keys, _ = some(1, 100)
    found = things.search(views, k=1, detail=1.0)
    assert np.mean([hits[0].key == key for hits, key in zip(found, keys, strict=True)]) > 0.6


def test_filters(things):
    ingest(things, 1, 60)
    items = {item.key: item for item in things.items()}

    def kept(where):
        (hits,) = things.search({"image": np.ones((1, 6))}, k=100, where=where)
        return {hit.key for hit in hits}

    def those(keeps):
        return {key for key, item in items.items() if keeps(item)}

    assert kept({}) == set(items)
    assert kept({"categories": "ant"}) == those(lambda item: "ant" in item.categories)
    assert kept({"price": 3}) == those(lambda item: item.payload["price"] == 3)
    assert kept({"price": {">": 3, "<=": 6}}) == those(lambda item: 3 < item.payload["price"] <= 6)
    both = {"categories": {"all": ["ant", "bee"]}, "price": {"!=": 3}}
    assert kept(both) == those(
        lambda item: {"ant", "bee"} <= set(item.categories) and item.payload["price"] != 3
    )
    assert kept({"price": {"in": list(range(-50_000, 3))}}) == those(
        lambda item: item.payload["price"] < 3
    )
    # A filter that was asked for before sees what came and went since.
    things.delete([key for key in items if key.endswith("7")])
    ingest(things, 2, 20)
    items = {item.key: item for item in things.items()}
    assert kept({"price": 3}) == those(lambda item: item.payload["price"] == 3)
    assert kept({"categories": "ant"}) == those(lambda item: "ant" in item.categories)


def test_a_filter_gives_k_where_k_exist(things):
    ingest(things, 1, 200)
    wanted = [item.key for item in things.items() if item.payload["price"] == 8]
    (hits,) = things.search({"image": np.ones((1, 6))}, k=len(wanted), where={"price": 8})
    assert sorted(hit.key for hit in hits) == sorted(wanted)


def test_k_beyond_the_collection_gives_all_there_is(things):
    assert things.search({"image": np.ones((2, 6))}, k=5) == [[], []]
    ingest(things, 1, 7)
    assert [len(hits) for hits in things.search({"image": np.ones((2, 6))}, k=50)] == [7, 7]


def test_without_labels_at_all(path):
    with create(path) as things:
        views, _, keys, _ = some(1, 60)
        things.ingest(views, keys=keys)
        ingest(things, 2, labelled=False)
        assert things.check() == []
        found = things.search(views, k=1, detail=1.0)
        assert np.mean([hits[0].key == key for hits, key in zip(found, keys, strict=True)]) > 0.6
        before = seen(things)
    with omhash.open(path) as things:
        assert seen(things) == before
        assert things.status()["categories"] == 0


def test_labels_may_come_later(path):
    with create(path) as things:
        unlabelled, _, keys, _ = some(1, 60)
        things.ingest(unlabelled, keys=keys)
        old = {item.key: item.code.tobytes() for item in things.items()}
        ingest(things, 2, 60)
        assert {item.key: item.code.tobytes() for item in things.items()}.items() >= old.items()
        # The labelled are found by what they are, the older by their sketches.
        views, labels, _, _ = some(3, 40)
        found = things.search(views, k=1, where={"categories": list(NAMES)})
        same = [
            set(hits[0].categories) & set(names) for hits, names in zip(found, labels, strict=True)
        ]
        assert np.mean([bool(names) for names in same]) > 0.8
        found = things.search(key="key 1-7", k=5)
        assert len(found[0]) == 5
        # Sent again, they get codes of what was learned meanwhile.
        things.ingest(unlabelled, keys=keys)
        codes = [item.code for item in things.items() if item.key in old]
        learned = hasher().partial_fit(some(1, 60)[0]).partial_fit(*some(2, 60)[:2])
        np.testing.assert_array_equal(codes, learned.encode(unlabelled))
        assert things.check() == []


def test_a_modality_may_be_missing_at_first(path):
    with create(path) as things:
        views, labels, keys, _ = some(1, 30)
        things.ingest({"image": views["image"]}, labels, keys=keys)
        assert len(things.search({"image": views["image"]}, k=3, detail=0.3)) == 30
        ingest(things, 2, 30)
        late, _, late_keys, _ = some(2, 30)
        found = things.search({"text": late["text"]}, k=1, detail=1.0)
        right = [hits[0].key == key for hits, key in zip(found, late_keys, strict=True)]
        assert np.mean(right) > 0.3
        before = seen(things)
    with omhash.open(path) as things:
        assert seen(things) == before


def test_forgotten_is_never_learned(new_path):
    rounds = [some(seed, 40) for seed in (1, 2)]
    # Codes of categories are what is not forgotten: these do not depend on the items.
    own = HCFW(16, random_state=0, category_codes="hadamard")
    with (
        create(new_path(), hasher=own, sketch_bits=0) as things,
        create(new_path(), hasher=own, sketch_bits=0) as never,
    ):
        for views, labels, keys, _ in rounds:
            things.ingest(views, labels, keys=keys)
        lost = rounds[0][2][5:15]
        part = {name: view[5:15] for name, view in rounds[0][0].items()}
        report = things.forget(
            [*lost, "never there"],
            {name: np.vstack([view, view[:1]]) for name, view in part.items()},
        )
        assert (report.forgotten, report.missing, report.purged) == (10, ("never there",), True)

        views, labels, keys, _ = rounds[0]
        stay = np.r_[0:5, 15:40]
        kept = {name: view[stay] for name, view in views.items()}
        never.ingest(kept, [labels[i] for i in stay], keys=[keys[i] for i in stay])
        never.ingest(rounds[1][0], rounds[1][1], keys=rounds[1][2])
        assert [item.key for item in things.items()] == [item.key for item in never.items()]
        queries = some(3, 50)[0]
        learned = [
            np.array([[hit.score for hit in hits] for hits in collection.search(queries, k=70)])
            for collection in (things, never)
        ]
        np.testing.assert_allclose(learned[0], learned[1], atol=1e-4)
        with create(new_path(), hasher=own, sketch_bits=0) as other:
            for views, labels, keys, _ in rounds:
                other.ingest(views, labels, keys=keys)
            other.delete(lost)  # which is not to forget them
            scores = [[hit.score for hit in hits] for hits in other.search(queries, k=70)]
        assert np.abs(learned[1] - scores).max() > 1e-2


def test_forget_needs_a_hasher_that_can(path):
    class Stubborn(HCFW):
        forget = property()

    with create(path, hasher=Stubborn(16, random_state=0)) as things:
        ingest(things, 1)
        before = seen(things)
        with pytest.raises(UnsupportedError, match="delete"):
            things.forget(["key 1-0"], {name: view[:1] for name, view in some(1, 1)[0].items()})
        assert seen(things) == before


def test_searches_while_another_thread_writes(things):
    ingest(things, 0, 50)
    done = threading.Event()
    wrong = []

    def read():
        try:
            while not done.is_set():
                (hits,) = things.search(
                    {"image": np.ones((1, 6))}, k=10_000, where={"price": {">=": 0}}
                )
                # Rounds of five come whole, and go whole.
                assert len(hits) % 5 == 0
                assert len({hit.key for hit in hits}) == len(hits)
        except BaseException as error:
            wrong.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for seed in range(1, 21):
        ingest(things, seed, 5)
        if seed % 3 == 0:
            things.delete([f"key {seed}-{place}" for place in range(5)])
        if seed % 7 == 0:
            things.compact()
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_who_is_behind_a_compacted_collection_begins_anew(things, path):
    ingest(things, 1)
    with omhash.open(path) as behind:
        things.delete(["key 1-1", "key 1-2"])
        things.compact()
        ingest(things, 2, 3)
        assert seen(behind) == seen(things)


def test_space_is_given_back_again_and_again(things):
    ingest(things, 1, 60)
    views, _, keys, _ = some(1, 60)
    for place in (0, 10):
        things.delete([keys[place]])
        assert things.compact()
        assert things.compact()
        row = slice(place + 2, place + 3)
        assert things.forget(keys[row], {name: view[row] for name, view in views.items()}).purged
    assert len(things) == len(things.search({"image": np.ones((1, 6))}, k=1000)[0]) == 56
    assert things.check() == []


def test_status(things, path):
    ingest(things, 1)
    ingest(things, 2, labelled=False)
    status = things.status()
    assert status["path"] == str(path)
    assert (status["items"], status["rounds"], status["categories"]) == (40, 2, 4)
    assert (status["n_bits"], status["modalities"]) == (16, WIDTHS)
    assert status["sketch_bits"] == {"image": 16, "text": 16}
    assert status["hasher"] == "HCFW"
    assert status["bytes_on_disk"] > 0
    assert status["index"]["items"] == 40


def test_a_hasher_that_a_file_cannot_describe_is_given_again(path):
    vectors = from_array(NAMES, np.random.default_rng(0).standard_normal((4, 8)))

    def own():
        return HCFW(16, category_codes="semantic", semantics=vectors, random_state=0)

    with create(path, hasher=own()) as things:
        ingest(things, 1)
        before = seen(things)
    with pytest.raises(omhash.OmhashError, match="pass it again"):
        omhash.open(path)
    with omhash.open(path, hasher=own()) as things:
        assert seen(things) == before
    with pytest.raises(omhash.OmhashError, match="was made with HCFW"):
        omhash.open(path, hasher=HCFW(16))


def test_equal_scores_are_in_order_of_arrival(things):
    views, labels, _, _ = some(1, 1)
    for seed in range(3):
        rows = {name: np.repeat(view, 4, axis=0) for name, view in views.items()}
        things.ingest(rows, labels * 4, keys=[f"{seed} {place}" for place in range(4)])
    things.ingest(views, labels, keys=["1 2"])
    (hits,) = things.search(views, k=12)
    expected = [
        f"{seed} {place}" for seed in range(3) for place in range(4) if (seed, place) != (1, 2)
    ]
    assert [hit.key for hit in hits] == [*expected, "1 2"]


def test_plain_types(things):
    ingest(things, 1)
    (hit,) = things.search({"image": np.ones((1, 6), np.float32)}, k=1)[0]
    assert [type(value) for value in (hit.key, hit.score, hit.distance)] == [str, float, int]
    assert plain([hit])
