"""A scheduler and a worker that are started as the guide says, and what happens without them."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from given_rounds import Noted, assert_learned_the_same, learned_alone, stream
from hcfw_items import hasher_of

from omhash.distributed import connected, learn
from omhash.errors import ClusterError

LOCAL = ("--host", "127.0.0.1", "--no-dashboard")


@pytest.fixture
def start(tmp_path):
    """Starts ``dask scheduler`` and ``dask worker``, and ends what it started."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    started = []

    def starter(*arguments):
        with (tmp_path / f"log {len(started)}").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - Dask's own program
                [sys.executable, "-m", "dask", *arguments, *LOCAL],
                env=env,
                stderr=log,
                cwd=tmp_path,
                start_new_session=True,
            )
        started.append(process)
        return process

    yield starter
    for process in reversed(started):
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def address_in(log):
    """Where a scheduler says that it listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = re.search(r"Scheduler at:\s+(tcp://127\.0\.0\.1:\d+)", log.read_text())
        if found:
            return found[1]
        time.sleep(0.05)
    raise TimeoutError(log.read_text())


def test_no_worker_then_one_then_no_scheduler(start, tmp_path):
    scheduler = start("scheduler", "--port", "0")
    address = address_in(tmp_path / "log 0")
    with (
        pytest.raises(ClusterError, match="the scheduler has no worker, 1 s long"),
        connected(address, patience=1),
    ):
        pass
    start("worker", address, "--nthreads", "1")
    parts = stream()
    (tmp_path / "read").mkdir()
    with connected(address, patience=30) as client:
        found = learn(hasher_of(), parts, client=client)
        assert_learned_the_same(found, learned_alone(hasher_of(), [[part] for part in parts]))
        noted = [
            Noted(part, str(tmp_path / "read"), place, 0.2) for place, part in enumerate(parts)
        ]

        def kill():
            deadline = time.monotonic() + 60
            while not list((tmp_path / "read").iterdir()) and time.monotonic() < deadline:
                time.sleep(0.01)
            os.kill(scheduler.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        begun = time.monotonic()
        with pytest.raises(ClusterError, match=f"{address}: the scheduler was lost"):
            learn(hasher_of(), noted, client=client)
        killer.join()
        assert time.monotonic() - begun < 30
