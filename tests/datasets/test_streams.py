from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from omhash.datasets import SCENARIOS, LabelledData, iid, non_overlap, overlap, synthetic
from omhash.datasets.mirflickr import MIRFLICKR
from omhash.datasets.nuswide import NUSWIDE
from omhash.errors import ParameterError


def labelled(labels, name="test", categories=None) -> LabelledData:
    labels = np.array(labels, dtype=np.uint8)
    names = categories or tuple(f"c{j}" for j in range(labels.shape[1]))
    return LabelledData(name, {"image": np.zeros((len(labels), 1))}, labels, names)


@st.composite
def labelled_data(draw):
    n_items, n_categories = draw(st.integers(2, 60)), draw(st.integers(1, 10))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return labelled(rng.random((n_items, n_categories)) < draw(st.sampled_from([0.1, 0.3])))


@st.composite
def groups_of(draw, n_categories):
    columns = draw(st.permutations(range(n_categories)))
    kept = columns[: draw(st.integers(1, n_categories))]
    cuts = sorted(draw(st.sets(st.integers(1, len(kept) - 1)))) if len(kept) > 1 else []
    return [kept[a:b] for a, b in zip([0, *cuts], [*cuts, len(kept)], strict=True)]


def plain_members(data, groups, scenario):
    """The items of each round, by reading the rule word for word."""
    rounds = [[] for _ in groups]
    for item, row in enumerate(data.labels):
        mine = set(np.flatnonzero(row).tolist())
        allowed = set()
        for number, group in enumerate(groups):
            allowed = allowed | set(group) if scenario == "overlap" else set(group)
            if mine and mine <= allowed:
                rounds[number].append(item)
                break
    return rounds


@pytest.mark.parametrize("scenario", ["overlap", "non-overlap"])
@given(data=labelled_data(), seed=st.integers(0, 9), choice=st.data())
@settings(max_examples=150, deadline=None)
def test_incremental_against_the_rule(scenario, data, seed, choice):
    groups = choice.draw(groups_of(len(data.categories)))
    members = plain_members(data, groups, scenario)
    assume(any(members))
    stream = SCENARIOS[scenario](data, groups=groups, seed=seed)
    assert (stream.scenario, stream.seed) == (scenario, seed)
    filled = [number for number, items in enumerate(members) if items]
    assert len(stream.rounds) == len(filled)
    for round_, number in zip(stream.rounds, filled, strict=True):
        assert sorted([*round_.train, *round_.queries]) == members[number]
        allowed = [column for group in groups[: number + 1] for column in group]
        assert round_.categories.tolist() == allowed
        n = len(members[number])
        assert len(round_.train) >= 1
        assert len(round_.queries) == (0 if n == 1 else max(1, int(n / 10 + 0.5)))


