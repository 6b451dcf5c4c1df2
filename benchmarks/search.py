"""Search of 1,000,000 codes, against FAISS, usearch and NumPy in the same process.

What is asked, of codes of 64 and 128 bits, k = 100:

- Hamming and asymmetric queries, one at a time, of codes as a collection has them (25,000
  distinct ones, few of them common), of 25,000 random ones as common as each other, and of
  random ones that are all distinct;
- the same with sketches of two modalities (``detail=0.3``), and with a filter that keeps 1 %;
- batches, alone and beside a process that keeps one core busy;
- adding, and memory;
- the approximate index, and how much it finds.

Run: ``python benchmarks/search.py [--items 1000000] [--only one] [--json FILE]``. Everything is
asked in turn, each after another query of its own, so that all meet the same machine. Times are
medians: of one query, of the processor's time, so that other work on the machine does not count;
of batches, by the clock. FAISS is `IndexBinaryFlat` over all items. It has one OpenMP thread for
one query, and for batches what is best of: one OpenMP thread, one a core, or one in each of as
many Python threads as there are cores.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import faiss
import numpy as np
from numpy.typing import NDArray
from usearch.index import search as usearch_search

from omhash.codes import Codes, pack, unpack
from omhash.index import ExactIndex, Index, IVFIndex, Queries

K = 100
DISTINCT = 25_000
SKETCHES = {"image": 128, "text": 128}
ROUND = 1 << 16
SLOW_EVERY = 10
"""Peers that take tens of milliseconds are asked every tenth time only."""

CORES = len(os.sched_getaffinity(0))

Action = Callable[[int], object]


class Row(NamedTuple):
    """A line of the table: a median, and how it stands to what it is compared with."""

    bits: int
    codes: str
    case: str
    value: float
    unit: str
    ratio: float | None = None
    peer: str = ""
    target: str = ""

    @property
    def verdict(self) -> str:
        """Whether the target holds."""
        if not self.target:
            return ""
        sign, bound = self.target.split()
        value = self.value if self.ratio is None else self.ratio
        return "yes" if (value <= float(bound) if sign == "≤" else value >= float(bound)) else "NO"


def collection_codes(rng: np.random.Generator, n: int, n_bits: int) -> Codes:
    """Codes as labels make them: the signs of sums of category codes, few of them common."""
    categories = rng.choice([-1, 1], (80, n_bits))
    popular = 1 / np.arange(1, 81)
    found = np.empty((0, n_bits // 8), np.uint8)
    while len(found) < DISTINCT:
        sets = rng.random((2 * DISTINCT, 80)) < np.minimum(3 * popular, 0.3)
        # Half a code more of the first category that is there decides where a sum is 0.
        first = categories[np.argmax(sets, axis=1)]
        found = np.unique(np.vstack([found, pack(2 * (sets @ categories) + first)]), axis=0)
    distinct = rng.permutation(found)[:DISTINCT]
    share = 1 / np.arange(1, DISTINCT + 1)
    # All are there: one item each, and the rest by popularity.
    rest = rng.choice(DISTINCT, max(n - DISTINCT, 0), p=share / share.sum())
    chosen = rng.permutation(np.concatenate([np.arange(DISTINCT), rest]))[:n]
    items: Codes = distinct[chosen]
    return items


def random_codes(rng: np.random.Generator, n: int, n_bits: int) -> Codes:
    """Random codes, all distinct but for accidents."""
    return rng.integers(0, 256, (n, n_bits // 8), dtype=np.uint8)


def few_random_codes(rng: np.random.Generator, n: int, n_bits: int) -> Codes:
    """Random codes of which each stands there about as often."""
    return random_codes(rng, DISTINCT, n_bits)[rng.integers(0, DISTINCT, n)]


CODES = {
    "collection": collection_codes,
    "few random": few_random_codes,
    "all distinct": random_codes,
}


def near(rng: np.random.Generator, packed: Codes, noise: float) -> NDArray[np.float64]:
    """Projections whose signs are mostly those of some codes."""
    signs = unpack(packed).astype(np.float64)
    return signs * np.abs(rng.standard_normal(signs.shape)) + noise * rng.standard_normal(
        signs.shape
    )


def in_turn(
    actions: dict[str, Action],
    repeats: int,
    slow: set[str],
    clock: Callable[[], float] = time.thread_time,
) -> dict[str, float]:
    """The median seconds of each action."""
    spent: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():  # compiles, and finds memory
        action(0)
    for query in range(repeats):
        for name, action in actions.items():
            if name in slow and query % SLOW_EVERY:
                continue
            action((query + 1) % repeats)  # so that caches hold what it left there, not a peer
            start = clock()
            action(query)
            spent[name].append(clock() - start)
    return {name: float(np.median(times)) for name, times in spent.items()}


class NumPy:
    """A scan by NumPy into arrays that are there already; the k-th distance by bisection."""

    def __init__(self, codes: Codes) -> None:
        self._words = np.ascontiguousarray(codes.view(np.uint64).T)
        self._differ = np.empty(len(codes), np.uint64)
        self._counts = np.empty((2, len(codes)), np.uint8)

    def search(self, code: Codes) -> NDArray[np.int64]:
        """The k nearest, equal ones in order."""
        total, part = self._counts
        for place, (words, own) in enumerate(zip(self._words, code.view(np.uint64), strict=True)):
            np.bitwise_xor(words, own, out=self._differ)
            np.bitwise_count(self._differ, out=part if place else total)
            if place:
                np.add(total, part, out=total)
        low, high = 0, 64 * len(self._words)
        while low < high:
            middle = (low + high) // 2
            if np.count_nonzero(total <= middle) < K:
                low = middle + 1
            else:
                high = middle
        near_ones = np.flatnonzero(total <= low)
        return near_ones[np.argsort(total[near_ones], kind="stable")[:K]]


class Subject:
    """The same items in all engines, and queries for them."""

    def __init__(self, n: int, n_bits: int, codes: str, n_queries: int) -> None:
        rng = np.random.default_rng([n_bits, list(CODES).index(codes)])
        self.n, self.n_bits, self.name, self.n_queries = n, n_bits, codes, n_queries
        self.codes = CODES[codes](rng, n, n_bits)
        self.sketches = {m: random_codes(rng, n, bits) for m, bits in SKETCHES.items()}
        self.index, self.seconds_to_add = self.filled(ExactIndex(n_bits, SKETCHES))
        self.flat = faiss.IndexBinaryFlat(n_bits)
        self.flat.add(self.codes)
        asked = rng.integers(0, n, n_queries)
        projections = near(rng, self.codes[asked], 0.5)
        values = {m: near(rng, own[asked], 0.5) for m, own in self.sketches.items()}
        # FAISS needs packed signs and gets them for nothing; we get what we need likewise.
        self.asked = {
            rank: Queries.of(projections, rank=rank) for rank in ("hamming", "asymmetric")
        }
        self.asked["detail"] = Queries.of(projections, sketches=values, detail=0.3)
        self.one = {
            "hamming": [Queries.of(row[None], rank="hamming") for row in projections],
            "asymmetric": [Queries.of(row[None]) for row in projections],
            "detail": [
                Queries.of(
                    projections[i : i + 1],
                    sketches={m: own[i : i + 1] for m, own in values.items()},
                    detail=0.3,
                )
                for i in range(n_queries)
            ],
        }
        self.packed = self.asked["hamming"].codes
        self.keep = np.flatnonzero(rng.random(n) < 0.01)

    def filled(self, index: Any) -> tuple[Any, float]:
        """An index with all items, and the seconds that it took."""
        spent = 0.0
        for start in range(0, self.n, ROUND):
            block = slice(start, min(start + ROUND, self.n))
            sketches = {m: rows[block] for m, rows in self.sketches.items()}
            numbers = np.arange(block.start, block.stop)
            begin = time.thread_time()
            index.add(numbers, self.codes[block], sketches)
            spent += time.thread_time() - begin
        return index, spent

    def row(self, case: str, value: float, unit: str, **compared: Any) -> Row:
        """A line of the table."""
        return Row(self.n_bits, self.name, case, value, unit, **compared)


def check(subject: Subject) -> None:
    """All engines find the same distances, and NumPy the same items."""
    plain = NumPy(subject.codes)
    for i in range(3):
        found = subject.index.search(subject.one["hamming"][i], K)[0]
        distances, _ = subject.flat.search(subject.packed[i : i + 1], K)
        assert found.distances.tolist() == distances[0].tolist()
        assert found.numbers.tolist() == plain.search(subject.packed[i]).tolist()


def one_at_a_time(subject: Subject) -> Iterator[Row]:
    """Medians of single queries, all against FAISS flat."""
    faiss.omp_set_num_threads(1)
    index, plain, one = subject.index, NumPy(subject.codes), subject.one
    few = index.n_distinct <= DISTINCT
    targets = {
        "hamming": "≤ 0.2" if few else "≤ 1.3",
        "asymmetric": "≤ 0.2" if few else "≤ 3",
        "detail 0.3": "≤ 2" if few else "",
    }
    actions: dict[str, Action] = {
        "FAISS flat": lambda i: subject.flat.search(subject.packed[i : i + 1], K),
        "hamming": lambda i: index.search(one["hamming"][i], K),
        "asymmetric": lambda i: index.search(one["asymmetric"][i], K),
        "detail 0.3": lambda i: index.search(one["detail"][i], K),
        "usearch exact": lambda i: usearch_search(
            subject.codes, subject.packed[i], K, "hamming", exact=True, threads=1
        ),
        "NumPy": lambda i: plain.search(subject.packed[i]),
    }

    def filtered(queries: list[Queries]) -> Action:
        return lambda i: index.search(queries[i], K, keep=kept_items)

    start = time.thread_time()
    kept_items = index.kept(subject.keep)
    looking_up = time.thread_time() - start
    kept = {f"{rank}, filter 1 %": filtered(one[rank.split()[0]]) for rank in targets}
    medians = in_turn(actions | kept, subject.n_queries, {"usearch exact", "NumPy"})
    for case, seconds in medians.items():
        against = case.removesuffix(", filter 1 %")
        peer, target = ("itself unfiltered", "≤ 1") if case in kept else ("FAISS flat", "")
        base = medians[against if case in kept else "FAISS flat"]
        yield subject.row(
            case,
            1e3 * seconds,
            "ms",
            ratio=seconds / base,
            peer=peer,
            target=targets.get(case, target),
        )
    yield subject.row("looking a filter up, once", 1e3 * looking_up, "ms")


@contextmanager
def busy_process() -> Iterator[None]:
    """Another process that computes without a pause."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def batches(subject: Subject) -> Iterator[Row]:
    """Queries a second of batches, alone and beside a busy process."""

    def flat(threads: int) -> Action:
        def search(_: int) -> None:
            faiss.omp_set_num_threads(threads)
            subject.flat.search(subject.packed, K)

        return search

    def threaded(_: int) -> None:
        def part(rows: Codes) -> None:
            faiss.omp_set_num_threads(1)
            subject.flat.search(rows, K)

        with ThreadPoolExecutor(CORES) as threads:
            list(threads.map(part, np.array_split(subject.packed, CORES)))

    peers = {
        "one OpenMP thread": flat(1),
        f"{CORES} OpenMP threads": flat(CORES),
        f"{CORES} Python threads": threaded,
    }

    def ours(asked: Queries) -> Action:
        return lambda _: subject.index.search(asked, K)

    own = {rank: ours(asked) for rank, asked in subject.asked.items()}
    alone = in_turn(peers | own, 25, set(), time.perf_counter)
    with busy_process():
        busy = in_turn(peers | own, 25, set(), time.perf_counter)
    rates = {name: subject.n_queries / seconds for name, seconds in alone.items()}
    best = max(peers, key=lambda name: rates[name])
    for name in (best, *own):
        case = f"batch, FAISS flat, {name}" if name in peers else f"batch, {name}"
        yield subject.row(case, rates[name], "q/s", ratio=rates[name] / rates[best], peer="FAISS")
        yield subject.row(
            f"{case}, beside a busy process",
            subject.n_queries / busy[name],
            "q/s",
            ratio=alone[name] / busy[name],
            peer="itself alone",
            target="" if name in peers else "≥ 0.5",
        )


