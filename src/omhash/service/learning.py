"""Rounds: upload, list, follow."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from ..errors import OmhashError
from ..learning.labels import label_matrix
from ..learning.views import n_rows
from ..measures import mean_average_precision
from ..results import RoundReport
from ..rounds import Round, from_parquet
from . import schemas
from .bodies import PARQUET, body, json_body, limits_of
from .collections import READ, WRITE, InRoom
from .openapi import takes, takes_parquet
from .problems import RequestError
from .shelf import Room

router = APIRouter(prefix="/v1/collections/{name}", tags=["rounds"])

_LOOK = 0.2
"""Seconds between looks at the progress of a round."""


@router.get("/rounds", dependencies=READ, response_model=schemas.Rounds)
def list_rounds(room: InRoom) -> Any:
    """The reports of all rounds, in order."""
    measured = room.measures.all()
    reports = room.collection.rounds()
    return {"rounds": [{**asdict(one), "map": measured.get(one.id)} for one in reports]}


@router.post(
    "/rounds",
    dependencies=WRITE,
    response_model=schemas.RoundReport,
    openapi_extra=takes(schemas.Upload),
)
async def upload_round(request: Request, room: InRoom) -> Any:
    """Learn and store a round of features, sent as JSON."""
    given = await json_body(request, schemas.Upload)

    def read() -> Round:
        schemas.count(views := schemas.matrices(given.views), limits_of(request).items)
        labels = given.labels or [[] for _ in given.keys]
        payloads = given.payloads or [{} for _ in given.keys]
        return Round(dict(views), given.keys, labels, payloads)

    return await learn(request, room, read, given.round_id)


@router.post(
    "/rounds/parquet",
    dependencies=WRITE,
    response_model=schemas.RoundReport,
    openapi_extra=takes_parquet(),
)
async def upload_parquet(
    request: Request,
    room: InRoom,
    round_id: Annotated[str | None, Query(min_length=1, max_length=1000)] = None,
) -> Any:
    """Learn and store a round of features, sent as a Parquet file.

    Columns: `key`; optionally `categories`, lists of text, and `payload`, JSON; and one for
    each modality, lists of numbers or structs of `indices` and `values`.
    """
    limits = limits_of(request)
    content = await body(request, PARQUET, limits.upload_bytes)
    widths = room.collection.status()["modalities"]

    def read() -> Round:
        return from_parquet(content, widths, most_items=limits.items, most_bytes=limits.round_bytes)

    return await learn(request, room, read, round_id)


async def learn(
    request: Request, room: Room, read: Callable[[], Round], round_id: str | None
) -> dict[str, Any]:
    """Read, measure, learn and store a round in the thread that writes."""
    report, quality = await room.write(lambda: _learned(room, read, round_id))
    if not report.repeated:
        metrics = request.app.state.metrics
        metrics.round_items.inc(report.items)
        metrics.round_seconds.observe(report.seconds)
    return {**asdict(report), "map": quality}


def _learned(
    room: Room, read: Callable[[], Round], round_id: str | None
) -> tuple[RoundReport, dict[str, float | None] | None]:
    progress, collection = room.progress, room.collection
    progress.begin(round_id)
    failed: str | None = "the service failed; its log tells more"
    try:
        given = read()
        n = len(given.keys)
        labels = label_matrix(given.labels, n_rows(given.views))  # read once for all that follows
        asked: dict[str, Any] = {
            "views": given.views,
            "labels": labels.matrix,
            "categories": labels.names,
            "keys": given.keys,
        }

        def found() -> float | None:
            progress.stage("measuring", 0, n)
            return mean_average_precision(collection, **asked)

        def store() -> RoundReport:
            nonlocal failed
            progress.stage("learning", 0, n)
            report = collection.ingest(**asked, payloads=given.payloads, round_id=round_id)
            failed = None
            return report

        return room.measures.around(found, store)
    except OmhashError as error:
        failed = str(error)
        raise
    finally:
        progress.end(failed)


@router.get(
    "/progress",
    dependencies=READ,
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def follow_progress(request: Request, room: InRoom) -> StreamingResponse:
    """Server-sent events: what is being learned, and how much there is.

    Each event `progress` is an object of `generation`, `items`, `rounds`, `running` (null, or
    `round_id`, `stage`, `done`, `total`, `seconds`) and `failed` (why the last round did).
    """
    if room.listeners >= limits_of(request).listeners:
        raise RequestError(429, "overloaded", "many follow already: try again later")
    return StreamingResponse(
        _events(request, room),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _events(request: Request, room: Room) -> AsyncGenerator[bytes]:
    room.listeners += 1
    try:
        told: Any = None
        quiet_since = looked = 0.0
        while not request.app.state.closing.is_set():
            now = time.monotonic()
            state: Any = (room.progress.version, None if told is None else told[1])
            if now - looked >= 1.0 or state[0] != (told and told[0]):
                # Other processes may write to the collection too.
                status = await run_in_threadpool(room.collection.status)
                state, looked = (state[0], status["generation"]), now
            if state != told:
                told, quiet_since = state, now
                yield f"event: progress\ndata: {json.dumps(_state(room, status))}\n\n".encode()
            elif room.progress.running is not None and now - quiet_since >= 1.0:
                quiet_since = now
                yield f"event: progress\ndata: {json.dumps(_state(room, status))}\n\n".encode()
            elif now - quiet_since >= 15.0:
                quiet_since = now
                yield b": still here\n\n"
            await asyncio.sleep(_LOOK)
    finally:
        room.listeners -= 1


def _state(room: Room, status: dict[str, Any]) -> dict[str, Any]:
    running = room.progress.running
    return {
        **{name: status[name] for name in ("generation", "items", "categories", "rounds")},
        "running": running
        and {
            "round_id": running.round_id,
            "stage": running.stage,
            "done": running.done,
            "total": running.total,
            "seconds": round(running.seconds, 1),
        },
        "failed": room.progress.failed,
    }
