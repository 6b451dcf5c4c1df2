"""Parquet files in slices: rows that anyone who reaches the file reads for himself."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DataFileError, ParameterError
from ..learning.labels import LabelMatrix, label_matrix
from .checked import reading
from .items import Items, Part, part_of
from .parquet import SlicedRows, opened_parquet


@dataclass(frozen=True)
class Slice:
    """Consecutive items of a Parquet file, by where they are: a few bytes, however many items.

    Attributes
    ----------
    url : str
        A path, or a URL that fsspec knows.
    start, stop : int
        The first item, counted from 0, and the one after the last.
    total : int
        Items of the whole file.
    widths : dict of str to int
        How wide sparse views are, where that is known.
    """

    url: str
    start: int
    stop: int
    total: int
    widths: Mapping[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.url}, items {self.start} to {self.stop - 1}"

    def read(self) -> Items:
        """The items."""
        with self._rows() as rows:
            return rows.items(self.start, self.stop, self.widths)

    def labels(self) -> LabelMatrix:
        """The categories of the items; no other column is read."""
        with self._rows() as rows:
            labels, names = rows.labels(self.start, self.stop)
        return label_matrix(labels, categories=names)

    def part(self) -> Part:
        """The part that `parts` makes of these items, with its digest."""
        return part_of(self.start, self.read(), self.total)

    @contextmanager
    def _rows(self) -> Iterator[SlicedRows]:
        with reading(Path(self.url)), _opened(self.url) as file:
            if file.metadata.num_rows != self.total:
                raise DataFileError(
                    f"{self.url}: has {file.metadata.num_rows} items, and had {self.total} "
                    "when it was first looked at: start again"
                )
            yield SlicedRows(file, Path(self.url))


def slices(
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    size: int = 10_000,
    *,
    widths: Mapping[str, int] | None = None,
) -> list[Slice]:
    """Parquet files in slices of `size` items; of the files, only the footers are read here.

    Parameters
    ----------
    data : path or URL, or several
        May hold ``*``; what is found then comes in alphabetical order. A URL, like
        ``s3://bucket/2026-*.parquet``, needs fsspec and its library for that place.
    size : int
        Items in a slice. A slice ends with its file.
    widths : mapping of modality to width, optional
        How wide sparse views are.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> table = pa.table({"image": [[0.5, 1.0]] * 5, "categories": [["cat"]] * 5})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(table, f"{folder}/cats.parquet")
    ...     found = slices(f"{folder}/*.parquet", size=3)
    ...     [(one.start, one.stop, one.read().keys[0]) for one in found]
    [(0, 3, 'cats 0'), (3, 5, 'cats 3')]
    """
    if size < 1:
        raise ParameterError(f"size must be 1 or more, not {size!r}")
    given = [data] if isinstance(data, (str, os.PathLike)) else list(data)
    found: list[Slice] = []
    for url in dict.fromkeys(url for one in given for url in _found(os.fspath(one))):
        with reading(Path(url)), _opened(url) as file:
            total = file.metadata.num_rows
        found += [
            Slice(url, start, min(start + size, total), total, dict(widths or {}))
            for start in range(0, total, size)
        ]
    return found


def _found(pattern: str) -> list[str]:
    """The files that a path or URL means: absolute, since others may stand elsewhere."""
    if not pattern.lower().endswith((".parquet", "*")):
        raise DataFileError(f"{pattern}: only Parquet files (.parquet) are read in slices")
    if "://" in pattern:
        files, path = _file_system(pattern)
        try:
            found = [str(files.unstrip_protocol(one)) for one in sorted(files.glob(path))]
        except Exception as error:  # each library has its own for what nobody may read
            raise DataFileError(
                f"{pattern}: cannot be looked for ({type(error).__name__}: {error})"
            ) from error
    elif "*" in pattern:
        found = [str(Path(one).absolute()) for one in sorted(glob.glob(pattern))]  # noqa: PTH207 - patterns may be absolute
    else:
        found = [str(Path(pattern).absolute())]
    if not found:
        raise DataFileError(f"{pattern}: there is no such file; check the path")
    return found


@contextmanager
def _opened(url: str) -> Iterator[Any]:
    with ExitStack() as stack:
        source: Any = url
        if "://" in url:
            files, path = _file_system(url)
            source = stack.enter_context(files.open(path, "rb"))
        yield stack.enter_context(opened_parquet(source))


def _file_system(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise ParameterError(
            f"{url}: URLs need fsspec, which comes with pip install 'omhash[dask]'"
        ) from None
    try:
        files, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise ParameterError(f"{url}: no library here reads such URLs: {error}") from None
    return files, str(path)
