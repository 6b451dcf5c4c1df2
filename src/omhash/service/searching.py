"""Search: by features, by the key of an item, by a picture and words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute

from ..results import Hit
from . import schemas
from .access import may_read
from .bodies import JSON, json_body, limits_of
from .collections import Name, room_of
from .openapi import takes
from .problems import RequestError


class _Direct(APIRoute):
    """A route like others, but its function is handed the request and the name as they are.

    FastAPI's way to find a function's arguments takes a good part of the time of a search.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            answered: Response = await self.endpoint(request, request.path_params["name"])
            return answered

        return handle


def add_search(app: FastAPI) -> None:
    """Add the search by features: first of all routes, since it is asked for most."""
    app.router.add_api_route(
        "/v1/collections/{name}/search",
        search,
        methods=["POST"],
        tags=["search"],
        response_model=schemas.SearchAnswer,
        openapi_extra=takes(schemas.Search),
        route_class_override=_Direct,
    )


async def search(request: Request, name: Name) -> Response:
    """The items most like each query, best first: by features, or like an item."""
    await may_read(request)
    room = await room_of(request, name)
    asked = await json_body(request, schemas.Search)
    options = checked_options(request, asked)
    async with in_time(request):
        if asked.views is None:
            found = await asyncio.get_running_loop().run_in_executor(
                request.app.state.shelf.threads,
                lambda: answer(room.collection.search(key=asked.key, **options)),
            )
        else:
            if asked.key is not None:
                raise RequestError(422, "input", "search by views or by a key, not by both")
            views = schemas.matrices(asked.views)
            n = schemas.count(views, limits_of(request).queries)
            found = await room.batcher.search(views, options, answer)
            request.app.state.metrics.queries.inc(n)
    return Response(found, media_type=JSON)


def checked_options(request: Request, asked: schemas.Options) -> dict[str, Any]:
    """What `Collection.search` takes beside the query."""
    most = limits_of(request).k
    if asked.k > most:
        raise RequestError(422, "input", f"k: {asked.k} items are wanted, and {most} are the most")
    return {name: getattr(asked, name) for name in schemas.Options.model_fields}


@asynccontextmanager
async def in_time(request: Request) -> AsyncGenerator[None]:
    """Give up on what takes too long."""
    try:
        async with asyncio.timeout(limits_of(request).search_seconds):
            yield
    except TimeoutError:
        raise RequestError(503, "timeout", "the search took too long: try again later") from None


def answer(found: list[list[Hit]], queries: list[Any] | None = None) -> bytes:
    """Hits as they are sent."""
    results: list[dict[str, Any]] = [{"hits": [hit.__dict__ for hit in hits]} for hits in found]
    if queries is not None:
        for result, query in zip(results, queries, strict=True):
            result["query"] = query
    return json.dumps({"results": results}).encode()
