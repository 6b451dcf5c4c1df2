"""Raw pictures and words to features."""

from .base import Encoder
from .efficientnet import EfficientNetLite0
from .suite import EncodedViews, RawItem, Suite
from .words import HashedWords, WordVectors

__all__ = [
    "EfficientNetLite0",
    "EncodedViews",
    "Encoder",
    "HashedWords",
    "RawItem",
    "Suite",
    "WordVectors",
]
