"""Every operation on a disk that fails at each call in turn; run with faults.c preloaded.

Arguments: folder, and how many calls to leave out between two that fail. A line of JSON tells
how many calls there were of each operation, and how many failures were tried.
"""

import ctypes
import errno
import json
import os
import shutil
import sys
from pathlib import Path

from plan import N_ITEMS, contents, perform

import omhash
from omhash.errors import StoreError
from omhash.store import problems
from things import create, ingest, some

faults = ctypes.CDLL(None)
ITEMS = [(1, place) for place in range(3)]
OPERATIONS = [
    {"kind": "ingest", "number": 7, "keys": [f"item {place}" for place in range(N_ITEMS)]},
    {"kind": "upsert", "number": 8, "keys": [f"key 1-{place}" for place in range(N_ITEMS)]},
    {"kind": "delete", "number": 9, "keys": ["key 1-0", "key 1-1", "key 1-2"]},
    {"kind": "forget", "number": 10, "keys": ["key 1-0", "key 1-1", "key 1-2"], "places": ITEMS},
    {"kind": "backup", "number": 11, "keys": []},
    {"kind": "compact", "number": 12, "keys": []},
    {"kind": "create", "number": 13, "keys": []},
    {"kind": "restore", "number": 14, "keys": []},
]
QUERIES = some(99, 2)[0]


def do(things, operation, place, saved):
    made = place / "made"
    if made.exists():  # it was whole, and only opening it failed
        omhash.open(made).close()
    elif operation["kind"] == "create":
        create(made).close()
    elif operation["kind"] == "restore":
        omhash.Collection.restore(saved, made).close()
    else:
        perform(things, {"places": [], **operation}, place)


def prepared(folder):
    """A place with a collection that has something to compact, and a log to write back."""
    place = folder / "place"
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder / "base", place)
    return omhash.open(place / "things")


def try_one(folder, operation, n, *, for_ever, code, before, after):
    place, saved = folder / "place", folder / "saved"
    things = prepared(folder)
    faults.faults_arm(ctypes.c_long(n), for_ever, code)
    refused = ""
    try:
        do(things, operation, place, saved)
    except StoreError as error:
        refused = str(error)
    if not for_ever:
        faults.faults_arm(ctypes.c_long(0), 0, 0)
    done = not refused
    assert done or str(folder) in refused, refused
    # Reads go on, also while nothing can be written.
    assert len(things.search(QUERIES, k=5)[0]) == 5
    told = contents(things)
    assert told == after if done else told in (before, after)
    things.close()
    faults.faults_arm(ctypes.c_long(0), 0, 0)
    assert problems(place / "things") == []
    for copy in (*place.glob("backup*"), *place.glob("made")):
        assert problems(copy) == []
    with omhash.open(place / "things") as things:
        told = contents(things)
        assert told == after if done else told in (before, after)
        if not done:
            do(things, operation, place, saved)
        assert contents(things) == after
        assert things.check() == []


def main(folder, step):
    (folder / "base").mkdir()
    with create(folder / "base" / "things") as things:
        ingest(things, 1)
        ingest(things, 2)
        things.delete(["key 2-0"])
        things.backup(folder / "saved")
        before = contents(things)
    report = {}
    for operation in OPERATIONS:
        with prepared(folder) as things:
            faults.faults_arm(ctypes.c_long(0), 0, 0)
            do(things, operation, folder / "place", folder / "saved")
            n_calls = faults.faults_seen()
            states = {"before": before, "after": contents(things)}
        n_tried = 0
        for n in range(1, n_calls + 1, step):
            for for_ever in (0, 1):
                code = errno.ENOSPC if (n + for_ever) % 2 else errno.EIO
                try:
                    try_one(folder, operation, n, for_ever=for_ever, code=code, **states)
                except BaseException:
                    kind = operation["kind"]
                    os.write(2, f"{kind}, call {n}, for ever {for_ever}, error {code}\n".encode())
                    raise
                n_tried += 1
        report[operation["kind"]] = n_calls, n_tried
    os.write(1, json.dumps(report).encode())


if __name__ == "__main__":
    folder, step = Path(sys.argv[1]), int(sys.argv[2])
    main(folder, step)
