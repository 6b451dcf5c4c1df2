"""Searches that wait at the same time are asked together: many cost little more than one."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..collection import Collection
from ..results import Hit

_MOST_ROWS = 128


@dataclass(eq=False)
class _Asked:
    views: dict[str, NDArray[Any]]
    options: Mapping[str, Any]
    form: str
    finish: Callable[[list[list[Hit]]], bytes]
    answer: asyncio.Future[bytes]

    @property
    def rows(self) -> int:
        return len(next(iter(self.views.values())))


class Batcher:
    """Asks a collection, from an event loop, in a few threads.

    An item's code never depends on its batch, and so neither do its hits.

    Parameters
    ----------
    threads : Executor
    at_once : int
        Searches of the collection that run at a time; what arrives meanwhile waits, and is
        asked together.
    """

    def __init__(self, collection: Collection, threads: Executor, at_once: int) -> None:
        self._collection, self._threads, self._free = collection, threads, at_once
        self._waiting: deque[_Asked] = deque()

    async def search(
        self,
        views: dict[str, NDArray[Any]],
        options: Mapping[str, Any],
        finish: Callable[[list[list[Hit]]], bytes],
    ) -> bytes:
        """What `finish` makes of the hits, in the thread that found them."""
        shapes = [(name, view.shape[1:], view.dtype.str) for name, view in sorted(views.items())]
        form = json.dumps([shapes, options], sort_keys=True)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Asked(views, options, form, finish, answer))
        self._start()
        return await answer

    def _start(self) -> None:
        while self._free and (batch := self._batch()):
            self._free -= 1
            found = asyncio.get_running_loop().run_in_executor(
                self._threads, self._found_together, batch
            )
            found.add_done_callback(partial(self._finish, batch))

    def _batch(self) -> list[_Asked]:
        """The search that has waited longest, and others of its form."""
        batch: list[_Asked] = []
        others: deque[_Asked] = deque()
        rows = 0
        while self._waiting:
            asked = self._waiting.popleft()
            if asked.answer.done():  # who asked has given up
                continue
            if batch and (asked.form != batch[0].form or rows + asked.rows > _MOST_ROWS):
                others.append(asked)
            else:
                batch.append(asked)
                rows += asked.rows
        self._waiting = others
        return batch

    def _finish(self, batch: list[_Asked], found: asyncio.Future[list[bytes | Exception]]) -> None:
        self._free += 1
        for asked, answer in zip(batch, found.result(), strict=True):
            if asked.answer.done():
                continue
            if isinstance(answer, Exception):
                asked.answer.set_exception(answer)
            else:
                asked.answer.set_result(answer)
        self._start()

    def _found_together(self, batch: list[_Asked]) -> list[bytes | Exception]:
        if len(batch) == 1:
            return [self._found(batch[0])]
        views = {
            name: np.concatenate([asked.views[name] for asked in batch]) for name in batch[0].views
        }
        try:
            hits = iter(self._collection.search(views, **batch[0].options))
            return [asked.finish([next(hits) for _ in range(asked.rows)]) for asked in batch]
        except Exception:
            # One of them is wrong: each learns what is true of itself.
            return [self._found(asked) for asked in batch]

    def _found(self, asked: _Asked) -> bytes | Exception:
        try:
            return asked.finish(self._collection.search(asked.views, **asked.options))
        except Exception as error:  # raised again where it was asked
            return error
