"""What finds a collection's items: an index in memory, or the engine that keeps them."""

from .base import Finder, Foreseen
from .embedded import EmbeddedFinder

__all__ = ["EmbeddedFinder", "Finder", "Foreseen"]
