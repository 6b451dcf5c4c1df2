"""Raw pictures and words to features."""

from .base import Encoder
from .efficientnet import EfficientNetLite0
from .folder import Folder, FolderRound, Skipped
from .named import OpenClipPictures, OpenClipWords, SentenceTransformerWords, TimmPictures
from .suite import EncodedViews, RawItem, Suite
from .words import HashedWords, Words, WordVectors

__all__ = [
    "EfficientNetLite0",
    "EncodedViews",
    "Encoder",
    "Folder",
    "FolderRound",
    "HashedWords",
    "OpenClipPictures",
    "OpenClipWords",
    "RawItem",
    "SentenceTransformerWords",
    "Skipped",
    "Suite",
    "TimmPictures",
    "WordVectors",
    "Words",
]
