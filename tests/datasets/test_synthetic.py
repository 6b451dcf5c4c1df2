import numpy as np
import pytest
from dataset_files import dense
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from omhash.datasets import synthetic
from omhash.errors import ParameterError


@given(
    n_items=st.integers(1, 40),
    n_categories=st.integers(1, 9),
    correlation=st.floats(0, 1),
    drift=st.floats(0, 1),
    noise=st.floats(0, 5),
    seed=st.integers(0, 5),
)
@settings(max_examples=60, deadline=None)
def test_form_and_determinism(n_items, n_categories, correlation, drift, noise, seed):
    first, second = (
        synthetic.make(
            n_items,
            n_categories,
            modalities={"sound": 5, "text": 12},
            sparse_modalities=["text"],
            correlation=correlation,
            labels_per_item=1,
            drift=drift,
            noise=noise,
            seed=seed,
        )
        for _ in range(2)
    )
    assert first.views["sound"].shape == (n_items, 5)
    assert isinstance(first.views["text"], sparse.csr_array)
    assert first.views["text"].shape == (n_items, 12)
    assert first.labels.shape == (n_items, n_categories)
    assert first.labels.any(axis=1).all()
    assert len(first.category_vectors) == n_categories
    assert np.isfinite(first.views["sound"]).all()
    np.testing.assert_array_equal(first.labels, second.labels)
    for modality, view in first.views.items():
        np.testing.assert_array_equal(dense(view), dense(second.views[modality]))


def test_seed_matters():
    assert (synthetic.make(seed=1).labels != synthetic.make(seed=2).labels).any()


def test_correlation_makes_a_theme_occur_together():
    def together(correlation):
        data = synthetic.make(4000, correlation=correlation)
        r = np.corrcoef(data.labels.T.astype(float))
        return np.mean([r[0, 1], r[2, 3], r[4, 5], r[6, 7]]), np.mean([r[0, 2], r[1, 6], r[3, 5]])

    theme, others = together(0.9)
    assert theme > 0.3
    assert abs(others) < 0.1
    assert abs(together(0.0)[0]) < 0.1


@pytest.mark.parametrize("mean", [1.5, 3.0])
def test_labels_per_item(mean):
    counts = synthetic.make(4000, 12, labels_per_item=mean).labels.sum(axis=1)
    assert mean <= counts.mean() < mean + 0.3


@pytest.mark.parametrize("modality", ["image", "text"])
def test_noise_of_one_modality_hides_its_categories(modality):
    def separation(noise):
        data = synthetic.make(2000, 4, labels_per_item=1, noise=noise, sparse_modalities=["text"])
        only = data.labels.sum(axis=1) == 1
        view, labels = dense(data.views[modality])[only].astype(float), data.labels[only]
        means = np.array([view[labels[:, j] == 1].mean(axis=0) for j in range(4)])
        nearest = ((view[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)
        return (nearest == labels.argmax(axis=1)).mean()

    other = {"image": "text", "text": "image"}[modality]
    clear, noisy = ({modality: amount, other: 1.0} for amount in (0.1, 300.0))
    assert separation(clear) > 0.9
    assert separation(noisy) < 0.6


def test_drift_moves_the_patterns():
    def moved(drift):
        data = synthetic.make(4000, 3, labels_per_item=1, noise=0.1, drift=drift)
        mine = data.views["image"][data.labels.tolist().index([1, 0, 0]) :]
        rows = data.views["image"][(data.labels == [1, 0, 0]).all(axis=1)]
        assert len(mine) > 100
        early, late = rows[:50].mean(axis=0), rows[-50:].mean(axis=0)
        return np.linalg.norm(early - late) / np.linalg.norm(early)

    assert moved(0.0) < 0.1
    assert moved(1.0) > 0.8


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_items": 0},
        {"n_categories": 0},
        {"modalities": {}},
        {"modalities": {"image": 0}},
        {"noise": -1},
        {"noise": {"image": 1.0}},
        {"correlation": 1.1},
        {"labels_per_item": 0},
        {"labels_per_item": 9},
        {"drift": -0.1},
        {"sparse_modalities": ["sound"]},
    ],
)
def test_bad_parameters(parameters):
    with pytest.raises(ParameterError, match=next(iter(parameters))):
        synthetic.make(**parameters)
