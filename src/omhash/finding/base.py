"""The contract of what finds items: it follows what is committed, and answers queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..index import Found, Queries
from ..store import Change, Head, Reading
from ..store.where import Where

R = TypeVar("R", bound=Reading)


@dataclass(frozen=True, eq=False)
class Foreseen:
    """What a commit of this process makes of a state."""

    head: Head
    change: Change


class Finder(ABC, Generic[R]):
    """Finds items in the states that some store gives to read."""

    @abstractmethod
    def ahead(self, reading: R, foreseen: Foreseen | None) -> Any:
        """What `follow` will want, read while others still search; one thread at a time.

        Parameters
        ----------
        foreseen : Foreseen, optional
            A commit of this process. If it is the only new one, nothing need be read.
        """

    @abstractmethod
    def follow(self, reading: R, ahead: Any) -> None:
        """Take over what was committed since; nobody searches meanwhile."""

    @abstractmethod
    def search(self, reading: R, queries: Queries, k: int, where: Where | None) -> list[Found]:
        """The k best items of each query, of those that keep the conditions."""

    @abstractmethod
    def report(self, reading: R) -> dict[str, Any]:
        """Plain values that tell how items are found, and how well."""
