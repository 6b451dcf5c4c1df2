"""Hashing methods, one file each."""

from .base import Hasher
from .hcfw import HCFW

BY_NAME: dict[str, type[Hasher]] = {"HCFW": HCFW}
"""The methods that a stored collection can name."""
