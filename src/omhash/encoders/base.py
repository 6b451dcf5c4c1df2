"""What an encoder is: raw items in, features out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..errors import OmhashError

Features: TypeAlias = "NDArray[np.float32] | sparse.csr_array"
"""One row an item."""


class Encoder(ABC):
    """Makes features of raw items of one kind.

    An item's features depend on nothing but the item: not on the others of the call, and
    not on any call before.

    Attributes
    ----------
    kind : {"picture", "words"}
        What it takes.
    name : str
        Under which a collection remembers it, with `options`.
    version : str
        Changes whenever the same item gets other features.
    digest : str
        SHA-256 of its weights; empty where it has none.
    width : int
        How many features an item has.
    """

    kind: ClassVar[str]
    name: str
    version: str
    digest: str
    width: int

    @abstractmethod
    def encode(self, items: Sequence[Any]) -> Features:
        """Features of raw items, or of what `prepare` made of them."""

    @abstractmethod
    def prepare(self, item: Any) -> Any:
        """What `encode` needs of an item, small, and known to be readable.

        `encode` takes it in place of the item and gives the same features.
        """

    @property
    def options(self) -> dict[str, Any]:
        """What the constructor needs to make the same encoder again."""
        return {}

    def identity(self) -> dict[str, Any]:
        """Plain values that tell the encoder from every other."""
        return {
            "name": self.name,
            "version": self.version,
            "digest": self.digest,
            "width": self.width,
            "options": self.options,
        }


def prepared(encoder: Encoder, items: Iterable[Any]) -> list[Any]:
    """What an encoder needs of each item; an error says which item it was."""
    found = []
    for place, item in enumerate(items):
        try:
            found.append(encoder.prepare(item))
        except OmhashError as error:
            raise type(error)(f"item {place}: {error}") from error
    return found


def told(identity: Mapping[str, Any]) -> str:
    """An identity in words."""
    digest = f", weights {identity['digest'][:12]}" if identity["digest"] else ""
    return f"{identity['name']} version {identity['version']}{digest}"
