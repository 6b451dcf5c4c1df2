"""Services over real collections, for the tests of this folder."""

import threading
import time
from contextlib import contextmanager

import uvicorn

from omhash import Collection
from omhash.service import Limits

LIMITS = Limits(json_bytes=1 << 20, upload_bytes=4 << 20, items=1000, queries=20, k=50)


def rows(data, part):
    return {name: view[part] for name, view in data.views.items()}


def names(data, part):
    return [[data.categories[c] for c in row.nonzero()[0]] for row in data.labels[part]]


def fill(path, data, n=200):
    widths = {name: view.shape[1] for name, view in data.views.items()}
    with Collection.create(path, modalities=widths, n_bits=32) as things:
        part = slice(0, n)
        things.ingest(
            rows(data, part),
            names(data, part),
            keys=[f"thing {number}" for number in range(n)],
            payloads=[{"number": number} for number in range(n)],
            round_id="first",
        )


@contextmanager
def running(app):
    """The address of a real server on loopback, in a thread."""
    config = uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        app.state.closing.set()
        server.should_exit = True
        thread.join()
