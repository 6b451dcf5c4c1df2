"""A cluster on this machine has what was asked for."""

import pytest

from omhash.distributed import connected
from omhash.errors import ParameterError


@pytest.mark.parametrize("workers", [1, 3])
def test_as_many_workers_as_asked_for_one_thread_each(workers):
    with connected(workers=workers) as client:
        assert list(client.nthreads().values()) == [1] * workers


def test_no_workers_are_refused():
    with pytest.raises(ParameterError, match="workers must be 1 or more"), connected(workers=0):
        pass
