"""Where on Milvus a collection is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """A collection on a server, or in a file of Milvus Lite.

    Attributes
    ----------
    address : str
        As a person would write it, without anything secret.
    uri : str
        What the client library takes; of Milvus Lite, the file's path.
    name : str
        Of the collection.
    timeout : float
        Seconds within which every call ends.
    token : str
        What a server may ask for; never shown.
    """

    address: str
    uri: str
    name: str
    timeout: float
    token: str = field(default="", repr=False)

    @property
    def file(self) -> Path | None:
        """The file of Milvus Lite; None of a server."""
        return None if "://" in self.uri else Path(self.uri)
