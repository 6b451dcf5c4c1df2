"""Calls to Milvus: each ends in time, and tells what went wrong in omhash's own errors."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import grpc
from pymilvus import MilvusClient
from pymilvus.exceptions import MilvusException

from ...errors import StoreError, UnreachableError, UnsupportedError
from . import lite
from .columns import read_rows
from .place import Place

T = TypeVar("T")

MOST = 16_384
"""Rows that Milvus gives for one call."""

_BYTES = 8 << 20
"""Of rows that are sent at once."""

_LEAST_VERSION = (2, 3)
_PASSING = (
    # What a server says while it starts, or while it moves data about.
    "not ready",
    "not healthy",
    "not loaded",
    "not available",
    "no available",
    "unavailable",
    "node offline",
    "not found in",
    "channel not found",
    "failed to get shard",
    "lackresource",
    "node not match",
    "nodenotmatch",
    "nodenotfound",
    "connection refused",
    "context canceled",
    "fail to get shard",
    "segment not",
    "distribution",
)

_ON_THIS_MACHINE = {"grpc.keepalive_time_ms": 2**31 - 1}
"""Milvus Lite takes offence at being asked whether it is still there, and says so on stderr."""

# It logs every error that it raises, with a traceback; whoever catches the error knows better.
for _name in ("pymilvus.decorators", "pymilvus.client.connection_manager"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)


class Engine:
    """One client of a server, or of Milvus Lite.

    Reads, and writes that may be repeated, are tried again until the time is over.
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        # A broken connection is made anew within a call, beyond the time that the call is given.
        self._connecting = min(place.timeout / 2, 5.0)
        self._client: MilvusClient | None = self._connected()

    @property
    def lite(self) -> bool:
        """Whether it is Milvus Lite, which has one process and shows each write at once."""
        return self.place.file is not None

    def query(
        self,
        collection: str,
        expression: str,
        fields: Sequence[str],
        *,
        limit: int = MOST,
        level: str = "Bounded",
    ) -> list[dict[str, Any]]:
        """Rows that keep an expression: those of the smallest primary keys, in order."""
        found = self._called(
            "read",
            lambda client, seconds: client.query(
                collection,
                filter=expression,
                output_fields=list(fields),
                limit=limit,
                consistency_level=level,
                timeout=seconds,
            ),
        )
        return read_rows(found)

    def count(self, collection: str, expression: str, *, level: str = "Bounded") -> int:
        """How many rows keep an expression."""
        rows = self._called(
            "read",
            lambda client, seconds: client.query(
                collection,
                filter=expression,
                output_fields=["count(*)"],
                consistency_level=level,
                timeout=seconds,
            ),
        )
        return int(rows[0]["count(*)"])

    def nearest(
        self, collection: str, codes: Sequence[bytes], k: int, *, level: str = "Bounded"
    ) -> list[list[tuple[str, int]]]:
        """Primary keys and Hamming distances of the nearest rows of each code."""
        found = self._called(
            "search",
            lambda client, seconds: client.search(
                collection,
                data=list(codes),
                anns_field="code",
                limit=k,
                search_params={"metric_type": "HAMMING"},
                consistency_level=level,
                timeout=seconds,
            ),
        )
        return [[(hit.id, int(hit.distance)) for hit in hits] for hits in found]

    def upsert(self, collection: str, rows: Sequence[dict[str, Any]]) -> None:
        """Write rows; those of the same primary keys are replaced, so it may be repeated."""
        for part in _parts(rows):
            self._called(
                "write",
                lambda client, seconds, part=part: client.upsert(  # type: ignore[misc]  # bound at once
                    collection, part, timeout=seconds
                ),
            )

    def delete(self, collection: str, expression: str) -> None:
        """Remove the rows that keep an expression."""
        self._called(
            "delete",
            lambda client, seconds: client.delete(collection, filter=expression, timeout=seconds),
        )

    def collections(self) -> list[str]:
        """Names of all collections."""
        return self._called(
            "list", lambda client, seconds: client.list_collections(timeout=seconds)
        )

    def fields(self, name: str) -> set[str]:
        """Names of a collection's fields."""
        told = self._called(
            "describe", lambda client, seconds: client.describe_collection(name, timeout=seconds)
        )
        return {one["name"] for one in told["fields"]}

    def create(self, name: str, schema: Any, vector: str, *sorted_by: str) -> None:
        """Make a collection with one vector, and load it; servers sort some columns.

        What is left of an interrupted attempt is removed first.
        """

        def made(client: MilvusClient, seconds: float) -> None:
            if client.has_collection(name, timeout=seconds):
                client.drop_collection(name, timeout=seconds)
            index = client.prepare_index_params()
            index.add_index(vector, index_type="BIN_FLAT", metric_type="HAMMING")
            for column in () if self.lite else sorted_by:
                index.add_index(column, index_type="STL_SORT")
            client.create_collection(
                name,
                schema=schema,
                index_params=index,
                num_shards=1,  # so that what is seen of it is seen in the order of writing
                consistency_level="Bounded",
                timeout=seconds,
            )

        self._called("create", made)

    def flush(self, name: str) -> None:
        """Have the engine give the space of deleted rows back when it next can."""
        if not self.lite:
            self._called("flush", lambda client, seconds: client.flush(name, timeout=seconds))
            self._called("compact", lambda client, seconds: client.compact(name, timeout=seconds))

    def close(self) -> None:
        """Leave the server; Milvus Lite ends with its last client of this process."""
        client, self._client = self._client, None
        if client is not None:
            with suppress(MilvusException, grpc.RpcError):
                client.close()
            if self.place.file is not None:
                lite.released(self.place.file)

    def refuse_closed(self) -> None:
        """Raise a `StoreError` once it is closed."""
        if self._client is None:
            raise StoreError(f"{self.place.address}: the collection is closed: open it again")

    def _connected(self) -> MilvusClient:
        place = self.place
        if place.file is not None:
            lite.taken(place.file, place.address)
        try:
            client = MilvusClient(
                place.uri,
                token=place.token,
                timeout=self._connecting,
                grpc_options={} if place.file is None else _ON_THIS_MACHINE,
            )
            if place.file is None:
                check_version(client.get_server_version(timeout=place.timeout), place)
        except (MilvusException, grpc.RpcError) as error:
            if place.file is not None:
                lite.released(place.file)
                raise StoreError(
                    f"{place.address}: Milvus Lite cannot open it: is another process using it? "
                    f"({_told(error)})"
                ) from error
            raise UnreachableError(
                f"{place.address}: no Milvus server answers there within "
                f"{self._connecting:g} seconds: is it running, and is the token right? "
                f"({_told(error)})"
            ) from error
        return client

    def _called(self, doing: str, call: Callable[[MilvusClient, float], T]) -> T:
        """What a call gives; what may pass is waited for, as long as there is time."""
        end = time.monotonic() + self.place.timeout
        pause = 0.05
        while True:
            self.refuse_closed()
            client = self._client
            assert client is not None  # noqa: S101 - for the type checker
            try:
                return call(client, max(end - self._connecting - time.monotonic(), 0.1))
            except (MilvusException, grpc.RpcError, ValueError) as error:
                if self._client is None:
                    self.refuse_closed()
                if not _passes(error):
                    raise StoreError(
                        f"{self.place.address}: cannot {doing}: {_told(error)}"
                    ) from error
                if time.monotonic() + pause >= end - self._connecting:
                    raise UnreachableError(
                        f"{self.place.address}: cannot {doing}: no answer within "
                        f"{self.place.timeout:g} seconds: try again when the server is back; what "
                        f"was committed is not lost ({_told(error)})"
                    ) from error
            time.sleep(pause * (0.5 + random.random()))  # noqa: S311 - nothing secret
            pause = min(2 * pause, 2.0)


