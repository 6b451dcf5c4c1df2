"""A cluster of two worker processes on loopback, and nothing of it left over."""

import pytest

from omhash.distributed import connected


@pytest.fixture(scope="session")
def client():
    with connected(workers=2) as made:
        yield made
