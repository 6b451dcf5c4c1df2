"""Keeping items: how fast they are stored, how soon they are back, and what they take.

Run: ``python benchmarks/store.py [--items 1000000] [--sketch-bits 0 128]``. Items of 64 bits
come in rounds of 100,000 into a collection in a temporary folder; the peer of storing is a bare
SQLite table of the same keys and bytes with the same pragmas, filled in the same run, round by
round in turn. A round is also stored already coded, without learning, which is the store's own
share. Memory is the growth of a fresh process by opening the collection.
"""

from __future__ import annotations

import argparse
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np

import omhash
from omhash.store import Additions, Change, SQLiteStore
from omhash.store.records import Layout

ROUND, WIDTH, N_BITS = 100_000, 32, 64
NAMES = [f"category {number}" for number in range(50)]
NO_ITEMS = np.zeros(0, dtype=np.int64)

REOPEN = """
import sys, time
from pathlib import Path
import numpy as np
import omhash

def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096

query = {"image": np.ones((1, int(sys.argv[2])), np.float32)}
before, start = resident(), time.perf_counter()
collection = omhash.open(sys.argv[1])
opened = time.perf_counter() - start
memory = resident() - before
start = time.perf_counter()
collection.search(query, k=10)
searched = time.perf_counter() - start
start = time.perf_counter()
collection.search(query, k=10, where={"categories": "category 1"})
print(opened, memory / len(collection), searched, time.perf_counter() - start)
"""


def keys_from(start: int) -> list[str]:
    """Keys of one round."""
    return [f"item {number:08d}" for number in range(start, start + ROUND)]


def timed(work: Callable[[], object]) -> float:
    """Seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fill_bare(connection: sqlite3.Connection, start: int, codes: bytes) -> None:
    """The peer: the same keys and bytes, and nothing else."""
    width = len(codes) // ROUND
    rows = (codes[at : at + width] for at in range(0, len(codes), width))
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO items VALUES (?, ?, ?)",
        zip(range(start, start + ROUND), keys_from(start), rows, strict=True),
    )
    connection.execute("COMMIT")


def fill(folder: Path, n_items: int, sketch_bits: int) -> None:
    """Fill a collection, a store alone and the peer, and print items a second of each."""
    rng = np.random.default_rng(0)
    things = omhash.Collection.create(
        folder / "things",
        n_bits=N_BITS,
        modalities={"image": WIDTH},
        sketch_bits=sketch_bits,
    )
    layout = Layout(N_BITS, {"image": sketch_bits} if sketch_bits else {})
    store = SQLiteStore.create(folder / "coded", {})
    bare = sqlite3.connect(folder / "bare", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE items (number INTEGER PRIMARY KEY, key TEXT UNIQUE, code BLOB)")
    whole, coded, peer = [], [], []
    label_sets = [(number % len(NAMES),) for number in range(ROUND)]
    with closing(things), closing(store), closing(bare):
        for start in range(0, n_items, ROUND):
            labels = np.zeros((ROUND, len(NAMES)), np.uint8)
            labels[np.arange(ROUND), rng.integers(0, len(NAMES), ROUND)] = 1
            views = {"image": labels @ rng.standard_normal((len(NAMES), WIDTH))}
            bodies = rng.integers(0, 256, (ROUND, layout.width), dtype=np.uint8)
            keys = keys_from(start)
            added = Additions(keys, label_sets, bodies, ["{}"] * ROUND, ())

            def ingest() -> None:
                things.ingest(views, labels, keys=keys, categories=NAMES)  # noqa: B023 - called at once

            def commit() -> None:
                with store.reading() as reading:
                    head = reading.head
                store.commit(head, Change(added=added))  # noqa: B023 - called at once

            whole.append(timed(ingest))
            coded.append(timed(commit))
            peer.append(timed(lambda: fill_bare(bare, start, bodies.tobytes())))  # noqa: B023 - called at once
    for words, seconds in (("learn and store", whole), ("store", coded), ("bare SQLite", peer)):
        print(
            f"  {words:16} {ROUND / np.median(seconds):10,.0f} items/s"
            f"   (first round {ROUND / seconds[0]:,.0f}, last {ROUND / seconds[-1]:,.0f})"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--sketch-bits", type=int, nargs="+", default=[0, 128])
    arguments = parser.parse_args()
    for sketch_bits in arguments.sketch_bits:
        print(f"{arguments.items:,} items, {N_BITS} bits, sketches of {sketch_bits} bits")
        with tempfile.TemporaryDirectory() as folder:
            fill(Path(folder), arguments.items, sketch_bits)
            things = str(Path(folder) / "things")
            command = [sys.executable, "-c", REOPEN, things, str(WIDTH)]
            runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(3)]  # noqa: S603 - this Python
            opened, memory, searched, filtered = np.median(
                [[float(word) for word in run.stdout.split()] for run in runs], axis=0
            )
            size = sum(path.stat().st_size for path in Path(things).iterdir())
            print(f"  reopened in {opened:.2f} s, {memory:.0f} bytes of memory an item")
            print(f"  first search {searched:.2f} s, first filter {filtered:.2f} s")
            print(f"  {size / arguments.items:.0f} bytes an item on the disk")


if __name__ == "__main__":
    main()
