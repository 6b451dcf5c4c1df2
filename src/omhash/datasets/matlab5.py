"""Whether a MATLAB file of version 5 is sound, found out before SciPy reads it.

SciPy's reader trusts the type numbers in the file, and a corrupt one crashes the
process. So the file is walked first, tag by tag, without reading the values.
"""

from __future__ import annotations

import math
import struct
import zlib
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Protocol, TypeAlias

from ..errors import DataFileError

Kind: TypeAlias = Literal["matrix", "text", "cell", "other"]


class Variable(NamedTuple):
    """What a variable is ("cell": of texts; "other": nothing that a data set uses)."""

    name: str
    kind: Kind
    shape: tuple[int, ...]


_HEADER_BYTES = 128
_CHUNK_BYTES = 1 << 16
_MATRIX, _COMPRESSED = 14, 15
_NUMBER_BYTES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
_TEXT_TYPES = {1, 2, 3, 4, 16, 17, 18}
_CELL, _TEXT, _SPARSE, _OPAQUE = 1, 4, 5, 17
_NUMERIC = range(6, 16)


class _Stream(Protocol):
    def read(self, count: int, /) -> bytes: ...


class _Corrupt(Exception):
    """What is wrong with the file."""


def variables(path: Path) -> dict[str, Variable]:
    """The named variables of a file; an error if SciPy could not read it safely."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            order = {b"IM": "<", b"MI": ">"}.get(header[126:128])
            if order is None:
                raise _Corrupt("its header is not that of MATLAB 5 or 7.3")
            size = path.stat().st_size
            found = []
            while file.tell() < size:
                found.append(_variable(file, size, order))
            return {variable.name: variable for variable in found if variable.name}
    except (_Corrupt, zlib.error, struct.error) as error:
        raise DataFileError(
            f"{path}: is truncated, corrupt or not a MATLAB file ({error}); fetch or write it "
            "again, in version 5, 6, 7 or 7.3"
        ) from error


def _variable(file: IO[bytes], size: int, order: str) -> Variable:
    kind, count = struct.unpack(order + "II", _exactly(file, 8))
    end = file.tell() + count
    if end > size:
        raise _Corrupt("its last variable is cut off")
    if kind == _MATRIX:
        found = _Walk(file, order, count).matrix()
    elif kind == _COMPRESSED:
        unpacked = _Unpacked(file, count)
        inner, inner_count = struct.unpack(order + "II", _exactly(unpacked, 8))
        if inner != _MATRIX:
            raise _Corrupt("a compressed element is not a variable")
        found = _Walk(unpacked, order, inner_count).matrix()
        unpacked.finish()
    else:
        raise _Corrupt(f"an element of unknown type {kind}")
    file.seek(end)
    return found


class _Walk:
    """The elements inside one variable, of `left` bytes in all."""

    def __init__(self, stream: _Stream, order: str, left: int) -> None:
        self._stream = stream
        self._order = order
        self._left = left

    def matrix(self) -> Variable:
        flags = self._values({6}, exactly=8)
        word = struct.unpack(self._order + "I", flags[:4])[0]
        if word & 0xFF == _OPAQUE:
            self._skip(self._left, pad=False)
            return Variable("", "other", ())
        dimensions = self._values({5, 6})
        name = self._values({1, 16}).rstrip(b"\0").decode("utf-8", errors="replace")
        if len(dimensions) % 4 or len(dimensions) < 8:
            raise _Corrupt("a variable's dimensions are not whole numbers")
        shape = struct.unpack(f"{self._order}{len(dimensions) // 4}i", dimensions)
        if min(shape) < 0:
            raise _Corrupt("a variable's dimension is negative")
        parts = 2 if word & 0x800 else 1  # a complex matrix has an imaginary part
        return Variable(name, self._content(word & 0xFF, math.prod(shape), parts), shape)

    def _content(self, group: int, size: int, parts: int) -> Kind:
        kind: Kind = "other"
        if group in _NUMERIC:
            for _ in range(parts):
                self._skip_numbers(size)
            kind = "matrix" if parts == 1 else "other"
        elif group == _SPARSE:
            for _ in range(2 + parts):
                self._skip_numbers()
            kind = "matrix" if parts == 1 else "other"
        elif group == _TEXT:
            _, count = self._tag(_TEXT_TYPES)
            if size > max(count, _CHUNK_BYTES):
                raise _Corrupt(f"a text of {size} characters has {count} bytes")
            self._skip(count)
            kind = "text"
        elif group == _CELL:
            kinds = [self._nested() for _ in range(size)]
            kind = "cell" if all(inner == "text" for inner in kinds) else "other"
        if self._left > 0:
            self._skip(self._left, pad=False)
        return kind

    def _nested(self) -> Kind:
        _, count = self._tag({_MATRIX})
        self._left -= count
        # MATLAB writes an empty cell as a matrix of no bytes.
        return _Walk(self._stream, self._order, count).matrix().kind if count else "other"

    def _tag(self, allowed: set[int]) -> tuple[int, int]:
        """An element's type and bytes; short elements carry both in one word."""
        word = struct.unpack(self._order + "I", self._take(4))[0]
        kind, count = word & 0xFFFF, word >> 16
        if count == 0:
            kind, count = word, struct.unpack(self._order + "I", self._take(4))[0]
            self._padding = -count % 8
        else:
            self._padding = 4 - count
        if kind not in allowed or self._padding < 0 or count > self._left:
            raise _Corrupt(f"an element of type {kind} and {count} bytes where none can be")
        return kind, count

    def _values(self, allowed: set[int], *, exactly: int | None = None) -> bytes:
        _, count = self._tag(allowed)
        if count > _CHUNK_BYTES or (exactly is not None and count != exactly):
            raise _Corrupt(f"an element of {count} bytes where none can be")
        values = self._take(count)
        self._take(min(self._padding, self._left))
        return values

    def _skip_numbers(self, size: int | None = None) -> None:
        kind, count = self._tag(set(_NUMBER_BYTES))
        if size is not None and count != size * _NUMBER_BYTES[kind]:
            raise _Corrupt(f"a matrix of {size} values has {count} bytes")
        self._skip(count)

    def _skip(self, count: int, *, pad: bool = True) -> None:
        if pad:
            count += min(self._padding, self._left - count)
        if isinstance(self._stream, _Unpacked):
            while count > 0:
                count -= len(self._take(min(count, _CHUNK_BYTES)))
        else:
            file: Any = self._stream
            file.seek(count, 1)
            self._left -= count

    def _take(self, count: int) -> bytes:
        if count > self._left:
            raise _Corrupt("an element is longer than the one around it")
        self._left -= count
        return _exactly(self._stream, count)


class _Unpacked:
    """The bytes that a compressed element unpacks to, a little at a time."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file = file
        self._left = size
        self._zlib = zlib.decompressobj()
        self._packed = b""

    def read(self, count: int, /) -> bytes:
        unpacked = b""
        while len(unpacked) < count and not self._zlib.eof:
            if not self._packed:
                self._packed = self._file.read(min(self._left, _CHUNK_BYTES))
                self._left -= len(self._packed)
            # Even without more input, zlib may still hold output.
            output = self._zlib.decompress(self._packed, count - len(unpacked))
            if not output and not self._packed:
                break
            unpacked += output
            self._packed = self._zlib.unconsumed_tail
        return unpacked

    def finish(self) -> None:
        """Read to the end, where the checksum is."""
        while self.read(_CHUNK_BYTES):
            pass
        if not self._zlib.eof:
            raise _Corrupt("a compressed variable is cut off")


def _exactly(stream: _Stream, count: int) -> bytes:
    data = stream.read(count)
    if len(data) != count:
        raise _Corrupt("it ends too early")
    return data
