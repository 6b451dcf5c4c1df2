"""The notebooks in `examples`: their cells run in order, and they are kept without outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted(Path(__file__).resolve().parents[1].glob("examples/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_cells_of_a_notebook_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells
    names = {"__name__": "__main__"}
    for number, cell in enumerate(cells, 1):
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        source = "".join(cell["source"])
        exec(compile(source, f"{path.name}, code cell {number}", "exec"), names)  # noqa: S102 - our own notebooks
    assert list(tmp_path.iterdir()) == []


def test_there_are_notebooks():
    assert NOTEBOOKS
