"""Search: the nearest codes of many items, in memory.

>>> import numpy as np
>>> rng = np.random.default_rng(0)
>>> items = rng.standard_normal((1000, 64))
>>> index = ExactIndex(n_bits=64)
>>> index.add(np.arange(1000), pack(items))
>>> found = index.search(Queries.of(items[:1]), k=3)[0]
>>> found.numbers[0], found.distances[0]
(np.int64(0), np.int64(0))
"""

from ..codes import pack
from .base import Found, Index, Kept, Queries
from .exact import ExactIndex
from .ivf import IVFIndex

ENGINES: dict[str, type[Index]] = {"exact": ExactIndex, "ivf": IVFIndex}
"""Kinds of index by the names that a collection knows them by."""

__all__ = ["ENGINES", "ExactIndex", "Found", "IVFIndex", "Index", "Kept", "Queries", "pack"]
