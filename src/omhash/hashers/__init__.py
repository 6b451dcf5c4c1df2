"""Hashing methods, one file each; `named` has them all with their authors' parameters."""

from .base import Hasher
from .fomh import FOMH
from .hcfw import HCFW
from .oasis import OASIS
from .odmvh import ODMVH
from .omhdq import OMHDQ
from .sapmh import SAPMH

__all__ = ["BY_NAME", "FOMH", "HCFW", "OASIS", "ODMVH", "OMHDQ", "SAPMH", "Hasher"]

_METHODS: tuple[type[Hasher], ...] = (HCFW, OASIS, FOMH, OMHDQ, SAPMH, ODMVH)

BY_NAME: dict[str, type[Hasher]] = {method.__name__: method for method in _METHODS}
"""The methods that a stored collection can name."""