def approximate(subject: Subject) -> Iterator[Row]:
    """The index "ivf" against the exact one, and its recall."""
    index, seconds = subject.filled(IVFIndex(subject.n_bits, SKETCHES))

    def ask(index: Index, rank: str) -> Action:
        return lambda i: index.search(subject.one[rank][i], K)

    for rank, queries in subject.asked.items():
        actions = {"ivf": ask(index, rank), "exact": ask(subject.index, rank)}
        spent = in_turn(actions, subject.n_queries, set())
        ratio = spent["ivf"] / spent["exact"]
        yield subject.row(f"ivf, {rank}", 1e3 * spent["ivf"], "ms", ratio=ratio, peer="exact")
        pairs = zip(index.search(queries, K), subject.index.search(queries, K), strict=True)
        # Items that score as the hundredth does count whichever they are.
        shares = [np.mean(own.scores >= true.scores[-1]) for own, true in pairs]
        yield subject.row(f"ivf, {rank}, recall", float(np.mean(shares)), "")
    yield subject.row("ivf, recall by its own report", index.report()["recall"], "")
    yield subject.row("ivf, all items anew", seconds, "s")


def holding(subject: Subject) -> Iterator[Row]:
    """What it costs to add and to keep the items."""
    rate = subject.n / subject.seconds_to_add
    yield subject.row("adding", rate, "items/s", target="≥ 100000")
    yield subject.row("all items anew", subject.seconds_to_add, "s", target="≤ 3")
    yield subject.row("memory", subject.index.nbytes / subject.n, "bytes", target="≤ 150")


PARTS = {"one": one_at_a_time, "batches": batches, "holding": holding, "ivf": approximate}


def table(rows: list[Row]) -> str:
    """The lines, aligned."""
    cells = [("bits", "codes", "case", "median", "", "ratio", "of", "target", "holds")]
    for row in rows:
        value = f"{row.value:,.0f}" if row.value >= 100 else f"{row.value:.3f}"
        ratio = "" if row.ratio is None else f"{row.ratio:.3f}"
        told = (row.unit, ratio, row.peer, row.target, row.verdict)
        cells.append((str(row.bits), row.codes, row.case, value, *told))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = {0, 3, 5}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place in right else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in cells
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description="Search, against FAISS, usearch and NumPy.")
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100, help="of each kind")
    parser.add_argument("--bits", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--codes", nargs="+", choices=list(CODES), default=list(CODES))
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    told = parser.parse_args()
    rows: list[Row] = []
    for n_bits in told.bits:
        for codes in told.codes:
            subject = Subject(told.items, n_bits, codes, told.queries)
            check(subject)
            for part in told.only:
                rows += PARTS[part](subject)
    print(table(rows))
    if told.json:
        told.json.write_text(json.dumps([row._asdict() for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
