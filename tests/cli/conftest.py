"""A folder with small files, where every command runs."""

import pytest
from commands import write_jsonl

from omhash import datasets
from omhash.datasets import synthetic


@pytest.fixture(scope="session")
def flowers():
    return synthetic.make(n_items=240, n_categories=8, noise=2.0, seed=4)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, flowers):
    monkeypatch.chdir(tmp_path)
    datasets.write_npz(flowers, "flowers.npz")
    write_jsonl("flowers.jsonl", flowers, range(200), key="rose {}")
    write_jsonl("more.jsonl", flowers, range(200, 240), key="rose {}")
    write_jsonl("queries.jsonl", flowers, range(3))
    (tmp_path / "keys.txt").write_text("rose 8\nrose 9\n")
    return tmp_path
