"""The collections of a folder, each open once, with one thread that writes."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from .. import errors
from ..addresses import milvus_place
from ..collection import Collection
from ..collection import open as open_collection
from ..encoders import Suite
from ..measures import Measures
from .batching import Batcher
from .limits import Limits
from .problems import RequestError
from .progress import Progress
from .schemas import NAME

T = TypeVar("T")

ENDING = ".omhash"
_NICE = 5
_NAME = re.compile(NAME)


class Room:
    """An open collection.

    Attributes
    ----------
    encoders : Suite or None
        Of pictures and words, where the collection was made of them.
    progress : Progress
    batcher : Batcher
    measures : Measures
        How well it finds, by round.
    """

    def __init__(
        self,
        name: str,
        collection: Collection,
        path: Path | None,
        threads: Executor,
        limits: Limits,
    ) -> None:
        self.name, self.collection = name, collection
        self.progress = Progress()
        self.batcher = Batcher(collection, threads, at_once=1)
        self.measures = Measures(path)
        self.encoders = _encoders(collection)
        self.listeners = 0
        self._most_waiting = limits.waiting
        self._waiting = 0
        self._writer = ThreadPoolExecutor(1, f"omhash-{name}", _yield_to_searches)

    async def write(self, job: Callable[[], T]) -> T:
        """Run what changes the collection, one at a time, in the order of arrival."""
        if self._waiting >= self._most_waiting:
            raise RequestError(429, "overloaded", "many changes wait already: try again later")
        try:
            running = asyncio.get_running_loop().run_in_executor(self._writer, job)
        except RuntimeError as error:
            raise RequestError(503, "closing", "the service is shutting down") from error
        self._waiting += 1
        try:
            # Whoever asked may go away; what has begun is finished.
            return await asyncio.shield(running)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        """Finish what was begun, and close the collection."""
        self._writer.shutdown(wait=True)
        self.collection.close()


def _yield_to_searches() -> None:
    """Let this thread have a core only where nothing else wants it; on Linux, a thread can."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)


def _encoders(collection: Collection) -> Suite | None:
    try:
        return collection.encoders()
    except errors.UnsupportedError:
        return None  # made of features, or by encoders that are not installed here


class Shelf:
    """The collections in a folder, by name; or one collection alone.

    Parameters
    ----------
    path : folder, or address
        ``NAME.omhash`` in the folder is the collection NAME. If it is a collection itself, or
        the address of one on Milvus, the shelf holds that one and takes no others.
    """

    def __init__(self, path: str | PathLike[str], limits: Limits) -> None:
        place = milvus_place(path)
        self._address = None if place is None else path
        folder = Path() if place else Path(path)
        alone = folder.suffix == ENDING
        self.folder = folder.resolve().parent if alone else folder
        self._only = place.name if place else folder.resolve().stem if alone else None
        if alone and not folder.is_dir():
            raise errors.StoreError(f"{path}: there is no collection here")
        if self._only is None:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.threads = ThreadPoolExecutor(4, "omhash-read")
        self.encoding = ThreadPoolExecutor(1, "omhash-encode")
        self._limits = limits
        self._rooms: dict[str, Room] = {}
        self._opening = threading.Lock()

    def names(self) -> list[str]:
        """The names of all collections, sorted."""
        if self._only is not None:
            return [self._only]
        found = (path.stem for path in self.folder.glob(f"*{ENDING}") if path.is_dir())
        return sorted(name for name in found if _NAME.fullmatch(name))

    def open_room(self, name: str) -> Room | None:
        """A collection, where it is open."""
        return self._rooms.get(name)

    def room(self, name: str) -> Room:
        """A collection; opened now where it was not."""
        with self._opening:
            if name not in self._rooms:
                if name not in self.names():
                    raise RequestError(404, "not_found", f"there is no collection {name!r}")
                if self._address is not None:
                    self._add(name, None, open_collection(self._address))
                else:
                    path = self.folder / f"{name}{ENDING}"
                    self._add(name, path, open_collection(path))
            return self._rooms[name]

    def opened(self) -> list[Room]:
        """The collections that are open."""
        return list(self._rooms.values())

    def create(self, name: str, modalities: dict[str, int] | None, **options: Any) -> Room:
        """Make an empty collection: of features, or, without modalities, of pictures and words."""
        if self._only is not None:
            raise errors.UnsupportedError(
                f"only the collection {self._only!r} is served: serve a folder to make others"
            )
        path = self.folder / f"{name}{ENDING}"
        with self._opening:
            if path.exists():
                raise RequestError(409, "exists", f"there is a collection {name!r} already")
            encoders = Suite.default() if modalities is None else None
            made = Collection.create(path, modalities=modalities, encoders=encoders, **options)
            return self._add(name, path, made)

    def close(self) -> None:
        """Close all collections, once each has finished what it had begun."""
        for room in self._rooms.values():
            room.close()
        self.threads.shutdown(wait=True)
        self.encoding.shutdown(wait=True)

    def _add(self, name: str, path: Path | None, collection: Collection) -> Room:
        room = Room(name, collection, path, self.threads, self._limits)
        self._rooms[name] = room
        return room
