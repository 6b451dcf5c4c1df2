"""Online multi-modal hashing: short codes learned from a stream.

>>> from omhash.datasets import synthetic
>>> data = synthetic.make(n_items=300, seed=0)
>>> hasher = HCFW(n_bits=32, random_state=0)
>>> hasher = hasher.partial_fit(data.views, data.labels, categories=data.categories)
>>> hasher.encode(data.views).shape
(300, 4)
"""

from .client import Client
from .collection import Collection, open  # noqa: A004 - omhash.open, as in gzip.open
from .errors import OmhashError
from .hashers.base import Hasher
from .hashers.hcfw import HCFW

__all__ = ["HCFW", "Client", "Collection", "Hasher", "OmhashError", "open"]
__version__ = "0.1.0"