@given(
    data=labelled_data(),
    seed=st.integers(0, 9),
    round_size=st.integers(1, 70),
    share=st.floats(0, 1, exclude_max=True),
)
def test_iid_is_the_documented_draw(data, seed, round_size, share):
    n_queries = 1 + int(share * (len(data) - 1))
    stream = iid(data, round_size=round_size, n_queries=n_queries, seed=seed)
    p = np.random.default_rng(seed).permutation(len(data))
    rest = p[n_queries:]
    assert len(stream.rounds) == -(-len(rest) // round_size)
    for number, round_ in enumerate(stream.rounds):
        assert round_.queries.tolist() == p[:n_queries].tolist()
        expected = rest[number * round_size : (number + 1) * round_size]
        assert round_.train.tolist() == expected.tolist()
        assert round_.categories.tolist() == list(range(len(data.categories)))


@pytest.mark.parametrize("scenario", SCENARIOS)
@given(data=labelled_data(), seed=st.integers(0, 5))
@settings(max_examples=40, deadline=None)
def test_same_seed_same_stream(scenario, data, seed):
    assume(data.labels.any())
    make = SCENARIOS[scenario]

    def rounds(seed):
        try:
            stream = make(data, seed=seed)
        except ParameterError:  # the drawn groups may leave no item a round
            return None
        return [
            [r.train.tolist(), r.queries.tolist(), r.categories.tolist()] for r in stream.rounds
        ]

    assert rounds(seed) == rounds(seed)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_another_seed_another_stream(scenario):
    data = synthetic.make(n_items=200)
    first, second = (SCENARIOS[scenario](data, seed=seed) for seed in (1, 2))
    assert first.rounds[0].queries.tolist() != second.rounds[0].queries.tolist()


@pytest.mark.parametrize(
    ("n_items", "sizes", "n_queries"),
    [
        (6000, [1000] * 5, 1000),
        (100_000, [19_600] * 5, 2000),
        (12, [2] * 5, 2),
        (2, [1], 1),
    ],
)
def test_iid_defaults(n_items, sizes, n_queries):
    stream = iid(labelled(np.ones((n_items, 1))))
    assert [len(r.train) for r in stream.rounds] == sizes
    assert len(stream.rounds[0].queries) == n_queries


@pytest.mark.parametrize(
    ("published", "n_items", "last"),
    [
        (MIRFLICKR, 20_015, 15),
        (NUSWIDE, 195_834, 3_834),
    ],
)
def test_iid_defaults_of_the_paper(published, n_items, last):
    shape = (n_items, len(published.categories))
    data = labelled(np.zeros(shape), published.name, published.categories)
    sizes = [len(r.train) for r in iid(data).rounds]
    assert sizes == [published.round_size] * (len(sizes) - 1) + [last]
    assert len(iid(data).rounds[0].queries) == 2000
    few = replace(data, views={"image": np.zeros((60, 1))}, labels=data.labels[:60])
    assert [len(r.train) for r in iid(few).rounds] == [10] * 5


def one_label_each(published, counts):
    """Data in which column j is the only label of counts[j] items."""
    labels = np.repeat(np.eye(len(counts), dtype=np.uint8), counts, axis=0)
    return labelled(labels, published.name, published.categories)


def test_mirflickr_groups_go_by_falling_frequency():
    counts = 2 + np.random.default_rng(0).permutation(24)
    order = np.argsort(-counts).tolist()
    data = one_label_each(MIRFLICKR, counts)
    assert [r.categories.tolist() for r in overlap(data).rounds] == [
        order[:last] for last in (1, 4, 6, 8, 10, 12, 14, 17, 20, 24)
    ]
    ranks = [5, 1, 2, 3, 4, *range(6, 12), *range(12, 25)]
    last = non_overlap(data).rounds[-1].categories.tolist()
    assert last == [order[rank - 1] for rank in ranks]
    assert [len(r.categories) for r in non_overlap(data).rounds] == [1, 3, 11, 24]


def test_nuswide_groups_go_by_column():
    counts = 2 + np.random.default_rng(0).permutation(21)
    data = one_label_each(NUSWIDE, counts)
    sizes = [len(r.categories) for r in overlap(data).rounds]
    assert sizes == [*range(1, 20), 21]
    assert overlap(data).rounds[-1].categories.tolist() == list(range(21))
    columns = [0, 2, 4, 1, 9, 3, 5, 6, 7, 8, *range(10, 21)]
    assert non_overlap(data).rounds[-1].categories.tolist() == columns
    assert [len(r.categories) for r in non_overlap(data).rounds] == [1, 2, 3, 5, 8, 10, 13, 21]


def test_groups_of_other_data():
    counts = np.array([3, 9, 5, 7, 4, 8, 2, 6, 10, 11])
    data = labelled(np.repeat(np.eye(10), counts, axis=0))
    falling = np.argsort(-counts).tolist()
    rounds = overlap(data).rounds
    assert len(rounds) == 8
    assert rounds[-1].categories.tolist() == falling
    assert [len(r.categories) for r in rounds] == [2, 4, 5, 6, 7, 8, 9, 10]
    drawn = {tuple(non_overlap(data, seed=seed).rounds[-1].categories) for seed in range(5)}
    assert len(drawn) == 5
    assert all(sorted(columns) == list(range(10)) for columns in drawn)
    assert len(non_overlap(data).rounds) == 4


def test_equally_frequent_categories_go_by_column():
    data = labelled(np.repeat(np.eye(3), [2, 2, 2], axis=0))
    assert overlap(data).rounds[-1].categories.tolist() == [0, 1, 2]


@pytest.mark.parametrize("scenario", ["overlap", "non-overlap"])
def test_naming_the_default_groups_changes_nothing(scenario):
    data = synthetic.make(n_items=200)
    default = SCENARIOS[scenario](data, seed=3)
    ends = [len(r.categories) for r in default.rounds]
    columns = default.rounds[-1].categories.tolist()
    groups = [columns[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    named = SCENARIOS[scenario](data, groups=groups, seed=3)
    for first, second in zip(default.rounds, named.rounds, strict=True):
        assert first.train.tolist() == second.train.tolist()
        assert first.queries.tolist() == second.queries.tolist()


def test_a_group_without_items_makes_no_round():
    data = labelled([[1, 0, 0], [1, 0, 0], [1, 1, 1], [0, 1, 1]])
    stream = overlap(data, groups=[[0], [1], [2]])
    assert [r.categories.tolist() for r in stream.rounds] == [[0], [0, 1, 2]]


@pytest.mark.parametrize("scenario", ["overlap", "non-overlap"])
@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([], "empty"),
        ([[0], []], r"groups\[1\] is empty"),
        ([[0], [8]], "from 0 to 7"),
        ([[-1]], "from 0 to 7"),
        ([[0.5]], "whole number"),
        ([[True]], "whole number"),
        ([["category 0"]], "whole number"),
        ([[0, 1], [1]], "category 1 is there twice"),
    ],
)
def test_bad_groups(scenario, groups, told):
    with pytest.raises(ParameterError, match=told):
        SCENARIOS[scenario](synthetic.make(n_items=30), groups=groups)


@pytest.mark.parametrize("scenario", ["overlap", "non-overlap"])
def test_no_round_at_all(scenario):
    with pytest.raises(ParameterError, match="no round"):
        SCENARIOS[scenario](labelled(np.zeros((5, 3))))


@pytest.mark.parametrize("seed", [-1, 1.5, None, "1", True])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_bad_seed(scenario, seed):
    with pytest.raises(ParameterError, match="seed"):
        SCENARIOS[scenario](synthetic.make(n_items=30), seed=seed)


@pytest.mark.parametrize(
    "parameters",
    [{"round_size": 0}, {"round_size": 2.0}, {"n_queries": 0}, {"n_queries": 30}],
)
def test_bad_sizes(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        iid(synthetic.make(n_items=30), **parameters)


def test_one_item_makes_no_stream():
    with pytest.raises(ParameterError, match="two items"):
        iid(labelled([[1]]))
