"""Learning by several processes: what one would have learned, whoever dies meanwhile."""

import os
import signal
import threading
import time
from collections import Counter

import numpy as np
import pytest
from given_rounds import (
    Broken,
    Held,
    Noted,
    Unreadable,
    assert_learned_the_same,
    learned_alone,
    stream,
    unlabelled,
)
from hcfw_items import SETTINGS, hasher_of, same_state, semantics
from threadpoolctl import threadpool_info

from omhash.datasets import Items
from omhash.distributed import connected, encode, learn
from omhash.errors import ClusterError, DataFileError, InputError, UnsupportedError
from omhash.hashers import BY_NAME, HCFW


def alone(hasher, parts):
    return learned_alone(hasher, [[part] for part in parts])


@pytest.mark.parametrize("given_settings", SETTINGS.values(), ids=SETTINGS)
def test_every_setting_learns_what_one_machine_learns(given_settings, client):
    parts = stream()
    found = learn(hasher_of(given_settings), parts, client=client)
    wanted = alone(hasher_of(given_settings), parts)
    assert_learned_the_same(found, wanted)
    (part,) = stream(n_rounds=1)
    projected = wanted.project(part.items.views)
    near = np.abs(projected).min(axis=1) < 1e-4 * np.abs(projected).max()
    codes, others = found.encode(part.items.views), wanted.encode(part.items.views)
    assert near.mean() < 0.5
    assert np.array_equal(codes[~near], others[~near])


def test_the_papers_settings_learn_what_one_machine_learns(client):
    parts = stream()
    made = [HCFW.published(32, semantics=semantics, random_state=3) for _ in range(2)]
    assert_learned_the_same(learn(made[0], parts, client=client), alone(made[1], parts))


def test_a_hasher_goes_on_learning_and_the_given_one_stays(client):
    parts = stream()
    begun = alone(hasher_of(), parts[:2])
    before = begun.get_state()
    found = learn(begun, parts[2:], client=client)
    assert_learned_the_same(found, alone(hasher_of(), parts))
    assert same_state(begun.get_state(), before)


def test_a_round_in_several_parts_is_one_round(client):
    parts = stream()
    parts[0].items.views["sound"][:] = np.nan
    rounds = [parts[:2], parts[2:5], parts[5:]]
    for given_settings in (SETTINGS["default"], SETTINGS["kernels"]):
        found = learn(hasher_of(given_settings), rounds, client=client)
        assert_learned_the_same(found, learned_alone(hasher_of(given_settings), rounds))


@pytest.mark.parametrize("random_state", [None, 5, "generator"])
def test_rounds_without_labels_and_draws_of_every_kind(random_state, client):
    parts = stream()
    parts[:2] = [unlabelled(part) for part in parts[:2]]
    states = [
        np.random.default_rng(8) if random_state == "generator" else random_state for _ in range(2)
    ]
    settings = {"kernels": {"image": 20}}
    found = learn(hasher_of(settings, random_state=states[0]), parts, client=client)
    if random_state is None:  # a fresh seed, which only the state tells
        states[1] = found.get_state()["seed"]
    wanted = alone(hasher_of(settings, random_state=states[1]), parts)
    # With a generator the seed is of no use, and drawn anew.
    but = ["seed"] if random_state == "generator" else []
    assert_learned_the_same(found, wanted, but=but)


def test_fewer_parts_than_workers_and_no_label_at_all(client):
    (part,) = stream(n_rounds=1)
    assert_learned_the_same(learn(hasher_of(), [part], client=client), alone(hasher_of(), [part]))
    bare = [unlabelled(part)] * 3
    assert_learned_the_same(learn(hasher_of(), bare, client=client), alone(hasher_of(), bare))


def test_the_same_call_gives_the_same_bytes(client):
    parts = stream()
    one, other = (learn(hasher_of(), parts, client=client).get_state() for _ in range(2))
    assert same_state(one, other)


