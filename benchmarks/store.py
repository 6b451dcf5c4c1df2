"""Keeping items: how fast they are stored, how soon they are back, and what they take.

Run: ``python benchmarks/store.py [--items 1000000] [--sketch-bits 0 128]``. Items of 64 bits
come in rounds of 100,000 into a collection in a temporary folder; the peer of storing is a bare
SQLite table of the same keys and bytes with the same pragmas, filled in the same run, round by
round in turn. A round is also stored already coded, without learning, which is the store's own
share. Seconds of the processor are
told beside those of the clock, which other processes lengthen. Memory is the growth of a fresh
process, which has searched another collection before, by opening this one.
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

REOPEN = """
import sys, time
from pathlib import Path
import numpy as np
import omhash

def resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096

def timed(work):
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]

query = {"image": np.ones((1, int(sys.argv[3])), np.float32)}
where = {"categories": "category 1"}
with omhash.open(sys.argv[2]) as warm:  # kernels and libraries are loaded
    warm.search(query, k=10, where=where)
    before = resident()
    opened = []
    times = timed(lambda: opened.append(omhash.open(sys.argv[1])))
    memory = resident() - before
    (collection,) = opened
    times += timed(lambda: collection.search(query, k=10, where=where))
print(memory / len(collection), *times)
"""


def keys_from(start: int) -> list[str]:
    """Keys of one round."""
    return [f"item {number:08d}" for number in range(start, start + ROUND)]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Seconds that something takes, by the clock and of the processor."""
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


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


def warm_up(path: str, sketch_bits: int) -> None:
    """A small collection to load kernels and libraries by."""
    modalities = {"image": WIDTH}
    with omhash.Collection.create(
        path, n_bits=N_BITS, modalities=modalities, sketch_bits=sketch_bits
    ) as small:
        views = {"image": np.random.default_rng(0).standard_normal((100, WIDTH))}
        small.ingest(views, [NAMES[:2]] * 100, keys=keys_from(0)[:100])


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
    whole: list[tuple[float, float]] = []
    coded: list[tuple[float, float]] = []
    peer: list[tuple[float, float]] = []
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
        clock, processor = ROUND / np.median(seconds, axis=0)
        last = ROUND / seconds[-1][0]
        print(
            f"  {words:16} {clock:10,.0f} items/s by the clock ({last:,.0f} in the last round), "
            f"{processor:,.0f} of the processor"
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
            things, small = str(Path(folder) / "things"), str(Path(folder) / "small")
            warm_up(small, sketch_bits)
            command = [sys.executable, "-c", REOPEN, things, small, str(WIDTH)]
            runs = [subprocess.run(command, capture_output=True, check=True) for _ in range(3)]  # noqa: S603 - this Python
            memory, opened, opened_cpu, filtered, filtered_cpu = np.median(
                [[float(word) for word in run.stdout.split()] for run in runs], axis=0
            )
            size = sum(path.stat().st_size for path in Path(things).iterdir())
            print(f"  reopened in {opened:.2f} s ({opened_cpu:.2f} s of the processor)")
            print(f"  first filter {filtered:.2f} s ({filtered_cpu:.2f} s of the processor)")
            print(f"  {memory:.0f} bytes of memory an item")
            print(f"  {size / arguments.items:.0f} bytes an item on the disk")


if __name__ == "__main__":
    main()
