"""An index and the plain items that it must hold, changed and asked together."""

import numpy as np
from hypothesis import strategies as st
from plain_search import PlainItem, assert_same, plain_search, signs

from omhash.codes import pack
from omhash.index import ExactIndex, Queries

BITS = {"image": 16, "text": 72, "zoo": 64}

ASKED = {
    "k": st.integers(1, 40),
    "kind": st.sampled_from(["normal", "whole", "tiny", "zero", "spiky", "float32", "equal"]),
    "rank": st.sampled_from(["asymmetric", "hamming"]),
    "detail": st.sampled_from([0.0, 0.05, 0.3, 1.0, 2.0]),
}
"""What `Both.check` can be asked for."""


def some_codes(rng, n, n_bits, clusters):
    """Uniform codes, or codes of few clusters: many equal ones, and many near ones."""
    if clusters == 0:
        return pack(rng.standard_normal((n, n_bits)))
    centres = rng.standard_normal((clusters, n_bits))[rng.integers(0, clusters, n)]
    return pack(centres + rng.choice([0.0, 0.3], (n, 1)) * rng.standard_normal((n, n_bits)))


def some_projections(rng, n, n_bits, kind):
    values = rng.standard_normal((n, n_bits))
    if kind == "whole":
        values = np.rint(values)
    elif kind == "tiny":
        values *= 1e-310
    elif kind == "zero":
        values[:] = 0.0
    elif kind == "spiky":
        values[:, 0] *= 1e6
    elif kind == "float32":
        values = values.astype(np.float32)
    elif kind == "equal":
        values = np.where(values > 0, 0.25, -0.25)
    return values


class Both:
    """The same items twice."""

    def __init__(self, n_bits, modalities, make=ExactIndex):
        self.n_bits = n_bits
        self.bits = {name: BITS[name] for name in modalities}
        self.index = make(n_bits, self.bits)
        self.items = {}
        self.next = 0

    def add(self, rng, n, clusters=3, *, gaps=False):
        steps = rng.integers(1, 4, n) if gaps else np.ones(n, np.int64)
        numbers = self.next + np.cumsum(steps) - 1
        codes = some_codes(rng, n, self.n_bits, clusters)
        sketches = {m: some_codes(rng, n, bits, clusters) for m, bits in self.bits.items()}
        present = {m: rng.random(n) < 0.7 for m in self.bits}
        self.index.add(numbers, codes, sketches, present)
        for i, number in enumerate(numbers.tolist()):
            own = {m: signs(sketches[m][i]) for m in self.bits if present[m][i]}
            self.items[number] = PlainItem(signs(codes[i]), own)
        self.next = int(numbers[-1]) + 1 if n else self.next

    def remove(self, numbers):
        self.index.remove(np.array(numbers, np.int64))
        for number in numbers:
            del self.items[number]

    def upsert(self, rng, number):
        self.remove([number])
        self.add(rng, 1)

    def some(self, rng, share):
        """The numbers of about this share of the items, in any order."""
        return [number for number in rng.permutation(list(self.items)) if rng.random() < share]

    def check(self, rng, n, k, kind="normal", rank="asymmetric", detail=0.0, keep=None):
        """Ask both `n` queries, and compare item for item."""
        projections = some_projections(rng, n, self.n_bits, kind)
        values = {m: some_projections(rng, n, bits, kind) for m, bits in self.bits.items()}
        has = {m: rng.random(n) < 0.7 for m in values}
        given = {m: np.where(has[m][:, None], values[m], np.nan) for m in values}
        queries = Queries.of(projections, rank=rank, sketches=given, present=has, detail=detail)
        kept = None if keep is None else np.array(sorted(keep), np.int64)
        found = self.index.search(queries, k, keep=kept)
        if kept is not None:
            again = self.index.search(queries, k, keep=self.index.kept(kept))
            assert [own.numbers.tolist() for own in again] == [
                own.numbers.tolist() for own in found
            ]
        assert len(found) == n
        for i in range(n):
            own = {m: values[m][i] for m in values if has[m][i]}
            plain = plain_search(
                self.items, projections[i], k, rank=rank, sketches=own, detail=detail, keep=keep
            )
            assert_same(found[i], plain)

    def check_size(self):
        assert len(self.index) == len(self.items)
        assert self.index.n_distinct == len({item.code.tobytes() for item in self.items.values()})
