"""Records: an item's code, its sketches and a checksum, as one row of bytes."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes

Bytes: TypeAlias = NDArray[np.uint8]
Numbers: TypeAlias = NDArray[np.int64]

_SEAL = 4


@dataclass(frozen=True)
class Layout:
    """What a record holds: the code, which modalities have a sketch, and the sketches.

    Attributes
    ----------
    n_bits : int
    sketches : dict of str to int
        Bits of each modality's sketch.

    Examples
    --------
    >>> import numpy as np
    >>> layout = Layout(8, {"image": 16})
    >>> body = layout.packed(
    ...     np.array([[7]], np.uint8),
    ...     {"image": np.array([[1, 2]], np.uint8)},
    ...     {"image": np.array([True])},
    ... )
    >>> body
    array([[  7, 128,   1,   2]], dtype=uint8)
    """

    n_bits: int
    sketches: dict[str, int]

    @property
    def width(self) -> int:
        """Bytes of a record without its checksum."""
        n_masks = -(-len(self.sketches) // 8)
        return self.n_bits // 8 + n_masks + sum(self.sketches.values()) // 8

    def packed(
        self,
        codes: Codes,
        sketches: Mapping[str, Codes],
        present: Mapping[str, NDArray[np.bool_]],
    ) -> Bytes:
        """Rows of bytes; the sketch of a modality that an item lacks is zero."""
        if not self.sketches:
            return np.ascontiguousarray(codes)
        has = np.column_stack([present[name] for name in self.sketches])
        rows = [np.where(present[name][:, None], sketches[name], 0) for name in self.sketches]
        return np.hstack([codes, np.packbits(has, axis=1), *rows]).astype(np.uint8)

    def unpacked(self, body: Bytes) -> tuple[Codes, dict[str, Codes], dict[str, NDArray[np.bool_]]]:
        """What `packed` was given."""
        at = self.n_bits // 8
        codes = np.ascontiguousarray(body[:, :at])
        n_masks = -(-len(self.sketches) // 8)
        has = np.unpackbits(body[:, at : at + n_masks], axis=1).astype(bool)
        at += n_masks
        sketches, present = {}, {}
        for place, (name, bits) in enumerate(self.sketches.items()):
            sketches[name] = np.ascontiguousarray(body[:, at : at + bits // 8])
            present[name] = has[:, place]
            at += bits // 8
        return codes, sketches, present


def sealed(numbers: Numbers, labels: Numbers, body: Bytes) -> Bytes:
    """Records with the checksum of their item number, label set and bytes."""
    return np.hstack([body, _sums(numbers, labels, body)[:, None].view(np.uint8)])


def opened(numbers: Numbers, labels: Numbers, records: Bytes) -> tuple[Bytes, Numbers]:
    """Records without their checksums, and the numbers of those that are not what was sealed."""
    body = records[:, :-_SEAL]
    told = np.ascontiguousarray(records[:, -_SEAL:]).view("<u4")[:, 0]
    return body, numbers[_sums(numbers, labels, body) != told]


def seal(*values: object) -> int:
    """The checksum of a row's plain values."""
    return zlib.crc32("\0".join(map(str, values)).encode())


def _sums(numbers: Numbers, labels: Numbers, body: Bytes) -> NDArray[np.uint32]:
    told = np.column_stack([numbers, labels]).astype("<i8").view(np.uint8)
    rows = np.hstack([told, body])
    each = rows.view(f"V{rows.shape[1]}")[:, 0].tolist()
    return np.fromiter(map(zlib.crc32, each), dtype="<u4", count=len(rows))
