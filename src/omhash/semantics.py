"""Category name -> vector.

A `Semantics` is any callable that takes a sequence of category names and gives an
array with one row a name. This module makes them from what ships with the package
(`embedded`), from a word-vector file (`from_file`), and from vectors at hand
(`from_mapping`, `from_array`); `checked` asks any callable, also one of your own, and
validates the answer. Vectors come as they are: whoever learns from them scales them
to unit length.
"""

from __future__ import annotations

import gzip
import logging
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import DataFileError, SemanticsError

Vectors: TypeAlias = NDArray[np.float64]
"""One row a category name."""

Semantics: TypeAlias = Callable[[Sequence[str]], Vectors]
"""Gives an array of shape (n_names, k) for n category names."""

_CHUNK = 1 << 20
_LONGEST_WORD = 10_000  # bytes
_LARGEST_WIDTH = 100_000


def checked(semantics: Callable[[Sequence[str]], ArrayLike], names: Sequence[str]) -> Vectors:
    """Ask a callable for the vectors of category names, and validate its answer.

    Parameters
    ----------
    semantics : callable
        Takes the names as a list, gives one row a name.
    names : sequence of str
        Category names, none of them twice.

    Returns
    -------
    array of float64, shape (n_names, k)
        Finite, and no row is zero. For no names the callable is not asked, and k is 0.

    Examples
    --------
    >>> checked(lambda names: [[len(name), 1] for name in names], ["cat", "horse"])
    array([[3., 1.],
           [5., 1.]])
    """
    asked = _checked_names(names)
    if not asked:
        return np.empty((0, 0))
    answer = semantics(asked)
    try:
        vectors = np.asarray(answer)
    except ValueError as error:
        raise SemanticsError(
            "the category vectors have different widths: give every name as many numbers"
        ) from error
    if vectors.dtype.kind not in "biuf":
        raise SemanticsError(f"category vectors must be real numbers, not {vectors.dtype}")
    if vectors.ndim != 2 or len(vectors) != len(asked) or vectors.shape[1] == 0:
        raise SemanticsError(
            f"category vectors have shape {vectors.shape}: "
            f"give one row for each of the {len(asked)} names, ({len(asked)}, k)"
        )
    vectors = vectors.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.sqrt(np.square(vectors).sum(axis=1))
    bad = ~(np.isfinite(lengths) & (lengths > 0))
    if bad.any():
        raise SemanticsError(
            f"the vectors of {_listed(np.array(asked, dtype=object)[bad])} are zero or not finite "
            "and cannot be scaled to unit length: give these names other vectors"
        )
    return vectors


def embedded() -> Semantics:
    """Vectors of 256 numbers that ship with the package: no download, any language.

    A name is read in lower case with underscores as spaces, and never unknown.

    Examples
    --------
    >>> dog, cat, car = embedded()(["dog", "cat", "car"])
    >>> bool(dog @ cat > dog @ car)
    True
    """
    return partial(checked, _embed)


def embedded_texts(texts: Sequence[str]) -> NDArray[np.float32]:
    """The mean vector of the words of each text, from what ships with the package.

    Examples
    --------
    >>> embedded_texts(["a dog in the snow"]).shape
    (1, 256)
    """
    return cast(NDArray[np.float32], _wordllama().embed(list(texts)))


@cache
def embedded_digest() -> str:
    """SHA-256 of the vectors that ship with the package."""
    vectors = np.ascontiguousarray(_wordllama().embedding)
    return sha256(vectors.tobytes()).hexdigest()


def from_mapping(vectors: Mapping[str, ArrayLike]) -> Semantics:
    """Vectors from a mapping of name to vector.

    Examples
    --------
    >>> from_mapping({"cat": [1, 0], "dog": [1, 1]})(["dog"])
    array([[1., 1.]])
    """
    return from_array(list(vectors), [np.asarray(vector) for vector in vectors.values()])


def from_array(names: Sequence[str], vectors: ArrayLike) -> Semantics:
    """Vectors from an array with one row a name.

    Examples
    --------
    >>> from_array(["cat", "dog"], [[1, 0], [1, 1]])(["dog", "cat"])
    array([[1., 1.],
           [1., 0.]])
    """
    rows = checked(lambda _: vectors, names)
    return partial(checked, partial(_from_table, dict(zip(names, rows, strict=True))))


