"""Where collections are: a folder, a Milvus server, or a file of Milvus Lite.

::

    flowers.omhash                           a folder
    milvus+http://host:19530/flowers         a collection on a Milvus server; milvus+https
    milvus+file://things.db/flowers          one in a file of Milvus Lite
    milvus+file://things.db                  the one that is called omhash
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from .errors import ParameterError, UnsupportedError
from .store import SQLiteStore, Store
from .store.milvus.place import Place

if TYPE_CHECKING:
    from .store.milvus.store import MilvusStore

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_KNOWN = ("milvus+http", "milvus+https", "milvus+file")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_FILE = re.compile(r"[A-Za-z0-9._-]{1,36}")
_TIMEOUT = 30.0
TOKEN = "OMHASH_MILVUS_TOKEN"  # noqa: S105 - a variable's name, not a token


def opened(address: str | os.PathLike[str], *, patience: float = 5.0) -> Store:
    """The store at an address."""
    place = milvus_place(address)
    if place is None:
        return SQLiteStore(Path(address), patience=patience)
    return _milvus()(place, patience=patience)


def created(address: str | os.PathLike[str], config: Mapping[str, Any]) -> Store:
    """A new, empty store at an address."""
    place = milvus_place(address)
    if place is None:
        return SQLiteStore.create(Path(address), config)
    if config["index"] != "exact":
        raise ParameterError(f"index={config['index']!r}: Milvus has an index of its own")
    return _milvus().create(place, config)


def is_there(address: str | os.PathLike[str]) -> bool:
    """Whether there is anything at an address."""
    place = milvus_place(address)
    return Path(address).exists() if place is None else _milvus().is_there(place)


def same(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Whether two addresses are of one place."""
    this, that = milvus_place(one), milvus_place(other)
    if this is None or that is None:
        return this is that and Path(one).resolve() == Path(other).resolve()
    return (this.uri, this.name) == (that.uri, that.name)


def folder(address: str | os.PathLike[str]) -> Path:
    """The path of a folder, where only that will do."""
    if milvus_place(address) is not None:
        raise UnsupportedError(
            f"{_shown(os.fspath(address))}: must be a folder here: see omhash copy"
        )
    return Path(address)


def milvus_place(address: str | os.PathLike[str]) -> Place | None:
    """What an address tells of a collection on Milvus; None for a path.

    Examples
    --------
    >>> milvus_place("milvus+http://me:secret@host:19530/flowers?timeout=5")
    Place(address='milvus+http://host:19530/flowers', uri='http://host:19530', name='flowers', \
timeout=5.0)
    >>> milvus_place("flowers.omhash")
    """
    text = os.fspath(address)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return None
    if scheme[1] not in _KNOWN:
        raise ParameterError(
            f"{scheme[0]}…: an address is a path, or begins with {', '.join(_KNOWN)} and ://"
        )
    try:
        parts = urlsplit(text)
        asked = parse_qs(parts.query, strict_parsing=True) if parts.query else {}
        port = parts.port
        seconds = float(asked.pop("timeout", [str(_TIMEOUT)])[-1])
    except ValueError:
        raise ParameterError(f"{_shown(text)}: the port, or what follows '?', is wrong") from None
    if asked or parts.fragment or not 0 < seconds <= 3600:
        raise ParameterError(
            f"{_shown(text)}: after '?' there can be timeout=SECONDS, up to 3600, and nothing else"
        )
    if scheme[1] == "milvus+file":
        return _lite_place(text, parts.netloc + unquote(parts.path), seconds)
    name = parts.path.strip("/")
    if not parts.hostname or not _NAME.fullmatch(name):
        raise ParameterError(
            f"{_shown(text)}: write milvus+http://HOST:PORT/NAME, the name of letters, digits and _"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    where = f"{host}:{port or 19530}"
    token = os.environ.get(TOKEN, "")
    if parts.username is not None:
        token = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    protocol = scheme[1].removeprefix("milvus+")
    return Place(f"{scheme[0]}{where}/{name}", f"{protocol}://{where}", name, seconds, token)


def _lite_place(text: str, path: str, seconds: float) -> Place:
    file, ending, name = path.rpartition(".db/")
    file, name = (f"{file}.db", name) if ending else (path, "omhash")
    if not file.endswith(".db") or not _FILE.fullmatch(Path(file).name):
        raise ParameterError(
            f"{_shown(text)}: write milvus+file://FILE.db or milvus+file://FILE.db/NAME; Milvus "
            "Lite wants a file's name of up to 36 letters, digits, '.', '_' and '-'"
        )
    if not _NAME.fullmatch(name):
        raise ParameterError(f"{_shown(text)}: the name is of letters, digits and _")
    return Place(f"milvus+file://{file}/{name}", str(Path(file).resolve()), name, seconds, "")


def _shown(text: str) -> str:
    """An address without what may be secret in it."""
    return re.sub(r"//[^/@]*@", "//", text)


def _milvus() -> type[MilvusStore]:
    try:
        from .store.milvus.store import MilvusStore
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pymilvus", "grpc"):  # which comes with it
            raise
        raise UnsupportedError("collections on Milvus need pip install 'omhash[milvus]'") from None
    return MilvusStore
