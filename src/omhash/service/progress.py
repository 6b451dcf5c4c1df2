"""What a collection is doing right now, for whoever follows it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Running:
    """A round on its way.

    Attributes
    ----------
    stage : str
        "waiting", "reading", "encoding", "measuring" or "learning".
    done, total : int
        Items of this stage; both 0 where that is not known.
    """

    round_id: str | None
    stage: str
    done: int
    total: int
    started: float

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self.started


class Progress:
    """Told by the one thread that writes, read by any."""

    def __init__(self) -> None:
        self.running: Running | None = None
        self.failed: str | None = None
        self.version = 0

    def begin(self, round_id: str | None) -> None:
        """A round begins."""
        self._set(Running(round_id, "reading", 0, 0, time.monotonic()), None)

    def stage(self, name: str, done: int = 0, total: int = 0) -> None:
        """The round in hand has come so far."""
        if self.running is not None:
            self._set(replace(self.running, stage=name, done=done, total=total), None)

    def end(self, failed: str | None = None) -> None:
        """The round is stored, or failed for a reason."""
        self._set(None, failed)

    def _set(self, running: Running | None, failed: str | None) -> None:
        self.running, self.failed = running, failed
        self.version += 1
