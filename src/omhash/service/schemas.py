"""What is sent and answered, in the words of `Collection`."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from ..errors import InputError, ViewError

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"
"""What a collection can be called."""

Name: TypeAlias = Annotated[str, Field(pattern=NAME)]
Row: TypeAlias = Annotated[list[FiniteFloat], Field(min_length=1)] | None
Views: TypeAlias = Annotated[
    dict[str, list[Row]],
    Field(
        description="Modality to rows, one an item or query; null where it lacks the modality.",
        min_length=1,
        examples=[{"image": [[0.1, 0.7], [0.9, 0.2]]}],
    ),
]
Where: TypeAlias = Annotated[
    dict[str, Any],
    Field(
        description="Only items that keep all conditions are found.",
        examples=[{"categories": "dog"}, {"price": {"<": 5}}],
    ),
]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Problem(_Model):
    """What was wrong."""

    kind: str
    message: str


class ErrorAnswer(_Model):
    """Every error has this form."""

    error: Problem


class Options(_Model):
    """How a search ranks."""

    k: int = Field(10, ge=1, description="How many are wanted for each query.")
    where: Where | None = None
    rank: Literal["asymmetric", "hamming"] = Field(
        "asymmetric", description="By the query's real values, or by its bits alone."
    )
    detail: float = Field(
        0.0, ge=0, le=1e6, description="0 finds the same kind of things, more the very one."
    )
    emphasis: dict[str, Annotated[float, Field(ge=0, le=1e6)]] | None = Field(
        None, description="How much each modality counts: 1 as learned, 0 not at all."
    )


class Search(Options):
    """Queries: either views, or the key of an item."""

    views: Views | None = None
    key: str | None = None


class RawSearch(Options):
    """How to search with a picture and words."""

    text: str | None = Field(None, max_length=10_000, description="Words to search by.")


class Hit(_Model):
    """An item that was found."""

    key: str
    score: float
    distance: int
    categories: list[str]
    payload: dict[str, Any]


class Query(_Model):
    """What a query became."""

    code: str = Field(description="Bits, as a text of 0 and 1.")
    weights: dict[str, float] = Field(description="The share of each modality; their sum is 1.")


class Found(_Model):
    """The hits of one query, best first."""

    hits: list[Hit]
    query: Query | None = Field(None, description="Of searches with a picture or words.")


class SearchAnswer(_Model):
    """One list of hits a query."""

    results: list[Found]


class NewCollection(_Model):
    """A collection to make: of features, or of pictures and words."""

    name: Name
    modalities: dict[str, Annotated[int, Field(ge=1, le=1 << 16)]] | None = Field(
        None,
        min_length=1,
        max_length=16,
        description="Width of each modality's features; without it, pictures and words.",
    )
    n_bits: int = Field(64, ge=8, le=1024, multiple_of=8)
    sketch_bits: int = Field(128, ge=0, le=1024, multiple_of=8)
    seed: int = Field(0, ge=0, lt=1 << 63)


class Status(_Model):
    """Plain values that tell of a collection."""

    name: str
    generation: int
    items: int
    categories: int
    rounds: int
    n_bits: int
    modalities: dict[str, int]
    sketch_bits: dict[str, int]
    hasher: str
    bytes_on_disk: int
    index: dict[str, Any]
    raw: bool = Field(description="Whether it takes pictures and words.")


class Collections(_Model):
    """All collections, by name."""

    collections: list[Status]


class Upload(_Model):
    """A round of features."""

    views: Views
    keys: Annotated[list[str], Field(min_length=1)]
    labels: list[list[str]] | None = Field(None, description="Category names of each item.")
    payloads: list[dict[str, Any]] | None = None
    round_id: str | None = Field(None, description="Sending it again is harmless.")


class RawItem(_Model):
    """One item of a round of pictures and words."""

    key: str
    picture: str | None = Field(None, description="The file name of its part of the body.")
    text: str | None = Field(None, max_length=100_000)
    categories: list[str] = []
    payload: dict[str, Any] = {}


class RawRound(_Model):
    """The metadata of a round of pictures and words."""

    items: Annotated[list[RawItem], Field(min_length=1)]
    round_id: str | None = None


class Quality(_Model):
    """How well the items of a round find others of their categories, before and after it."""

    before: float | None
    after: float | None


class RoundReport(_Model):
    """What a round brought."""

    id: str
    items: int
    replaced: int
    labelled: int
    new_categories: list[str]
    seconds: float
    repeated: bool
    map: Quality | None = None


class Rounds(_Model):
    """All rounds, in order."""

    rounds: list[RoundReport]


class Item(_Model):
    """A stored item."""

    key: str
    categories: list[str]
    payload: dict[str, Any]
    code: str


class Items(_Model):
    """Items in order of arrival."""

    items: list[Item]
    next: str | None = Field(None, description="The key to list on after; null at the end.")


class Categories(_Model):
    """Category names, in order of arrival."""

    categories: list[str]


class Keys(_Model):
    """Keys of items."""

    keys: list[str]


class Deleted(_Model):
    """How many items there were."""

    deleted: int


class Forget(_Model):
    """Items to forget, and what was learned of them."""

    keys: Annotated[list[str], Field(min_length=1)]
    views: Views


class ForgetReport(_Model):
    """What was forgotten."""

    forgotten: int
    missing: list[str]
    purged: bool


class Checked(_Model):
    """What is wrong with a collection's files; nothing if it is whole."""

    problems: list[str]


class Compacted(_Model):
    """Whether all space was given back; not while somebody reads an older state."""

    whole: bool


def matrices(views: dict[str, list[list[float] | None]]) -> dict[str, NDArray[np.float64]]:
    """Views as matrices; null becomes a row of NaN."""
    return {name: _matrix(name, rows) for name, rows in views.items()}


def _matrix(name: str, rows: list[list[float] | None]) -> NDArray[np.float64]:
    widths = {len(row) for row in rows if row is not None}
    if len(widths) != 1:
        raise ViewError(
            f"modality {name!r}: rows have {', '.join(map(str, sorted(widths)[:5])) or 'no'} "
            "columns; all need as many"
        )
    missing = [math.nan] * widths.pop()
    return np.array([missing if row is None else row for row in rows], dtype=np.float64)


def count(views: dict[str, NDArray[np.float64]], most: int) -> int:
    """How many rows there are, if there are not too many."""
    n = max(len(view) for view in views.values())
    if n > most:
        raise InputError(f"there are {n} rows, and {most} are the most")
    return n
