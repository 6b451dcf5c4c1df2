"""Rounds that workers read: from memory, slowly, from files, or not at all."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hcfw_items import Items as Generated
from scipy import sparse

from omhash.datasets import Items
from omhash.errors import DataFileError
from omhash.learning.views import completed


@dataclass
class Held:
    """A part in memory."""

    items: Items

    def read(self):
        return self.items


@dataclass
class Noted:
    """A part whose every reading is noted in a folder, and takes its time."""

    part: Held
    folder: str
    place: int
    seconds: float

    def read(self):
        time.sleep(self.seconds)
        Path(self.folder, f"{self.place}-{time.monotonic_ns()}").touch()
        return self.part.read()


class Unreadable:
    def read(self):
        raise DataFileError("there is no such file")


class Broken:
    def read(self):
        raise RuntimeError("a fault of whoever wrote it")


def stream(n_rounds=6, n=60):
    """Rounds with new categories, lacking modalities, sparse views and items without labels."""
    parts = []
    for number in range(n_rounds):
        categories = 3 + number // 2
        made = Generated(n, 3, categories, seed=number)
        views = dict(made.views)
        views["text"] = views["text"].copy()
        views["text"][number :: n // 4] = np.nan
        if number % 3 == 1:
            views["image"] = sparse.csr_array(np.maximum(views["image"], 0))
        if number % 3 == 2:
            del views["sound"]
        labels = made.table.copy()
        labels[::7] = 0
        keys = [f"{number}-{row}" for row in range(n)]
        parts.append(Held(Items(views, labels, tuple(made.names), keys, [{}] * n)))
    return parts


def unlabelled(part):
    items = part.items
    bare = Items(items.views, items.labels * 0, items.categories, items.keys, items.payloads)
    return Held(bare)


def learned_alone(hasher, rounds):
    """What one machine learns of rounds, each a list of parts."""
    for parts in rounds:
        items = [part.read() for part in parts]
        names = dict.fromkeys(name for one in items for name in one.categories)
        views = items[0].views
        if len(items) > 1:
            widths = {name: view.shape[1] for one in items for name, view in one.views.items()}
            whole = [completed(one.views, widths) for one in items]
            dense = [
                {n: v if isinstance(v, np.ndarray) else v.toarray() for n, v in one.items()}
                for one in whole
            ]
            views = {name: np.vstack([one[name] for one in dense]) for name in widths}
        labels = [
            [one.categories[column] for column in np.flatnonzero(row)]
            for one in items
            for row in one.labels
        ]
        assert names
        hasher.partial_fit(views, labels)
    return hasher


def assert_learned_the_same(found, wanted, *, but=()):
    """All of a state: codes and whole numbers to the bit, all else to rounding."""
    one, other = found.get_state(), wanted.get_state()
    assert one.keys() == other.keys()
    for name in other.keys() - set(but):
        value = np.asarray(other[name])
        if value.dtype.kind != "f" or name.startswith("code_moments"):
            assert np.array_equal(one[name], other[name]), name
        else:
            # What follows from float64 sums is kept in float32.
            close = 1e-12 if ".moments." in name else 1e-5
            most = np.abs(value).max(initial=0)
            assert np.allclose(one[name], value, rtol=close, atol=close * most), name


def write_parquet(path, data, rows, **more):
    """Items of labelled data, with payloads, in small groups of rows."""
    columns = {name: list(view[rows]) for name, view in data.views.items()}
    columns["categories"] = [
        [data.categories[column] for column in np.flatnonzero(data.labels[row])] for row in rows
    ]
    columns["price"] = [int(row) for row in rows]
    pq.write_table(pa.table({**columns, **more}), path, row_group_size=70)
