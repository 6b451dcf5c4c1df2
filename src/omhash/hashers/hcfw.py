"""HCFW: high-level category codes, and fine-grained modality weights for every item."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes, pack
from ..errors import (
    LabelError,
    NotFittedError,
    ParameterError,
    StateError,
    ViewError,
)
from ..learning.heads import Outputs, fused, in_blocks, outputs, shares
from ..learning.labels import LabelCounts, Labels, label_matrix
from ..learning.views import Matrix, Views, n_rows, shaped_views
from .additive import AdditiveHasher, Sums
from .base import (
    BOOLEAN,
    CALLABLE,
    KERNELS,
    NOTHING,
    POSITIVE,
    Constraint,
    Hasher,
    State,
    either,
    one_of,
    read_round,
    refuse_unknown,
)
from .hcfw_learning import HCFWAdder, first_model, summed, with_heads, with_labels
from .hcfw_model import Model

_LEAST_DOUBT = 0.05
"""No category is taken to be more certain than this leaves room for."""


class HCFW(AdditiveHasher):
    """Online multi-modal hashing with codes of categories that never change.

    The default departs from the paper where measurements told it to, and
    `HCFW.published` gives the paper's settings; the page on HCFW explains and measures
    each difference.

    Parameters
    ----------
    n_bits : int
        Length of the codes, a multiple of 8 from 8 to 1024.
    random_state : int, numpy Generator, or None
        Seed of every random draw. A generator is drawn from in turn, so that its results
        cannot be had again from a state; None takes a fresh seed at the first round.
    targets : {"categories", "codes"}
        What each modality's regression predicts: the categories, whose probabilities are
        then turned into the projection that ranks best; or, as in the paper, the code bits.
    category_codes : {"cooccurrence", "semantic", "hadamard"}
        How new categories get their codes. "semantic", the paper's, needs `semantics`.
    weights : {"precision", "published", "calibrated", "equal"}
        How an item's modalities are weighted. "published" depends on the batch.
    theta : float or "auto"
        Penalty of the hash functions; "auto" chooses it for each modality from the stream.
    delta : float, optional
        Penalty of the paper's auxiliary regression U; `theta` where it is not given.
    semantics : callable, optional
        Category names -> vectors, one row a name, as `omhash.semantics` makes them.
    kernels : mapping of modality to number of anchors, optional
        Modalities whose features become RBF similarities to anchors from the first round.
        A pair (number, bandwidth) fixes the bandwidth, which otherwise is the median
        distance between anchors.
    authors_program : bool
        Reproduce the authors' program to the letter: delta is added to every entry of XᵀX,
        and all is float64.

    Attributes
    ----------
    thetas_ : dict of str to float
        The penalty of each modality.
    hash_functions_ : dict of str to array of shape (d, k)
        Of each modality: W; in further columns U or the leverage sketch, where the weights
        need them.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 3, 90)
    >>> views = {"image": np.eye(3)[kind] + 0.1 * rng.standard_normal((90, 3))}
    >>> labels = [[("cat", "dog", "owl")[k]] for k in kind]
    >>> hasher = HCFW(n_bits=16, random_state=0).partial_fit(views, labels)
    >>> hasher.encode(views).shape
    (90, 2)
    >>> bool((hasher.encode(views) == hasher.label_codes(labels)).all())
    True
    """

    constraints: ClassVar[Mapping[str, Constraint]] = {
        **Hasher.constraints,
        "targets": one_of("categories", "codes"),
        "category_codes": one_of("cooccurrence", "semantic", "hadamard"),
        "weights": one_of("precision", "published", "calibrated", "equal"),
        "theta": either(POSITIVE, one_of("auto")),
        "delta": either(NOTHING, POSITIVE),
        "semantics": either(NOTHING, CALLABLE),
        "kernels": either(NOTHING, KERNELS),
        "authors_program": BOOLEAN,
    }

    def __init__(
        self,
        n_bits: int = 64,
        *,
        random_state: int | np.random.Generator | None = None,
        targets: str = "categories",
        category_codes: str = "cooccurrence",
        weights: str = "precision",
        theta: float | str = "auto",
        delta: float | None = None,
        semantics: Callable[[Sequence[str]], NDArray[Any]] | None = None,
        kernels: Mapping[str, int | tuple[int, float]] | None = None,
        authors_program: bool = False,
    ) -> None:
        self.n_bits = n_bits
        self.random_state = random_state
        self.targets = targets
        self.category_codes = category_codes
        self.weights = weights
        self.theta = theta
        self.delta = delta
        self.semantics = semantics
        self.kernels = kernels
        self.authors_program = authors_program

    @classmethod
    def published(
        cls,
        n_bits: int = 64,
        *,
        semantics: Callable[[Sequence[str]], NDArray[Any]],
        random_state: int | np.random.Generator | None = None,
        kernels: Mapping[str, int | tuple[int, float]] | None = None,
        authors_program: bool = False,
    ) -> Self:
        """The paper's settings: semantic codes, bits as targets, θ = δ = 1, batch weights."""
        return cls(
            n_bits,
            random_state=random_state,
            targets="codes",
            category_codes="semantic",
            weights="published",
            theta=1.0,
            delta=1.0,
            semantics=semantics,
            kernels=kernels,
            authors_program=authors_program,
        )

    @property
    def depends_on_batch(self) -> bool:
        """Whether an item's code depends on its batch: with the paper's weights."""
        return self.weights == "published"

    def check_parameters(self) -> None:
        """Raise `ParameterError` where parameters are wrong or do not go together."""
        super().check_parameters()
        if self.authors_program and (self.targets, self.weights) != ("codes", "published"):
            raise ParameterError(
                'authors_program=True goes with targets="codes" and weights="published": '
                "use HCFW.published(..., authors_program=True)"
            )

    @property
    def modalities_(self) -> dict[str, int]:
        """The width of each modality's views."""
        return dict(self._learned.modalities)

    @property
    def categories_(self) -> tuple[str, ...]:
        """The known categories, in the order in which they were learned."""
        return self._learned.categories

    @property
    def category_codes_(self) -> Codes:
        """Packed codes of the categories. A row never changes once it is there."""
        return pack(self._learned.signs)

    @property
    def thetas_(self) -> dict[str, float]:
        """The penalty of each modality."""
        return {name: head.theta for name, head in self._learned.heads.items()}

    @property
    def hash_functions_(self) -> dict[str, NDArray[Any]]:
        """W of each modality, and what the weights need in further columns."""
        return {name: head.matrix.copy() for name, head in self._learned.heads.items()}

    def partial_fit(
        self, views: Views, labels: Labels | None = None, *, categories: Iterable[str] | None = None
    ) -> Self:
        """Learn one round of the stream; see `Hasher.partial_fit`."""
        self.check_parameters()
        known: Model | None = getattr(self, "_model", None)
        checked, read = read_round(views, labels, categories, known.modalities if known else None)
        model = with_labels(self, known or first_model(self, checked), [read.counts()])
        sums = summed(model, model.sums, checked, read, targets=self.targets)
        self._model = with_heads(self, model.with_sums(sums))
        return self

    def begin(self, views: Views) -> Self:
        """See the views of the first round; see `AdditiveHasher`."""
        self.check_parameters()
        if getattr(self, "_model", None) is None:
            checked, _ = read_round(views, None, None, None)
            self._model = first_model(self, checked)
        return self

    def learn_labels(self, rounds: Iterable[LabelCounts]) -> Self:
        """Give new categories their codes, round by round; see `AdditiveHasher`."""
        self._model = with_labels(self, self._learned, rounds)
        return self

    def adder(self) -> HCFWAdder:
        """What sums items of the rounds whose labels were learned."""
        return HCFWAdder.of(self, self._learned)

    def take(self, sums: Sums) -> Self:
        """Learn sums of items; see `AdditiveHasher`."""
        model = self._learned
        self._model = with_heads(self, model.with_sums(model.sums.merged(sums)))
        return self

    def forget(
        self, views: Views, labels: Labels, *, categories: Iterable[str] | None = None
    ) -> Self:
        """Take learned items out again, exactly: all but the category codes, which never change.

        The hash functions and weights become, to rounding, those of a hasher that learned
        everything else and never these items. Views and labels must be those that were
        learned.
        """
        known = self._learned
        checked, read = read_round(views, labels, categories, known.modalities)
        refuse_unknown(read, self._learned.categories)
        sums = summed(known, known.sums, checked, read, targets=self.targets, forget=True)
        self._model = with_heads(self, known.with_sums(sums))
        return self

    def for_encoding(self) -> Self:
        """A copy without the sums of features, which are most of a hasher, and `semantics`."""
        light = super().for_encoding()
        light._model = self._learned.with_sums(Sums({}, self._learned.code_moments))
        light.semantics = None
        return light

    def project(self, views: Views) -> NDArray[np.float32]:
        """Fused real values, shape (n, n_bits), whose signs are the codes."""
        matrices = shaped_views(views, self._learned.modalities)
        return self._projected(matrices, np.ones(n_rows(matrices), dtype=bool))

    def project_with(self, views: Views, emphasis: Mapping[str, float]) -> NDArray[np.float32]:
        """Projections in which modalities count more or less; see `Hasher.project_with`.

        Examples
        --------
        >>> from omhash.datasets import synthetic
        >>> data = synthetic.make(n_items=200, seed=0)
        >>> hasher = HCFW(n_bits=16, random_state=0)
        >>> hasher = hasher.partial_fit(data.views, data.labels, categories=data.categories)
        >>> only = hasher.project_with(data.views, {"text": 0})
        >>> bool((only == hasher.project({"image": data.views["image"]})).all())
        True
        """
        matrices = self._emphasised(views, emphasis)
        return self._projected(matrices, np.ones(n_rows(matrices), dtype=bool), emphasis)

    def modality_weights(
        self, views: Views, emphasis: Mapping[str, float] | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """The share of each modality in an item's projection; see `Hasher.modality_weights`.

        With the weights "precision", which differ by target, the mean over the targets.

        Examples
        --------
        >>> from omhash.datasets import synthetic
        >>> data = synthetic.make(n_items=200, noise={"image": 0.5, "text": 9}, seed=0)
        >>> hasher = HCFW(n_bits=16, random_state=0)
        >>> hasher = hasher.partial_fit(data.views, data.labels, categories=data.categories)
        >>> weights = hasher.modality_weights(data.views)
        >>> bool((weights["image"] > weights["text"]).all())
        True
        """
        matrices = self._emphasised(views, emphasis or {})
        model = self._learned
        found = self._outputs(matrices)
        if model.categories:
            _, variance = model.prior(codes=self.targets == "codes")
            rule = self.weights
        else:
            variance, rule = np.ones(1), "equal"
        parts = shares(rule, found, model.heads, prior_variance=variance, emphasis=emphasis)
        return dict(zip(found, parts.T, strict=True))

    def _emphasised(self, views: Views, emphasis: Mapping[str, float]) -> dict[str, Matrix]:
        """Checked views without those that are not to count."""
        matrices = shaped_views(views, self._learned.modalities)
        for name, factor in emphasis.items():
            if name not in self._learned.modalities:
                raise ViewError(f"emphasis: there is no modality {name!r}")
            if not (factor == 0 or POSITIVE.holds(factor)):
                raise ParameterError(
                    f"emphasis of {name!r} must be a number from 0, not {factor!r}"
                )
        kept = {name: matrix for name, matrix in matrices.items() if emphasis.get(name, 1) > 0}
        if not kept:
            raise ParameterError("emphasis leaves no modality of the query: give one more than 0")
        return kept

    def _outputs(self, matrices: Mapping[str, Matrix]) -> dict[str, Outputs]:
        model = self._learned
        return {
            name: outputs(name, matrix, model.heads[name], model.kernels.get(name))
            for name, matrix in matrices.items()
        }

    def _projected(
        self,
        matrices: Mapping[str, Matrix],
        wanted: NDArray[np.bool_],
        emphasis: Mapping[str, float] | None = None,
    ) -> NDArray[np.float32]:
        """Projections of all items; those that are wanted must have a modality."""
        model = self._learned
        found = self._outputs(matrices)
        lacking = wanted & ~np.logical_or.reduce([present for _, present in found.values()])
        if lacking.any():
            raise ViewError(f"row {int(np.argmax(lacking))}: the item lacks every modality")
        if not model.categories:
            return np.asarray(sum(values for values, _ in found.values()), dtype=np.float32)
        prediction = fused(
            self.weights,
            found,
            model.heads,
            prior=model.prior(codes=self.targets == "codes"),
            mean=self.targets == "categories",
            emphasis=emphasis,
        )
        if self.targets == "codes":
            return np.asarray(prediction, dtype=np.float32)
        surprise = -np.log(np.maximum(1.0 - np.maximum(prediction, 0.0), _LEAST_DOUBT))
        return in_blocks(lambda rows: rows @ model.decoder, surprise.astype(np.float32))

    def label_codes(self, labels: Labels, *, categories: Iterable[str] | None = None) -> Codes:
        """Codes of items whose categories are known: the majority of their categories' signs.

        A tie is bit 0.
        """
        read = label_matrix(labels, categories=categories)
        refuse_unknown(read, self._learned.categories)
        signs = self._learned.signs_of(read)
        bare = ~read.labelled
        if bare.any():
            raise LabelError(
                f"item {int(np.argmax(bare))} has no category, so only encode can give its code"
            )
        return pack(signs)

    def item_codes(
        self,
        views: Views,
        labels: Labels | None = None,
        *,
        categories: Iterable[str] | None = None,
    ) -> Codes:
        """The codes under which items are stored: from their labels, else from their views."""
        matrices = shaped_views(views, self._learned.modalities)
        read = label_matrix(labels, n_rows(matrices), categories=categories)
        refuse_unknown(read, self._learned.categories)
        codes = pack(self._learned.signs_of(read))
        bare = ~read.labelled
        if bare.any():
            codes[bare] = pack(self._projected(matrices, bare))[bare]
        return codes

    def get_state(self) -> State:
        """All that was learned, as arrays and plain values."""
        return {
            "hasher": "HCFW",
            "n_bits": int(self.n_bits),
            "targets": self.targets,
            **self._learned.to_state(),
        }

    def set_state(self, state: State) -> Self:
        """Take over what `get_state` of an equally configured hasher gave."""
        self.check_parameters()
        for name, own in (("hasher", "HCFW"), ("n_bits", self.n_bits), ("targets", self.targets)):
            if state.get(name) != own:
                raise StateError(
                    f"the state was learned with {name}={state.get(name)!r}, "
                    f"and this hasher has {name}={own!r}"
                )
        self._model = Model.from_state(state, self.n_bits)
        return self

    @property
    def _learned(self) -> Model:
        model: Model | None = getattr(self, "_model", None)
        if model is None:
            raise NotFittedError("this hasher has learned nothing yet: call partial_fit first")
        return model
