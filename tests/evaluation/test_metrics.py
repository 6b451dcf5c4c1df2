import numpy as np
import plain_measures as plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from omhash.codes import pack, unpack
from omhash.errors import InputError, LabelError, ParameterError
from omhash.evaluation import (
    AsymmetricRanking,
    HammingRanking,
    evaluate,
    mean_average_precision,
)

METRICS = [
    "map",
    "map@1",
    "map@3",
    "map@100",
    "precision@1",
    "precision@4",
    "precision@100",
    "recall@2",
    "recall@100",
    "ndcg",
    "ndcg@3",
    "precision_within@0",
    "precision_within@3",
]


def plain_metrics(levels, distances, asked, stored):
    shared = [plain.shared(asked, labels) for labels in stored]
    order = plain.order(levels)
    gains = [shared[item] for item in order]
    hits = [gain > 0 for gain in gains]
    values = {}
    for metric in METRICS:
        kind, _, number = metric.partition("@")
        if kind == "precision_within":
            relevant = [gain > 0 for gain in shared]
            values[metric] = plain.precision_within(distances, relevant, int(number))
        else:
            measure = plain.average_precision if kind == "map" else getattr(plain, kind)
            values[metric] = measure(
                gains if kind == "ndcg" else hits, *([int(number)] if number else [])
            )
    return values


@st.composite
def problems(draw, max_items=12):
    n_bytes = draw(st.sampled_from([1, 2, 5, 9, 128]))
    n_categories = draw(st.sampled_from([0, 1, 3, 70, 300]))
    n_queries, n_items = draw(st.integers(0, 3)), draw(st.integers(0, max_items))
    # From one code for all items, over ties of the same and of different codes, to one for each.
    n_codes = draw(st.integers(1, max_items))
    byte = draw(st.sampled_from([st.sampled_from([0, 85, 170]), st.integers(0, 255)]))
    codes = draw(hnp.arrays(np.uint8, (n_codes, n_bytes), elements=byte))
    database = codes[draw(hnp.arrays(np.intp, n_items, elements=st.integers(0, n_codes - 1)))]
    # Exact in any sum, so that scores of different codes tie, or differ in their last bits only.
    unit = draw(st.sampled_from([2.0**-4, 2.0**-33]))
    multiple = st.integers(-40, 40).map(lambda i: i * unit)
    projections = draw(
        hnp.arrays(np.float64, (n_queries, 8 * n_bytes), elements=st.just(1.0) | multiple)
    )
    seed = draw(st.integers(0, 2**32 - 1))
    rng, share = np.random.default_rng(seed), draw(st.sampled_from([0.0, 0.01, 0.3, 1.0]))
    asked = (rng.random((n_queries, n_categories)) < share).astype(np.uint8)
    stored = (rng.random((n_items, n_categories)) < share).astype(np.uint8)
    return projections, database, asked, stored


@settings(max_examples=60, deadline=None)
@given(problems())
def test_every_measure_of_both_rankings_is_the_plain_one(problem):
    projections, database, asked, stored = problem
    queries = pack(projections)
    hamming = evaluate(HammingRanking(queries, database), asked, stored, METRICS)
    asymmetric = evaluate(AsymmetricRanking(projections, database), asked, stored, METRICS)
    for query in range(len(queries)):
        distances = [plain.distance(queries[query], item) for item in database]
        scores = [plain.score(projections[query], item) for item in database]
        for found, levels in ((hamming, distances), (asymmetric, [-s for s in scores])):
            expected = plain_metrics(levels, distances, asked[query], stored)
            values = {metric: found[metric][query] for metric in METRICS}
            assert values == pytest.approx(expected, rel=0, abs=1e-14)


@settings(max_examples=60, deadline=None)
@given(problems(max_items=6))
def test_tie_aware_map_is_the_mean_over_all_orders_of_ties(problem):
    projections, database, asked, stored = problem
    queries = pack(projections)
    found = evaluate(HammingRanking(queries, database), asked, stored, ["map_ties"])["map_ties"]
    for query in range(len(queries)):
        distances = [plain.distance(queries[query], item) for item in database]
        relevant = [plain.shared(asked[query], labels) > 0 for labels in stored]
        expected = plain.tied_average_precision(distances, relevant) if len(database) else 0.0
        assert found[query] == pytest.approx(expected, rel=0, abs=1e-14)


