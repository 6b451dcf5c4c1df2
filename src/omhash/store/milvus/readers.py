"""Who reads, so that rows of an older state are deleted only when nobody needs them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Readers:
    """Counts those who read, in the order in which they began.

    Examples
    --------
    >>> readers = Readers()
    >>> with readers.one():
    ...     readers.gone(0.01)
    False
    >>> readers.gone(0.01)
    True
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._reading: set[int] = set()
        self._last = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Be counted."""
        with self._condition:
            self._last += 1
            mine = self._last
            self._reading.add(mine)
        try:
            yield
        finally:
            with self._condition:
                self._reading.discard(mine)
                self._condition.notify_all()

    def gone(self, patience: float) -> bool:
        """Wait until all who read now are gone; False where some are still there."""
        with self._condition:
            last = self._last
            return self._condition.wait_for(
                lambda: all(mine > last for mine in self._reading), timeout=patience
            )
