"""The three Milvus collections of which a collection consists, and the rows in them.

- ``NAME_items``: one row an item, by number. Rows are written once and never changed.
- ``NAME_codes``: one row a distinct code. These are what the engine searches.
- ``NAME_log``: documents: what each commit brought besides items, the hasher's state, and the
  heads, of which the last one tells what counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pymilvus import CollectionSchema, DataType, MilvusClient

from ...errors import DamagedError
from ..records import Layout, seal

FORMAT = 1

LONGEST = 65_535
"""Bytes of a text that Milvus takes."""

_PART = 60_000
"""Letters of a document in one row; all of them are ASCII."""

_LATEST = 1 << 50
"""Heads are numbered backwards from here, so that the last one has the smallest key."""

ITEM_FIELDS = ("number", "key", "round", "labels", "payload", "seal")
RECORD_FIELDS = ("number", "labels", "record")
DOCUMENT_FIELDS = ("pk", "kind", "attempt", "document")


@dataclass(frozen=True)
class Tables:
    """Names of the three."""

    name: str

    @property
    def items(self) -> str:
        """One row an item."""
        return f"{self.name}_items"

    @property
    def codes(self) -> str:
        """One row a distinct code."""
        return f"{self.name}_codes"

    @property
    def log(self) -> str:
        """One row a document, or part of one."""
        return f"{self.name}_log"


def item_schema(layout: Layout) -> CollectionSchema:
    """Of the items; the record holds code, sketches and a checksum, and is never searched."""
    schema = _schema()
    schema.add_field("number", DataType.INT64, is_primary=True)
    for name in ("bucket", "labels", "round", "added", "key_hash", "seal"):
        schema.add_field(name, DataType.INT64)
    schema.add_field("key", DataType.VARCHAR, max_length=LONGEST)
    schema.add_field("payload", DataType.VARCHAR, max_length=LONGEST)
    schema.add_field("fields", DataType.JSON)
    schema.add_field("record", DataType.BINARY_VECTOR, dim=8 * (layout.width + 4))
    return schema


def code_schema(layout: Layout) -> CollectionSchema:
    """Of the distinct codes."""
    schema = _schema()
    schema.add_field("pk", DataType.VARCHAR, max_length=layout.n_bits // 4, is_primary=True)
    schema.add_field("code", DataType.BINARY_VECTOR, dim=layout.n_bits)
    return schema


def log_schema() -> CollectionSchema:
    """Of the documents; the vector means nothing, but Milvus wants one."""
    schema = _schema()
    schema.add_field("pk", DataType.VARCHAR, max_length=512, is_primary=True)
    schema.add_field("kind", DataType.VARCHAR, max_length=32)
    schema.add_field("attempt", DataType.INT64)
    schema.add_field("hash", DataType.INT64)
    schema.add_field("document", DataType.VARCHAR, max_length=LONGEST)
    schema.add_field("nothing", DataType.BINARY_VECTOR, dim=8)
    return schema


def hashed(content: str | bytes) -> int:
    """A number for a text or code: equal ones have equal numbers, others hardly ever."""
    raw = content.encode() if isinstance(content, str) else content
    return int.from_bytes(hashlib.sha256(raw).digest()[:8], "big", signed=True)


def head_key(head: Mapping[str, Any]) -> str:
    """The primary key of a head.

    A row is never written over: while Milvus replaces it, readers may see none.
    """
    return f"head/{_LATEST - head['generation']:016}-{_LATEST - head['revision']:016}"


def document_rows(
    key: str, kind: str, content: Any, *, attempt: int = 0, hash_of: str = ""
) -> list[dict[str, Any]]:
    """A document as rows: its JSON text in parts, each with a checksum."""
    text = json.dumps(content)
    return [
        {
            "pk": f"{key}/{place:06}",
            "kind": kind,
            "attempt": attempt,
            "hash": hashed(hash_of),
            "document": f"{seal(key, place, part)} {part}",
            "nothing": b"\0",
        }
        for place, part in enumerate(
            text[start : start + _PART] for start in range(0, len(text), _PART)
        )
    ]


def documents(rows: list[dict[str, Any]], where: str) -> Iterator[tuple[str, dict[str, Any], Any]]:
    """The documents of rows: key, first row and content of each, in the order of keys."""
    whole: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for row in sorted(rows, key=lambda row: str(row["pk"])):
        key, _, place = row["pk"].rpartition("/")
        told, _, part = row["document"].partition(" ")
        _, parts = whole.setdefault(key, (row, []))
        if int(place) != len(parts) or told != str(seal(key, len(parts), part)):
            raise damaged(where, f"the document {key} is not what was written")
        parts.append(part)
    for key, (row, parts) in whole.items():
        try:
            yield key, row, json.loads("".join(parts))
        except ValueError:
            raise damaged(where, f"the document {key} is not whole") from None


def damaged(where: str, what: str) -> DamagedError:
    """The error for what cannot be what was written."""
    return DamagedError(f"{where}: {what}: restore the collection from a backup or a copy")


def _schema() -> CollectionSchema:
    return MilvusClient.create_schema(auto_id=False, enable_dynamic_field=False)
