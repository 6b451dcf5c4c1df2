"""A service over a real collection."""

import pytest
from fastapi.testclient import TestClient
from served import LIMITS, fill

from omhash.datasets import synthetic
from omhash.service import create_app


@pytest.fixture(scope="session")
def data():
    return synthetic.make(n_items=300, n_categories=6, modalities={"image": 24, "text": 40}, seed=1)


@pytest.fixture
def folder(tmp_path, data):
    fill(tmp_path / "things.omhash", data)
    return tmp_path


@pytest.fixture
def http(folder):
    with TestClient(create_app(folder, limits=LIMITS), base_url="http://127.0.0.1") as client:
        yield client
