"""A folder of pictures as parts, which are learned and stored like those of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from ..datasets import Items, Part, digest
from ..encoders import Folder, Skipped, Suite
from ..encoders.pictures import thumbnail
from ..learning.labels import label_matrix


@dataclass
class Pictures:
    """The pictures of a folder, read part by part.

    Attributes
    ----------
    skipped : list of Skipped
        Files of which no item could be made, in the parts that were read so far.
    """

    folder: Folder
    suite: Suite
    skipped: list[Skipped] = field(default_factory=list)

    def parts(self, size: int) -> Iterator[Part]:
        """The folder in parts of `size` files."""
        n = len(self.folder)
        for start in range(0, n, size):
            stop = min(start + size, n)
            told = digest([start, self.folder.told(start, stop)])

            def read(start: int = start, stop: int = stop) -> Items:
                return self._read(start, stop)

            yield Part(start, stop, told, read, stop / n)

    def _read(self, start: int, stop: int) -> Items:
        found = self.folder.part(start, stop, self.suite)
        self.skipped += found.skipped
        read = label_matrix([item.categories for item in found.items], len(found.items))
        return Items(
            self.suite.encode(item.parts for item in found.items) if found.items else {},
            read.matrix.toarray().astype(np.uint8),
            read.names,
            [item.key for item in found.items],
            # The page shows the small copy, also where the folder is out of reach.
            [
                {**item.payload, "picture": thumbnail(self.folder.path / item.key)}
                for item in found.items
            ],
        )
