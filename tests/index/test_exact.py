"""Exact search against the definition of the scores, item for item and in order."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from both import ASKED, BITS, Both
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from omhash.codes import pack
from omhash.index import ExactIndex, Queries
from strategies import code_bytes, seeds


@settings(max_examples=150)
@given(
    seed=seeds,
    n_bits=code_bytes.map(lambda n_bytes: 8 * n_bytes),
    modalities=st.sets(st.sampled_from(sorted(BITS))),
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=3),
    clusters=st.integers(0, 4),
    kept=st.sampled_from([None, 0.0, 0.1, 0.5, 1.0]),
    asked=st.fixed_dictionaries(ASKED),
)
def test_results_are_those_of_the_definition(
    seed, n_bits, modalities, sizes, clusters, kept, asked
):
    rng = np.random.default_rng(seed)
    both = Both(n_bits, modalities)
    for size in sizes:
        both.add(rng, size, clusters, gaps=True)
    both.remove(both.some(rng, 0.3))
    keep = None if kept is None else {i for i in range(both.next + 3) if rng.random() < kept}

    both.check(rng, 2, keep=keep, **asked)
    both.check_size()


@pytest.mark.parametrize("clusters", [0, 2, 300])
@pytest.mark.parametrize("detail", [0.0, 0.3])
def test_many_items_more_than_any_block(clusters, detail):
    rng = np.random.default_rng(0)
    both = Both(64, ["image", "text"])
    both.add(rng, 5000, clusters)

    for rank in ("asymmetric", "hamming"):
        both.check(rng, 2, 100, rank=rank, detail=detail)
        both.check(rng, 1, 100, rank=rank, detail=detail, keep=set(both.some(rng, 0.05)))
        both.check(rng, 1, 100, rank=rank, detail=detail, keep=set(both.some(rng, 0.9)))


@pytest.mark.parametrize("rank", ["asymmetric", "hamming"])
def test_the_best_may_come_last_or_first(rank):
    rng = np.random.default_rng(1)
    target = rng.standard_normal(64)
    flips = np.argsort(np.argsort(rng.random((3000, 64)))) < np.linspace(64, 0, 3000)[:, None]
    codes = pack(np.where(flips, -target, target))
    queries = Queries.of(target[None, :], rank=rank)
    for order in (slice(None), slice(None, None, -1)):
        index = ExactIndex(64)
        index.add(np.arange(3000), codes[order])
        grid = np.where(target > 0, 1, -1) if rank == "hamming" else queries.grid[0]
        units = np.where(np.unpackbits(codes[order], axis=1), 1, -1) @ grid

        found = index.search(queries, 3000)[0]

        assert found.numbers.tolist() == np.argsort(-units, kind="stable").tolist()


def test_removed_items_leave_no_trace_in_memory_and_results():
    rng = np.random.default_rng(2)
    both = Both(32, ["image"])
    for _ in range(4):
        both.add(rng, 3000, clusters=0)
        both.remove(both.some(rng, 0.9))
        both.check(rng, 2, 50, detail=0.3)
        both.check(rng, 2, 50, keep=set(both.some(rng, 0.1)))
        both.check_size()
    largest = both.index.nbytes
    for _ in range(10):
        both.add(rng, 3000, clusters=0)
        both.remove(list(both.items)[:3000])
    both.check(rng, 2, 50, detail=0.3)
    assert both.index.nbytes <= 2 * largest


def test_one_item_replaced_again_and_again_costs_no_memory():
    index = ExactIndex(8)
    code = np.array([[1]], np.uint8)
    index.add(np.arange(100), np.repeat(code, 100, axis=0))
    before = index.nbytes
    for number in range(100, 6000):
        index.remove(np.array([number - 1]))
        index.add(np.array([number]), code)
    assert len(index) == 100
    assert index.nbytes <= 4 * before
    assert index.search(Queries.of(np.ones((1, 8))), 200)[0].numbers[-1] == 5999


class Story(RuleBasedStateMachine):
    """Adds, removals, replacements and searches in any order."""

    @initialize(
        seed=seeds,
        n_bits=st.sampled_from([8, 64, 72]),
        modalities=st.sets(st.sampled_from(["zoo"])),
    )
    def begin(self, seed, n_bits, modalities):
        self.rng = np.random.default_rng(seed)
        self.both = Both(n_bits, modalities)

    @rule(n=st.integers(0, 30) | st.just(700), clusters=st.integers(0, 3), gaps=st.booleans())
    def add(self, n, clusters, gaps):
        self.both.add(self.rng, n, clusters, gaps=gaps)

    @rule(share=st.sampled_from([0.05, 0.5, 1.0]))
    def remove(self, share):
        self.both.remove(self.both.some(self.rng, share))

    @precondition(lambda self: self.both.items)
    @rule()
    def upsert(self):
        self.both.upsert(self.rng, int(self.rng.choice(list(self.both.items))))

    @rule(asked=st.fixed_dictionaries(ASKED), kept=st.sampled_from([None, 0.02, 0.5]))
    def search(self, asked, kept):
        keep = None if kept is None else set(self.both.some(self.rng, kept))
        self.both.check(self.rng, 1, keep=keep, **asked)

    @invariant()
    def sizes_agree(self):
        if hasattr(self, "both"):
            self.both.check_size()


Story.TestCase.settings = settings(max_examples=30, stateful_step_count=25)
TestStory = Story.TestCase


@pytest.mark.parametrize("share", [0.02, 0.6])
def test_a_filter_looked_up_before_is_right_after_every_change(share):
    rng = np.random.default_rng(4)
    both = Both(16, ["image"])
    both.add(rng, 3000, clusters=60)
    wanted = np.flatnonzero(rng.random(4000) < share)
    kept, elsewhere = both.index.kept(wanted), ExactIndex(16, {"image": 16}).kept(wanted)
    queries = Queries.of(rng.standard_normal((2, 16)))
    for change in (
        lambda: None,
        lambda: both.remove(both.some(rng, 0.5)),
        lambda: both.add(rng, 900),
    ):
        change()
        plain = both.index.search(queries, 50, keep=wanted)
        for keep in (kept, elsewhere):
            for found, expected in zip(
                both.index.search(queries, 50, keep=keep), plain, strict=True
            ):
                assert found.numbers.tolist() == expected.numbers.tolist()
                assert found.scores.tolist() == expected.scores.tolist()


def test_queries_together_and_in_several_threads_find_what_each_finds_alone():
    rng = np.random.default_rng(3)
    both = Both(64, ["image"])
    both.add(rng, 2000, clusters=40)
    values, sketches = rng.standard_normal((100, 64)), rng.standard_normal((100, 16))
    keep = np.array(sorted(both.some(rng, 0.2)))

    def asked(rows):
        return Queries.of(values[rows], sketches={"image": sketches[rows]}, detail=0.3)

    def told(found):
        return [(own.numbers.tolist(), own.scores.tolist()) for own in found]

    for kept in (None, keep):
        alone = [both.index.search(asked([i]), 20, keep=kept)[0] for i in range(100)]
        together = both.index.search(asked(slice(None)), 20, keep=kept)
        with ThreadPoolExecutor(4) as threads:
            parts = threads.map(
                lambda i: both.index.search(asked([i]), 20, keep=kept)[0],  # noqa: B023 - used at once
                range(100),
            )
            assert told(parts) == told(alone) == told(together)
