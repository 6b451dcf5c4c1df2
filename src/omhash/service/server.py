"""Serve on a port until told to stop."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Mapping
from os import PathLike
from types import FrameType

import numpy as np
import uvicorn
from fastapi import FastAPI
from threadpoolctl import threadpool_limits

from ..errors import ParameterError
from ..index import ExactIndex, Queries
from .access import LOOPBACK, Scope
from .app import create_app
from .limits import Limits

_GRACE = 30
"""Seconds that requests get to end when the service stops; a round in hand gets all it needs."""

_SWITCH = 0.00005
"""Seconds between turns of threads: a search should not wait long for a round that is learned."""


class _Server(uvicorn.Server):
    """Tells the application at once when it is to stop, so that endless answers end."""

    def __init__(
        self, app: FastAPI, config: uvicorn.Config, ready: Callable[[str], None] | None
    ) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]  # passed on
        await super().startup(sockets=sockets)  # type: ignore[arg-type]  # likewise
        if self.started and self._ready:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            self._ready(f"http://{f'[{host}]' if ':' in host else host}:{port}/")

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.closing.set()
        super().handle_exit(sig, frame)


def serve(
    path: str | PathLike[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    tokens: Mapping[str, Scope] | None = None,
    origins: Collection[str] = (),
    limits: Limits | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve collections and their page until SIGINT or SIGTERM; a round in hand is finished.

    Parameters
    ----------
    path : folder
        Of collections, ``NAME.omhash`` each; or one collection.
    host, port : str, int
        Port 0 takes any that is free. Hosts other than this machine need tokens.
    tokens : mapping of token to "read" or "write"
    origins : addresses of sites
        Whose pages may use the service, such as ``https://example.org``.
    ready : callable, optional
        Called with the address, once the service can be reached there.
    """
    if host not in LOOPBACK and not tokens:
        raise ParameterError(
            f"the service would be open to everybody who reaches {host!r}: give it tokens, or "
            "serve on 127.0.0.1"
        )
    _compile()
    app = create_app(path, tokens=tokens, origins=origins, limits=limits)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http="httptools",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE,
    )
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    try:
        # One core is left for searches while a round is learned.
        with threadpool_limits(max(1, (os.cpu_count() or 1) - 1)):
            _Server(app, config, ready).run()
    finally:
        sys.setswitchinterval(before)


def _compile() -> None:
    """Search once: on a fresh install that compiles kernels, longer than a request may take."""
    index = ExactIndex(8, {"any": 8})
    codes = np.zeros((1, 1), np.uint8)
    index.add(np.zeros(1, np.int64), codes, {"any": codes})
    values = np.ones((1, 8), np.float32)
    index.search(Queries.of(values, sketches={"any": values}, detail=1.0), 1)
