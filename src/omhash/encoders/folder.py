"""A person's own pictures in a folder, with words and categories beside them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from ..errors import DataFileError, InputError, ParameterError
from .suite import RawItem, Suite

_SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
_OWN = ("file", "text", "categories")


@dataclass(frozen=True)
class Skipped:
    """A file that no item was made of, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class FolderRound:
    """Some pictures of a folder: the items, and what could not be read."""

    items: tuple[RawItem, ...]
    skipped: tuple[Skipped, ...]


class Folder:
    r"""Pictures in a folder and the folders in it, with captions or without.

    An item's key is the path of its file within the folder, with slashes.

    Parameters
    ----------
    path : str or path
    captions : str or path, optional
        A file with one JSON object a line: ``"file"``, the path of a picture within the
        folder, and, if there are any, ``"text"`` and ``"categories"``, a list of names. All
        other fields are kept with the item. Pictures that it does not name come last, and
        have neither words nor categories.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image
    >>> suite = Suite.default()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Image.new("RGB", (9, 9), "red").save(f"{folder}/red.png")
    ...     _ = Path(folder, "broken.jpg").write_text("no picture")
    ...     _ = Path(folder, "captions.jsonl").write_text('{"file": "red.png", "text": "red"}')
    ...     found, = Folder(folder, f"{folder}/captions.jsonl").rounds(suite)
    >>> [item.key for item in found.items], [one.file for one in found.skipped]
    (['red.png'], ['broken.jpg'])
    """

    def __init__(
        self, path: str | PathLike[str], captions: str | PathLike[str] | None = None
    ) -> None:
        self.path = Path(path)
        if not self.path.is_dir():
            raise DataFileError(f"{self.path}: there is no such folder")
        self._captions = {} if captions is None else _read(Path(captions))
        there = sorted(
            file.relative_to(self.path).as_posix()
            for file in self.path.rglob("*")
            if file.suffix.lower() in _SUFFIXES and file.is_file()
        )
        self.files = tuple(dict.fromkeys([*self._captions, *there]))

    def __len__(self) -> int:
        return len(self.files)

    def rounds(self, suite: Suite, size: int = 500) -> Iterator[FolderRound]:
        """The pictures in rounds of `size` files, in the order of `files`.

        Pictures come reduced to what the suite needs, so that a round is small.
        """
        if size < 1:
            raise ParameterError(f"size must be 1 or more, not {size}")
        for start in range(0, len(self.files), size):
            yield self.part(start, start + size, suite)

    def part(self, start: int, stop: int, suite: Suite) -> FolderRound:
        """The pictures from one place in `files` up to another."""
        items, skipped = [], []
        for file in self.files[start:stop]:
            try:
                items.append(self._item(file, suite))
            except InputError as error:
                skipped.append(Skipped(file, str(error)))
        return FolderRound(tuple(items), tuple(skipped))

    def told(self, start: int, stop: int) -> list[tuple[str, int, dict[str, Any]]]:
        """Files, their sizes, and their captions: what tells a part from another."""
        return [
            (file, path.stat().st_size if path.is_file() else 0, self._captions.get(file, {}))
            for file, path in ((file, self.path / file) for file in self.files[start:stop])
        ]

    def _item(self, file: str, suite: Suite) -> RawItem:
        told = self._captions.get(file, {})
        path = self.path / file
        # Captions may come from elsewhere: they name nothing outside of the folder.
        try:
            inside = path.resolve().is_relative_to(self.path.resolve())
        except (OSError, ValueError) as error:
            raise InputError(f"{file!r} is no name of a file: {error}") from None
        if not inside:
            raise InputError(f"{file!r} is not in the folder")
        return RawItem(
            key=file,
            parts=suite.prepare({"image": path, "text": told.get("text")}),
            categories=tuple(told.get("categories", ())),
            payload={name: value for name, value in told.items() if name not in _OWN[1:]}
            or {"file": file},
        )


def _read(path: Path) -> dict[str, dict[str, Any]]:
    """The captions by file."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path}: cannot be read: {error}") from error
    found: dict[str, dict[str, Any]] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        where = f"{path}: line {number}"
        try:
            told = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataFileError(f"{where}: is not JSON: {error}") from error
        _check(told, where)
        if told["file"] in found:
            raise DataFileError(f"{where}: {told['file']!r} is there twice: give it one line")
        found[told["file"]] = told
    return found


def _check(told: Any, where: str) -> None:
    if not isinstance(told, dict) or not isinstance(told.get("file"), str) or not told["file"]:
        raise DataFileError(
            f'{where}: must be an object with the path of a picture, like {{"file": "a.jpg"}}'
        )
    if not isinstance(told.get("text", ""), str | None):
        raise DataFileError(f"{where}: 'text' must be text")
    names = told.get("categories", [])
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        raise DataFileError(f"{where}: 'categories' must be a list of names")
