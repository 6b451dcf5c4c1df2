"""The command learn: on a cluster that is there, on one of its own, and interrupted."""

import os
import re
import signal
import time
from contextlib import suppress
from functools import partial

import psutil
import pytest
from commands import child, made_flowers, omhash, stored_rounds, told  # noqa: F401 - pytest finds fixtures by name
from given_rounds import write_parquet

import omhash as library
from omhash.distributed import connected


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, flowers):
    monkeypatch.chdir(tmp_path)
    write_parquet("a.parquet", flowers, range(130))
    write_parquet("b.parquet", flowers, range(130, 240))


def items_of(path):
    with library.open(path) as collection:
        return [
            (item.key, item.categories, item.payload, item.code.tobytes())
            for item in collection.items()
        ]


def expected(size):
    for file in ("a.parquet", "b.parquet"):
        told("ingest", "expected", file, "--create", "--round-size", size)
    return items_of("expected")


def test_on_a_cluster_that_is_there(client):
    options = ("--data", "*.parquet", "--scheduler", client.scheduler.address, "--round-size", 20)
    said = told("learn", "a", *options, "--create", "--bits", 64)
    assert items_of("a") == expected(20)
    assert {name: said[name] for name in ("items", "rounds", "labelled")} == {
        "items": 240,
        "rounds": 13,
        "labelled": 240,
    }
    assert len(said["new_categories"]) == 8
    again = told("learn", "a", *options)
    assert (again["items"], again["rounds"], again["rounds_stored_before"]) == (0, 0, 13)
    result = omhash("learn", "b", *options, "--create")
    assert result.exit_code == 0
    assert re.search(r"^rounds +13$", result.stdout, re.M)


def running(group):
    """Processes of a group, those left out that only wait to be buried."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.cmdline())
    return found


def test_interrupted_with_all_its_processes_it_goes_on(client):
    """Ctrl-C in a terminal reaches the workers too."""
    command = ("learn", "a", "--data", "*.parquet", "--create", "--round-size", "4")
    process = child(*command, "--workers", "1", start_new_session=True)
    try:
        deadline = time.monotonic() + 60
        while stored_rounds("a") < 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        os.killpg(process.pid, signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert (process.returncode, stdout) == (130, b"")
    assert re.fullmatch(
        rb"omhash: interrupted: \d+ rounds were stored: the same command goes on after them\n",
        stderr,
    )
    deadline = time.monotonic() + 10
    while running(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert running(process.pid) == []
    stored = told("status", "a")["rounds"]
    assert 3 <= stored < 61
    assert told("check", "a")["whole"]
    said = told(*command, "--scheduler", client.scheduler.address)
    assert said["rounds_stored_before"] == stored
    assert items_of("a") == expected(4)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["absent", "--data", "a.parquet"], 1, "absent: there is no collection here"),
        (["new", "--data", "absent.parquet", "--create"], 1, "there is no such file"),
        (["new", "--data", "a.npz", "--create"], 1, "only Parquet files"),
        (["new", "--data", "a.parquet", "--bits", "32"], 2, "only with --create"),
        (["new", "--data", "a.parquet", "--workers", "2"], 2, "only without --scheduler"),
    ],
)
def test_what_is_wrong_is_one_line_on_stderr(arguments, code, words, client):
    result = omhash("learn", *arguments, "--scheduler", client.scheduler.address)
    (line,) = result.stderr.splitlines()
    assert re.match(f"omhash: error: .*{words}", line)
    assert (result.exit_code, result.stdout) == (code, "")


def test_a_scheduler_that_is_not_there(monkeypatch):
    impatient = partial(connected, patience=1.0)
    monkeypatch.setattr("omhash.distributed.connected", impatient)
    start = time.monotonic()
    result = omhash(
        "learn", "new", "--data", "a.parquet", "--create", "--scheduler", "tcp://127.0.0.1:9"
    )
    assert (result.exit_code, result.stdout) == (1, "")
    assert "no Dask scheduler answers there" in result.stderr
    assert time.monotonic() - start < 10
    assert not os.path.exists("new")  # noqa: PTH110 - a name in this folder
