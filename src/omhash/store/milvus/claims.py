"""The right to write, of which there is one: a claim in the log that is kept alive.

Milvus has no locks. Who wants to write puts up a claim, and looks for others; who sees one that
is alive takes its own back and tries later. A claim is dead when it
has not changed for `LEASE` seconds by the clock of whoever looks at it.
"""

from __future__ import annotations

import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import BusyError, StoreError, UnreachableError
from .engine import Engine
from .tables import Tables, document_rows, documents
from .tail import log_rows

LEASE = 10.0
"""Seconds after which a claim that has not changed is dead."""

_BEAT = 2.0


class Claims:
    """Who may write to a collection on a server."""

    def __init__(self, engine: Engine, tables: Tables) -> None:
        self._engine, self._tables = engine, tables
        self._seen: dict[str, tuple[int, float]] = {}
        self._beats: dict[str, int] = {}

    @contextmanager
    def held(self, patience: float) -> Iterator[None]:
        """Hold the only claim; a `BusyError` after `patience` seconds of others' writing."""
        token = secrets.token_hex(8)
        end = time.monotonic() + patience
        # Claims that nobody has renewed since the first look: that they are dead is waited for,
        # or whoever has less patience than `LEASE` would find them alive each time.
        doubtful: set[tuple[str, int]] | None = None
        while others := self._tried(token):
            doubtful = others if doubtful is None else doubtful & others
            if time.monotonic() >= end and not doubtful:
                raise BusyError(
                    f"{self._engine.place.address}: somebody else has been writing for "
                    f"{patience:g} seconds: try again when that is done"
                )
            while others and (doubtful or time.monotonic() < end):
                _pause()  # its own claim would only be in the way of others
                others = self._others(token)
                doubtful &= others
            _pause()
        done = threading.Event()
        beating = threading.Thread(target=self._beat, args=(token, done), daemon=True)
        beating.start()
        reachable = True
        try:
            yield
        except UnreachableError:
            reachable = False  # to say so must not take another time-out: the claim dies by itself
            raise
        finally:
            done.set()
            if reachable:
                beating.join()
                self._withdraw(token, self._beats.pop(token, 0))

    def _tried(self, token: str) -> set[tuple[str, int]]:
        """Put up a claim; taken back where others have one, which are told."""
        self._put(token, 0)
        others = self._others(token)
        if others:
            self._withdraw(token, 0)
        return others

    def _others(self, token: str) -> set[tuple[str, int]]:
        """Claims of others that are alive, and their beats; dead ones are taken away."""
        rows = log_rows(self._engine, self._tables, 'kind == "claim"', level="Strong")
        now = time.monotonic()
        seen: dict[str, tuple[int, float]] = {}
        beats: dict[str, int] = {}
        for _, _, (other, beat) in documents(rows, self._engine.place.address):
            beats[other] = max(beat, beats.get(other, 0))
        beats.pop(token, None)
        for other, beat in beats.items():
            known, since = self._seen.get(other, (beat, now))
            if known == beat and now - since > LEASE:
                self._withdraw(other, beat)
                continue
            seen[other] = (beat, since if known == beat else now)
        self._seen = seen
        return {(other, beat) for other, (beat, _) in seen.items()}

    def _beat(self, token: str, done: threading.Event) -> None:
        beat = 0
        while not done.wait(_BEAT):
            beat += 1
            try:
                self._beats[token] = beat
                self._put(token, beat)
            except StoreError:
                return  # others will take over, and what is written then does not count

    def _put(self, token: str, beat: int) -> None:
        # A row that is written over is away for a moment: so the next one comes before it goes.
        rows = document_rows(_key(token, beat), "claim", (token, beat))
        self._engine.upsert(self._tables.log, rows)
        if beat:
            self._engine.delete(self._tables.log, f'pk == "{_key(token, beat - 1)}/000000"')

    def _withdraw(self, token: str, beat: int) -> None:
        keys = ",".join(f'"{_key(token, one)}/000000"' for one in range(max(beat - 1, 0), beat + 1))
        self._engine.delete(self._tables.log, f"pk in [{keys}]")


def _pause() -> None:
    """Wait for as long as nobody else does."""
    time.sleep(0.1 + random.random() * 0.4)  # noqa: S311 - nothing secret


def _key(token: str, beat: int) -> str:
    return f"claim/{token}/{beat:012}"
