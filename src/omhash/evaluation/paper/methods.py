"""The methods of the report, each by a name and with its authors' parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...datasets.mirflickr import MIRFLICKR
from ...datasets.nuswide import NUSWIDE
from ...hashers import BY_NAME
from ...hashers.base import Hasher
from ...hashers.named import AUTHORS_PARAMETERS
from ...semantics import Semantics

OWN_VECTORS = "own"
"""The category vectors that came with the data, or those that omhash ships."""

SHIPPED_VECTORS = "omhash"

_NO_PENALTY = 1e-6


@dataclass(frozen=True)
class Method:
    """A hasher with parameters, as plain values.

    Attributes
    ----------
    name : str
        What tables call it.
    hasher : str
        Its class.
    options : mapping
        Parameters besides n_bits, random_state and semantics.
    vectors : str or None
        Which category vectors it uses.
    """

    name: str
    hasher: str
    options: Mapping[str, Any] = field(default_factory=dict)
    vectors: str | None = None

    def made(self, n_bits: int, seed: int, semantics: Semantics | None) -> Hasher:
        """The hasher for a run."""
        given = {} if semantics is None else {"semantics": semantics}
        made: Any = BY_NAME[self.hasher]
        hasher: Hasher = made(n_bits, random_state=seed, **self.options, **given)
        return hasher


_PUBLISHED = {
    "targets": "codes",
    "category_codes": "semantic",
    "weights": "published",
    "theta": 1.0,
    "delta": 1.0,
}


def hcfw(name: str = "HCFW", vectors: str = OWN_VECTORS, **changed: Any) -> Method:
    """HCFW with the paper's settings, some of them changed."""
    return Method(name, "HCFW", {**_PUBLISHED, **changed}, vectors)


DEFAULT = Method("HCFW, omhash's default", "HCFW")
OASIS = Method("OASIS", "OASIS", {}, OWN_VECTORS)
OASIS_FW = Method("OASIS + FW", "OASIS", {"weights": "published"}, OWN_VECTORS)
EQUAL_WEIGHTS = hcfw("HCFW, equal weights", weights="equal")
NO_PENALTY = hcfw("HCFW, no penalty", theta=_NO_PENALTY, delta=_NO_PENALTY)
HADAMARD = Method("Hadamard", "HCFW", {**_PUBLISHED, "category_codes": "hadamard"})

_AUTHORS_NAMES = {MIRFLICKR.name: "MIRFLICKR", NUSWIDE.name: "NUSWIDE"}


def baselines(data: str) -> list[Method]:
    """The methods that HCFW is compared with, in the order of the paper's tables.

    With data other than the paper's, bandwidths of kernels are the median distance of
    anchors: the authors' own fit their own features.
    """
    chosen = AUTHORS_PARAMETERS.get(_AUTHORS_NAMES.get(data, ""), {})
    return [
        *(
            Method(name, hasher, chosen.get(hasher, {}))
            for name, hasher in (("SAPMH", "SAPMH"), ("OMH-DQ", "OMHDQ"), ("FOMH", "FOMH"))
        ),
        OASIS,
    ]


def standard(data: str) -> list[Method]:
    """All methods of the standard scenario; the last two are not in the paper's tables."""
    return [*baselines(data), hcfw(), Method("ODMVH", "ODMVH"), DEFAULT]


def incremental() -> list[Method]:
    """The methods that the paper gives new categories as they come, and omhash's default."""
    return [OASIS, hcfw(), DEFAULT]
