"""States of hashers and sketchers in the log, each under the digest of its bytes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any

from ...errors import DamagedError
from ..files import state_bytes, state_of
from .engine import Engine
from .tables import Tables, document_rows, documents, hashed
from .tail import log_rows

_AT_ONCE = 100


def save_state(
    engine: Engine, tables: Tables, kind: str, state: Mapping[str, Any]
) -> dict[str, str]:
    """Keep arrays and plain values; what is there already stays."""
    content = state_bytes(state)
    digest = hashlib.sha256(content).hexdigest()
    name = f"{kind}-{digest[:16]}"
    text = base64.b85encode(content).decode()
    rows = document_rows(f"state/{name}", "state", text, hash_of=name)
    if engine.count(tables.log, _rows_of(name)) == len(rows):
        return {"file": name, "sha256": digest}  # written over, it would be away for a moment
    for start in range(0, len(rows), _AT_ONCE):
        engine.upsert(tables.log, rows[start : start + _AT_ONCE])
    return {"file": name, "sha256": digest}


def load_state(engine: Engine, tables: Tables, reference: Mapping[str, str]) -> dict[str, Any]:
    """What was kept."""
    where, name = engine.place.address, reference["file"]
    rows = log_rows(engine, tables, _rows_of(name))
    for _, _, text in documents(rows, where):
        content = base64.b85decode(text)
        if hashlib.sha256(content).hexdigest() == reference["sha256"]:
            return state_of(content)
    raise DamagedError(
        f"{where}: the state {name} is not what was written: copy the collection anew"
    )


def _rows_of(name: str) -> str:
    return f'kind == "state" and hash == {hashed(name)}'
