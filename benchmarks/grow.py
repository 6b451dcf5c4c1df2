"""Learning on several workers: against one process, and what more workers would take.

Rounds at MIRFlickr's size as in ``learn.py``: 2,000 items with 4,096 image and 1,386 text
features, in Parquet files. What is printed:

- the seconds of each piece of the work, in one process with one BLAS thread;
- whole learning, by one process and by clusters of 1 and 2 worker processes. Where other programs
  use the machine, seconds of processors tell what the cluster and its reduction cost beside the
  arithmetic, and seconds by the clock do not;
- a *simulation* of 4 to 64 workers from the measured pieces. Nobody ran these.

Run: ``OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/grow.py [--rounds 20]``.
Searching on Milvus is measured by ``grow_search.py``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
    merge: list[float] = field(default_factory=list)
    solve: list[float] = field(default_factory=list)
    n_bytes: int = 0


def least(values: Sequence[float]) -> float:
    """The smallest value: of the same work, the time that nothing else took part of."""
    return float(min(values))


def cluster_of(n_workers: int) -> str:
    """What a line of the table is called."""
    return f"cluster, workers: {n_workers}"


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


def alone(rounds: Sequence[Slice], pieces: Pieces) -> Sums:
    """Learn in one process: sums first, then one solution."""
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
    return sums


def reduced(sums: Sums, pieces: Pieces) -> None:
    """What it costs to add up the sums of two workers, once they are in one place."""
    for _ in range(5):
        with timed(pieces.merge):
            sums.merged(sums)
    pieces.n_bytes = sum(own.nbytes for own in [*sums.moments.values(), sums.code_moments])


def round_by_round(rounds: Sequence[Slice]) -> None:
    """Learn by `partial_fit`, which solves after every round, as a stream must."""
    hasher = fresh()
    for one in rounds:
        items = one.read()
        hasher.partial_fit(items.views, items.labels, categories=items.categories)


def processor_seconds(client: Client | None) -> float:
    """What this process and the workers have used so far."""
    workers = [] if client is None else client.run(time.process_time).values()
    return float(time.process_time() + sum(workers))


@dataclass
class Spent:
    """Seconds by the clock and of all processors together; the least of several turns."""

    clock: float = np.inf
    processor: float = np.inf

    @contextmanager
    def turn(self, client: Client | None = None) -> Iterator[None]:
        """Measure one turn."""
        clock, used = time.perf_counter(), processor_seconds(client)
        yield
        self.processor = min(self.processor, processor_seconds(client) - used)
        self.clock = min(self.clock, time.perf_counter() - clock)


def _faster(times: Sequence[float]) -> list[float]:
    return sorted(times)[: -(-len(times) // 2)]


def simulated(pieces: Pieces, n_parts: int, n_workers: int, rate: float) -> dict[str, float]:
    """Seconds that a cluster would take, part by part as `learn` gives them out.

    Each part takes as long as one that was measured, drawn anew from the faster half: the others
    tell of what else the machine did. Sums of two workers at a time are added up, one transfer and
    one addition a level, then fetched from the last one.
    """
    rng = np.random.default_rng([n_parts, n_workers])
    spent = rng.choice(_faster(pieces.read), n_parts) + rng.choice(_faster(pieces.add), n_parts)
    parts = max(float(spent[start::n_workers].sum()) for start in range(n_workers))
    labels = least(pieces.labels) * -(-n_parts // n_workers)
    transfer = pieces.n_bytes / rate
    levels = int(np.ceil(np.log2(min(n_workers, n_parts))))
    reduction = levels * (transfer + least(pieces.merge)) + transfer
    whole = labels + parts + reduction + least(pieces.merge) + least(pieces.solve)
    return {"parts": parts, "reduction": reduction, "whole": whole}


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description="Learning on several workers.")
    parser.add_argument("--rounds", type=int, default=12, help="rounds that are learned")
    parser.add_argument("--turns", type=int, default=3, help="times, of which the best counts")
    parser.add_argument("--parts", type=int, default=5000, help="parts of the simulation")
    parser.add_argument("--gigabits", type=float, default=10.0, help="network of the simulation")
    options = parser.parse_args()
    pieces = Pieces()
    spent = {name: Spent() for name in ("one process", "partial_fit", *map(cluster_of, WORKERS))}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        rounds = write(Path(folder), options.rounds)
        clients = [stack.enter_context(connected(workers=number)) for number in WORKERS]
        for number, client in zip(WORKERS, clients, strict=True):
            learn_on(fresh(), rounds[: 2 * number], client=client)  # imports, pages of memory
        for _ in range(options.turns):  # in turn, so that all meet the same machine
            with spent["one process"].turn():
                sums = alone(rounds, pieces)
            for number, client in zip(WORKERS, clients, strict=True):
                with spent[cluster_of(number)].turn(client):
                    learn_on(fresh(), rounds, client=client)
        reduced(sums, pieces)
        with spent["partial_fit"].turn():
            round_by_round(rounds)

    print(f"{options.rounds} rounds of 2,000 items; sums of {pieces.n_bytes / 1e6:.0f} MB\n")
    print("a part, seconds: " + ", ".join(f"{k} {least(v):.3f}" for k, v in told(pieces).items()))
    one = spent["one process"]
    print(f"\n{'':30}{'seconds':>9}{'of one':>8}{'processor s':>13}{'of one':>8}")
    for name, own in spent.items():
        print(
            f"{name:30}{own.clock:9.2f}{own.clock / one.clock:8.2f}"
            f"{own.processor:13.2f}{own.processor / one.processor:8.2f}"
        )

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