def _passes(error: Exception) -> bool:
    """Whether an error may be gone a moment later."""
    if isinstance(error, grpc.RpcError) or isinstance(
        getattr(error, "code", None), grpc.StatusCode
    ):
        return True
    text = str(error).lower()
    return "retry timeout" in text or any(words in text for words in _PASSING)


def _told(error: Exception) -> str:
    """What an error of the library says, in one line."""
    said = getattr(error, "message", None) or str(error)
    return " ".join(str(said).split())[:300]


def check_version(told: str, place: Place) -> None:
    """An `UnsupportedError` where a server is too old."""
    numbers = told.removeprefix("v").split("-")[0].split(".")[:2]
    if not all(number.isdecimal() for number in numbers):
        return  # a build of its own: what it lacks, it will say
    if tuple(map(int, numbers)) < _LEAST_VERSION:
        raise UnsupportedError(
            f"{place.address}: the server is Milvus {told}, and omhash needs 2.3 or later "
            "(tested with 2.3.5)"
        )


def _parts(rows: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Rows in parts that one call can carry."""
    parts: list[list[dict[str, Any]]] = [[]]
    size = 0
    for row in rows:
        size += 200 + sum(len(value) for value in row.values() if isinstance(value, (str, bytes)))
        if parts[-1] and (size > _BYTES or len(parts[-1]) >= 10_000):
            parts.append([])
            size = 0
        parts[-1].append(row)
    return [part for part in parts if part]
