"""Kill a process at random instants: what it said is done is there, and nothing in part.

``OMHASH_FULL=1`` kills 300 times; otherwise it is 20.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from plan import Plan, contents, perform

import omhash
from omhash.store import problems
from things import create, seen

KILLS = 300 if os.environ.get("OMHASH_FULL") == "1" else 20
HERE = Path(__file__).parent


@pytest.fixture
def worker(tmp_path):
    paths = [str(HERE), str(HERE.parent), *sys.path]
    process = subprocess.Popen(  # noqa: S603 - this Python and a file beside this one
        [sys.executable, str(HERE / "crash_worker.py"), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    with process:
        yield process
        process.stdin.close()


def killed(worker, n_done, seconds, *, after):
    """Let a child work and kill it some seconds after a word; the last begun and last done."""
    worker.stdin.write(f"{n_done}\n")
    begun, done, child = n_done, n_done, None
    told = set()
    for line in worker.stdout:
        word, _, rest = line.strip().partition(" ")
        told.add(word)
        if word == "begin":
            begun = int(rest)
        elif word == "done":
            done = int(rest)
        elif word == "child":
            child = int(rest)
        elif word == "dead":
            break
        assert word != "failed", rest
        if child and after in told:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
            after = ""  # what it told before it died is still to be read
    return begun, done


def test_kill_at_random_instants(worker, tmp_path):
    rng = np.random.default_rng()
    create(tmp_path / "things").close()
    plan = Plan()
    operations = {}
    interrupted = 0
    for _ in range(KILLS):
        after = "child" if rng.random() < 0.2 else "begin"
        begun, done = killed(worker, plan.number, rng.random() * 0.15, after=after)
        while plan.number < done:
            operation = plan.next()
            operations[operation["number"]] = operation, plan.contents()
        before = plan.contents()
        if begun > done:
            interrupted += 1
            operation = plan.next()
            operations[operation["number"]] = operation, plan.contents()
        assert problems(tmp_path / "things") == []
        with omhash.open(tmp_path / "things") as things:
            assert contents(things) in (before, plan.contents())
            if begun > done:
                perform(things, operation, tmp_path)
            assert contents(things) == plan.contents()
            assert things.check() == []
        for backup in tmp_path.glob("backup *"):
            number = int(backup.name.removeprefix("backup "))
            operation, whole = operations[number]
            assert operation["kind"] == "backup"
            assert problems(backup) == []
            with omhash.open(backup) as copy:
                assert contents(copy) == whole
            shutil.rmtree(backup)
        for left in tmp_path.glob(".*.unfinished"):
            shutil.rmtree(left)
    assert interrupted >= KILLS // 3  # or the instants are not what they should be

    with create(tmp_path / "twin") as twin, omhash.open(tmp_path / "things") as things:
        for operation, _ in operations.values():
            if operation["kind"] not in ("backup", "compact"):
                perform(twin, operation, tmp_path)
        one, other = seen(things), seen(twin)
        assert one["items"] == other["items"]
        assert one["found"] == other["found"]
        assert [told.id for told in one["rounds"]] == [told.id for told in other["rounds"]]
    print(f"{KILLS} kills, {interrupted} within one of {plan.number} operations")  # noqa: T201 - seen with -s
