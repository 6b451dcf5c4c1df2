"""Milvus Lite: a server that belongs to one process, and ends with its last user."""

from __future__ import annotations

import logging
import threading
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ...errors import StoreError, UnsupportedError
from ..files import told
from .readers import Readers

_WORKS = "2.5"
_SQLITE = b"SQLite format 3\0"
_users: dict[Path, int] = {}
_readers: dict[Path, Readers] = {}
_lock = threading.Lock()

# It tells the root logger what its caller then raises.
logging.getLogger().addFilter(lambda record: "milvus_lite" not in record.pathname)


def taken(file: Path, address: str) -> None:
    """Count one more user of a file, once it is known that Milvus Lite can serve it."""
    _check_version()
    if not file.parent.is_dir():
        raise StoreError(f"{address}: there is no folder {file.parent}")
    if file.exists():
        with told(file, "read"), file.open("rb") as opened:
            if opened.read(len(_SQLITE)) not in (b"", _SQLITE):
                raise StoreError(f"{address}: {file.name} is no file of Milvus Lite, or damaged")
    with _lock:
        _users[file] = _users.get(file, 0) + 1


def readers(file: Path) -> Readers:
    """Who reads from a file: all of them are in this process."""
    with _lock:
        return _readers.setdefault(file, Readers())


def released(file: Path) -> None:
    """Count one user less; the last one ends the server, so that other processes may have it."""
    from milvus_lite.server_manager import server_manager_instance

    with _lock:
        _users[file] -= 1
        if not _users[file]:
            del _users[file]
            if str(file) in server_manager_instance._servers:  # else it would log a warning
                server_manager_instance.release_server(str(file))


def _check_version() -> None:
    try:
        found = version("milvus-lite")
        with warnings.catch_warnings():
            # What it imports is on its way out, which nobody here can change.
            warnings.filterwarnings("ignore", "pkg_resources is deprecated")
            import milvus_lite.server_manager  # noqa: F401 - needs what newer setuptools lack
    except PackageNotFoundError:
        raise UnsupportedError(
            "milvus+file needs Milvus Lite: pip install 'milvus-lite==2.5.1' 'setuptools<82'"
        ) from None
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            f"Milvus Lite cannot be loaded ({error}): pip install 'milvus-lite==2.5.1' "
            "'setuptools<82'"
        ) from None
    if not found.startswith(f"{_WORKS}."):
        raise UnsupportedError(
            f"milvus-lite {found} is installed: 2.5.1 works, and the versions 3 refuse binary "
            "vectors: pip install 'milvus-lite==2.5.1' 'setuptools<82'"
        )
