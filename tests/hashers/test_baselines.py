"""What the methods of the paper do with a stream, beyond what the checks ask of every hasher."""

import numpy as np
import pytest
from hcfw_items import Items

from omhash.codes import hamming, pack, unpack
from omhash.errors import ParameterError, UnsupportedError
from omhash.hashers import BY_NAME, FOMH, OASIS, ODMVH, OMHDQ, SAPMH
from omhash.hashers.named import AUTHORS_PARAMETERS, METHODS

LEARNED = {
    "OASIS": OASIS(32, random_state=0),
    "OASIS, authors": OASIS(32, random_state=0, authors_program=True),
    "OASIS + FW": OASIS(32, random_state=0, weights="published"),
    "FOMH": FOMH(32, random_state=0, kernels=60),
    "FOMH, precision": FOMH(32, random_state=0, kernels=60, weights="precision"),
    "FOMH, authors": FOMH(32, random_state=0, kernels=60, authors_program=True),
    "OMH-DQ": OMHDQ(32, random_state=0, kernels=60),
    "OMH-DQ, calibrated": OMHDQ(32, random_state=0, kernels=60, weights="calibrated"),
    "OMH-DQ, authors": OMHDQ(32, random_state=0, kernels=60, authors_program=True),
    "SAPMH": SAPMH(32, random_state=0, kernels=60, n_latent=16),
    "SAPMH, authors": SAPMH(32, random_state=0, kernels=60, n_latent=16, authors_program=True),
    "ODMVH": ODMVH(32, random_state=0, kernels=60, n_stages=1),
}
every_method = pytest.mark.parametrize("name", LEARNED)


def fresh(name):
    return type(LEARNED[name])(**LEARNED[name].get_params(deep=False))


def share_right(hasher, asked, stored, codes):
    """Share of the ten stored items nearest to queries that have a category of the query."""
    nearest = np.argsort(hamming(hasher.encode(asked.views), codes), axis=1, kind="stable")[:, :10]
    shared = asked.table.astype(int) @ stored.table.T > 0
    return np.take_along_axis(shared, nearest, axis=1).mean()


@every_method
@pytest.mark.parametrize("modalities", [1, 3])
def test_items_of_a_querys_categories_are_found(name, modalities):
    first, second = Items(200, modalities), Items(200, modalities, seed=2)
    hasher = fresh(name)
    for items in (first, second):
        hasher.partial_fit(items.views, items.table, categories=items.names)
    codes = hasher.item_codes(second.views, second.table, categories=second.names)

    asked = Items(60, modalities, seed=1)
    assert share_right(hasher, asked, second, codes) > 0.75


@pytest.mark.parametrize("name", ["OASIS", "FOMH", "OMH-DQ", "SAPMH", "ODMVH"])
def test_items_and_queries_without_a_modality_are_found_by_the_others(name):
    items, asked = Items(300, 3), Items(60, 3, seed=1)
    for hole, text in enumerate(items.views.values()):
        text[hole::7] = np.nan
    hasher = fresh(name).partial_fit(items.views, items.labels)
    codes = hasher.item_codes(items.views, items.labels)
    del asked.views["text"]

    assert share_right(hasher, asked, items, codes) > 0.7


def test_fomh_refuses_categories_that_its_first_round_did_not_name():
    items = Items(100)
    few = items.table.copy()
    few[:, 3:] = 0
    hasher = FOMH(16, random_state=0, kernels=30)
    hasher.partial_fit(items.views, few, categories=items.names)
    hasher.partial_fit(items.views, items.table, categories=items.names)  # all were named

    with pytest.raises(UnsupportedError, match="'new' was none of them"):
        hasher.partial_fit(items.views, [["new"]] * 100)


@pytest.mark.parametrize("name", ["OMH-DQ", "SAPMH"])
def test_a_batch_method_takes_new_categories_for_it_starts_anew(name):
    early, late = Items(150, categories=2), Items(150, seed=2, first=2)
    hasher = fresh(name)
    for items in (early, late):
        hasher.partial_fit(items.views, items.labels)

    assert hasher.categories_ == tuple(late.names)
    asked = Items(60, seed=1, first=2)
    assert share_right(hasher, asked, late, hasher.encode(late.views)) > 0.7


@pytest.mark.parametrize("name", ["FOMH", "OMH-DQ", "SAPMH"])
def test_methods_without_codes_of_categories_say_so(name):
    items = Items(60)
    hasher = fresh(name).partial_fit(items.views, items.labels)

    with pytest.raises(UnsupportedError, match="categories have none"):
        _ = hasher.category_codes_
    with pytest.raises(UnsupportedError, match="use item_codes or encode"):
        hasher.label_codes(items.labels)


def test_oasis_keeps_related_categories_near():
    items = Items(200)
    close = {"c0": [1.0, 0, 0, 0.05], "c1": [1.0, 0, 0, -0.05]}
    others = {"c2": [0, 1.0, 0, 0], "c3": [0, 0, 1.0, 0], "c4": [0, 0, 0, 1.0]}
    vectors = {name: np.array(vector, dtype=float) for name, vector in (close | others).items()}
    hasher = OASIS(
        64, random_state=0, semantics=lambda names: np.array([vectors[n] for n in names])
    )
    codes = hasher.partial_fit(items.views, items.labels).category_codes_
    place = {name: row for row, name in enumerate(hasher.categories_)}
    distances = hamming(codes, codes)

    apart = [distances[place["c0"], place[name]] for name in others]
    assert distances[place["c0"], place["c1"]] < min(apart) / 2


