"""How much one request may ask for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What the service takes at most, of a request or at a time.

    Attributes
    ----------
    json_bytes, upload_bytes : int
        Of a body: JSON, and Parquet or multipart.
    round_bytes : int
        That a round takes in memory once it is read.
    items, queries, k : int
        Of a round, of a search, and found for each query.
    picture_bytes : int
        Of one picture's file; what it decodes to is limited by the encoders.
    pictures : int
        Of a round.
    waiting : int
        Rounds and other changes of a collection that wait for those before.
    listeners : int
        Who may follow the progress of a collection at a time.
    receive_seconds, search_seconds : float
        To receive a body, and to answer a search.
    """

    json_bytes: int = 8 << 20
    upload_bytes: int = 128 << 20
    round_bytes: int = 1 << 30
    items: int = 100_000
    queries: int = 256
    k: int = 1000
    picture_bytes: int = 10 << 20
    pictures: int = 2000
    waiting: int = 8
    listeners: int = 64
    receive_seconds: float = 120.0
    search_seconds: float = 10.0
