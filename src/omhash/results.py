"""What a collection answers: hits, items and reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from .codes import Codes
from .errors import InputError


@dataclass(frozen=True)
class Hit:
    """An item that was found.

    Attributes
    ----------
    key : str
    score : float
        Falls from hit to hit: the cosine between the query's projection and the item's code;
        with detail, what that and the sketches come to, as the page on search tells.
    distance : int
        Hamming distance of the codes.
    categories : tuple of str
    payload : dict
    """

    key: str
    score: float
    distance: int
    categories: tuple[str, ...]
    payload: dict[str, Any]


@dataclass(frozen=True, eq=False)
class Explanation:
    """What a query became.

    Attributes
    ----------
    code : packed bits
    weights : dict of str to float
        The share of each modality that the query has; their sum is 1.
    """

    code: Codes
    weights: dict[str, float]


@dataclass(frozen=True)
class RoundReport:
    """What a round brought.

    Attributes
    ----------
    id : str
    items, replaced, labelled : int
        Items of the round, those whose key was there before, and those that taught something.
    new_categories : tuple of str
    seconds : float
        To learn it and to make its codes.
    repeated : bool
        Whether the round was there already, so that nothing was done.
    """

    id: str
    items: int
    replaced: int
    labelled: int
    new_categories: tuple[str, ...]
    seconds: float
    repeated: bool = False

    @classmethod
    def of(cls, told: Mapping[str, Any], *, repeated: bool = False) -> Self:
        """The report that a store kept."""
        values = {field.name: told[field.name] for field in fields(cls)}
        values["new_categories"] = tuple(values["new_categories"])
        return cls(**{**values, "repeated": repeated})

    @classmethod
    def repetition(cls, told: Mapping[str, Any], keys: str) -> Self:
        """The report of a round that is sent again; `keys` is the digest of what is sent."""
        if told["keys"] != keys:
            raise InputError(
                f"round {told['id']!r} is there already, with other keys: give these items "
                "another round_id"
            )
        return cls.of(told, repeated=True)


@dataclass(frozen=True)
class ForgetReport:
    """What was forgotten.

    Attributes
    ----------
    forgotten : int
    missing : tuple of str
        Keys that were not there.
    purged : bool
        Whether the write-ahead log is empty too; False while another process reads an older
        state: call `compact` later.
    """

    forgotten: int
    missing: tuple[str, ...]
    purged: bool


@dataclass(frozen=True, eq=False)
class Item:
    """A stored item.

    Attributes
    ----------
    key : str
    categories : tuple of str
    payload : dict
    code : packed bits
    """

    key: str
    categories: tuple[str, ...]
    payload: dict[str, Any]
    code: Codes