def test_a_worker_that_dies_costs_its_part_only(client, tmp_path):
    parts = stream(12)
    noted = [Noted(part, str(tmp_path), place, 0.15) for place, part in enumerate(parts)]
    begun = hasher_of().begin(parts[0].items.views)
    dead = []

    def kill():
        """End a worker in the middle: labels are read, and a third of the sums is done."""
        deadline = time.monotonic() + 60
        while len(list(tmp_path.iterdir())) < len(parts) + 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        ((_, pid), *_) = sorted(client.run(os.getpid).items())
        os.kill(pid, signal.SIGKILL)
        dead.append(pid)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = learn(begun, noted, client=client)
    finally:
        killer.join()
    assert dead
    assert dead[0] not in client.run(os.getpid).values()
    assert_learned_the_same(found, alone(hasher_of(), parts))
    counts = Counter(int(path.name.split("-")[0]) for path in tmp_path.iterdir())
    again = [place for place in range(len(parts)) if counts[place] > 2]
    assert again  # something was lost
    assert len(again) <= len(parts) / 2  # and only what one of two workers had
    assert len({place % 2 for place in again}) == 1
    client.wait_for_workers(2, timeout=30)


def test_sums_stay_where_they_are_made(client):
    """All that travels between workers: what sums, and the sums of one of two workers."""
    before = sum(client.run(_received).values())
    learn(hasher_of(), stream(10), client=client)
    assert sum(client.run(_received).values()) - before <= 4


def _received(dask_worker):
    return dask_worker.state.transfer_incoming_count_total


def test_a_worker_uses_one_thread(client):
    told = client.run(threadpool_info)
    assert len(told) == 2
    assert {pool["num_threads"] for pools in told.values() for pool in pools} <= {1}


def test_progress_counts_every_part_once(client):
    seen = []
    parts = stream()
    learn(
        hasher_of(), parts, client=client, progress=lambda done, total: seen.append((done, total))
    )
    deadline = time.monotonic() + 10
    while len(seen) < len(parts) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert seen == [(done, len(parts)) for done in range(1, len(parts) + 1)]


@pytest.mark.parametrize(
    ("part", "error", "words"),
    [
        (Unreadable(), DataFileError, r"part 2 \(counted from 0\): there is no such file"),
        (Broken(), ClusterError, "part 2 .*: RuntimeError: a fault of whoever wrote it"),
        (
            Held(Items({"image": np.full((1, 12), np.inf)}, np.ones((1, 1)), ("a",), ["k"], [{}])),
            InputError,
            "part 2 .*: modality 'image', row 0",
        ),
    ],
)
def test_a_part_that_cannot_be_learned_is_named(part, error, words, client):
    parts = stream(4)
    parts[2] = part
    with pytest.raises(error, match=words):
        learn(hasher_of(), parts, client=client)


@pytest.mark.parametrize("name", sorted(BY_NAME.keys() - {"HCFW"}))
def test_methods_that_cannot_be_summed_say_so(name, client):
    with pytest.raises(UnsupportedError, match=f"{name} learns each round from what it made"):
        learn(BY_NAME[name](16), stream(2), client=client)


@pytest.mark.parametrize("rounds", [[], [[]]])
def test_nothing_to_learn(rounds, client):
    with pytest.raises(InputError, match="nothing to learn"):
        learn(hasher_of(), rounds, client=client)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_codes_come_in_the_order_of_the_parts(name, client):
    parts = stream(5)
    for part in parts:
        part.items.views["text"][:] = np.nan_to_num(part.items.views["text"])
    hasher = BY_NAME[name](16, random_state=0)
    items = parts[0].items
    hasher.partial_fit(items.views, items.labels, categories=items.categories)
    for part, codes in zip(parts, encode(hasher, parts, client=client), strict=True):
        assert np.array_equal(codes, hasher.encode(part.items.views))


def test_no_more_is_encoded_than_is_asked_for(client, tmp_path):
    parts = stream(30, n=8)
    noted = [Noted(part, str(tmp_path), place, 0.0) for place, part in enumerate(parts)]
    codes = encode(hasher_of().partial_fit(parts[0].items.views), noted, client=client)
    next(codes)
    codes.close()
    time.sleep(0.2)
    assert 1 <= len(list(tmp_path.iterdir())) < 20


def test_nobody_answers_and_nobody_works():
    start = time.monotonic()
    with (
        pytest.raises(ClusterError, match=r"127\.0\.0\.1:9: no Dask scheduler answers .* 1 s"),
        connected("tcp://127.0.0.1:9", patience=1),
    ):
        pass
    with pytest.raises(ClusterError, match="nonsense"), connected("nonsense://", patience=1):
        pass
    assert time.monotonic() - start < 10