def test_the_code_of_a_labelled_item_follows_its_labels_not_its_views():
    items = Items(200)
    hasher = OASIS(32, random_state=0).partial_fit(items.views, items.labels)
    strange = {name: 0.1 * view[::-1] for name, view in items.views.items()}

    codes = unpack(hasher.item_codes(items.views, items.labels))
    assert np.mean(codes == unpack(hasher.item_codes(strange, items.labels))) > 0.99


def test_the_authors_items_have_the_codes_that_learning_left_them():
    items = Items(120)
    hasher = OASIS(16, random_state=0, authors_program=True)
    hasher.partial_fit(items.views, items.labels)
    learned = hasher.get_state()["round_codes"]

    assert np.array_equal(hasher.item_codes(items.views, items.labels), learned)
    part = hasher.item_codes(items.rows(slice(50)), items.labels[:50])
    assert np.mean(unpack(part) == unpack(learned[:50])) > 0.9


@pytest.mark.parametrize("rule", ["precision", "calibrated"])
def test_fine_grained_weights_trust_the_better_modality(rule):
    items, asked = Items(400, 2, noise=0.2), Items(200, 2, seed=1, noise=0.2)
    rng = np.random.default_rng(0)
    for own in (items, asked):
        own.views["text"] = 8.0 * rng.standard_normal(own.views["text"].shape)
    found = {}
    for weights in ("equal", rule):
        hasher = OASIS(32, random_state=0, weights=weights).partial_fit(items.views, items.labels)
        stored = unpack(hasher.item_codes(asked.views, asked.labels))
        found[weights] = np.mean(unpack(hasher.encode(asked.views)) == stored)

    assert found[rule] > found["equal"] - (0 if rule == "precision" else 0.02)


def test_published_weights_are_those_of_the_batch():
    items = Items(200)
    for method in (OASIS, FOMH, OMHDQ):
        hasher = method(32, random_state=0, weights="published").partial_fit(
            items.views, items.labels
        )
        alone = np.vstack([hasher.project(items.rows([row])) for row in range(40)])
        assert hasher.depends_on_batch
        assert not np.allclose(alone, hasher.project(items.views)[:40])


def test_odmvh_takes_more_bits_into_use_and_old_codes_stay_searchable():
    first, later = Items(200, categories=2), Items(200, seed=2, first=2)
    hasher = ODMVH(32, random_state=0, buffer_size=100, kernels=None, tolerance=0.01)
    hasher.partial_fit(first.views)
    old = hasher.encode(first.views)
    in_use = hasher.n_bits_in_use_
    directions = hasher.get_state()["directions"][:, :in_use]
    assert 0 < in_use < 32
    assert not np.unpackbits(old, axis=1)[:, in_use:].any()

    hasher.partial_fit(later.views)

    assert hasher.n_bits_in_use_ > in_use
    assert np.array_equal(hasher.get_state()["directions"][:, :in_use], directions)
    again = unpack(hasher.encode(first.views))[:, :in_use]
    assert np.mean(again == unpack(old)[:, :in_use]) > 0.9
    asked = Items(60, categories=2, seed=3)
    assert share_right(hasher, asked, first, old) > 0.75


def test_odmvh_is_updated_only_when_its_buffer_is_full():
    items = Items(100)
    hasher = ODMVH(16, random_state=0, buffer_size=150).partial_fit(items.views)
    before = hasher.hash_functions_["image"]

    hasher.partial_fit(items.views)
    assert np.array_equal(hasher.hash_functions_["image"], before)
    hasher.partial_fit(items.views)
    assert not np.array_equal(hasher.hash_functions_["image"], before)


def test_the_authors_sapmh_needs_modalities_of_one_width():
    items = Items(80)
    hasher = SAPMH(16, random_state=0, kernels=None, n_latent=8, authors_program=True)
    hasher.partial_fit(items.views, items.labels)

    with pytest.raises(UnsupportedError, match="as many features"):
        hasher.encode(items.views)


def test_every_method_can_be_made_by_its_name():
    def source():
        return lambda names: np.eye(9)[: len(names)]

    for name, make in METHODS.items():
        hasher = make(24, 3, source)
        hasher.check_parameters()
        assert (hasher.n_bits, hasher.random_state) == (24, 3), name
    for methods in AUTHORS_PARAMETERS.values():
        for name, parameters in methods.items():
            BY_NAME[name](16, **parameters).check_parameters()


@pytest.mark.parametrize(
    "wrong", [OASIS(alpha=0), FOMH(n_iterations=0), OMHDQ(kernels=-1), SAPMH(n_latent=2.5)]
)
def test_a_wrong_parameter_is_refused(wrong):
    items = Items(20)
    with pytest.raises(ParameterError, match=type(wrong).__name__):
        wrong.partial_fit(items.views, items.labels)


def test_codes_of_projections_are_those_of_encode():
    items = Items(90)
    for name in ("OASIS", "FOMH", "OMH-DQ", "SAPMH", "ODMVH"):
        hasher = fresh(name).partial_fit(items.views, items.labels)
        assert np.array_equal(hasher.encode(items.views), pack(hasher.project(items.views)))
