"""Runs side by side, each in a process of its own.

So a run's peak of memory is its own, one that dies takes no other with it, and whatever is
finished stays finished.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from ...errors import OmhashError
from .jobs import Job, keep, perform


@dataclass(frozen=True)
class Task:
    """A run, where its data lie, and where its result goes."""

    job: Job
    data: Path
    configuration: dict[str, Any]
    to: Path


def run_all(
    tasks: Iterable[Task], n_processes: int, done: Callable[[Task, str | None], None]
) -> None:
    """Do all tasks, and tell of each as it ends: None, or why it failed.

    If this is interrupted the processes end, and nothing unfinished is kept.
    """
    spawn = multiprocessing.get_context("spawn")
    waiting = deque(tasks)
    running: dict[Connection, tuple[SpawnProcess, Task]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < n_processes:
                task = waiting.popleft()
                ours, theirs = spawn.Pipe(duplex=False)
                process = spawn.Process(target=_work, args=(theirs, task), daemon=True)
                process.start()
                theirs.close()
                running[ours] = process, task
            for connection in wait(list(running)):
                assert isinstance(connection, Connection)  # noqa: S101 - for the type checker
                process, task = running.pop(connection)
                done(task, _last_words(connection, process))
    finally:
        for process, _ in running.values():
            process.terminate()
            process.join()


def _last_words(connection: Connection, process: SpawnProcess) -> str | None:
    try:
        words: str | None = connection.recv()
        process.join()
    except EOFError:
        process.join()
        words = f"its process ended with code {process.exitcode}"
    connection.close()
    return words


def _work(connection: Connection, task: Task) -> None:
    # Ctrl-C reaches every process of a terminal; the first one decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        with threadpool_limits(1):
            keep(task.to, perform(task.job, task.data, task.configuration))
    except (OmhashError, OSError, MemoryError) as error:
        connection.send(str(error) or type(error).__name__)
    else:
        connection.send(None)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
