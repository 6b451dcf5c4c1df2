"""Hashing methods, one file each."""

from .base import Hasher
from .fomh import FOMH
from .hcfw import HCFW
from .oasis import OASIS
from .omhdq import OMHDQ

BY_NAME: dict[str, type[Hasher]] = {"HCFW": HCFW, "OASIS": OASIS, "FOMH": FOMH, "OMHDQ": OMHDQ}
"""The methods that a stored collection can name."""
