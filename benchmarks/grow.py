"""Learning on several workers: against one process, and what more workers would take.

Rounds at MIRFlickr's size as in ``learn.py``: 2,000 items with 4,096 image and 1,386 text
features, in Parquet files. What is printed:

- the seconds of each piece of the work, in one process with one BLAS thread;
- whole learning, by one process and by a cluster of 1 and 2 worker processes, and how much more
  than the arithmetic that is;
- a *simulation* of 4 to 64 workers from the measured pieces. Nobody ran these.

Run: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/grow.py [--rounds 20]``.
Searching on Milvus is measured by ``grow_search.py``.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client

from learn import N_BITS, NAMES, make_round
from omhash import HCFW
from omhash.datasets import Slice, slices
from omhash.distributed import connected
from omhash.distributed import learn as learn_on
from omhash.hashers.additive import Sums

WORKERS = (1, 2)
SIMULATED = (4, 8, 16, 32, 64)


@dataclass
class Pieces:
    """Seconds of each piece of the work, each measured several times."""

    labels: list[float] = field(default_factory=list)
    read: list[float] = field(default_factory=list)
    add: list[float] = field(default_factory=list)
    pack: list[float] = field(default_factory=list)
    merge: list[float] = field(default_factory=list)
    solve: list[float] = field(default_factory=list)
    n_bytes: int = 0

    @property
    def arithmetic(self) -> float:
        """Seconds to read and add one part."""
        return median(self.read) + median(self.add)


def median(values: Sequence[float]) -> float:
    """The middle value."""
    return float(np.median(values))


def write(folder: Path, n_rounds: int) -> list[Slice]:
    """One Parquet file a round."""
    for number in range(n_rounds):
        views, labels = make_round(number)
        columns = {
            name: pa.FixedSizeListArray.from_arrays(pa.array(view.ravel()), view.shape[1])
            for name, view in views.items()
        }
        names = [[NAMES[column] for column in np.flatnonzero(row)] for row in labels]
        table = pa.table({**columns, "categories": names})
        pq.write_table(table, folder / f"round-{number:03}.parquet", compression="none")
    return slices(folder / "*.parquet")


def fresh() -> HCFW:
    """A hasher that has learned nothing."""
    return HCFW(N_BITS, random_state=0)


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    """Add the seconds that a block takes to a list."""
    start = time.perf_counter()
    yield
    into.append(time.perf_counter() - start)


def alone(rounds: Sequence[Slice]) -> tuple[Pieces, float]:
    """The pieces, and the seconds of learning in one process: sums first, then one solution."""
    pieces, start = Pieces(), time.perf_counter()
    counts = []
    for one in rounds:
        with timed(pieces.labels):
            counts.append(one.labels().counts())
    hasher = fresh().begin(rounds[0].read().views).learn_labels(counts)
    adder = hasher.adder()
    sums = adder.empty()
    for one in rounds:
        with timed(pieces.read):
            items = one.read()
        with timed(pieces.add):
            sums = adder.added(sums, items.views, items.labels, categories=items.categories)
    with timed(pieces.solve):
        hasher.take(sums)
    seconds = time.perf_counter() - start
    for _ in range(3):
        with timed(pieces.pack):
            pickle.loads(pickle.dumps(sums))  # noqa: S301 - our own
        with timed(pieces.merge):
            sums.merged(sums)
    pieces.n_bytes = n_bytes(sums)
    return pieces, seconds


def n_bytes(sums: Sums) -> int:
    """Bytes of all sums."""
    return sum(own.nbytes for own in [*sums.moments.values(), sums.code_moments])


def round_by_round(rounds: Sequence[Slice]) -> float:
    """Seconds of `partial_fit`, which solves after every round, as a stream must."""
    start = time.perf_counter()
    hasher = fresh()
    for one in rounds:
        items = one.read()
        hasher.partial_fit(items.views, items.labels, categories=items.categories)
    return time.perf_counter() - start


def together(rounds: Sequence[Slice], client: Client) -> float:
    """Seconds of learning on a cluster."""
    start = time.perf_counter()
    learn_on(fresh(), rounds, client=client)
    return time.perf_counter() - start


def simulated(pieces: Pieces, n_parts: int, n_workers: int, rate: float) -> dict[str, float]:
    """Seconds that a cluster would take, part by part as `learn` gives them out.

    Each part takes as long as one that was measured, drawn anew. Sums of two workers at a time
    are added up, one transfer and one addition a level, then fetched through the scheduler.
    """
    rng = np.random.default_rng([n_parts, n_workers])
    spent = rng.choice(pieces.read, n_parts) + rng.choice(pieces.add, n_parts)
    parts = max(float(spent[start::n_workers].sum()) for start in range(n_workers))
    labels = median(pieces.labels) * -(-n_parts // n_workers)
    transfer = pieces.n_bytes / rate + median(pieces.pack)
    levels = int(np.ceil(np.log2(min(n_workers, n_parts))))
    reduction = levels * (transfer + median(pieces.merge)) + 2 * transfer
    whole = labels + parts + reduction + median(pieces.merge) + median(pieces.solve)
    return {"parts": parts, "reduction": reduction, "whole": whole}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Learning on several workers.")
    parser.add_argument("--rounds", type=int, default=20, help="rounds that are learned")
    parser.add_argument("--turns", type=int, default=3, help="times, of which the best counts")
    parser.add_argument("--parts", type=int, default=5000, help="parts of the simulation")
    parser.add_argument("--gigabits", type=float, default=10.0, help="network of the simulation")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = write(Path(folder), options.rounds)
        measured = [alone(rounds) for _ in range(options.turns)]
        pieces, one = min(measured, key=lambda found: found[1])
        stream = round_by_round(rounds)
        whole = {}
        for n_workers in WORKERS:
            with connected(workers=n_workers) as client:
                together(rounds[: 2 * n_workers], client)  # imports, and pages of memory
                whole[n_workers] = min(together(rounds, client) for _ in range(options.turns))

    print(f"{options.rounds} rounds of 2,000 items; sums of {pieces.n_bytes / 1e6:.0f} MB\n")
    print("a part, seconds: " + ", ".join(f"{k} {median(v):.3f}" for k, v in told(pieces).items()))
    print(f"\n{'':44}{'seconds':>9}{'of one process':>16}")
    print(f"{'one process, sums and one solution':44}{one:9.2f}{1:16.2f}")
    print(f"{'one process, partial_fit round by round':44}{stream:9.2f}{stream / one:16.2f}")
    for n_workers, seconds in whole.items():
        print(f"{f'cluster, {n_workers} worker(s)':44}{seconds:9.2f}{seconds / one:16.2f}")
    share = pieces.arithmetic * options.rounds + median(pieces.solve)
    print(f"\none worker, of its arithmetic alone: {whole[1] / share:.2f} times")

    print(
        f"\nSIMULATION, from the pieces above: {options.parts:,} parts of 2,000 items, "
        f"{options.gigabits:g} Gbit/s"
    )
    print(f"{'workers':>8}{'parts s':>10}{'reduction s':>13}{'whole s':>10}{'speed-up':>10}")
    rate = options.gigabits / 8 * 1e9
    alone_s = simulated(pieces, options.parts, 1, rate)["whole"]
    for n_workers in (1, 2, *SIMULATED):
        found = simulated(pieces, options.parts, n_workers, rate)
        print(
            f"{n_workers:8}{found['parts']:10.1f}{found['reduction']:13.2f}{found['whole']:10.1f}"
            f"{alone_s / found['whole']:10.1f}"
        )


def told(pieces: Pieces) -> dict[str, list[float]]:
    """The pieces by name."""
    return {name: value for name, value in vars(pieces).items() if isinstance(value, list)}


if __name__ == "__main__":
    main()
