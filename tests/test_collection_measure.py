"""How well a collection finds others of a kind, against its own searches."""

import numpy as np
import pytest

from omhash.errors import InputError, ParameterError
from things import create, ingest, some


def plainly(collection, views, labels, keys, depth):
    """Mean over labelled queries of the mean precision at the relevant ones of `depth` others."""
    values = []
    for place, names in enumerate(labels):
        if not names:
            continue
        query = {name: view[place : place + 1] for name, view in views.items()}
        hits = collection.search(query, k=depth + 1)[0]
        others = [hit for hit in hits if hit.key != keys[place]][:depth]
        ranks = [n for n, hit in enumerate(others, 1) if set(hit.categories) & set(names)]
        values.append(np.mean([n / rank for n, rank in enumerate(ranks, 1)]) if ranks else 0.0)
    return np.mean(values)


@pytest.mark.parametrize("depth", [3, 100])
def test_it_is_that_of_searches(tmp_path, depth):
    with create(tmp_path / "things") as things:
        ingest(things, 1, 40)
        ingest(things, 2, 40, labelled=False)
        for seed in (1, 3):  # items that are stored, and items that are not
            views, labels, keys, _ = some(seed, 40)
            labels[7] = []
            found = things.measure(views, labels, keys=keys, depth=depth)
            assert found == pytest.approx(plainly(things, views, labels, keys, depth))
            assert 0.1 < found < 1


def test_nothing_to_tell(tmp_path):
    with create(tmp_path / "things") as things:
        views, labels, keys, _ = some(1, 5)
        assert things.measure(views, labels, keys=keys) is None
        ingest(things, 2)
        assert things.measure(views, [[]] * 5, keys=keys) is None
        assert things.measure(views, [["unheard of"]] * 5, keys=keys) == 0


def test_bad_input(tmp_path):
    with create(tmp_path / "things") as things:
        ingest(things, 1)
        views, labels, keys, _ = some(1, 5)
        with pytest.raises(ParameterError, match="depth must be"):
            things.measure(views, labels, keys=keys, depth=0)
        with pytest.raises(InputError, match="4 keys for 5 items"):
            things.measure(views, labels, keys=keys[:4])
