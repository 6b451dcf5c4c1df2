"""OASIS to the letter: against recorded runs of the authors' own program."""

import numpy as np
import pytest
from recorded import apart, draws_of, result_of, run_of, views_of

from omhash.codes import unpack
from omhash.evaluation import HammingRanking, mean_average_precision
from omhash.hashers import OASIS


def replayed(shared, items, run):
    """A hasher after each round, with what the program recorded of the round."""
    record = run_of(shared, run)
    names = items["category_names"].tolist()
    vectors = dict(zip(names, items["vectors"], strict=True))
    hasher = OASIS(
        16,
        semantics=lambda new: np.array([vectors[name] for name in new]),
        random_state=draws_of(record, rounding_decides=True),
        authors_program=True,
    )
    seen, codes = [], []
    for number in (1, 2, 3):
        result = result_of(record, number)
        columns, rows = result["category_index"], result["train_index"]
        known = [names[column] for column in columns]
        views, labels = views_of(items, rows), items["labels"][np.ix_(rows, columns)]
        hasher.partial_fit(views, labels, categories=known)
        seen.extend(rows)
        codes.append(hasher.item_codes(views, labels, categories=known))
        result["queries"] = result.get("query_index", record.get("query_index"))
        result["map"] = record["map_per_round"][number - 1]
        result["database"] = np.vstack(codes)
        result["stored"] = items["labels"][np.ix_(seen, columns)]
        result["asked"] = items["labels"][np.ix_(result["queries"], columns)]
        yield hasher, result


def share_of_bits(codes, signs):
    return np.mean(unpack(codes) == signs)


def queries(hasher, items, result):
    return hasher.encode(views_of(items, result["queries"]))


def test_standard_stream_is_the_recorded_one(shared, items):
    for hasher, result in replayed(shared, items, "oasis_iid"):
        assert share_of_bits(result["database"], result["B"]) == 1
        for name, number in (("image", 1), ("text", 2)):
            functions = hasher.hash_functions_[name]
            assert functions.dtype == np.float64
            assert apart(functions[:, :16].T, result[f"W{number}"]) <= 1e-8
        recorded = np.unpackbits(result["XQuery_B"], axis=1, bitorder="little")
        assert np.array_equal(queries(hasher, items, result), np.packbits(recorded, axis=1))


def test_growing_categories_follow_the_recorded_run(shared, items):
    shares = [
        share_of_bits(result["database"], result["B"])
        for _, result in replayed(shared, items, "oasis_inc")
    ]

    assert shares[0] == 1
    assert shares[1] >= 0.998
    # The sign of a direction that nothing determines is another one from here on.
    assert shares[2] >= 0.98


@pytest.mark.parametrize("run", ["oasis_iid", "oasis_inc"])
def test_map_is_the_recorded_one(shared, items, run):
    for hasher, result in replayed(shared, items, run):
        ranking = HammingRanking(queries(hasher, items, result), result["database"])
        found = mean_average_precision(ranking, result["asked"], result["stored"])

        assert found == pytest.approx(float(result["map"]), abs=0.03)
