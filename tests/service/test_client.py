import pytest
from PIL import Image
from served import LIMITS, names, rows, running

import omhash
from omhash import Client
from omhash.errors import BusyError, DamagedError, InputError, StoreError, ViewError
from omhash.service import create_app
from omhash.service.problems import KINDS


@pytest.fixture
def address(folder):
    with running(create_app(folder, limits=LIMITS)) as found:
        yield found


@pytest.fixture
def things(address):
    with Client(address, "things") as client:
        yield client


def test_the_client_answers_what_the_collection_answers(things, folder, data):
    views = rows(data, slice(250, 254))
    with omhash.open(folder / "things.omhash") as own:
        for options in ({}, {"k": 3, "where": {"number": {"<": 50}}}, {"rank": "hamming"}):
            assert things.search(views, **options) == own.search(views, **options)
        assert things.search(key="thing 4") == own.search(key="thing 4")
        assert things.rounds() == own.rounds()
        assert things.categories() == own.categories()
        assert len(things) == len(own) == 200
        listed = things.items(after="thing 150"), own.items(after="thing 150")
        for mine, theirs in zip(*listed, strict=True):
            assert (mine.key, mine.categories, mine.payload) == (
                theirs.key,
                theirs.categories,
                theirs.payload,
            )
            assert mine.code.tolist() == theirs.code.tolist()
        assert [item.key for item in things.get(["thing 9", "no"])] == ["thing 9"]
        assert things.status()["n_bits"] == own.status()["n_bits"]
        assert things.check() == own.check() == []


def test_the_client_changes_the_collection_as_its_methods_say(things, data):
    part = slice(200, 240)
    keys = [f"thing {number}" for number in range(200, 240)]
    report = things.ingest(
        rows(data, part), data.labels[part], keys=keys, categories=data.categories, round_id="2"
    )
    assert (report.items, report.labelled, report.repeated) == (40, 40, False)
    assert things.ingest(rows(data, part), names(data, part), keys=keys, round_id="2").repeated
    assert things.delete(["thing 0", "no"]) == 1
    told = things.forget(["thing 1", "no"], rows(data, [1, 1]))
    assert (told.forgotten, told.missing) == (1, ("no",))
    assert things.compact()
    assert len(things) == 238


def test_the_client_raises_what_the_collection_raises(things, data):
    with pytest.raises(ViewError, match="23 columns"):
        things.search({"image": rows(data, slice(0, 1))["image"][:, :23]})
    with pytest.raises(InputError, match="no item with the key"):
        things.search(key="nobody")
    assert issubclass(DamagedError, StoreError)
    assert issubclass(BusyError, StoreError)


def test_every_kind_of_error_comes_back_as_itself():
    from omhash.client import _KINDS

    for error, (status, kind) in KINDS.items():
        if status < 500 or kind in ("damaged", "format"):
            assert _KINDS[kind] is error


def test_pictures_and_words_go_through_the_client(address, tmp_path):
    pets = Client.create(address, "pets", n_bits=32)
    items = []
    for place, (colour, name) in enumerate([("red", "fire"), ("blue", "water")] * 5):
        path = tmp_path / f"{place}.png"
        Image.new("RGB", (40, 30), colour).save(path)
        items.append(
            {"key": f"{place}", "picture": path, "text": f"a {name}", "categories": [name]}
        )
    assert pets.ingest_raw(items, round_id="one").labelled == 10
    Image.new("RGB", (64, 64), (250, 10, 10)).save(tmp_path / "asked.png")
    for hits in (
        pets.search_raw(tmp_path / "asked.png", k=3),
        pets.search_raw(text="fire", k=3),
        pets.search_raw(tmp_path / "asked.png", "fire", k=3),
    ):
        assert [hit.categories for hit in hits] == [("fire",)] * 3
        assert hits[0].payload["picture"].startswith("data:image/webp;base64,")
    pets.close()


def test_a_service_that_is_not_there_is_told_in_words():
    with (
        Client("http://127.0.0.1:9", "things") as client,
        pytest.raises(StoreError, match="is the service running"),
    ):
        client.status()
