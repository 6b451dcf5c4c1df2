"""Wrong input is refused by a typed error that says what is wrong, on every engine."""

import numpy as np
import pytest

import omhash
from omhash.errors import BusyError, InputError, LabelError, ParameterError, ViewError
from things import create, ingest, seen, some

VIEWS, LABELS, KEYS, PAYLOADS = some(50, 4)
QUERY = {"image": np.ones((1, 6))}


@pytest.fixture(scope="module", params=["sqlite", "lite"])
def things(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("refusals") / "things"
    if request.param == "lite":
        path = next(request.getfixturevalue("lite"))
    with create(path) as made:
        ingest(made, 1)
        yield made


@pytest.fixture(autouse=True)
def _nothing_changes(things):
    before = seen(things)
    yield
    assert seen(things) == before
    assert things.check() == []


def with_nan(views):
    part = {name: view.copy() for name, view in views.items()}
    part["image"][2, 1] = np.nan
    return part


def lacking(views):
    return {
        name: np.vstack([np.full_like(view[:1], np.nan), view[1:]]) for name, view in views.items()
    }


INGESTS = {
    "wrong width": ({"views": {"image": np.ones((4, 5))}}, ViewError, "5 columns"),
    "unknown modality": ({"views": {"sound": np.ones((4, 5))}}, ViewError, "sound"),
    "rows differ": ({"views": {**VIEWS, "text": np.ones((3, 4))}}, ViewError, "number of rows"),
    "NaN": ({"views": with_nan(VIEWS)}, ViewError, "'image', row 2"),
    "nothing known": ({"views": lacking(VIEWS), "labels": [[]] * 4}, ViewError, "row 0"),
    "no items": (
        {"views": {"image": np.ones((0, 6))}, "labels": [], "keys": [], "payloads": []},
        InputError,
        "no items",
    ),
    "labels too few": ({"labels": LABELS[:3]}, LabelError, "3 items have labels"),
    "labels as text": ({"labels": ["ant"] * 4}, LabelError, "one text"),
    "key twice": ({"keys": ["a", "b", "c", "b"]}, InputError, "'b' is there twice"),
    "key no text": ({"keys": ["a", "b", 3, "d"]}, InputError, "item 2: a key must be text, not 3"),
    "key empty": ({"keys": ["a", "", "c", "d"]}, InputError, "item 1"),
    "key with zero": ({"keys": ["a", "b\0", "c", "d"]}, InputError, "item 1"),
    "key half a pair": ({"keys": ["a", "\ud800", "c", "d"]}, InputError, "item 1"),
    "keys one text": ({"keys": "abcd"}, InputError, "one text"),
    "keys too few": ({"keys": KEYS[:3]}, InputError, "3 keys for 4 items"),
    "payloads too few": ({"payloads": PAYLOADS[:3]}, InputError, "3 payloads"),
    "payload no mapping": ({"payloads": [{}, {}, [], {}]}, InputError, "item 2"),
    "payload no JSON": ({"payloads": [{}, {"a": {1, 2}}, {}, {}]}, InputError, "item 1"),
    "payload NaN": ({"payloads": [{}, {}, {}, {"a": float("nan")}]}, InputError, "item 3"),
    "payload half a pair": ({"payloads": [{}, {"a": "\udc00"}, {}, {}]}, InputError, "item 1"),
    "field no text": ({"payloads": [{}, {1: 2}, {}, {}]}, InputError, "called 1"),
    "field taken": ({"payloads": [{"categories": 1}, {}, {}, {}]}, InputError, "is taken"),
    "field quoted": ({"payloads": [{'a"': 1}, {}, {}, {}]}, InputError, "quotation"),
    "round no text": ({"round_id": 5}, InputError, "round_id"),
    "round empty": ({"round_id": ""}, InputError, "round_id"),
}


@pytest.mark.parametrize("case", INGESTS)
def test_ingest(things, case):
    changed, error, words = INGESTS[case]
    given = {"views": VIEWS, "labels": LABELS, "keys": KEYS, "payloads": PAYLOADS, **changed}
    with pytest.raises(error, match=words):
        things.ingest(**given)


SEARCHES = {
    "nothing": ({}, InputError, "either views or a key"),
    "both": ({"views": QUERY, "key": "key 1-1"}, InputError, "either views or a key"),
    "no such key": ({"key": "no"}, InputError, "no item with the key 'no'"),
    "key no text": ({"key": 3}, InputError, "a key must be text"),
    "wrong width": ({"views": {"image": np.ones((1, 7))}}, ViewError, "7 columns"),
    "one dimension": ({"views": {"image": np.ones(6)}}, ViewError, "1 dimension"),
    "lacks everything": ({"views": {"image": np.full((1, 6), np.nan)}}, ViewError, "row 0"),
    "k 0": ({"views": QUERY, "k": 0}, ParameterError, "k must be"),
    "k 0 of a key": ({"key": "key 1-1", "k": 0}, ParameterError, "k must be"),
    "k -1 of a key": ({"key": "key 1-1", "k": -1}, ParameterError, "k must be"),
    "k text": ({"key": "key 1-1", "k": "3"}, ParameterError, "k must be"),
    "k True": ({"views": QUERY, "k": True}, ParameterError, "k must be"),
    "k 1.5": ({"views": QUERY, "k": 1.5}, ParameterError, "k must be"),
    "rank": ({"views": QUERY, "rank": "cosine"}, ParameterError, "rank"),
    "detail": ({"views": QUERY, "detail": -1}, ParameterError, "detail"),
}
FILTERS = {
    "no field": ({"colour": "red"}, "no item has a field 'colour'"),
    "field no text": ({3: 4, "price": 1}, "no item has a field 3"),
    "no mapping": (["price"], "must be a mapping"),
    "no category": ({"categories": "whale"}, "no category 'whale'"),
    "category no text": ({"categories": [["ant"]]}, "no category"),
    "no categories": ({"categories": []}, "names no category"),
    "category operator": ({"categories": {"some": "ant"}}, "no operator 'some'"),
    "operator": ({"price": {"~": 3}}, "no operator '~'"),
    "operator no text": ({"price": {3: 3}}, "no operator 3"),
    "in needs a list": ({"price": {"in": "abc"}}, "needs a list"),
    "compared with a list": ({"price": [1, 2]}, "is compared with"),
    "compared with NaN": ({"price": {"<": float("nan")}}, "is compared with"),
    "too large": ({"price": 2**63}, "is compared with"),
    "half a pair": ({"price": "\ud800"}, "is compared with"),
}


@pytest.mark.parametrize("case", SEARCHES)
def test_search(things, case):
    given, error, words = SEARCHES[case]
    with pytest.raises(error, match=words):
        things.search(**given)


@pytest.mark.parametrize("case", FILTERS)
def test_filter(things, case):
    where, words = FILTERS[case]
    with pytest.raises(InputError, match=words):
        things.search(QUERY, where=where)


def test_delete_and_forget(things):
    with pytest.raises(InputError, match="one text"):
        things.delete("key 1-1")
    with pytest.raises(InputError, match="must be text"):
        things.delete(["key 1-1", None])
    with pytest.raises(InputError, match="2 keys for 4 items"):
        things.forget(["key 1-1", "key 1-2"], VIEWS)
    with pytest.raises(InputError, match="twice"):
        things.forget(["key 1-1", "key 1-1"], {name: view[:2] for name, view in VIEWS.items()})
    with pytest.raises(ViewError, match="columns"):
        things.forget(["key 1-1"], {"image": np.ones((1, 5))})


def test_a_second_writer_waits_and_then_is_told(things):
    path = things.status()["path"]
    with omhash.open(path, patience=0.1) as other:
        with things._store.writing():  # as long as the first has it
            with pytest.raises(BusyError, match=r"0\.1 seconds") as caught:
                ingest(other, 5)
            assert str(caught.value).startswith(f"{path}: ")
            with pytest.raises(BusyError):
                other.delete(["key 1-1"])
            with pytest.raises(BusyError):
                other.compact()
            assert len(other.search(QUERY, k=3)[0]) == 3
        assert other.delete(["not there"]) == 0
