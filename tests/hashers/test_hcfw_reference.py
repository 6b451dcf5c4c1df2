"""HCFW to the letter: against recorded runs of the authors' own program."""

import numpy as np
import pytest
from recorded import apart, draws_of, result_of, run_of, views_of

from omhash.codes import hamming, unpack
from omhash.evaluation import HammingRanking, mean_average_precision
from omhash.hashers.hcfw import HCFW


def authors_map(queries, database, asked, stored):
    """MAP by the distances that the authors' program looks up.

    Its table of bit counts is read at ``byte + 1`` in 8-bit arithmetic, which ends at 255:
    a byte that differs in all its eight bits counts as seven.
    """
    opposite = (queries[:, None] ^ database == 255).sum(axis=2)
    distances = hamming(queries, database).astype(int) - opposite
    values = []
    for row, relevant in zip(distances, asked @ stored.T > 0, strict=True):
        ranks = np.flatnonzero(relevant[np.argsort(row, kind="stable")]) + 1
        values.append(np.mean(np.arange(1, len(ranks) + 1) / ranks) if len(ranks) else 0.0)
    return np.mean(values)


def distance_map(queries, database, asked, stored):
    return mean_average_precision(HammingRanking(queries, database), asked, stored)


def replayed(shared, items, run):
    """A hasher after each round of a recorded run, with the rows and columns of the round."""
    record = run_of(shared, run)
    names = items["category_names"].tolist()
    vectors = dict(zip(names, items["vectors"], strict=True))
    hasher = HCFW.published(
        16,
        semantics=lambda new: np.array([vectors[name] for name in new]),
        random_state=draws_of(record, empty=False),
        authors_program=True,
    )
    seen = []
    for number in (1, 2, 3):
        result = result_of(record, number)
        result["map"] = record["map_per_round"][number - 1]
        result.setdefault("query_index", record.get("query_index"))
        columns, rows = result["category_index"], result["train_index"]
        result["names"] = [names[column] for column in columns]
        views = views_of(items, rows)
        hasher.partial_fit(
            views, items["labels"][np.ix_(rows, columns)], categories=result["names"]
        )
        seen.extend(rows.tolist())
        result["seen"] = list(seen)
        yield hasher, result


RUNS = pytest.mark.parametrize("run", ["hcfw_iid", "hcfw_inc"])


def stored_codes(hasher, items, result):
    """Codes and labels of all items so far, old rounds first, as the program stacks them."""
    labels = items["labels"][np.ix_(result["seen"], result["category_index"])]
    return hasher.label_codes(labels, categories=result["names"]), labels


@RUNS
def test_category_codes_are_the_recorded_ones(shared, items, run):
    for hasher, result in replayed(shared, items, run):
        codes = dict(zip(hasher.categories_, unpack(hasher.category_codes_), strict=True))
        # The program puts new categories first, and this library puts them last.
        assert np.array_equal([codes[name] for name in result["names"]], result["B_c"].T)


@RUNS
def test_item_codes_are_the_recorded_ones(shared, items, run):
    for hasher, result in replayed(shared, items, run):
        codes, _ = stored_codes(hasher, items, result)

        assert np.array_equal(codes, np.packbits(result["B"] > 0, axis=1))


@RUNS
@pytest.mark.parametrize(("modality", "number"), [("image", 1), ("text", 2)])
def test_w_and_u_are_the_recorded_ones(shared, items, run, modality, number):
    for hasher, result in replayed(shared, items, run):
        functions = hasher.hash_functions_[modality]
        w, u = functions[:, :16], functions[:, 16:]

        assert functions.dtype == np.float64
        for found, wanted in ((w.T, result[f"W{number}"]), (u, result[f"U{number}"])):
            assert apart(found, wanted) <= 1e-8


@RUNS
def test_query_codes_are_the_recorded_ones(shared, items, run):
    for hasher, result in replayed(shared, items, run):
        codes = hasher.encode(views_of(items, result["query_index"]))
        recorded = np.unpackbits(result["XQuery_B"], axis=1, bitorder="little")

        assert np.array_equal(codes, np.packbits(recorded, axis=1))


def maps(shared, items, run, measured):
    """Our MAP and the recorded one, of each round."""
    for hasher, result in replayed(shared, items, run):
        database, stored = stored_codes(hasher, items, result)
        asked = items["labels"][np.ix_(result["query_index"], result["category_index"])]
        queries = hasher.encode(views_of(items, result["query_index"]))
        found = measured(queries, database, asked, stored)
        yield found, float(result["map"])


@RUNS
def test_map_is_the_recorded_one(shared, items, run):
    for found, recorded in maps(shared, items, run, authors_map):
        assert found == pytest.approx(recorded, abs=1e-9)


@RUNS
def test_map_by_true_distances_is_the_recorded_one_but_for_the_slip_of_the_table(
    shared, items, run
):
    for found, recorded in maps(shared, items, run, distance_map):
        assert found == pytest.approx(recorded, abs=2e-6)
