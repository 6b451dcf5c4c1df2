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

__all__ = ["ExactIndex", "Found", "Index", "Kept", "Queries", "pack"]
