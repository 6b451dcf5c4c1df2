"""A lock that many may share, or one may have alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """Searches share it; what changes the index has it alone, and is not kept waiting.

    Examples
    --------
    >>> lock = SharedLock()
    >>> with lock.shared(), lock.shared():
    ...     pass
    >>> with lock.alone():
    ...     pass
    """

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._sharing = 0
        self._waiting = 0
        self._taken = False

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Keep out who wants it alone."""
        with self._condition:
            # Those who wait to have it alone go first: searches without a pause would starve them.
            self._condition.wait_for(lambda: not self._taken and not self._waiting)
            self._sharing += 1
        try:
            yield
        finally:
            with self._condition:
                self._sharing -= 1
                self._condition.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep everybody else out."""
        with self._condition:
            self._waiting += 1
            try:
                self._condition.wait_for(lambda: not self._taken and not self._sharing)
                self._taken = True
            finally:
                self._waiting -= 1
        try:
            yield
        finally:
            with self._condition:
                self._taken = False
                self._condition.notify_all()