def from_file(path: str | Path, names: Sequence[str] = ()) -> Semantics:
    r"""Vectors from a word2vec (text or binary) or GloVe file, plain or gzipped.

    The file is streamed, and only what the names need is kept: one pass for `names`,
    and one for each later call that has new names. A pass ends early once every name
    was found in its first form.

    The forms of a name, the first that the file has wins: the name as it is, then its
    words (split at spaces, ``_``, ``-`` and ``/``) joined by ``_``, by a space, by ``-``;
    then all these in lower case, with a capital first letter, with each word
    capitalised, in upper case. Where none is there, the mean of the words' vectors,
    each in the first of the same five cases. A word that the file has twice counts the
    first time.

    Parameters
    ----------
    path : str or Path
    names : sequence of str
        Names that are known beforehand, to be read at once.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "vectors.txt")
    ...     _ = file.write_text("bat 0 1\nbaseball 2 1\n")
    ...     from_file(file)(["Bat", "baseball bat"])
    array([[0., 1.],
           [1., 1.]])
    """
    path = Path(path)
    return partial(checked, partial(_from_file, path, _read(path, _checked_names(names))))


def _checked_names(names: Sequence[str]) -> list[str]:
    if isinstance(names, str):
        raise SemanticsError(f"names must be a sequence of category names, not the text {names!r}")
    listed = list(names)
    other = [name for name in listed if not isinstance(name, str)]
    if other:
        raise SemanticsError(f"category names must be text, not {_listed(other)}")
    twice = [name for name, times in Counter(listed).items() if times > 1]
    if twice:
        raise SemanticsError(f"category names are there twice: {_listed(twice)}: give each once")
    return listed


def _listed(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)


def _from_table(table: Mapping[str, Vectors], names: Sequence[str]) -> Vectors:
    unknown = [name for name in names if name not in table]
    if unknown:
        raise SemanticsError(
            f"no vector was given for {_listed(unknown)}: add these names to the mapping or array"
        )
    return np.stack([table[name] for name in names])


def _from_file(path: Path, known: dict[str, Vectors], names: Sequence[str]) -> Vectors:
    new = [name for name in names if name not in known]
    if new:
        known.update(_read(path, new))
    return np.stack([known[name] for name in names])


def _embed(names: Sequence[str]) -> NDArray[np.float32]:
    texts = [name.replace("_", " ").lower() for name in names]
    return embedded_texts(texts)


@cache
def _wordllama() -> Any:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    import wordllama  # here, because few need it and it takes a quarter of a second

    # wordllama sets up the root logger, which belongs to the application.
    root.handlers[:] = handlers
    root.setLevel(level)
    home = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=home, disable_download=True)


# Forms of a name


def _cases(text: str) -> list[str]:
    return [text, text.lower(), text.capitalize(), text.title(), text.upper()]


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s_/-]+", name) if word]


def _forms(name: str) -> list[str]:
    """Spellings of a whole name, the preferred one first."""
    bases = [name, *(mark.join(_words(name)) for mark in "_ -")]
    by_case = zip(*map(_cases, bases), strict=True)
    return list(dict.fromkeys(form for forms in by_case for form in forms if form))


def _vector(name: str, found: Mapping[bytes, Vectors]) -> Vectors | None:
    def first(forms: Iterable[str]) -> Vectors | None:
        return next((found[key] for key in map(str.encode, forms) if key in found), None)

    whole = first(_forms(name))
    if whole is not None:
        return whole
    parts = [vector for word in _words(name) if (vector := first(_cases(word))) is not None]
    return np.mean(parts, axis=0) if parts and len(parts) == len(_words(name)) else None


# Files


def _read(path: Path, names: Sequence[str]) -> dict[str, Vectors]:
    """The vectors of all names, in one pass through the file."""
    forms = {form for name in names for form in _forms(name)}
    forms |= {form for name in names for word in _words(name) for form in _cases(word)}
    wanted = {form.encode() for form in forms}
    preferred = {name.encode() for name in names}
    found: dict[bytes, Vectors] = {}
    try:
        with _opened(path) as file:
            if not names:
                return {}
            for word, vector in _records(file, path, wanted):
                found.setdefault(word, vector)
                preferred.discard(word)
                if not preferred:
                    break
    except (OSError, EOFError, zlib.error) as error:
        raise DataFileError(f"{path}: cannot be read: {error}") from error
    vectors = {name: _vector(name, found) for name in names}
    unknown = [name for name, vector in vectors.items() if vector is None]
    if unknown:
        raise SemanticsError(
            f"{path} has no vector for {_listed(unknown)}: rename these categories, use another "
            "file, or give vectors of your own with from_mapping"
        )
    return {name: vector for name, vector in vectors.items() if vector is not None}


