"""A file in parts: consecutive items, read when they are asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataFileError
from .base import Rows, View


@dataclass(frozen=True)
class Items:
    """Items as `omhash.Collection.ingest` takes them.

    Attributes
    ----------
    views : mapping of modality to array or CSR array, one row an item
    labels : array of uint8, shape (n_items, n_categories), 0/1
    categories : tuple of str
        The name of each column of `labels`.
    keys : list of str
    payloads : list of dict
    """

    views: Mapping[str, View]
    labels: NDArray[np.uint8]
    categories: tuple[str, ...]
    keys: Sequence[str]
    payloads: Sequence[Mapping[str, Any]]

    def __len__(self) -> int:
        return len(self.keys)

    def only(self, rows: Rows) -> Items:
        """Some of the items, in the order of `rows`."""
        return Items(
            {modality: view[rows] for modality, view in self.views.items()},
            self.labels[rows],
            self.categories,
            [self.keys[row] for row in rows],
            [self.payloads[row] for row in rows],
        )


@dataclass(frozen=True)
class Part:
    """Consecutive items of a file.

    Attributes
    ----------
    start, stop : int
        The first item, counted from 0, and the one after the last.
    digest : str
        Follows from what the items are and where: the same part of the same file has the
        same digest whenever it is read.
    read : callable
        Gives the items.
    share : float, optional
        How much of the file has been passed at the end of the part, from 0 to 1.
    """

    start: int
    stop: int
    digest: str
    read: Callable[[], Items]
    share: float | None = None

    @property
    def round_id(self) -> str:
        """What the round of these items is called, whoever reads them."""
        return f"items {self.start} to {self.stop - 1}, {self.digest}"


def part_of(start: int, items: Items, n_items: int) -> Part:
    """A part that is in memory already, of a file of `n_items`."""
    stop = start + len(items)

    def pieces() -> Iterable[Any]:
        yield [start, *items.keys]
        yield [*items.payloads]
        yield [*items.categories]
        yield items.labels
        for modality, view in sorted(items.views.items()):
            yield [modality, str(view.dtype), *view.shape]
            yield from [view] if isinstance(view, np.ndarray) else [view.indptr, view.indices]
            if not isinstance(view, np.ndarray):
                yield view.data

    return Part(start, stop, digest(pieces()), lambda: items, stop / n_items)


def digest(pieces: Iterable[Any]) -> str:
    """A short digest of bytes, arrays, and lists of plain values."""
    total = hashlib.sha256()
    for piece in pieces:
        if isinstance(piece, (bytes, np.ndarray)):
            content = piece if isinstance(piece, bytes) else np.ascontiguousarray(piece).tobytes()
        else:
            content = repr(piece).encode(errors="backslashreplace")
        # The lengths keep two pieces apart from the one that they would make together.
        total.update(len(content).to_bytes(8, "little"))
        total.update(content)
    return total.hexdigest()[:32]


def key_of(given: Any, stem: str, row: int, where: str) -> str:
    """An item's key: what the file gives, or else the file's name and the item's row."""
    if given is None:
        return f"{stem} {row}"
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise DataFileError(f"{where}: 'key' must be text or a whole number, not {given!r}")
    return str(given)
