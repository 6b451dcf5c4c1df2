"""A collection against a plain dictionary and brute force, in any order of operations.

``OMHASH_FULL=1`` runs 2,000 operations in a row, twice; otherwise there are fewer.
"""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import engine
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from plain_search import PlainItem, plain_search, signs

import omhash
from omhash.codes import pack
from omhash.copying import copy
from omhash.errors import InputError
from omhash.learning.sketches import Sketchers
from things import NAMES, WIDTHS, create, hasher, some

FULL = os.environ.get("OMHASH_FULL") == "1"
if FULL:  # what Hypothesis draws for one run would end it after some 600 operations
    engine.BUFFER_SIZE = 1 << 20
OPERATIONS = 2000 if FULL else 40
SKETCHES = {"image": 16, "text": 8}
FILTERS = {
    "any": ({"categories": ["ant", "bee"]}, lambda item: {"ant", "bee"} & item["categories"]),
    "all": (
        {"categories": {"all": ["ant", "bee"]}},
        lambda item: {"ant", "bee"} <= item["categories"],
    ),
    "none": ({"categories": {"none": "cat"}}, lambda item: "cat" not in item["categories"]),
    "below": ({"price": {"<": 4}}, lambda item: item.get("price", 9) < 4),
    "between": ({"price": {">=": 2, "<=": 6}}, lambda item: 2 <= item.get("price", 9) <= 6),
    "in": ({"price": {"in": [1, 3, 5]}}, lambda item: item.get("price") in (1, 3, 5)),
    "not": ({"price": {"!=": 2}}, lambda item: item.get("price") != 2),
    "absent": ({"odd \\ näme": None}, lambda item: "odd \\ näme" not in item),
    "both": (
        {"categories": "dog", "odd \\ näme": "it's"},
        lambda item: "dog" in item["categories"] and "odd \\ näme" in item,
    ),
}

seeds = st.integers(0, 250)


class Plain:
    """What a collection should be: a dictionary, and a hasher that learns beside it."""

    def __init__(self):
        self.items = {}
        self.keys = {}
        self.rounds = {}
        self.fields = {"categories"}
        self.next_number = 1
        self.hasher = hasher()
        self.sketchers = Sketchers(SKETCHES, 0, {})

    def ingest(self, views, labels, keys, payloads, name):
        if any(labels) or not self.rounds:
            self.hasher.partial_fit(views, labels)
        codes = self.hasher.item_codes(views, labels)
        self.sketchers = self.sketchers.fitted(views)
        values, present = self.sketchers.projected(views, len(keys))
        for place, key in enumerate(keys):
            self.items.pop(self.keys.pop(key, None), None)
            sketches = {m: signs(pack(values[m]))[place] for m in values if present[m][place]}
            own = {m: view[place : place + 1] for m, view in views.items()}
            self.items[self.next_number] = (
                key,
                PlainItem(signs(codes[place]), sketches),
                tuple(name for name in self.hasher.categories_ if name in labels[place]),
                payloads[place],
                own,
            )
            self.keys[key] = self.next_number
            self.fields.update(payloads[place])
            self.next_number += 1
        self.rounds[name] = list(keys)

    def remove(self, keys):
        for key in keys:
            self.items.pop(self.keys.pop(key))

    def forget(self, keys):
        taught = [item for item in map(self.item, keys) if item[2]]
        if taught:
            views = {m: np.vstack([item[4][m] for item in taught]) for m in WIDTHS}
            self.hasher.forget(views, [item[2] for item in taught])
        self.remove(keys)

    def item(self, key):
        return self.items[self.keys[key]]

    def found(self, projection, k, sketches, rank, detail, keep):
        kept = {
            number: item[1]
            for number, item in self.items.items()
            if keep is None or keep({**item[3], "categories": set(item[2])})
        }
        rows = plain_search(kept, projection, k, rank=rank, sketches=sketches, detail=detail)
        told = []
        for number, score, distance in zip(*rows, strict=True):
            key, _, categories, payload, _ = self.items[number]
            told.append((key, categories, payload, score, distance))
        return told


