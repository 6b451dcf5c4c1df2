"""Where a hasher's random draws come from."""

from __future__ import annotations

from typing import Any

import numpy as np


def first_seed(random_state: Any) -> int:
    """The seed that a hasher keeps from its first round on."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    return int(np.random.SeedSequence().generate_state(1)[0])


def generator(random_state: Any, seed: int, *purpose: int) -> Any:
    """The generator for one purpose: always the same one, or the one that the caller passed."""
    if hasattr(random_state, "standard_normal"):
        return random_state
    return np.random.default_rng([seed, *purpose])
