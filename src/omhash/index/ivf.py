"""Approximate search: FAISS chooses a shortlist, and exact scores put it in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..codes import Codes, unpack
from ..errors import UnsupportedError
from .base import Found, Kept, Numbers, Present, Queries
from .exact import ExactIndex, n_threads

_FEWEST = 10_000
"""Items below which nothing is gained, and all search is exact."""

_GROWTH = 4
"""Items are put into new lists once there are so many times more than when the lists were made."""

_PROBES = 32
"""Lists that are looked into for one query."""

_SHORTLIST, _PER_RESULT = 1000, 4
"""Items that are scored exactly: at least so many, and so many for each result."""

_SAMPLE, _K = 50, 100
"""Stored codes by which recall is measured, and the results asked for each."""


class IVFIndex(ExactIndex):
    """Looks only into the lists of codes whose centres are nearest to the query.

    The items in those lists that are nearest by Hamming distance are scored as `ExactIndex`
    scores them: what is found has its true score, but something better may be missed. How
    much is missed depends on the codes: `report` measures it. Searches with a filter, of few
    items, and for which the lists hold too little are exact.

    Needs FAISS: ``pip install 'omhash[faiss]'``. Do not search in a forked process.
    """

    def __init__(self, n_bits: int, sketches: Mapping[str, int] | None = None) -> None:
        super().__init__(n_bits, sketches)
        self._faiss = _faiss()
        self._lists: Any = None
        self._trained_on = 0
        self._recall: tuple[object, float] | None = None

    def add(
        self,
        numbers: Numbers,
        codes: Codes,
        sketches: Mapping[str, Codes] | None = None,
        present: Mapping[str, Present] | None = None,
    ) -> None:
        """Add items: see `Index.add`."""
        super().add(numbers, codes, sketches, present)
        if len(self) >= max(_FEWEST, _GROWTH * self._trained_on):
            self._make_lists()
        elif self._lists is not None:
            self._put(np.asarray(numbers, np.int64), codes)

    def remove(self, numbers: Numbers) -> None:
        """Remove items: see `Index.remove`; the lists keep them until most of them is such."""
        super().remove(numbers)
        if self._lists is not None and 2 * len(self) < self._lists.ntotal:
            self._make_lists()

    def search(
        self, queries: Queries, k: int, *, keep: Numbers | Kept | None = None
    ) -> list[Found]:
        """The best items of each query, k where there are so many: see `Index.search`."""
        self._check_search(queries, k)
        if keep is not None or self._lists is None:
            return super().search(queries, k, keep=keep)
        n = len(queries)
        step = max(1, -(-n // (4 * n_threads())))
        starts = range(0, n, step)
        if n <= step:
            return self._approximate(queries, k)
        with ThreadPoolExecutor(n_threads()) as threads:
            parts = threads.map(
                lambda start: self._approximate(queries[start : start + step], k), starts
            )
            return [found for part in parts for found in part]

    def report(self) -> dict[str, Any]:
        """Plain values that tell of the index, and how much of the best 100 it finds.

        Recall is that of Hamming queries made from stored items: items as near as the
        hundredth count as found whichever they are. It is measured when it is asked for first
        after a change.
        """
        if self._recall is None or self._recall[0] is not self._state:
            self._recall = self._state, self._measured()
        return super().report() | {
            "engine": "ivf",
            "lists": 0 if self._lists is None else self._lists.nlist,
            "probes": _PROBES,
            "trained_on": self._trained_on,
            "recall": round(self._recall[1], 4),
        }

    @property
    def nbytes(self) -> int:
        """Bytes of memory that the index takes, working space included."""
        of_lists = 0
        if self._lists is not None:
            width = self.n_bits // 8
            of_lists = self._lists.ntotal * (width + 8) + self._lists.nlist * width
        return super().nbytes + int(of_lists)

    def _approximate(self, queries: Queries, k: int) -> list[Found]:
        wanted = min(max(_SHORTLIST, _PER_RESULT * k), self._lists.ntotal)
        with self._one_thread():
            _, numbers = self._lists.search(np.ascontiguousarray(queries.codes), wanted)
        found = []
        for i, own in enumerate(numbers):
            one, near = queries[i : i + 1], np.sort(own[own >= 0])
            best = super().search(one, k, keep=near)
            if len(best[0].numbers) < min(k, len(self)):
                best = super().search(one, k)
            found += best
        return found

    def _make_lists(self) -> None:
        """Put all items into lists whose centres are learned from some of them."""
        self._lists, self._trained_on = None, len(self)
        if len(self) < _FEWEST:
            self._trained_on = 0
            return
        numbers, codes = self._table.items()
        n_lists = int(np.sqrt(len(self)))
        some = np.random.default_rng(0).permutation(len(self))[: 64 * n_lists]
        quantizer = self._faiss.IndexBinaryFlat(self.n_bits)
        lists = self._faiss.IndexBinaryIVF(quantizer, self.n_bits, n_lists)
        lists.nprobe = min(_PROBES, n_lists)
        with self._one_thread():
            lists.train(codes[some])
        self._lists = lists
        self._put(numbers, codes)

    def _put(self, numbers: Numbers, codes: Codes) -> None:
        with self._one_thread():
            self._lists.add_with_ids(np.ascontiguousarray(codes), numbers)

    def _measured(self) -> float:
        """The share of the nearest items that is found, over a sample of stored codes."""
        if self._lists is None:
            return 1.0
        _, codes = self._table.items()
        some = np.random.default_rng(0).permutation(len(codes))[:_SAMPLE]
        queries = Queries.of(unpack(codes[some]), rank="hamming")
        shares = [
            np.mean(own.distances <= true.distances[-1])
            for own, true in zip(self.search(queries, _K), super().search(queries, _K), strict=True)
        ]
        return float(np.mean(shares))

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        # With more, FAISS's threads wait for each other as soon as anything else runs.
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(before)


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise UnsupportedError(
            "the index 'ivf' needs FAISS: pip install 'omhash[faiss]', or use the index 'exact'"
        ) from error
    return faiss
