"""Files that are whole or not there: durable writes, the writers' lock, state files."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save, save_file

from ..errors import BusyError, DamagedError, StoreError

STATE_ENDING, FRESH = ".safetensors", ".new"
_PLAIN = "plain"
_CHUNK = 1 << 20


@contextmanager
def told(path: Path, doing: str) -> Iterator[None]:
    """Turn what the operating system refuses into a `StoreError` that says where."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot {doing}: {error.strerror or error}") from error


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which gets its name once it is whole and on the disk.

    Where that fails nothing is left; a process that is killed leaves a hidden folder whose
    name ends in ``.unfinished``, which blocks nobody.
    """
    path = path.resolve()
    with told(path, "write"):
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise StoreError(f"{path}: is there already: open it, or name a new folder")
        fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}.unfinished")
        try:
            fresh.mkdir(parents=True)
            yield fresh
            for written in (*fresh.iterdir(), fresh):
                sync(written)
            fresh.rename(path)
            try:
                sync(path.parent)
            except OSError:
                path.rename(fresh)
                raise
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise


def digest(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    total = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            total.update(chunk)
    return total.hexdigest()


@contextmanager
def locked(path: Path, patience: float, name: str) -> Iterator[None]:
    """Hold the only writer's lock; a `BusyError` after `patience` seconds without it.

    The operating system releases it when the process ends, however it ends. `name` is what is
    written to.
    """
    with told(path, "open the writers' lock"):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise BusyError(
                        f"{name}: somebody else has been writing for {patience:g} seconds: "
                        "try again when that is done"
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(descriptor)


def save_state(folder: Path, stem: str, state: Mapping[str, Any]) -> dict[str, str]:
    """Write arrays and plain values to a new file; its name and digest, once it is on the disk.

    The name holds the digest, so that a file of a name never changes its content.
    """
    arrays, metadata = _split(state)
    temporary = folder / f"{stem}{FRESH}"
    try:
        with told(temporary, "write"):
            save_file(arrays, temporary, metadata=metadata)
            found = digest(temporary)
            name = f"{stem}-{found[:16]}{STATE_ENDING}"
            sync(temporary)
            temporary.replace(folder / name)
            sync(folder)
    except SafetensorError as error:
        raise StoreError(f"{temporary}: cannot write: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return {"file": name, "sha256": found}


def load_state(folder: Path, reference: Mapping[str, str]) -> dict[str, Any]:
    """What `save_state` wrote."""
    path = folder / reference["file"]
    try:
        with told(path, "read"):
            content = path.read_bytes()
    except StoreError as error:
        if path.exists():
            raise
        raise DamagedError(f"{path}: is missing: restore it from a backup") from error
    if hashlib.sha256(content).hexdigest() != reference["sha256"]:
        raise DamagedError(f"{path}: is not what was written: restore it from a backup")
    return state_of(content)


def state_bytes(state: Mapping[str, Any]) -> bytes:
    """Arrays and plain values as the bytes of a file."""
    arrays, metadata = _split(state)
    return save(arrays, metadata=metadata)


def state_of(content: bytes) -> dict[str, Any]:
    """What `state_bytes` was given."""
    (header_size,) = np.frombuffer(content, "<u8", 1)
    header = json.loads(content[8 : 8 + int(header_size)])
    return {**load(content), **json.loads(header["__metadata__"][_PLAIN])}


def _split(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The arrays of a state, and the rest as safetensors' metadata."""
    arrays = {
        name: np.ascontiguousarray(value)
        for name, value in state.items()
        if isinstance(value, np.ndarray)
    }
    plain = {name: value for name, value in state.items() if name not in arrays}
    return arrays, {_PLAIN: json.dumps(plain)}
