"""What several tests use."""

import sys
from pathlib import Path

import pytest

# What helps the tests of one folder may help those of another.
sys.path += [str(path) for path in Path(__file__).parent.iterdir() if path.is_dir()]

# Doctest would import programs that tests start, and one conftest.py for another.
collect_ignore_glob = ["*_worker.py", "*/conftest.py"]


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference runs and development data that lie beside the checkout, not in it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder ../shared beside the checkout (reference runs and data)")
    return folder