def test_tie_aware_map_of_one_great_tie_stays_accurate():
    n, n_relevant = 100_000, 300
    stored = (np.arange(n) < n_relevant).astype(np.uint8)[:, None]
    database = np.zeros((n, 1), dtype=np.uint8)
    (found,) = evaluate(HammingRanking(database[:1], database), [[1]], stored, ["map_ties"])[
        "map_ties"
    ]
    places = np.arange(1, n + 1, dtype=np.longdouble)
    slope = np.longdouble(n_relevant - 1) / (n - 1)
    expected = ((1 + (places - 1) * slope) / places).sum() / n
    assert found == pytest.approx(float(expected), rel=1e-12)


@pytest.fixture(scope="module")
def larger():
    """Queries and items enough for many blocks."""
    rng = np.random.default_rng(5)
    stored = (rng.random((20_000, 24)) < 0.1).astype(np.uint8)
    asked = (rng.random((60, 24)) < 0.1).astype(np.uint8)
    categories = rng.choice([-1, 1], (24, 64))
    projections = (asked @ categories + rng.normal(size=(60, 64))).astype(np.float32)
    return projections, pack(stored @ categories), asked, stored


@pytest.mark.parametrize("kind", ["hamming", "asymmetric"])
def test_no_value_depends_on_how_queries_are_blocked(larger, kind):
    projections, database, asked, stored = larger

    def measured(rows):
        ranking = (
            HammingRanking(pack(projections[rows]), database)
            if kind == "hamming"
            else AsymmetricRanking(projections[rows], database)
        )
        return evaluate(ranking, asked[rows], stored, ["map", "map_ties", "ndcg"])

    together = measured(slice(None))
    for query in range(0, 60, 7):
        alone = measured(slice(query, query + 1))
        for metric, values in together.items():
            assert alone[metric].tobytes() == values[query : query + 1].tobytes()


