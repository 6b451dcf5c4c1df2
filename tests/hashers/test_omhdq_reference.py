"""OMH-DQ to the letter: against a recorded run of the authors' own program."""

import numpy as np
from recorded import draws_of, result_of, run_of, views_of

from omhash.codes import unpack
from omhash.hashers import OMHDQ


def test_codes_are_the_recorded_ones(shared, items):
    record = run_of(shared, "omhdq")
    result = result_of(record, 1)
    # The program only runs when both modalities have as many columns.
    items = items | {"text": items["text"][:, :32]}
    hasher = OMHDQ(16, kernels=None, random_state=draws_of(record), authors_program=True)
    names = items["category_names"].tolist()
    rows = result["train_index"]
    hasher.partial_fit(views_of(items, rows), items["labels"][rows], categories=names)

    queries = hasher.encode(views_of(items, record["query_index"]))
    database = hasher.encode(views_of(items, rows))

    assert np.array_equal(unpack(queries), np.where(result["B_query"] > 0, 1, -1))
    assert np.array_equal(unpack(database), np.where(result["B_database"] > 0, 1, -1))
