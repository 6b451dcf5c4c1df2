"""Writers on Milvus that are killed: what they said is done is there, and nothing in part."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import omhash
from omhash.errors import StoreError
from omhash.store.milvus import claims
from things import create, ingest, seen

HERE = Path(__file__).parent
KILLS = 20 if os.environ.get("OMHASH_FULL") == "1" else 1


def killed_writer(path, first, seconds):
    """Let a process ingest, and kill it some seconds after it begins a round; begun and done."""
    paths = [str(HERE), str(HERE.parent), *sys.path]
    process = subprocess.Popen(  # noqa: S603 - this Python and a file beside this one
        [sys.executable, str(HERE / "writer_worker.py"), path, str(first)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    begun = done = first - 1
    with process:
        for line in process.stdout:
            word, number = line.split()
            if word == "begin":
                begun = int(number)
                if begun == first + 1:  # the first round also loads what is loaded once
                    time.sleep(seconds)
                    process.kill()
            else:
                done = int(number)
    assert process.returncode == -signal.SIGKILL
    return begun, done


def opened(path):
    """What a killed process leaves of Milvus Lite takes a moment to end."""
    for _ in range(50):
        try:
            return omhash.open(path, patience=30)
        except StoreError:
            time.sleep(0.2)
    return omhash.open(path, patience=30)


def survive(path, seconds):
    create(path).close()
    first, interrupted = 1, 0
    for _ in range(KILLS):
        begun, done = killed_writer(path, first, np.random.default_rng().random() * seconds)
        with opened(path) as things:
            assert things.check() == []
            stored = [report.id for report in things.rounds()]
            assert stored in (
                [f"round {number}" for number in range(1, done + 1)],
                [f"round {number}" for number in range(1, begun + 1)],
            )
            assert len(things) == 30 * len(stored)
            interrupted += len(stored) < begun
            for number in range(done + 1, begun + 1):
                again = ingest(things, number, 30, round_id=f"round {number}")
                assert again.repeated == (f"round {number}" in stored)
            assert things.check() == []
        first = begun + 1
    return first


def same_as_never_killed(path, first, twin):
    with create(twin) as other, opened(path) as things:
        for number in range(1, first):
            ingest(other, number, 30, round_id=f"round {number}")
        one, two = seen(things), seen(other)
        assert (one["items"], one["found"]) == (two["items"], two["found"])


def test_a_killed_writer_on_milvus_lite(tmp_path):
    pytest.importorskip("milvus_lite", reason="needs Milvus Lite: see docs/milvus.md")
    path = f"milvus+file://{tmp_path}/things.db"
    same_as_never_killed(path, survive(path, 0.3), tmp_path / "twin")


def test_a_killed_writer_on_a_server(server, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "LEASE", 4.0)  # how long this process takes others for alive
    path = server.new_path()
    same_as_never_killed(path, survive(path, 3.0), tmp_path / "twin")
