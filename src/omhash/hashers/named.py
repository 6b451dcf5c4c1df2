"""Every method by the name that commands and reports call it, with its authors' parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from .base import Hasher
from .fomh import FOMH
from .hcfw import HCFW
from .oasis import OASIS
from .odmvh import ODMVH
from .omhdq import OMHDQ
from .sapmh import SAPMH

Vectors: TypeAlias = Callable[[Sequence[str]], NDArray[Any]]
"""Category names -> vectors, one row a name."""

Make: TypeAlias = Callable[[int, int, Callable[[], Vectors]], Hasher]
"""The hasher for a number of bits, a seed, and who gives the category vectors if asked."""

METHODS: Mapping[str, Make] = {
    "hcfw": lambda n_bits, seed, _: HCFW(n_bits, random_state=seed),
    "hcfw-published": lambda n_bits, seed, source: HCFW.published(
        n_bits, semantics=source(), random_state=seed
    ),
    "oasis": lambda n_bits, seed, source: OASIS(n_bits, semantics=source(), random_state=seed),
    "oasis-fw": lambda n_bits, seed, source: OASIS(
        n_bits, semantics=source(), weights="published", random_state=seed
    ),
    "oasis-published": lambda n_bits, seed, source: OASIS(
        n_bits, semantics=source(), authors_program=True, random_state=seed
    ),
    "fomh": lambda n_bits, seed, _: FOMH(n_bits, random_state=seed),
    "fomh-fw": lambda n_bits, seed, _: FOMH(n_bits, weights="published", random_state=seed),
    "fomh-published": lambda n_bits, seed, _: FOMH(n_bits, authors_program=True, random_state=seed),
    "omhdq": lambda n_bits, seed, _: OMHDQ(n_bits, random_state=seed),
    "omhdq-fw": lambda n_bits, seed, _: OMHDQ(n_bits, weights="published", random_state=seed),
    "omhdq-published": lambda n_bits, seed, _: OMHDQ(
        n_bits, authors_program=True, random_state=seed
    ),
    "sapmh": lambda n_bits, seed, _: SAPMH(n_bits, random_state=seed),
    "sapmh-published": lambda n_bits, seed, _: SAPMH(
        n_bits, authors_program=True, random_state=seed
    ),
    "odmvh": lambda n_bits, seed, _: ODMVH(n_bits, random_state=seed),
}
"""Each method with its authors' parameters, which are its defaults.

A name that ends in "-published" is the authors' program to the letter, one that ends in "-fw"
the method with fine-grained weights. Bandwidths of kernels are the median distance of anchors,
which fits any data; `AUTHORS_PARAMETERS` has those for the authors' own files.
"""

AUTHORS_PARAMETERS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "MIRFLICKR": {
        "FOMH": {"kernels": {"image": (1000, 140.0), "text": (1000, 60.0)}},
        "OMHDQ": {"kernels": {"image": (1000, 60.0), "text": (1000, 80.0)}},
        "SAPMH": {
            "theta": 1e-4,
            "rho": 1e-6,
            "lam": 100.0,
            "n_latent": 128,
            "kernels": {"image": (500, 100.0), "text": (500, 88.0)},
        },
    },
    "NUSWIDE": {
        "FOMH": {"kernels": {"image": (1000, 140.0), "text": (1000, 60.0)}},
        "OMHDQ": {"kernels": {"image": (1000, 60.0), "text": (1000, 80.0)}},
        "SAPMH": {
            "theta": 1e-7,
            "rho": 1e-5,
            "lam": 1e-3,
            "n_latent": 500,
            "kernels": {"image": (500, 100.0), "text": (500, 88.0)},
        },
    },
}
"""What each method's authors chose for the features of one data set, beside its defaults."""