@pytest.mark.parametrize("kind", ["hamming", "asymmetric"])
def test_map_of_many_items_is_that_of_a_sort_per_query(larger, kind):
    projections, database, asked, stored = larger
    codes = pack(projections)
    ranking = (
        HammingRanking(codes, database)
        if kind == "hamming"
        else AsymmetricRanking(projections, database)
    )
    left = unpack(codes, np.float64) if kind == "hamming" else projections.astype(np.float64)
    scores = left @ unpack(database, np.float64).T
    relevant = asked.astype(np.intp) @ stored.T > 0
    expected = []
    for row, hits in zip(scores, relevant, strict=True):
        ranks = np.flatnonzero(hits[np.argsort(-row, kind="stable")]) + 1
        expected.append(np.mean(np.arange(1, len(ranks) + 1) / ranks) if len(ranks) else 0.0)
    found = evaluate(ranking, asked, stored)["map"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    assert mean_average_precision(ranking, asked, stored) == pytest.approx(np.mean(expected))


@st.composite
def repeated(draw):
    """Items that repeat a few pairs of code and labels, in any order."""
    n_bytes, n_kinds = draw(st.sampled_from([1, 5])), draw(st.integers(1, 5))
    # Opposite bits and few values of projections, so that different codes tie.
    codes = draw(hnp.arrays(np.uint8, (3, n_bytes), elements=st.sampled_from([0, 85, 170, 255])))
    codes = codes[draw(hnp.arrays(np.intp, n_kinds, elements=st.integers(0, 2)))]
    labels = draw(hnp.arrays(np.uint8, (n_kinds, 70), elements=st.integers(0, 1), fill=st.just(0)))
    kinds = draw(hnp.arrays(np.intp, st.integers(0, 40), elements=st.integers(0, n_kinds - 1)))
    projections = draw(
        hnp.arrays(np.float32, (9, 8 * n_bytes), elements=st.sampled_from([-2, 0, 0.25, 1]))
    )
    asked = draw(hnp.arrays(np.uint8, (9, 70), elements=st.integers(0, 1), fill=st.just(0)))
    return projections, codes[kinds], asked, labels[kinds]


def plain_map(levels, asked, stored):
    hits = [plain.shared(asked, stored[item]) > 0 for item in plain.order(levels)]
    return pytest.approx(plain.average_precision(hits), rel=0, abs=1e-14)


@settings(max_examples=100, deadline=None)
@given(repeated())
def test_map_of_repeated_codes_and_labels_is_the_plain_one(problem):
    projections, database, asked, stored = problem
    queries = pack(projections)
    hamming = evaluate(HammingRanking(queries, database), asked, stored)["map"]
    asymmetric = evaluate(AsymmetricRanking(projections, database), asked, stored)["map"]
    for query in range(len(queries)):
        distances = [plain.distance(queries[query], item) for item in database]
        costs = [-plain.score(projections[query], item) for item in database]
        assert hamming[query] == plain_map(distances, asked[query], stored)
        assert asymmetric[query] == plain_map(costs, asked[query], stored)


@pytest.mark.parametrize("n_kinds", [2, 8])
def test_items_of_different_codes_that_tie_alternate_as_in_the_database(n_kinds):
    # The first query scores both codes 0, the second prefers 2. Labels of their own make
    # eight kinds of the eight items.
    database = np.array([[1], [2]] * 4, dtype=np.uint8)
    stored = np.hstack([np.array([[1], [0]] * 4), np.eye(8, dtype=int) * (n_kinds == 8)])
    asked = np.eye(1, 9, dtype=int).repeat(2, axis=0)
    ranking = AsymmetricRanking([[0.0] * 8, [0.0] * 6 + [1.0, -1.0]], database)
    assert evaluate(ranking, asked, stored)["map"].tolist() == [
        pytest.approx(plain.average_precision([True, False] * 4)),
        pytest.approx(plain.average_precision([False] * 4 + [True] * 4)),
    ]


@pytest.mark.parametrize("n_relevant", [1, 2, 1_000])
def test_map_stays_accurate_at_the_end_of_a_long_ranking(n_relevant):
    n = 200_000
    database = np.where(np.arange(n) < n_relevant, 0, 1).astype(np.uint8)[:, None]
    stored = (database == 0).astype(np.uint8)
    ranking = AsymmetricRanking([[0.0] * 7 + [1.0]], database)
    (found,) = evaluate(ranking, [[1]], stored)["map"]
    ranks = np.arange(n - n_relevant + 1, n + 1)
    expected = np.mean(np.arange(1, n_relevant + 1) / ranks)
    assert found == pytest.approx(expected, rel=0, abs=1e-12)


@pytest.mark.parametrize("small", [2.0**-3, 2.0**-20, 2.0**-36])
def test_scores_that_differ_in_their_last_bits_only_are_told_apart(small):
    rng = np.random.default_rng(4)
    database = rng.integers(0, 256, (300, 8), dtype=np.uint8)
    projections = rng.integers(-4, 5, (4, 64)) * small
    projections[:, 0] = 1.0
    asked, stored = np.ones((4, 1), np.uint8), rng.integers(0, 2, (300, 1))
    found = evaluate(AsymmetricRanking(projections, database), asked, stored)["map"]
    for query, value in enumerate(found):
        costs = [-plain.score(projections[query], item) for item in database]
        assert value == plain_map(costs, asked[query], stored)


def test_map_of_very_many_distinct_codes_is_that_of_a_sort_per_query():
    rng = np.random.default_rng(6)
    database = rng.integers(0, 256, (70_000, 5), dtype=np.uint8)
    projections = rng.integers(-9, 10, (3, 40))
    asked, stored = np.ones((3, 1), np.uint8), rng.integers(0, 2, (70_000, 1))
    found = evaluate(AsymmetricRanking(projections, database), asked, stored)["map"]
    for costs, value in zip(-projections @ unpack(database, np.int64).T, found, strict=True):
        ranks = np.flatnonzero(stored[np.argsort(costs, kind="stable"), 0]) + 1
        expected = np.mean(np.arange(1, len(ranks) + 1) / ranks)
        assert value == pytest.approx(expected, rel=0, abs=1e-14)


def test_identical_codes_stay_in_database_order_whatever_the_rounding():
    # Sums of thirds round differently in different orders of addition.
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 256, (5, 16), dtype=np.uint8)
    database = codes[rng.integers(0, 5, 3_000)]
    projections = rng.normal(size=(7, 128)) / 3
    asked, stored = np.ones((7, 1), np.uint8), rng.integers(0, 2, (3_000, 1))
    found = evaluate(AsymmetricRanking(projections, database), asked, stored)["map"]
    for query, value in enumerate(found):
        scores = {code.tobytes(): plain.score(projections[query], code) for code in codes}
        costs = [-scores[item.tobytes()] for item in database]
        assert value == plain_map(costs, asked[query], stored)


