"""HCFW passes every check, and every check catches the hasher that breaks its promise."""

import numpy as np
import pytest
from scipy import sparse

from omhash import HCFW, checks
from omhash.errors import LabelError, StateError, UnsupportedError


def by_number(names):
    """A vector for each of the checks' categories, from the number in its name."""
    return np.eye(8)[[int(name.split()[-1]) for name in names]]


SETTINGS = {
    "default": HCFW(24),
    "bits as targets": HCFW(24, targets="codes"),
    "published": HCFW.published(24, semantics=by_number),
    "authors' program": HCFW.published(24, semantics=by_number, authors_program=True),
    "calibrated weights": HCFW(24, weights="calibrated"),
    "equal weights": HCFW(24, weights="equal"),
    "Hadamard codes": HCFW(24, category_codes="hadamard"),
    "a kernel": HCFW(24, kernels={"image": 20}),
    "a fixed theta": HCFW(24, theta=2.0),
}


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("setting", SETTINGS)
def test_hcfw_passes(setting, check):
    check(SETTINGS[setting])


class Base(HCFW):
    """The cheapest settings; each class below breaks one promise."""

    def __init__(self, n_bits=16, random_state=0, theta=1.0, weights="equal"):
        super().__init__(n_bits, random_state=random_state, theta=theta, weights=weights)


class WideProjection(Base):
    def project(self, views):
        return super().project(views).astype(np.float64)


class StoresEncodedCodes(Base):
    def item_codes(self, views, *_, **__):
        return self.encode(views)


class CentresTheBatch(Base):
    def project(self, views):
        projection = super().project(views)
        return projection - projection.mean(axis=0)


class MisreadsSparse(Base):
    def project(self, views):
        return super().project(views) + np.float32(any(map(sparse.issparse, views.values())))


class ShiftsWhatIsLeftOut(Base):
    def project(self, views):
        return super().project(views) + np.float32(len(views) < 2)


class InventsAnItem(Base):
    def project(self, views):
        projection = super().project(views)
        return projection if len(projection) else np.zeros((1, self.n_bits), np.float32)


class AnswersUnfitted(Base):
    def encode(self, views):
        return super().encode(views) if hasattr(self, "_model") else np.zeros((1, 1), np.uint8)


