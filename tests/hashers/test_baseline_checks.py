"""Every method passes every check, by its own rules and with fine-grained weights."""

import numpy as np
import pytest

from omhash.checks import CHECKS
from omhash.hashers import FOMH, OASIS, ODMVH, OMHDQ, SAPMH


def by_number(names):
    """A vector for each of the checks' categories, from the number in its name."""
    return np.eye(8)[[int(name.split()[-1]) for name in names]] + 0.1


SETTINGS = {
    "OASIS": OASIS(24),
    "OASIS + FW": OASIS(24, weights="published", semantics=by_number),
    "OASIS, precision weights, kernels": OASIS(24, weights="precision", kernels=30),
    "OASIS, authors' program": OASIS(24, semantics=by_number, authors_program=True),
    "FOMH": FOMH(24),
    "FOMH + FW": FOMH(24, weights="published", kernels=None),
    "FOMH, precision weights, one kernel": FOMH(24, weights="precision", kernels={"text": 30}),
    "OMH-DQ": OMHDQ(24, kernels=60),
    "OMH-DQ + FW": OMHDQ(24, weights="published", kernels=None),
    "ODMVH": ODMVH(24, kernels=60),
    "ODMVH, plain features, often updated": ODMVH(24, kernels=None, buffer_size=100),
    "SAPMH": SAPMH(24, kernels=60, n_latent=16),
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("setting", SETTINGS)
def test_the_method_passes(setting, check):
    check(SETTINGS[setting])
