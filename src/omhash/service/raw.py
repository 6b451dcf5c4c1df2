"""Pictures and words: search with them, and rounds of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from scipy import sparse
from starlette.datastructures import FormData, UploadFile

from ..encoders import EncodedViews, Suite
from ..encoders.pictures import thumbnail
from ..errors import InputError, NotFittedError, OmhashError, UnsupportedError
from ..rounds import Round
from . import schemas
from .bodies import JSON, form, limits_of, part, picture_bytes
from .collections import READ, WRITE, InRoom, bits
from .learning import learn
from .openapi import takes_parts
from .searching import answer, checked_options, in_time
from .shelf import Room

router = APIRouter(prefix="/v1/collections/{name}")

_AT_ONCE = 32
"""Items that are encoded between two words of progress."""


@router.post(
    "/search/raw",
    dependencies=READ,
    response_model=schemas.SearchAnswer,
    openapi_extra=takes_parts("query", schemas.RawSearch, "picture", many=False),
    tags=["search"],
)
async def search_raw(request: Request, room: InRoom) -> Response:
    """The items most like a picture, words, or both, best first."""
    suite = _suite(room)
    parts = await form(request, most_files=2)
    try:
        asked = await part(parts, "query", schemas.RawSearch)
        options = checked_options(request, asked)
        given = parts.get("picture")
        picture = picture_bytes(request, given) if isinstance(given, UploadFile) else None
    finally:
        await parts.close()
    item = _item(suite, picture, asked.text if asked.text and asked.text.strip() else None)
    if not item:
        raise InputError("search needs a picture, words, or both")

    def found() -> bytes:
        views = suite.encode([item])
        hits = room.collection.search(views, **options)
        try:
            (query,) = room.collection.explain(views, emphasis=asked.emphasis)
        except (NotFittedError, UnsupportedError):
            return answer(hits)
        return answer(hits, [{"code": bits(query.code), "weights": query.weights}])

    async with in_time(request):
        loop = asyncio.get_running_loop()
        sent = await loop.run_in_executor(request.app.state.shelf.encoding, found)
    request.app.state.metrics.queries.inc()
    return Response(sent, media_type=JSON)


@router.post(
    "/rounds/raw",
    dependencies=WRITE,
    response_model=schemas.RoundReport,
    openapi_extra=takes_parts("round", schemas.RawRound, "pictures", many=True),
    tags=["rounds"],
)
async def upload_raw(request: Request, room: InRoom) -> Any:
    """Encode, learn and store a round of pictures and words.

    The part `round` names the pictures by the file names of the parts `pictures`. A small copy
    of each is kept in the payload, as `picture`.
    """
    suite, limits = _suite(room), limits_of(request)
    parts = await form(request, most_files=limits.pictures)
    try:
        given = await part(parts, "round", schemas.RawRound)
        if len(given.items) > limits.items:
            raise InputError(f"there are {len(given.items)} items, and {limits.items} are the most")
        files = _files(parts)
        unknown = [item.picture for item in given.items if item.picture not in (None, *files)]
        if unknown:
            raise InputError(f"there is no picture {unknown[0]!r} among the parts 'pictures'")
        return await learn(
            request, room, lambda: _encoded(request, room, suite, given, files), given.round_id
        )
    finally:
        await parts.close()


def _suite(room: Room) -> Suite:
    if room.encoders is None:
        raise UnsupportedError(
            f"the collection {room.name!r} was made of features: send features, or make a "
            "collection without modalities to send pictures and words"
        )
    return room.encoders


def _item(suite: Suite, picture: bytes | None, text: str | None) -> dict[str, Any]:
    """The parts of an item under the names of its modalities."""
    by_kind = {"picture": picture, "words": text}
    return {
        name: by_kind[encoder.kind]
        for name, encoder in suite.encoders.items()
        if by_kind[encoder.kind] is not None
    }


def _files(parts: FormData) -> dict[str, UploadFile]:
    files: dict[str, UploadFile] = {}
    for file in parts.getlist("pictures"):
        if not isinstance(file, UploadFile) or not file.filename:
            raise InputError("every part 'pictures' needs a file name")
        if file.filename in files:
            raise InputError(f"there are two pictures {file.filename!r}")
        files[file.filename] = file
    return files


def _encoded(
    request: Request,
    room: Room,
    suite: Suite,
    given: schemas.RawRound,
    files: Mapping[str, UploadFile],
) -> Round:
    """The round as features, picture by picture, so that no more than a few are in memory."""
    n = len(given.items)
    chunks: list[tuple[int, EncodedViews]] = []
    payloads: list[dict[str, Any]] = []
    for start in range(0, n, _AT_ONCE):
        room.progress.stage("encoding", start, n)
        items = []
        for item in given.items[start : start + _AT_ONCE]:
            picture = None if item.picture is None else picture_bytes(request, files[item.picture])
            try:
                items.append(suite.prepare(_item(suite, picture, item.text)))
                small = {} if picture is None else {"picture": thumbnail(picture)}
            except OmhashError as error:
                raise InputError(f"item {item.key!r}: {error}") from error
            payloads.append({**item.payload, **small})
        chunks.append((len(items), suite.encode(items)))
    room.progress.stage("encoding", n, n)
    return Round(
        _joined(suite, chunks),
        [item.key for item in given.items],
        [item.categories for item in given.items],
        payloads,
    )


def _joined(suite: Suite, chunks: list[tuple[int, EncodedViews]]) -> EncodedViews:
    """One view a modality; a chunk may lack it."""
    views = {}
    for name, width in suite.widths.items():
        there = [found[name] for _, found in chunks if name in found]
        if there:
            dense = isinstance(there[0], np.ndarray)
            rows = [found.get(name, _missing(n, width, dense=dense)) for n, found in chunks]
            views[name] = np.vstack(rows) if dense else sparse.csr_array(sparse.vstack(rows))
    if not views:
        raise InputError("the round has neither pictures nor words")
    return EncodedViews(views, suite.identity())


def _missing(n: int, width: int, *, dense: bool) -> Any:
    """Rows of items that lack a modality."""
    if dense:
        return np.full((n, width), np.nan, dtype=np.float32)
    places = np.zeros(n, dtype=np.int64), np.arange(n + 1)
    return sparse.csr_array((np.full(n, np.nan, np.float32), *places), shape=(n, width))