class UnseededNoise(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        self.noise_ = np.random.default_rng().standard_normal(self.n_bits).astype(np.float32)
        return super().partial_fit(views, labels, categories=categories)

    def project(self, views):
        return super().project(views) + self.noise_


class ChangesItsParameter(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        self.theta = 2.0
        return super().partial_fit(views, labels, categories=categories)


class IgnoresMatrices(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        if categories is None:
            return super().partial_fit(views, labels)
        return super().partial_fit(views)


class CountsRounds(Base):
    rounds = 0

    def partial_fit(self, views, labels=None, *, categories=None):
        self.rounds += 1
        return super().partial_fit(views, labels, categories=categories)

    def project(self, views):
        return super().project(views) + np.float32(self.rounds)


class RecodesCategories(Base):
    @property
    def category_codes_(self):
        codes = super().category_codes_
        return ~codes if len(codes) > 6 else codes


class RelabelsOldItems(Base):
    def label_codes(self, labels, *, categories=None):
        codes = super().label_codes(labels, categories=categories)
        return ~codes if len(self.categories_) > 6 else codes


class ChangesWhileRefusing(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        super().partial_fit(views, labels, categories=categories)
        if len(self.categories_) > 6:
            raise UnsupportedError("no new categories")
        return self


class GuessesLabels(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        if labels is not None and hasattr(self, "_model"):
            labels = [own or ["category 0"] for own in labels]
        return super().partial_fit(views, labels, categories=categories)


class NamesTheUnlabelled(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        if labels is None:
            labels = [["unlabelled"]] * len(next(iter(views.values())))
        return super().partial_fit(views, labels, categories=categories)


class LearnsMissingAsZero(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        views = {name: np.nan_to_num(np.ma.filled(view, 0)) for name, view in views.items()}
        return super().partial_fit(views, labels, categories=categories)


class NeedsTwoItems(Base):
    def project(self, views):
        projection = super().project(views)
        return projection if len(projection) > 1 else projection * np.float32(np.nan)


class SkipsEmptyRounds(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        if not len(next(iter(views.values()))):
            return self
        return super().partial_fit(views, labels, categories=categories)


class KeepsEveryView(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        self.kept_ = [*getattr(self, "kept_", []), views]
        return super().partial_fit(views, labels, categories=categories)


class StateGrows(Base):
    seen = 0

    def partial_fit(self, views, labels=None, *, categories=None):
        self.seen += len(next(iter(views.values())))
        return super().partial_fit(views, labels, categories=categories)

    def get_state(self):
        return {**super().get_state(), "seen": np.zeros(self.seen)}


class ForgetsNothing(Base):
    def forget(self, *_, **__):
        return self


class HalfAState(Base):
    extra = 0.0

    def partial_fit(self, views, labels=None, *, categories=None):
        self.extra += 1.0
        return super().partial_fit(views, labels, categories=categories)

    def project(self, views):
        return super().project(views) + np.float32(self.extra)


class TupleInState(Base):
    def get_state(self):
        return {**super().get_state(), "names": self.categories_}


class ObjectsInState(Base):
    def get_state(self):
        return {**super().get_state(), "names": np.array(self.categories_, dtype=object)}


class TakesAnyState(Base):
    def set_state(self, state):
        try:
            return super().set_state(state)
        except StateError:
            return self


class WritesIntoViews(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        super().partial_fit(views, labels, categories=categories)
        if isinstance(views["image"], np.ndarray):
            views["image"][0] = 0.0
        return self


class SharesItsState(Base):
    def get_state(self):
        return {**super().get_state(), "signs": self._model.signs}


class KeepsTheInput(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        self.first_ = views["image"]
        return super().partial_fit(views, labels, categories=categories)

    def get_state(self):
        return {**super().get_state(), "first": self.first_.copy()}


class AnyLength(Base):
    def check_parameters(self):
        pass


class IgnoresUnknownModalities(Base):
    def encode(self, views):
        return super().encode({name: views[name] for name in views if name in self.modalities_})


class CountsBeforeItChecks(Base):
    calls = 0

    def partial_fit(self, views, labels=None, *, categories=None):
        self.calls += 1
        return super().partial_fit(views, labels, categories=categories)

    def get_state(self):
        return {**super().get_state(), "calls": self.calls}


class TakesOneText(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        if isinstance(labels, str):
            labels = [[labels]] * len(views["image"])
        return super().partial_fit(views, labels, categories=categories)


class BareError(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        try:
            return super().partial_fit(views, labels, categories=categories)
        except LabelError as error:
            raise TypeError(str(error)) from None


BROKEN = [
    (WideProjection, checks.check_outputs, "project gives float32, not float64"),
    (StoresEncodedCodes, checks.check_item_codes, "a labelled item its label code"),
    (CentresTheBatch, checks.check_batch_independence, "may not depend on its batch"),
    (MisreadsSparse, checks.check_forms_of_views, "views of CSR give what those of float64"),
    (ShiftsWhatIsLeftOut, checks.check_missing_modality, "the same as leaving it out"),
    (InventsAnItem, checks.check_no_rows, "encode of no items"),
    (AnswersUnfitted, checks.check_not_fitted, "encode before the first round: NotFittedError"),
    (UnseededNoise, checks.check_seed, "two clones with one seed learn the same"),
    (ChangesItsParameter, checks.check_seed, "learning changes no parameter"),
    (IgnoresMatrices, checks.check_forms_of_labels, "0/1 matrix .* teaches as names do"),
    (CountsRounds, checks.check_split_of_rounds, "teach what they teach in one"),
    (RecodesCategories, checks.check_new_categories, "codes of old categories never change"),
    (RelabelsOldItems, checks.check_new_categories, "label_codes of old labels never change"),
    (ChangesWhileRefusing, checks.check_new_categories, "refuses new categories is unchanged"),
    (GuessesLabels, checks.check_unlabelled_items, "teach(es)? nothing"),
    (NamesTheUnlabelled, checks.check_unlabelled_start, "without labels there are no categories"),
    (LearnsMissingAsZero, checks.check_missing_in_rounds, "round without the modality teaches"),
    (NeedsTwoItems, checks.check_single_item, "one item has finite projections"),
    (SkipsEmptyRounds, checks.check_empty_round, "an empty round later on: was accepted"),
    (KeepsEveryView, checks.check_bounded_memory, "more bytes for each item"),
    (StateGrows, checks.check_bounded_memory, "the state grew"),
    (ForgetsNothing, checks.check_forgetting, "one that never saw them"),
    (HalfAState, checks.check_state_round_trip, "is the same model: project differs"),
    (TupleInState, checks.check_state_is_plain, "names of the state is .*tuple"),
    (ObjectsInState, checks.check_state_is_plain, "names of the state is .*ndarray"),
    (TakesAnyState, checks.check_foreign_state, "was accepted, and StateError is promised"),
    (WritesIntoViews, checks.check_inputs_are_kept, "changed its input 'image'"),
    (SharesItsState, checks.check_nothing_is_shared, "into a state that was given out"),
    (KeepsTheInput, checks.check_nothing_is_shared, "into a round's arrays"),
    (AnyLength, checks.check_n_bits, "n_bits=-8: .*ParameterError"),
    (IgnoresUnknownModalities, checks.check_bad_views, "an unknown modality: was accepted"),
    (CountsBeforeItChecks, checks.check_bad_views, "leaves the model as it was: calls"),
    (TakesOneText, checks.check_bad_labels, "a text in place of labels: was accepted"),
    (BareError, checks.check_bad_labels, "raised TypeError .*, not LabelError"),
]


@pytest.mark.parametrize(
    ("broken", "check", "promise"), BROKEN, ids=[case[0].__name__ for case in BROKEN]
)
def test_a_broken_promise_is_caught(broken, check, promise):
    with pytest.raises(AssertionError, match=promise):
        check(broken())


def test_every_check_has_caught_something():
    public = {getattr(checks, name) for name in checks.__all__ if name.startswith("check_")}
    public.remove(checks.check_hasher)
    assert set(checks.CHECKS) == public == {case[1] for case in BROKEN}


def test_check_hasher_runs_the_checks():
    with pytest.raises(AssertionError, match="project gives float32"):
        checks.check_hasher(WideProjection())


class OnlyFirstCategories(Base):
    def partial_fit(self, views, labels=None, *, categories=None):
        known = set(self.categories_) if hasattr(self, "_model") else set()
        if (
            known
            and labels is not None
            and not known.issuperset(name for own in labels for name in own)
        ):
            raise UnsupportedError("the categories are those of the first round")
        return super().partial_fit(views, labels, categories=categories)


@pytest.mark.parametrize("check", [checks.check_new_categories, checks.check_state_round_trip])
def test_a_hasher_may_refuse_new_categories(check):
    check(OnlyFirstCategories())


class DeclaresTheBatch(CentresTheBatch):
    depends_on_batch = True


class DeclaresRounds(CountsRounds):
    depends_on_rounds = True


def test_a_declared_dependence_is_accepted():
    checks.check_batch_independence(DeclaresTheBatch())
    checks.check_missing_modality(DeclaresTheBatch())
    checks.check_split_of_rounds(DeclaresRounds())


def test_the_hasher_itself_stays_unfitted():
    hasher = Base()
    checks.check_state_round_trip(hasher)
    assert not hasattr(hasher, "_model")
