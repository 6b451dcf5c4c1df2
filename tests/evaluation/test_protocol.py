import numpy as np
import pytest
from scipy import sparse
from tiny_hasher import TinyHasher

from omhash.codes import pack
from omhash.datasets.base import LabelledData, Round, Stream
from omhash.errors import ParameterError
from omhash.evaluation import (
    AsymmetricRanking,
    HammingRanking,
    evaluate,
    mean_average_precision,
    rounds,
    run,
)


@pytest.fixture
def stream():
    """Three rounds; categories b and c come late; the last round asks nothing."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (40, 3), dtype=np.uint8)
    labels[5] = [0, 1, 0]  # without a label in its round, where only category a is allowed
    data = LabelledData(
        name="forty",
        views={
            "image": rng.normal(size=(40, 6)),
            "text": sparse.csr_array(rng.integers(0, 2, (40, 9)).astype(np.float64)),
        },
        labels=labels,
        categories=("a", "b", "c"),
    )
    rounds = (
        Round(train=np.arange(10), queries=np.arange(30, 35), categories=np.array([0])),
        Round(train=np.arange(10, 20), queries=np.arange(35, 40), categories=np.array([0, 2])),
        Round(
            train=np.arange(20, 30), queries=np.arange(0, dtype=np.intp), categories=np.arange(3)
        ),
    )
    return Stream(data=data, scenario="overlap", rounds=rounds, seed=7)


class Watched(TinyHasher):
    """Notes what it is given to learn."""

    def partial_fit(self, views, labels=None, *, categories=None):
        self.seen_ = [*getattr(self, "seen_", []), (views, labels, categories)]
        return super().partial_fit(views, labels, categories=categories)


def rows(view):
    return view.toarray() if sparse.issparse(view) else view


def test_a_round_is_learned_with_its_items_and_its_allowed_categories_only(stream):
    hasher = Watched()
    run(hasher, stream)
    assert len(hasher.seen_) == 3
    for (views, labels, categories), this in zip(hasher.seen_, stream.rounds, strict=True):
        assert list(categories) == [stream.data.categories[c] for c in this.categories]
        assert np.array_equal(labels, stream.data.labels[this.train][:, this.categories])
        for name, view in stream.data.views.items():
            assert np.array_equal(rows(views[name]), rows(view)[this.train])


def test_queries_are_measured_against_all_items_stored_so_far(stream):
    metrics = ["map", "recall@3", "precision_within@4"]
    record = run(TinyHasher(), stream, metrics=metrics)
    hasher, data = TinyHasher(), stream.data
    stored = np.zeros((0, 2), dtype=np.uint8)
    for this, result in zip(stream.rounds[:2], record.rounds[:2], strict=True):
        names = [data.categories[column] for column in this.categories]
        labels = data.labels[:, this.categories]
        train = {name: view[this.train] for name, view in data.views.items()}
        hasher.partial_fit(train, labels[this.train], categories=names)
        stored = np.vstack([stored, hasher.item_codes(train, labels[this.train], categories=names)])
        projections = hasher.project(
            {name: view[this.queries] for name, view in data.views.items()}
        )
        known = np.concatenate([r.train for r in stream.rounds[: result.number]])
        for ranking, found in (
            (HammingRanking(pack(projections), stored), result.hamming),
            (AsymmetricRanking(projections, stored), result.asymmetric),
        ):
            values = evaluate(ranking, labels[this.queries], labels[known], metrics)
            assert found == {name: value.mean() for name, value in values.items()}
        assert result.n_database == len(known)
        assert (result.n_train, result.n_queries) == (10, 5)
        assert result.n_categories == len(names)
    assert record.rounds[0].hamming["map"] > 0


def test_a_round_without_queries_has_no_measure_and_still_learns(stream):
    last = run(TinyHasher(), stream).rounds[-1]
    assert (last.number, last.n_queries, last.n_database) == (3, 0, 30)
    assert np.isnan(last.hamming["map"])
    assert np.isnan(last.asymmetric["map"])
    assert last.encode_seconds == 0


def test_a_round_without_items_leaves_the_database_as_it_is(stream):
    none = np.arange(0, dtype=np.intp)
    first, second, _ = stream.rounds
    empty = Round(train=none, queries=second.queries, categories=first.categories)
    nothing_yet = Stream(stream.data, "overlap", (empty, first, empty))
    before, learned, after = run(TinyHasher(), nothing_yet).rounds
    assert np.isnan(before.hamming["map"])
    assert (before.n_database, learned.n_database, after.n_database) == (0, 10, 10)
    assert after.learn_seconds == 0
    assert not np.isnan(after.hamming["map"])


def test_a_hasher_that_recodes_has_its_whole_database_encoded_anew(stream):
    class Drifting(TinyHasher):
        """Its planes turn with every round, so old codes no longer fit."""

        recodes_database = True

        def partial_fit(self, views, labels=None, *, categories=None):
            super().partial_fit(views, labels, categories=categories)
            for planes in self.planes_.values():
                planes += self.rng_.normal(size=planes.shape)
            return self

        item_codes = None  # stored codes come from encode

    hasher, data = Drifting(), stream.data
    two = Stream(data, "iid", stream.rounds[:2])
    record = run(hasher, two)
    this = two.rounds[1]
    known = np.arange(20)
    stored, asked = (
        hasher.encode({name: view[which] for name, view in data.views.items()})
        for which in (known, this.queries)
    )
    labels = data.labels[:, this.categories]
    expected = mean_average_precision(
        HammingRanking(asked, stored), labels[this.queries], labels[known]
    )
    assert record.rounds[1].hamming["map"] == expected


def test_the_costs_of_a_round_are_recorded(stream):
    hasher = TinyHasher()
    record = run(hasher, stream)
    for result in record.rounds:
        assert result.learn_seconds > 0
        assert result.store_seconds > 0
        assert result.state_bytes == sum(planes.nbytes for planes in hasher.planes_.values())
    peaks = [result.peak_bytes for result in record.rounds]
    assert peaks == sorted(peaks)
    assert 10e6 < peaks[0] < 1e12


def test_a_run_says_what_ran(stream):
    record = run(TinyHasher(n_bits=24), stream)
    assert (record.method, record.n_bits, record.seed) == ("TinyHasher", 24, 7)
    assert (record.data, record.scenario) == ("forty", "overlap")
    assert run(TinyHasher(), stream, method="tiny").method == "tiny"


def test_interrupted_runs_keep_their_finished_rounds(stream):
    class Interrupted(TinyHasher):
        def partial_fit(self, views, labels=None, *, categories=None):
            if hasattr(self, "planes_"):
                raise KeyboardInterrupt
            return super().partial_fit(views, labels, categories=categories)

    kept = []
    with pytest.raises(KeyboardInterrupt):
        run(Interrupted(), stream, progress=kept.append)
    assert [result.number for result in kept[-1].rounds] == [1]

    finished = []
    with pytest.raises(KeyboardInterrupt):
        finished.extend(rounds(Interrupted(), stream))
    assert [result.number for result in finished] == [1]


def test_progress_is_told_after_every_round(stream):
    told = []
    run(TinyHasher(), stream, progress=lambda record: told.append(len(record.rounds)))
    assert told == [1, 2, 3]


@pytest.mark.parametrize(
    ("hasher", "metrics"), [(TinyHasher(), ["nap"]), (TinyHasher(n_bits=12), ["map"])]
)
def test_wrong_parameters_are_refused_before_anything_is_learned(stream, hasher, metrics):
    with pytest.raises(ParameterError):
        run(hasher, stream, metrics=metrics)
    assert not hasattr(hasher, "planes_")


def test_each_rounds_queries_can_be_observed_one_by_one(stream):
    seen = []
    record = run(TinyHasher(), stream, metrics=["map", "recall@3"], observe=seen.append)
    assert [one.number for one in seen] == [1, 2]  # the last round asks nothing
    for one, result, this in zip(seen, record.rounds, stream.rounds, strict=False):
        assert one.queries.tolist() == this.queries.tolist()
        np.testing.assert_array_equal(
            one.query_labels, stream.data.labels[np.ix_(this.queries, this.categories)]
        )
        for name in ("hamming", "asymmetric"):
            again = evaluate(
                one.rankings[name], one.query_labels, one.database_labels, ["map", "recall@3"]
            )
            for metric, values in again.items():
                np.testing.assert_array_equal(one.values[name][metric], values)
                assert getattr(result, name)[metric] == values.mean()
