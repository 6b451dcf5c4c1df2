"""The application: routes, errors, limits and metrics joined."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from os import PathLike
from pathlib import Path

from fastapi import Depends, FastAPI, Request, Response
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import FileResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.concurrency import run_in_threadpool

from . import collections, learning, openapi, problems, raw, schemas, searching
from .access import Access, Scope, may_read
from .headers import SecurityHeaders
from .limits import Limits
from .metrics import Metrics, Observed
from .shelf import Shelf

_PAGE = Path(__file__).with_name("page")


def create_app(
    path: str | PathLike[str],
    *,
    tokens: Mapping[str, Scope] | None = None,
    origins: Collection[str] = (),
    limits: Limits | None = None,
) -> FastAPI:
    """The service as an ASGI application.

    Parameters
    ----------
    path : folder
        Of collections, or one collection.
    tokens : mapping of token to "read" or "write"
        Without any, everybody on this machine may do everything.
    origins : addresses of sites
        Whose pages may use the service; none where nothing is said.
    limits : Limits
    """
    limits = limits or Limits()
    shelf = Shelf(path, limits)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            app.state.closing.set()
            await run_in_threadpool(shelf.close)

    app = FastAPI(
        title="omhash",
        version=version("omhash"),
        summary="Collections that learn, and find similar things.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses={"4XX": {"model": schemas.ErrorAnswer}, 422: {"model": schemas.ErrorAnswer}},
    )
    app.state.limits, app.state.shelf = limits, shelf
    app.state.access = Access(tokens or {}, origins)
    app.state.metrics = metrics = Metrics(shelf)
    app.state.closing = asyncio.Event()
    problems.add_handlers(app)
    openapi.complete(app)
    searching.add_search(app)
    for router in (collections.router, learning.router, raw.router):
        app.include_router(router)
    _add_own_pages(app)
    app.add_middleware(SecurityHeaders)
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type"],
        )
    app.add_middleware(Observed, metrics=metrics)
    return app


def _add_own_pages(app: FastAPI) -> None:
    @app.get("/livez", tags=["service"])
    async def livez() -> dict[str, str]:
        """The process answers."""
        return {"status": "alive"}

    @app.get("/readyz", tags=["service"], responses={503: {"model": schemas.ErrorAnswer}})
    async def readyz(request: Request) -> JSONResponse:
        """The service takes work; not any more once it shuts down."""
        if request.app.state.closing.is_set():
            return problems.answer(503, "closing", "the service is shutting down")
        return JSONResponse({"status": "ready"})

    @app.get(
        "/metrics",
        tags=["service"],
        dependencies=[Depends(may_read)],
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    def metrics(request: Request) -> Response:
        """Counts and times, for Prometheus."""
        text = request.app.state.metrics.text()
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    def page() -> FileResponse:
        return FileResponse(_PAGE / "index.html")

    @app.get("/docs", include_in_schema=False)
    def docs() -> FileResponse:
        return FileResponse(_PAGE / "docs.html")

    app.mount("/page", StaticFiles(directory=_PAGE), name="page")