class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.n_paths = 0
        self.things = create(self.new_path(), sketch_bits=SKETCHES)
        self.plain = Plain()
        self.n_operations = 0

    def new_path(self):
        self.n_paths += 1
        return self.folder / f"{self.n_paths}"

    def restored(self):
        """The collection, closed and made again of a backup."""
        backup, path = self.new_path(), self.new_path()
        self.things.backup(backup)
        self.things.close()
        return omhash.Collection.restore(backup, path)

    def teardown(self):
        self.things.close()
        shutil.rmtree(self.folder)

    def drawn(self, seed):
        self.n_operations += 1
        return np.random.default_rng([seed, self.n_operations])

    def some_keys(self, rng, most):
        keys = sorted(self.plain.keys)
        return [str(key) for key in rng.permutation(keys)[: rng.integers(1, most + 1)]]

    @rule(seed=seeds)
    def ingest(self, seed):
        rng = self.drawn(seed)
        n = int(rng.integers(1, 9))
        views, labels, _, payloads = some(int(rng.integers(1 << 30)), n)
        for place in range(n):
            if rng.random() < 0.3:
                labels[place] = []
            if rng.random() < 0.3:
                views[str(rng.choice(list(WIDTHS)))][place] = np.nan
            if rng.random() < 0.2:
                payloads[place] = {"odd \\ näme": "it's", "nested": {"a": [1, None]}}
        keys = [f"k{number}" for number in rng.permutation(120)[:n]]
        name = f"name {rng.integers(500)}" if rng.random() < 0.5 else None
        if name in self.plain.rounds:
            return
        report = self.things.ingest(views, labels, keys=keys, payloads=payloads, round_id=name)
        assert report.replaced == len(set(keys) & set(self.plain.keys))
        assert not report.repeated
        self.plain.ingest(views, labels, keys, payloads, report.id)

    @precondition(lambda self: self.plain.rounds)
    @rule(seed=seeds)
    def send_a_round_again(self, seed):
        rng = self.drawn(seed)
        name = str(rng.choice(list(self.plain.rounds)))
        keys = self.plain.rounds[name]
        views, labels, _, _ = some(0, len(keys))
        assert self.things.ingest(views, labels, keys=keys, round_id=name).repeated
        views, labels, _, _ = some(0, 1)
        with pytest.raises(InputError, match="other keys"):
            self.things.ingest(views, labels, keys=["another"], round_id=name)

    @rule(seed=seeds)
    def search(self, seed):
        rng = self.drawn(seed)
        views, _, _, _ = some(int(rng.integers(1 << 30)), 2)
        views = {m: views[m] for m in rng.permutation(list(WIDTHS))[: rng.integers(1, 3)]}
        k = int(rng.choice([1, 5, 20, 1000]))
        rank = str(rng.choice(["hamming", "asymmetric"]))
        detail = float(rng.choice([0.0, 0.3, 2.0]))
        where, keep = self.a_filter(rng)
        answers = self.things.search(views, k=k, where=where, rank=rank, detail=detail)
        if not self.plain.rounds:
            assert answers == [[], []]
            return
        projections = self.plain.hasher.project(views)
        values, _ = self.plain.sketchers.projected(views, 2)
        for place, hits in enumerate(answers):
            sketches = {m: values[m][place] for m in views}
            expected = self.plain.found(projections[place], k, sketches, rank, detail, keep)
            assert _plain(hits) == expected

    @precondition(lambda self: self.plain.keys)
    @rule(seed=seeds)
    def search_like(self, seed):
        rng = self.drawn(seed)
        (key,) = self.some_keys(rng, 1)
        where, keep = self.a_filter(rng)
        detail = float(rng.choice([0.0, 0.3]))
        (hits,) = self.things.search(key=key, k=7, where=where, detail=detail)
        own = self.plain.item(key)[1]
        expected = self.plain.found(own.code, 8, own.sketches, "asymmetric", detail, keep)
        assert _plain(hits) == [row for row in expected if row[0] != key][:7]

    def a_filter(self, rng):
        where, keep = FILTERS[str(rng.choice(list(FILTERS)))]
        known = self.plain.rounds and set(self.plain.hasher.categories_) == set(NAMES)
        if rng.random() < 0.4 or not known or not where.keys() <= self.plain.fields:
            return None, None
        return where, keep

    @precondition(lambda self: self.plain.keys)
    @rule(seed=seeds)
    def delete(self, seed):
        keys = self.some_keys(self.drawn(seed), 6)
        assert self.things.delete([*keys, "never there"]) == len(keys)
        self.plain.remove(keys)

    @precondition(lambda self: self.plain.keys)
    @rule(seed=seeds)
    def forget(self, seed):
        keys = self.some_keys(self.drawn(seed), 4)
        views = {m: np.vstack([self.plain.item(key)[4][m] for key in keys]) for m in WIDTHS}
        report = self.things.forget(keys, views)
        assert (report.forgotten, report.missing, report.purged) == (len(keys), (), True)
        self.plain.forget(keys)

    @rule()
    def reopen(self):
        self.n_operations += 1
        path = self.things.status()["path"]
        self.things.close()
        self.things = omhash.open(path)

    @precondition(lambda self: self.n_operations % 5 == 0)
    @rule()
    def restore_a_backup(self):
        self.n_operations += 1
        self.things = self.restored()

    @precondition(lambda self: self.n_operations % 5 == 1)
    @rule()
    def compact(self):
        self.n_operations += 1
        assert self.things.compact()

    @precondition(lambda self: self.n_operations % 5 == 2)
    @rule()
    def check(self):
        self.n_operations += 1
        assert self.things.check() == []

    @invariant()
    def items_are_those_of_the_dictionary(self):
        assert len(self.things) == len(self.plain.items)
        if self.n_operations % 10 == 0:
            told = [
                (item.key, item.categories, item.payload, item.code.tobytes())
                for item in self.things.items()
            ]
            assert told == [
                (key, categories, payload, pack(own.code[None])[0].tobytes())
                for key, own, categories, payload, _ in self.plain.items.values()
            ]
            assert [report.id for report in self.things.rounds()] == list(self.plain.rounds)


class OnMilvus(Machine):
    """The same on Milvus Lite, where a copy stands for a backup."""

    paths = None

    def new_path(self):
        return next(self.paths)

    def restored(self):
        path = self.new_path()
        copy(self.things.status()["path"], path)
        self.things.close()
        return omhash.open(path)


def _plain(hits):
    return [(hit.key, hit.categories, hit.payload, hit.score, hit.distance) for hit in hits]


def test_any_order_of_operations():
    run(Machine, 3 if FULL else 6)


def test_any_order_of_operations_on_milvus(lite):
    OnMilvus.paths = lite
    run(OnMilvus, 2)


def run(machine, examples):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=OPERATIONS,
            suppress_health_check=list(HealthCheck),
            deadline=None,
            # What fails is told by its steps; to shorten a run of hundreds takes too long.
            phases=[Phase.explicit, Phase.generate],
        ),
        _min_steps=OPERATIONS - 1,
    )
