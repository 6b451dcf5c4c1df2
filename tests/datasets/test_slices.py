"""Slices of Parquet files by URL, and what is said where a place cannot be reached."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from omhash.datasets import slices
from omhash.errors import DataFileError, ParameterError

fsspec = pytest.importorskip("fsspec", reason="needs omhash[dask]")


def test_urls(tmp_path):
    pq.write_table(pa.table({"image": [[0.5, 1.0]] * 5}), tmp_path / "cats.parquet")
    found = slices(f"file://{tmp_path}/*.parquet", 3)
    assert [(one.start, one.stop) for one in found] == [(0, 3), (3, 5)]
    assert [key for one in found for key in one.read().keys] == [f"cats {row}" for row in range(5)]


def test_places_that_cannot_be_reached(tmp_path, monkeypatch):
    with pytest.raises(DataFileError, match="no such file"):
        slices(f"file://{tmp_path}/*.parquet")
    with pytest.raises(ParameterError, match="no library here reads such URLs"):
        slices("nowhere://b/x.parquet")

    def refused(*_, **__):
        raise LookupError("no credentials")  # of a kind of its own, as those of S3 are

    monkeypatch.setattr(fsspec.get_filesystem_class("file"), "glob", refused)
    with pytest.raises(DataFileError, match=r"file:///b/x\.parquet.*LookupError: no credentials"):
        slices("file:///b/x.parquet")