def _opened(path: Path) -> BinaryIO:
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return cast(BinaryIO, gzip.open(path)) if zipped else path.open("rb")


def _records(file: BinaryIO, path: Path, wanted: set[bytes]) -> Iterator[tuple[bytes, Vectors]]:
    """The wanted words of a file and their vectors, in the file's order."""
    first = file.readline(_CHUNK)
    header = re.fullmatch(rb"\s*(\d{1,12})\s+(\d{1,12})\s*", first)
    if header is None:
        numbers = first.split()[1:]
        _numbers(numbers, max(1, len(numbers)), f"{path}: line 1")
        file.seek(0)
        yield from _text(file, path, wanted, len(numbers), line=1)
        return
    count, width = int(header[1]), int(header[2])
    if not 1 <= width <= _LARGEST_WIDTH:
        raise DataFileError(f"{path}: line 1 promises vectors of {width} numbers: corrupt?")
    start = file.tell()
    binary = _looks_binary(file.read(_LONGEST_WORD + 32 * width), width)
    file.seek(start)
    if binary:
        yield from _binary(file, path, wanted, width, count)
    else:
        yield from _text(file, path, wanted, width, line=2, count=count)


def _looks_binary(sample: bytes, width: int) -> bool:
    """Tell the two forms with a header apart by the first word and its vector."""
    try:
        if len([float(field) for field in sample.partition(b"\n")[0].split()[1:]]) == width:
            return False
    except ValueError:
        pass
    # Four bytes of a float may all be printable, but hardly all be parts of written numbers.
    floats = sample.partition(b" ")[2][: 4 * width]
    return bool(floats.strip(b"0123456789+-.eE \t\r\n"))


def _text(
    file: BinaryIO,
    path: Path,
    wanted: set[bytes],
    width: int,
    line: int,
    count: int | None = None,
) -> Iterator[tuple[bytes, Vectors]]:
    heads = {word.partition(b" ")[0] for word in wanted}
    seen, last = 0, b""
    for row in file:
        if row.isspace():
            continue
        seen, last = seen + 1, row
        if row[: row.find(b" ")] in heads:
            word, *numbers = row.rsplit(None, width)
            if word in wanted:
                yield word, _numbers(numbers, width, f"{path}: line {line + seen - 1}")
    _numbers(last.rsplit(None, width)[1:], width, f"{path}: line {line + seen - 1}")
    if count is not None and seen != count:
        raise DataFileError(f"{path}: line 1 promises {count} words and {seen} follow: truncated?")


def _numbers(fields: list[bytes], width: int, where: str) -> Vectors:
    try:
        vector = np.array([float(field) for field in fields])
    except ValueError as error:
        raise DataFileError(f"{where}: {error}: the file is corrupt") from error
    if len(vector) != width or not np.isfinite(vector).all():
        raise DataFileError(f"{where} does not have {width} finite numbers: the file is corrupt")
    return vector


def _binary(
    file: BinaryIO, path: Path, wanted: set[bytes], width: int, count: int
) -> Iterator[tuple[bytes, Vectors]]:
    size, buffer, at, offset = 4 * width, b"", 0, file.tell()
    for number in range(1, count + 1):
        space = buffer.find(b" ", at)
        if space < 0 or space + 1 + size > len(buffer):
            offset, buffer, at = offset + at, buffer[at:] + file.read(_CHUNK + size), 0
            space = buffer.find(b" ")
        if space < 0 or space + 1 + size > len(buffer) or space - at > _LONGEST_WORD:
            raise DataFileError(
                f"{path}: word {number} of {count}, at byte {offset + at}, is broken off: "
                "the file is truncated or corrupt"
            )
        word = buffer[at:space].lstrip(b"\n")
        at = space + 1 + size
        if word in wanted:
            vector = np.frombuffer(buffer, "<f4", width, space + 1).astype(np.float64)
            if not np.isfinite(vector).all():
                raise DataFileError(
                    f"{path}: the vector at byte {offset + space + 1} is not finite: "
                    "the file is corrupt"
                )
            yield word, vector
    if (buffer[at:] + file.read(2)).strip():
        raise DataFileError(f"{path}: goes on at byte {offset + at}, after {count} words: corrupt?")
