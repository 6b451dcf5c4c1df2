"""The contract of what finds items: it follows what is committed, and answers queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from ..index import Found, Queries
from ..store import Reading
from ..store.where import Where

R = TypeVar("R", bound=Reading)


class Finder(ABC, Generic[R]):
    """Finds items in the states that some store gives to read."""

    @abstractmethod
    def ahead(self, reading: R) -> Any:
        """Read what `follow` will want, while others still search."""

    @abstractmethod
    def follow(self, reading: R, ahead: Any) -> None:
        """Take over what was committed since; nobody searches meanwhile."""

    @abstractmethod
    def search(self, reading: R, queries: Queries, k: int, where: Where | None) -> list[Found]:
        """The k best items of each query, of those that keep the conditions."""

    @abstractmethod
    def report(self, reading: R) -> dict[str, Any]:
        """Plain values that tell how items are found, and how well."""
