"""One door to all file formats."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import DataFileError
from .base import LabelledData
from .jsonlines import load_jsonlines
from .matlab import load_matlab
from .mirflickr import MIRFLICKR
from .npz import load_npz
from .nuswide import NUSWIDE
from .parquet import load_parquet

_BY_SUFFIX = {
    ".npz": load_npz,
    ".parquet": load_parquet,
    ".jsonl": load_jsonlines,
    ".mat": load_matlab,
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
    path = Path(path)
    if path.is_dir():
        path = _authors_file(path)
    if path.name in _BY_NAME:
        return _BY_NAME[path.name].load(path)
    if path.suffix.lower() not in _BY_SUFFIX:
        raise DataFileError(
            f"{path}: no loader for files called {path.suffix or 'so'!r}; the suffix must be one "
            f"of {', '.join(_BY_SUFFIX)}"
        )
    return _BY_SUFFIX[path.suffix.lower()](path)


def _authors_file(folder: Path) -> Path:
    found = [folder / name for name in _BY_NAME if (folder / name).is_file()]
    if len(found) != 1:
        held = "both" if found else "neither"
        raise DataFileError(
            f"{folder}: a folder is loaded if it holds {' or '.join(_BY_NAME)}; this one holds "
            f"{held}: give the path of a file"
        )
    return found[0]
