"""What the tests against recorded runs use."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def items(shared):
    """The items of the authors' recorded runs."""
    with np.load(shared / "reference" / "input.npz", allow_pickle=False) as recorded:
        return dict(recorded)
