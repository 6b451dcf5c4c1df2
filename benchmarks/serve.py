"""Searches over HTTP: requests a second and their times, alone and while a round is learned.

Three servers' worth of questions, on loopback only: the service over a collection of 64-bit
codes, alone; the same while rounds are uploaded to it, one after another; and, as the
yardstick, a bare FastAPI route that only calls FAISS on as many codes. All are asked in turn,
by the same client, so that what else the machine does disturbs all alike.

    OMP_NUM_THREADS=1 python benchmarks/serve.py [--items 100000] [--requests 1500]

The targets: at least 60 % of the bare route's requests a second; the 99th percentile while
learning at most 3 times that without; no failed request.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from omhash import Collection
from omhash.datasets import synthetic

WIDTHS = {"image": 256, "text": 128}
CLIENTS = (1, 8, 32)
ROUND = 2000

SERVICE = """
import sys
from omhash.service import serve
serve(sys.argv[1], port=0, ready=lambda address: print(address, flush=True))
"""

BARE = """
import sys
import faiss, numpy as np, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

faiss.omp_set_num_threads(1)
index = faiss.IndexBinaryFlat(64)
codes = np.random.default_rng(0).integers(0, 256, (int(sys.argv[1]), 8), dtype=np.uint8)
index.add(codes)
app = FastAPI()

class Query(BaseModel):
    code: list[int]
    k: int

@app.post("/search")
def search(query: Query):
    distances, numbers = index.search(np.array([query.code], dtype=np.uint8), query.k)
    return {"numbers": numbers[0].tolist(), "distances": distances[0].tolist()}

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets=sockets)
        print("http://127.0.0.1:%d/" % self.servers[0].sockets[0].getsockname()[1], flush=True)

Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False)).run()
"""


class Child:
    """A server in a process of its own."""

    def __init__(self, program: str, argument: str) -> None:
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", program, argument], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline().rsplit(":", 1)[1].strip("/\n"))

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait()


def request(path: str, body: bytes, kind: str = "application/json") -> bytes:
    """A request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def ask(port: int, requests: list[bytes], clients: int, n: int) -> tuple[float, list[float]]:
    """Requests a second, and the seconds of each; every client waits for its answer."""
    left = iter(range(n))
    seconds: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in left:
            start = time.perf_counter()
            writer.write(requests[number % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            seconds.append(time.perf_counter() - start)
        writer.close()

    start = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(clients)))
    return n / (time.perf_counter() - start), seconds


class Learning:
    """Uploads rounds, one after another, until told to stop."""

    def __init__(self, port: int, bodies: list[bytes]) -> None:
        self._port, self._bodies, self._number = port, bodies, 0
        self._stop = threading.Event()
        self.rounds = 0

    def __enter__(self) -> Learning:
        self._stop.clear()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._upload()))
        self._thread.start()
        time.sleep(0.3)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    async def _upload(self) -> None:
        while not self._stop.is_set():
            body = self._bodies[self._number % len(self._bodies)]
            path = f"/v1/collections/things/rounds/parquet?round_id={self._number}"
            self._number += 1
            sent = request(path, body, "application/vnd.apache.parquet")
            await ask(self._port, [sent], 1, 1)
            self.rounds += 1


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=1500, help="of each kind, at each turn")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()

    from omhash.rounds import to_parquet

    data = synthetic.make(options.items + 4 * ROUND, 64, modalities=WIDTHS, noise=2.0, seed=0)
    labels = [[data.categories[c] for c in row.nonzero()[0]] for row in data.labels]

    def views(part: slice) -> dict[str, Any]:
        return {name: view[part] for name, view in data.views.items()}

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "things.omhash")
        with Collection.create(path, modalities=WIDTHS, n_bits=64) as things:
            for start in range(0, options.items, 20_000):
                part = slice(start, min(start + 20_000, options.items))
                keys = [f"thing {number}" for number in range(part.start, part.stop)]
                things.ingest(views(part), labels[part], keys=keys)
        queries = [
            {name: [[round(float(x), 4) for x in view[0]]] for name, view in one.items()}
            for one in (
                views(slice(at, at + 1)) for at in range(options.items, options.items + 500)
            )
        ]
        searches = [
            request("/v1/collections/things/search", json.dumps({"views": one, "k": 10}).encode())
            for one in queries
        ]
        rng = np.random.default_rng(1)
        bare_searches = [
            request("/search", json.dumps({"code": code, "k": 10}).encode())
            for code in rng.integers(0, 256, (500, 8)).tolist()
        ]
        rounds = []
        for number in range(4):
            at = options.items + number * ROUND
            part = slice(at, at + ROUND)
            keys = [f"new {number} {place}" for place in range(ROUND)]
            rounds.append(to_parquet(views(part), labels[part], keys=keys))
        service, bare = Child(SERVICE, folder), Child(BARE, str(options.items))
        try:
            measure(service, bare, searches, bare_searches, rounds, options)
        finally:
            service.stop()
            bare.stop()


def measure(
    service: Child,
    bare: Child,
    searches: list[bytes],
    bare_searches: list[bytes],
    rounds: list[bytes],
    options: argparse.Namespace,
) -> None:
    """Ask in turn, and print."""
    for child, requests in ((service, searches), (bare, bare_searches)):
        asyncio.run(ask(child.port, requests, 8, 300))
    learning = Learning(service.port, rounds)
    with learning:  # the first round of a process compiles and allocates
        time.sleep(1)
    rates: dict[Any, list[float]] = defaultdict(list)
    times: dict[Any, list[float]] = defaultdict(list)
    for _ in range(options.turns):
        for clients in CLIENTS:
            for kind in ("bare", "service", "learning"):
                if kind == "bare":
                    rate, seconds = asyncio.run(
                        ask(bare.port, bare_searches, clients, options.requests)
                    )
                elif kind == "service":
                    rate, seconds = asyncio.run(
                        ask(service.port, searches, clients, options.requests)
                    )
                else:
                    with learning:
                        rate, seconds = asyncio.run(
                            ask(service.port, searches, clients, options.requests)
                        )
                rates[clients, kind].append(rate)
                times[clients, kind] += seconds
    print(f"{learning.rounds} rounds of {ROUND} items were learned meanwhile\n")
    print("| clients | what | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|")
    for clients in CLIENTS:
        for kind in ("bare", "service", "learning"):
            p50, p99 = np.percentile(times[clients, kind], [50, 99]) * 1e3
            rate = np.median(rates[clients, kind])
            print(f"| {clients} | {kind} | {rate:.0f} | {p50:.1f} | {p99:.1f} |")
    print()
    for clients in CLIENTS:
        share = np.median(rates[clients, "service"]) / np.median(rates[clients, "bare"])
        slower = np.percentile(times[clients, "learning"], 99) / np.percentile(
            times[clients, "service"], 99
        )
        print(f"{clients} clients: {share:.2f} × the bare route; p99 while learning × {slower:.2f}")


if __name__ == "__main__":
    main()
