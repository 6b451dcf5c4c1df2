"""One door to all file formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import DataFileError, ParameterError
from .base import LabelledData
from .items import Items, Part, key_of, part_of
from .jsonlines import jsonlines_parts, load_jsonlines
from .matlab import load_matlab, matlab_parts
from .mirflickr import MIRFLICKR
from .npz import load_npz, npz_parts
from .nuswide import NUSWIDE
from .parquet import load_parquet, parquet_parts

_Load: TypeAlias = Callable[[Path], LabelledData]
_Parts: TypeAlias = Callable[[Path, int, Mapping[str, int]], Iterator[Part]]

_BY_SUFFIX: Mapping[str, tuple[_Load, _Parts]] = {
    ".npz": (load_npz, npz_parts),
    ".parquet": (load_parquet, parquet_parts),
    ".jsonl": (load_jsonlines, jsonlines_parts),
    ".mat": (load_matlab, matlab_parts),
}
_BY_NAME = {published.file: published for published in (MIRFLICKR, NUSWIDE)}


def load(path: str | os.PathLike[str]) -> LabelledData:
    """Load labelled data from a file, or from a folder with the authors' MATLAB files.

    The suffix says which format it is: `.npz`, `.parquet`, `.jsonl` or `.mat`. A MATLAB
    file that is called as the authors called theirs is read in their form.

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from omhash.datasets import load
    >>> item = {"views": {"image": [0.5, 1]}, "categories": ["dog"]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "dogs.jsonl"
    ...     _ = path.write_text(json.dumps(item))
    ...     data = load(path)
    >>> data.name, data.views["image"].shape, data.categories
    ('dogs', (1, 2), ('dog',))
    """
    path = _file(path)
    if path.name in _BY_NAME:
        return _BY_NAME[path.name].load(path)
    return _BY_SUFFIX[path.suffix.lower()][0](path)


def parts(
    path: str | os.PathLike[str], size: int = 10_000, *, widths: Mapping[str, int] | None = None
) -> Iterator[Part]:
    """Read a file of any size, labelled or not, in parts for `omhash.Collection.ingest`.

    Parameters
    ----------
    path : path
        What `load` reads.
    size : int
        Items in a part.
    widths : mapping of modality to width, optional
        How wide sparse views of Parquet and JSON lines are; without it, each is as wide as the
        largest column number in the part asks for.

    Raises
    ------
    DataFileError
        The file is missing, corrupt or of another form; the parts before are good.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from omhash.datasets import parts, synthetic, write_npz
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_npz(synthetic.make(n_items=50), Path(folder) / "dogs.npz")
    ...     found = [part.read() for part in parts(Path(folder) / "dogs.npz", size=20)]
    >>> [len(items) for items in found], found[2].keys[0]
    ([20, 20, 10], 'dogs 40')
    """
    path = _file(path)
    if size < 1:
        raise ParameterError(f"size must be 1 or more, not {size!r}")
    if path.name in _BY_NAME:
        return _cut(_BY_NAME[path.name].load(path), path.stem, size)
    return _BY_SUFFIX[path.suffix.lower()][1](path, size, widths or {})


def _cut(data: LabelledData, stem: str, size: int) -> Iterator[Part]:
    keys = [key_of(None, stem, row, "") for row in range(len(data))]
    whole = Items(data.views, data.labels, data.categories, keys, [{}] * len(data))
    for start in range(0, len(data), size):
        rows = np.arange(start, min(start + size, len(data)))
        yield part_of(start, whole.only(rows), len(data))


def _file(path: str | os.PathLike[str]) -> Path:
    """The file that is meant, of a name that can be read."""
    path = Path(path)
    if path.is_dir():
        path = _authors_file(path)
    if path.name not in _BY_NAME and path.suffix.lower() not in _BY_SUFFIX:
        raise DataFileError(
            f"{path}: no loader for files called {path.suffix or 'so'!r}; the suffix must be one "
            f"of {', '.join(_BY_SUFFIX)}"
        )
    return path


def _authors_file(folder: Path) -> Path:
    found = [folder / name for name in _BY_NAME if (folder / name).is_file()]
    if len(found) != 1:
        held = "both" if found else "neither"
        raise DataFileError(
            f"{folder}: a folder is loaded if it holds {' or '.join(_BY_NAME)}; this one holds "
            f"{held}: give the path of a file"
        )
    return found[0]
