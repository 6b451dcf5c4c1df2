"""A Milvus server of one's own."""

import pytest
from milvus_server import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    pytest.importorskip("milvus", reason="needs the package milvus: see docs/milvus.md")
    found = Server(tmp_path_factory.mktemp("server") / "data")
    yield found
    found.close()
