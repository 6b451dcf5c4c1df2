"""Encoding on many machines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from distributed import Client

from ..codes import Codes
from ..hashers.base import Hasher
from .cluster import in_order, sent
from .learning import Readable


def encode(hasher: Hasher, parts: Iterable[Readable], *, client: Client) -> Iterator[Codes]:
    """Packed codes of the items of each part, in the order of the parts.

    The workers are a few parts ahead, however many there are; what was not asked for is not
    computed.

    Parameters
    ----------
    parts : iterable of `Readable`
    """
    yield from in_order(client, _encoded, parts, sent(client, hasher.for_encoding()))


def _encoded(part: Readable, hasher: Hasher) -> Codes:
    return hasher.encode(part.read().views)
