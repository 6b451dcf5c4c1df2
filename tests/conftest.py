"""What several tests use."""

import itertools
import sys
from pathlib import Path

import pytest

# What helps the tests of one folder may help those of another.
sys.path += [str(path) for path in Path(__file__).parent.iterdir() if path.is_dir()]

# Doctest would import programs that tests start, and one conftest.py for another.
collect_ignore_glob = ["*_worker.py", "*conftest.py"]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference runs and development data that lie beside the checkout, not in it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder ../shared beside the checkout (reference runs and data)")
    return folder


@pytest.fixture(scope="session")
def lite(tmp_path_factory):
    """Addresses in one file of Milvus Lite, whose server goes on from test to test."""
    pytest.importorskip("milvus_lite", reason="needs Milvus Lite: see docs/milvus.md")
    from things import create

    folder = tmp_path_factory.mktemp("lite")
    with create(f"milvus+file://{folder}/things.db/kept"):
        yield (f"milvus+file://{folder}/things.db/things{number}" for number in itertools.count())


@pytest.fixture(params=["sqlite", "lite"])
def new_path(request, tmp_path):
    """Gives places where collections can be made, on each engine."""
    if request.param == "sqlite":
        return (tmp_path / f"things{number}" for number in itertools.count()).__next__
    return request.getfixturevalue("lite").__next__


@pytest.fixture
def path(new_path):
    return new_path()
