"""The encoders of a collection: raw items in, views out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy import sparse

from ..errors import InputError, OmhashError, ParameterError, UnsupportedError
from .base import Encoder, Features, told
from .efficientnet import EfficientNetLite0
from .named import NAMED
from .words import HashedWords, Words, WordVectors

BY_NAME: Mapping[str, type[Encoder]] = {
    **{encoder.name: encoder for encoder in (EfficientNetLite0, HashedWords, WordVectors, Words)},
    **NAMED,
}


@dataclass(frozen=True)
class RawItem:
    """An item before it is encoded.

    Attributes
    ----------
    key : str
    parts : mapping of modality to picture or words
        What the item lacks is left out.
    categories : tuple of str
    payload : dict
    """

    key: str
    parts: Mapping[str, Any]
    categories: tuple[str, ...] = ()
    payload: dict[str, Any] = field(default_factory=dict)


class EncodedViews(dict[str, Features]):
    """Views that say which encoders made them.

    Attributes
    ----------
    made_by : dict
        The identity of the suite.
    """

    def __init__(self, views: Mapping[str, Features], made_by: Mapping[str, Any]) -> None:
        super().__init__(views)
        self.made_by = dict(made_by)

    def check_made_by(self, wanted: Mapping[str, Any] | None) -> None:
        """Refuse views that other encoders made than the wanted ones, of an identity."""
        if wanted is None:
            return
        for modality in self:
            made, asked = self.made_by[modality], wanted.get(modality)
            if asked is not None and made != asked:
                raise InputError(
                    f"modality {modality!r} was encoded by {told(made)}, and the collection by "
                    f"{told(asked)}: encode with collection.encoders()"
                )


class Suite:
    """One encoder for each modality.

    Parameters
    ----------
    encoders : mapping of modality to Encoder

    Examples
    --------
    >>> suite = Suite({"text": HashedWords(width=64)})
    >>> suite.encode([{"text": "a red apple"}, {}])["text"].shape
    (2, 64)
    >>> Suite.from_identity(suite.identity()).widths
    {'text': 64}
    """

    def __init__(self, encoders: Mapping[str, Encoder]) -> None:
        if not encoders:
            raise ParameterError('give a suite an encoder, like {"text": HashedWords()}')
        self.encoders = dict(encoders)

    @classmethod
    def default(cls) -> Self:
        """Pictures and words by what ships with the package."""
        return cls({"image": EfficientNetLite0(), "text": Words()})

    @classmethod
    def from_identity(cls, identity: Mapping[str, Mapping[str, Any]]) -> Self:
        """The suite that has this identity.

        Raises
        ------
        UnsupportedError
            This installation does not have these encoders, or has them with other weights.
        """
        encoders = {}
        for modality, wanted in identity.items():
            if wanted["name"] not in BY_NAME:
                raise UnsupportedError(
                    f"modality {modality!r} was encoded by {wanted['name']!r}, which this omhash "
                    f"does not have: it has {', '.join(BY_NAME)}"
                )
            encoder = BY_NAME[wanted["name"]](**wanted["options"])
            if encoder.identity() != dict(wanted):
                raise UnsupportedError(
                    f"modality {modality!r} was encoded by {told(wanted)}, and here is "
                    f"{told(encoder.identity())}: use the version of omhash that made it"
                )
            encoders[modality] = encoder
        return cls(encoders)

    @property
    def widths(self) -> dict[str, int]:
        """The width of each modality, as `Collection.create` takes it."""
        return {modality: encoder.width for modality, encoder in self.encoders.items()}

    def identity(self) -> dict[str, dict[str, Any]]:
        """Plain values that tell these encoders from every other; JSON can hold them."""
        return {modality: encoder.identity() for modality, encoder in self.encoders.items()}

    def prepare(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """The parts of an item, small, and known to be readable; `encode` takes them as well."""
        prepared = {}
        for modality, part in parts.items():
            if modality not in self.encoders:
                raise InputError(
                    f"there is no encoder for {modality!r}: there is {', '.join(self.encoders)}"
                )
            if part is not None and not (isinstance(part, str) and not part.strip()):
                try:
                    prepared[modality] = self.encoders[modality].prepare(part)
                except OmhashError as error:
                    raise type(error)(f"{modality}: {error}") from error
        return prepared

    def encode(self, items: Iterable[Mapping[str, Any]]) -> EncodedViews:
        """Views of raw items.

        Parameters
        ----------
        items : mappings of modality to picture or words, one an item
            A part that is left out, None or blank becomes a missing row. A modality that no
            item has becomes no view.

        Raises
        ------
        InputError
            A part cannot be read; the message says of which item.
        """
        small = []
        for place, parts in enumerate(items):
            try:
                small.append(self.prepare(parts))
            except OmhashError as error:
                raise type(error)(f"item {place}: {error}") from error
        views = {}
        for modality, encoder in self.encoders.items():
            rows = [row for row, parts in enumerate(small) if modality in parts]
            if rows:
                features = encoder.encode([small[row][modality] for row in rows])
                views[modality] = _spread(features, rows, len(small))
        return EncodedViews(views, self.identity())

    def round(self, items: Sequence[RawItem]) -> dict[str, Any]:
        """What `Collection.ingest` takes: ``collection.ingest(**suite.round(items))``."""
        return {
            "views": self.encode(item.parts for item in items),
            "labels": [item.categories for item in items],
            "keys": [item.key for item in items],
            "payloads": [item.payload for item in items],
        }


def _spread(features: Features, rows: Sequence[int], n: int) -> Features:
    """Features of some items as rows of all; the others' are missing."""
    if len(rows) == n:
        return features
    if isinstance(features, np.ndarray):
        spread = np.full((n, features.shape[1]), np.nan, dtype=features.dtype)
        spread[rows] = features
        return spread
    # A sparse row is missing when all that it stores is NaN.
    there = np.zeros(n, dtype=bool)
    there[rows] = True
    lengths = np.ones(n, dtype=np.int64)
    lengths[rows] = np.diff(features.indptr)
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    values = np.full(pointers[-1], np.nan, dtype=features.dtype)
    columns = np.zeros(pointers[-1], dtype=features.indices.dtype)
    stored = np.repeat(there, lengths)
    values[stored], columns[stored] = features.data, features.indices
    return sparse.csr_array((values, columns, pointers), shape=(n, features.shape[1]))
