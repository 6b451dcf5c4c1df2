"""What keeps a collection durably: items, codes, rounds and the hasher's state."""

from .base import Additions, Block, Change, Head, Reading, Row, ScannedReading, Store
from .sqlite import SQLiteStore
from .sqlite_check import problems

__all__ = [
    "Additions",
    "Block",
    "Change",
    "Head",
    "Reading",
    "Row",
    "SQLiteStore",
    "ScannedReading",
    "Store",
    "problems",
]
