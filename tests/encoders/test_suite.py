"""Suites: raw items to views, and collections that remember them."""

import json

import numpy as np
import pytest
from PIL import Image

import omhash
from omhash.encoders import EfficientNetLite0, HashedWords, RawItem, Suite, Words, WordVectors
from omhash.errors import InputError, ParameterError, UnsupportedError

RED, BLUE = Image.new("RGB", (20, 10), "red"), Image.new("RGB", (20, 10), "blue")


@pytest.fixture(scope="module")
def suite():
    return Suite({"image": EfficientNetLite0(), "text": HashedWords(64)})


def test_views_have_one_row_an_item_and_missing_parts_are_missing(suite):
    views = suite.encode(
        [{"image": RED, "text": "red"}, {"text": "blue"}, {}, {"image": BLUE, "text": None}]
    )
    image, text = views["image"], views["text"].toarray()
    assert {name: view.shape for name, view in views.items()} == {
        "image": (4, 1280),
        "text": (4, 64),
    }
    assert np.isnan(image).all(axis=1).tolist() == [False, True, True, False]
    assert np.array_equal(image[[0, 3]], EfficientNetLite0().encode([RED, BLUE]))
    assert np.array_equal(text[:2], HashedWords(64).encode(["red", "blue"]).toarray())
    assert [np.isnan(row).any() for row in text] == [False, False, True, True]


def test_missing_parts_are_missing_to_a_hasher(suite):
    items = [{"image": (RED, BLUE)[n % 2], "text": ("red", "blue")[n % 2]} for n in range(20)]
    labels = [("warm", "cold")[n % 2 :][:1] for n in range(20)]
    hasher = omhash.HCFW(32, random_state=0).partial_fit(suite.encode(items), labels)
    whole = hasher.encode(suite.encode([{"text": "red"}, {"image": BLUE}]))
    assert np.array_equal(whole[:1], hasher.encode(suite.encode([{"text": "red"}])))
    assert np.array_equal(whole[1:], hasher.encode(suite.encode([{"image": BLUE}])))


def test_a_modality_that_no_item_has_becomes_no_view(suite):
    assert list(suite.encode([{"text": "red"}, {"text": " "}])) == ["text"]


def test_prepared_parts_give_the_same_views(suite):
    raw = {"image": RED, "text": "red"}
    prepared, plain = suite.encode([suite.prepare(raw)]), suite.encode([raw])
    assert np.array_equal(prepared["image"], plain["image"])
    assert np.array_equal(prepared["text"].toarray(), plain["text"].toarray())


def test_a_bad_part_is_named(suite):
    with pytest.raises(InputError, match=r"item 1: image: .*cannot be read"):
        suite.encode([{"text": "red"}, {"image": b"no picture"}])
    with pytest.raises(InputError, match="no encoder for 'sound'"):
        suite.encode([{"sound": b""}])
    with pytest.raises(ParameterError, match="encoder"):
        Suite({})


def test_an_identity_makes_the_same_suite_again():
    suite = Suite(
        {"a": EfficientNetLite0(), "b": HashedWords(96), "c": WordVectors(), "d": Words(32)}
    )
    again = Suite.from_identity(json.loads(json.dumps(suite.identity())))
    assert again.identity() == suite.identity()
    assert again.widths == {"a": 1280, "b": 96, "c": 256, "d": 288}


@pytest.mark.parametrize(("field", "value"), [("digest", "0" * 64), ("version", "0"), ("width", 3)])
def test_encoders_that_are_not_here_are_refused(suite, field, value):
    told = suite.identity()
    told["image"][field] = value
    with pytest.raises(UnsupportedError, match="'image' was encoded by efficientnet-lite0"):
        Suite.from_identity(told)


def test_an_unknown_encoder_is_refused(suite):
    told = {"image": {**suite.identity()["image"], "name": "telepathy"}}
    with pytest.raises(UnsupportedError, match="telepathy"):
        Suite.from_identity(told)


@pytest.fixture
def collection(suite, tmp_path):
    with omhash.Collection.create(tmp_path / "colours", encoders=suite, n_bits=32) as made:
        items = [
            RawItem(
                f"{n}",
                {"image": (RED, BLUE)[n % 2], "text": f"colour {n}"},
                ("even", "odd")[n % 2 :][:1],
                {"n": n},
            )
            for n in range(12)
        ]
        made.ingest(**suite.round(items))
        yield made


def test_a_collection_remembers_its_encoders(collection, suite, tmp_path):
    assert collection.encoders().identity() == suite.identity()
    with omhash.open(tmp_path / "colours") as again:
        encoders = again.encoders()
        hits = again.search(encoders.encode([{"image": RED}]), k=6)[0]
    assert encoders.identity() == suite.identity()
    assert {hit.categories for hit in hits} == {("even",)}
    assert {hit.payload["n"] % 2 for hit in hits} == {0}


def test_a_collection_refuses_views_that_others_made(collection):
    other = Suite({"text": Other(64)}).encode([{"text": "colour 1"}])
    for refuse in (
        lambda: collection.search(other),
        lambda: collection.ingest(other, [["even"]], keys=["new"]),
        lambda: collection.forget(["1"], other),
    ):
        with pytest.raises(InputError, match="'text' was encoded by other version 1, and the"):
            refuse()
    assert len(collection) == 12


class Other(HashedWords):
    name = "other"


def test_a_collection_takes_views_that_do_not_say_who_made_them(collection, suite):
    views = dict(suite.encode([{"text": "colour 1"}]))
    assert len(collection.search(views, k=2)[0]) == 2


def test_a_collection_without_encoders_has_none_and_takes_all(tmp_path, suite):
    with omhash.Collection.create(tmp_path / "plain", modalities=suite.widths, n_bits=32) as plain:
        plain.ingest(suite.encode([{"text": "red", "image": RED}]), [["warm"]], keys=["a"])
        with pytest.raises(UnsupportedError, match="without encoders"):
            plain.encoders()


def test_widths_that_are_not_the_encoders_are_refused(tmp_path, suite):
    with pytest.raises(ParameterError, match="leave it out"):
        omhash.Collection.create(tmp_path / "x", modalities={"image": 7}, encoders=suite)
