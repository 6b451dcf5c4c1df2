"""A cluster of two worker processes on loopback, and nothing of it left over."""

import pytest

from omhash.distributed import connected


# Not for the session: its threads would disturb tests that measure this process's memory.
@pytest.fixture(scope="module")
def client():
    with connected(workers=2) as made:
        yield made
