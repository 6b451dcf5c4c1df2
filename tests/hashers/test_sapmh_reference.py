"""SAPMH to the letter: against a recorded run of the authors' own program."""

import numpy as np
import pytest
from recorded import apart, draws_of, result_of, run_of, views_of

from omhash.codes import unpack
from omhash.hashers import SAPMH


@pytest.fixture(scope="module")
def learned(shared, items):
    """The hasher after the only round, and what was recorded of it."""
    record = run_of(shared, "sapmh")
    hasher = SAPMH(
        16,
        n_latent=24,
        kernels={"image": (60, 88.0), "text": (60, 88.0)},
        random_state=draws_of(record, empty=False),
        authors_program=True,
    )
    rows = record["round1_train_index"]
    names = items["category_names"].tolist()
    hasher.partial_fit(views_of(items, rows), items["labels"][rows], categories=names)
    # Codes come from draws in turn: first all items, then the queries.
    codes = {
        "B_database": hasher.encode(views_of(items, rows)),
        "B_query": hasher.encode(views_of(items, record["query_index"])),
    }
    order = np.argsort(record["draw01_randsample"].ravel())
    return hasher, codes, result_of(record, 1), order


def test_maps_are_the_recorded_ones(learned):
    hasher, _, result, order = learned

    assert apart(hasher.code_map_, result["W"]) <= 1e-6
    for name, number in (("image", 1), ("text", 2)):
        # This library keeps anchors in the order of the items.
        assert apart(hasher.latent_maps_[name], result[f"U{number}"][:, order]) <= 1e-6


@pytest.mark.parametrize("which", ["B_database", "B_query"])
def test_codes_are_the_recorded_ones(learned, which):
    _, codes, result, _ = learned

    assert np.array_equal(unpack(codes[which]), np.where(result[which] > 0, 1, -1))