@pytest.mark.parametrize("scale", [1e-300, 1e-20, 1.0, 1e30, 1e300])
def test_asymmetric_order_does_not_depend_on_the_scale_of_projections(scale):
    rng = np.random.default_rng(3)
    database = rng.integers(0, 256, (40, 4), dtype=np.uint8)
    projections = rng.normal(size=(3, 32))
    stored, asked = rng.integers(0, 2, (40, 1)), np.ones((3, 1))
    plain_scale = evaluate(AsymmetricRanking(projections, database), asked, stored)
    scaled = evaluate(AsymmetricRanking(projections * scale, database), asked, stored)
    assert scaled["map"].tobytes() == plain_scale["map"].tobytes()


def test_projections_of_zero_leave_the_database_in_its_order():
    database = np.array([[1], [2], [3]], dtype=np.uint8)
    found = evaluate(AsymmetricRanking(np.zeros((1, 8)), database), [[1]], [[0], [0], [1]])
    assert found["map"].tolist() == [pytest.approx(1 / 3)]


def test_without_queries_there_is_no_mean():
    ranking = HammingRanking(np.zeros((0, 1), np.uint8), np.zeros((2, 1), np.uint8))
    assert np.isnan(mean_average_precision(ranking, np.zeros((0, 1)), np.ones((2, 1))))


CODES = np.zeros((2, 1), dtype=np.uint8)


@pytest.mark.parametrize(
    ("build", "error", "words"),
    [
        (lambda: HammingRanking(CODES, np.zeros((2, 2), np.uint8)), InputError, "8 bits"),
        (lambda: HammingRanking(CODES.astype(np.int64), CODES), InputError, "query codes"),
        (lambda: HammingRanking(CODES, CODES[0]), InputError, "database codes"),
        (lambda: HammingRanking(CODES, CODES[:, :0]), InputError, "database codes"),
        (lambda: AsymmetricRanking(np.zeros((1, 16)), CODES), InputError, "16 bits"),
        (lambda: AsymmetricRanking(np.zeros(8), CODES), InputError, "projections"),
        (lambda: AsymmetricRanking([["a"] * 8], CODES), InputError, "real numbers"),
        (
            lambda: AsymmetricRanking([[0.0] * 8, [np.inf] + [0.0] * 7], CODES),
            InputError,
            "row 1",
        ),
    ],
)
def test_wrong_codes_and_projections_are_refused(build, error, words):
    with pytest.raises(error, match=words):
        build()


@pytest.mark.parametrize(
    ("asked", "stored", "words"),
    [
        ([[1]], [[1], [0]], "query labels"),
        ([[1], [1]], [1, 0], "database labels"),
        ([[1], [1]], [[1, 0], [0, 1]], "1 categories"),
        ([[1], [1]], [[1], [2]], "row 1"),
        ([[1], [1]], [[1], [np.nan]], "row 1"),
        ([["cat"], ["dog"]], [[1], [0]], "query labels"),
    ],
)
def test_wrong_labels_are_refused(asked, stored, words):
    with pytest.raises(LabelError, match=words):
        evaluate(HammingRanking(CODES, CODES), asked, stored)


@pytest.mark.parametrize(
    "name", ["", "mapp", "map@", "map@0", "map@-1", "precision", "recall", "map_ties@3", "ndcg@x"]
)
def test_a_name_that_is_no_measure_is_refused(name):
    with pytest.raises(ParameterError, match="no measure"):
        evaluate(HammingRanking(CODES, CODES), [[1], [1]], [[1], [1]], [name])
