"""Two processes with one collection."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import omhash
from things import create, ingest, seen

HERE = Path(__file__).parent

OTHER = """
import sys
import omhash
from things import ingest
things = omhash.open(sys.argv[1])
for line in sys.stdin:
    kind, seed = line.split()
    seed = int(seed)
    if kind == "ingest":
        ingest(things, seed, 5)
    elif kind == "unlabelled":
        ingest(things, seed, 5, labelled=False)
    elif kind == "delete":
        things.delete([f"key {seed}-{place}" for place in range(3)])
    elif kind == "compact":
        things.compact()
    elif kind == "many":
        for more in range(seed, seed + 12):
            ingest(things, more, 5)
            things.delete([f"key {more}-{place}" for place in range(5)])
            ingest(things, more, 5)
    print(len(things), flush=True)
"""


@pytest.fixture
def things(tmp_path):
    with create(tmp_path / "things") as made:
        ingest(made, 0)
        yield made


@pytest.fixture
def other(things):
    paths = [str(HERE), *sys.path]
    process = subprocess.Popen(  # noqa: S603 - this Python
        [sys.executable, "-c", OTHER, things.status()["path"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    with process:
        yield process
        process.stdin.close()


def ask(other, words):
    other.stdin.write(f"{words}\n")
    return int(other.stdout.readline())


def test_each_sees_what_the_other_wrote(things, other):
    for words in ("ingest 1", "unlabelled 2", "delete 1", "compact 0", "ingest 3", "delete 3"):
        n_items = ask(other, words)
        assert len(things) == n_items
        with omhash.open(things.status()["path"]) as fresh:
            assert seen(things) == seen(fresh)
        ingest(things, 100 + n_items, 2)
        assert ask(other, "nothing 0") == n_items + 2


def test_searches_while_another_process_writes(things, other):
    other.stdin.write("many 1\n")
    os.set_blocking(other.stdout.fileno(), False)
    sizes = []
    while not (told := other.stdout.readline()):
        (hits,) = things.search({"image": np.ones((1, 6))}, k=10_000, where={"price": {">=": 0}})
        assert len({hit.key for hit in hits}) == len(hits)
        sizes.append(len(hits))
    # Rounds and deletions come whole, and all of them come.
    assert {size % 5 for size in sizes} == {0}
    assert len(set(sizes)) > 2
    assert len(things) == int(told) == 20 + 12 * 5
    assert things.check() == []
