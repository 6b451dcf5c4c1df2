"""What tests of the report share: runs done here, and small data."""

import numpy as np

from omhash.datasets import LabelledData, synthetic
from omhash.errors import OmhashError
from omhash.evaluation import paper
from omhash.evaluation.paper import report
from omhash.evaluation.paper.jobs import keep, perform


def runs_here(monkeypatch):
    """Do runs in this process, without two seconds of start for each; list them."""
    seen = []

    def run_all(tasks, n_processes, done):
        for task in tasks:
            seen.append(task.job)
            try:
                keep(task.to, perform(task.job, task.data, task.configuration))
            except OmhashError as error:
                done(task, str(error))
            else:
                done(task, None)

    monkeypatch.setattr(report, "run_all", run_all)
    return seen


def small(name="small", *, n_items=240, n_categories=8, seed=3):
    data = synthetic.make(n_items, n_categories, noise=2.0, sparse_modalities=["text"], seed=seed)
    return LabelledData(name, data.views, data.labels, data.categories, data.category_vectors)


def plan(data, *, bits=(16,), n_seeds=2, embeddings=None, quick=False):
    files = embeddings or {}
    return paper.Plan(paper.ReportData.of(data, files), tuple(bits), n_seeds, tuple(files), quick)


def tables(told, section, data=None):
    """The tables of a section in report.json."""
    return [
        block
        for one in told["sections"]
        if one["section"] == section and data in (None, one["data"])
        for block in one["blocks"]
        if block["kind"] == "table"
    ]


def row(table, *first):
    """The cells of the row that begins with these names, by column."""
    for cells in table["rows"]:
        if tuple(cell["text"] for cell in cells[: len(first)]) == first:
            return dict(zip(table["header"], cells, strict=True))
    raise AssertionError(f"no row {first} in {table['title']}")


def authors_variables(published, *, n_items, seed=0):
    """The authors' matrices in small, with every category alone on some items."""
    count = len(published.categories)
    rng = np.random.default_rng(seed)
    labels = (rng.random((n_items, count)) < 0.08).astype(np.float64)
    labels[np.arange(n_items), np.arange(n_items) % count] = 1.0
    labels[: 6 * count] = np.eye(count)[np.arange(6 * count) % count]
    patterns = rng.standard_normal((count, 20))
    image = labels @ patterns + 0.5 * rng.standard_normal((n_items, 20))
    text = (labels @ (rng.random((count, 30)) < 0.15) + (rng.random((n_items, 30)) < 0.03)) > 0
    order, n_train = rng.permutation(n_items), n_items - 40
    variables = {}
    for letter, matrix in (("I", image), ("T", text.astype(np.float64)), ("L", labels)):
        variables[f"{letter}_tr"] = matrix[order[:n_train]]
        variables[f"{letter}_te"] = matrix[order[n_train:]]
    return variables
