"""Running the command, in a folder with small files, inside this process or as one of its own."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from omhash import datasets
from omhash.cli import app
from omhash.datasets import synthetic

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", name="flowers")
def made_flowers():
    return synthetic.make(n_items=240, n_categories=8, noise=2.0, seed=4)


@pytest.fixture(autouse=True, name="folder")
def filled_folder(tmp_path, monkeypatch, flowers):
    monkeypatch.chdir(tmp_path)
    datasets.write_npz(flowers, "flowers.npz")
    write_jsonl("flowers.jsonl", flowers, range(200), key="rose {}")
    write_jsonl("more.jsonl", flowers, range(200, 240), key="rose {}")
    write_jsonl("queries.jsonl", flowers, range(3))
    (tmp_path / "keys.txt").write_text("rose 8\nrose 9\n")
    return tmp_path


def omhash(*arguments, given=None):
    """The result of a command, run here."""
    return CliRunner().invoke(app, list(map(str, arguments)), input=given, catch_exceptions=False)


def told(*arguments, given=None):
    """What a command that succeeds says to machines."""
    result = omhash(*arguments, "--json", given=given)
    assert (result.exit_code, result.stderr) == (0, "")
    return json.loads(result.stdout)


def child(*arguments, **options):
    """A real process, with nothing between it and its signals."""
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-m", "omhash", *arguments],
        env={**os.environ, "PYTHONPATH": path},
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options},
    )


def stored_rounds(path):
    """How many rounds another process has committed."""
    try:
        with sqlite3.connect(f"file:{path}/items.sqlite?mode=ro", uri=True) as database:
            (document,) = database.execute("SELECT document FROM head").fetchone()
        return json.loads(document)["counts"]["rounds"]
    except sqlite3.Error:
        return 0


def jsonl_item(data, row, key=None):
    item = {
        "views": {name: view[row].tolist() for name, view in data.views.items()},
        "categories": [data.categories[column] for column in np.flatnonzero(data.labels[row])],
        "payload": {"price": int(row)},
    }
    return {"key": key.format(row), **item} if key else item


def write_jsonl(path, data, rows, key=None):
    lines = [json.dumps(jsonl_item(data, row, key)) + "\n" for row in rows]
    Path(path).write_text("".join(lines))
