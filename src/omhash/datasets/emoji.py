"""The bundled collection: 1,852 emoji with a picture, words and two categories each.

What it holds, and under which licence, is in the file NOTICE.
"""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import groupby

import numpy as np

from ..encoders import RawItem, Suite
from ..errors import InputError
from ..learning.labels import label_matrix
from .base import LabelledData, Round, Stream

_HELD_OUT = 10
"""One emoji of so many is held out."""


@dataclass(frozen=True)
class EmojiRound:
    """The emoji of one group.

    Attributes
    ----------
    group : str
        The category that all its items have; each has one more, its subgroup.
    items : tuple of RawItem
        To be learned.
    queries : tuple of RawItem
        Held out: every tenth of the whole collection.
    """

    group: str
    items: tuple[RawItem, ...]
    queries: tuple[RawItem, ...]


def items() -> tuple[RawItem, ...]:
    """All emoji in Unicode's order, with parts "image" (bytes of a WebP file) and "text".

    Examples
    --------
    >>> first = items()[0]
    >>> first.key, first.categories, first.payload["emoji"]
    ('1f600', ('smileys & emotion', 'face smiling'), '😀')
    >>> first.parts["text"][:24]
    'grinning face, cheerful,'
    """
    pictures = _pictures()
    return tuple(
        RawItem(
            key=one["code"],
            parts={
                "image": pictures[one["code"]],
                "text": ", ".join([one["name"], *one["tags"]]),
            },
            categories=(one["group"], one["subgroup"]),
            payload={"name": one["name"], "emoji": one["emoji"], "tags": one["tags"]},
        )
        for one in json.loads(_file("emoji.json"))
    )


def picture(key: str) -> bytes:
    """The WebP file of an emoji, 96 pixels wide and high.

    Examples
    --------
    >>> picture("1f600")[8:12]
    b'WEBP'
    """
    if key not in _pictures():
        raise InputError(f"there is no emoji with the key {key!r}")
    return _pictures()[key]


def rounds() -> tuple[EmojiRound, ...]:
    """The emoji by group, so that every round brings categories never seen before.

    Examples
    --------
    >>> [round.group for round in rounds()][:3]
    ['smileys & emotion', 'people & body', 'animals & nature']
    >>> sum(len(round.queries) for round in rounds())
    186
    """
    numbered = groupby(enumerate(items()), key=lambda pair: pair[1].categories[0])
    found = []
    for group, members in numbered:
        pairs = list(members)
        found.append(
            EmojiRound(
                group,
                tuple(item for number, item in pairs if number % _HELD_OUT),
                tuple(item for number, item in pairs if not number % _HELD_OUT),
            )
        )
    return tuple(found)


def load(encoders: Suite | None = None) -> LabelledData:
    """All emoji, encoded: by `Suite.default()` where nothing is said, some twenty seconds.

    Examples
    --------
    >>> from omhash.encoders import HashedWords
    >>> data = load(Suite({"text": HashedWords(64)}))
    >>> data.views["text"].shape, len(data.categories)
    ((1852, 64), 106)
    """
    everything = items()
    suite = Suite.default() if encoders is None else encoders
    parts = [{name: item.parts[name] for name in suite.widths} for item in everything]
    read = label_matrix([item.categories for item in everything])
    return LabelledData(
        name="emoji",
        views=suite.encode(parts),
        labels=read.matrix.toarray().astype(np.uint8),
        categories=read.names,
    )


def stream(data: LabelledData) -> Stream:
    """The rounds over encoded emoji.

    Parameters
    ----------
    data : LabelledData
        What `load` gave.
    """
    row = {item.key: number for number, item in enumerate(items())}
    allowed: list[int] = []
    found = []
    for this in rounds():
        new = {name for item in this.items + this.queries for name in item.categories}
        allowed += sorted(data.categories.index(name) for name in new)
        found.append(
            Round(
                train=np.array([row[item.key] for item in this.items]),
                queries=np.array([row[item.key] for item in this.queries]),
                categories=np.array(allowed),
            )
        )
    return Stream(data, "emoji by group", found)


@cache
def _pictures() -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(_file("emoji.zip"))) as archive:
        return {name.removesuffix(".webp"): archive.read(name) for name in archive.namelist()}


def _file(name: str) -> bytes:
    return resources.files(__package__).joinpath("bundled", name).read_bytes()
