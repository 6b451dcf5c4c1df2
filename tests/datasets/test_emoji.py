"""The bundled emoji."""

import io
from collections import Counter

import numpy as np
from PIL import Image

from omhash.datasets import emoji
from omhash.encoders import HashedWords, Suite


def test_every_emoji_has_a_picture_words_and_two_categories():
    items = emoji.items()
    assert len(items) == len({item.key for item in items}) == 1852
    groups = {this.group for this in emoji.rounds()}
    for item in items:
        group, subgroup = item.categories
        assert group in groups
        assert subgroup not in groups
        assert item.parts["text"].startswith(item.payload["name"])
        assert item.parts["image"] == emoji.picture(item.key)
    assert Counter(item.categories[0] for item in items)["food & drink"] == 128


def test_pictures_are_96_pixel_webp_and_not_empty():
    for item in emoji.items():
        with Image.open(io.BytesIO(item.parts["image"])) as picture:
            assert (picture.format, picture.size) == ("WEBP", (96, 96))
            assert len(picture.convert("L").getcolors(256)) > 1, item.key


def test_rounds_bring_new_categories_only_and_hold_every_tenth_out():
    items, rounds = emoji.items(), emoji.rounds()
    seen = set()
    for this in rounds:
        new = {name for item in this.items + this.queries for name in item.categories}
        assert this.group in new
        assert not new & seen
        seen |= new
    held_out = {item.key for this in rounds for item in this.queries}
    assert held_out == {item.key for item in items[::10]}
    assert {item.key for this in rounds for item in this.items} == {
        item.key for item in items
    } - held_out


def test_the_stream_is_the_rounds_over_encoded_rows():
    items = emoji.items()
    data = emoji.load(Suite({"text": HashedWords(64)}))
    texts = [items[number].parts["text"] for number in (0, 700)]
    assert np.array_equal(
        data.views["text"][[0, 700]].toarray(), HashedWords(64).encode(texts).toarray()
    )
    for row, item in enumerate(items):
        assert {data.categories[c] for c in np.flatnonzero(data.labels[row])} == set(
            item.categories
        )
    allowed = set()
    for this, told in zip(emoji.stream(data).rounds, emoji.rounds(), strict=True):
        assert [items[row] for row in this.train] == list(told.items)
        assert [items[row] for row in this.queries] == list(told.queries)
        assert allowed < set(this.categories.tolist())
        allowed = set(this.categories.tolist())
        assert not np.delete(data.labels[this.train], this.categories, axis=1).any()
