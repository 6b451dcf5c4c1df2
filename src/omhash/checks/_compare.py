"""How the checks compare what hashers give."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codes import Codes, unpack
from ..errors import NotFittedError, UnsupportedError
from ..hashers.base import Hasher, State

_NEAR = 1e-3
"""How far two projections may differ that are equal but for rounding, relative to the largest.

It leaves room for float32 and for another order of the sums, and is far below what any item
changes that was learned twice or not at all.
"""


def require(holds: object, promise: str) -> None:
    """Raise AssertionError with the broken promise."""
    if not holds:
        raise AssertionError(promise)


def same_bytes(one: Any, other: Any) -> bool:
    """Whether two arrays, or two plain values, are the same in type and in every bit."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return (
            one.dtype == other.dtype
            and one.shape == other.shape
            and np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()
        )
    return type(one) is type(other) and repr(one) == repr(other)


def require_same_state(one: State, other: State, promise: str) -> None:
    """Two states are the same in every bit."""
    require(one.keys() == other.keys(), f"{promise}: {sorted(one.keys() ^ other.keys())} differ")
    changed = [name for name in one if not same_bytes(one[name], other[name])]
    require(not changed, f"{promise}: {', '.join(changed)} of the state differ")


def require_near(one: NDArray[Any], other: NDArray[Any], promise: str) -> None:
    """Two projections are equal but for rounding, and so are nearly all of their signs."""
    require(one.shape == other.shape, f"{promise}: shapes {one.shape} and {other.shape}")
    scale = max(float(np.abs(one).max(initial=0.0)), 1e-30)
    apart = float(np.abs(one - other).max(initial=0.0)) / scale
    require(apart <= _NEAR, f"{promise}: projections differ by {apart:.2g} of the largest value")
    flipped = float(np.mean((one > 0) != (other > 0))) if one.size else 0.0
    require(flipped <= _NEAR, f"{promise}: {flipped:.2%} of the bits differ")


def require_codes(codes: Any, n_items: int, hasher: Hasher, promise: str) -> None:
    """Packed codes of the right type and shape."""
    require(isinstance(codes, np.ndarray) and codes.dtype == np.uint8, f"{promise}: not uint8")
    shape = (n_items, hasher.n_bits // 8)
    require(codes.shape == shape, f"{promise}: shape {codes.shape}, not {shape}")
    require(unpack(codes).shape == (n_items, hasher.n_bits), f"{promise}: not packed by rows")


def category_codes(hasher: Hasher) -> Codes | None:
    """The codes of categories, or None of a method in which categories have none."""
    try:
        return hasher.category_codes_
    except UnsupportedError:
        return None


def state_of(hasher: Hasher) -> State | None:
    """The state, or None where nothing was learned."""
    try:
        return hasher.get_state()
    except NotFittedError:
        return None


def require_category_codes(hasher: Hasher, n_categories: int) -> None:
    """Packed codes of as many categories, where categories have any."""
    codes = category_codes(hasher)
    if codes is not None:
        require_codes(codes, n_categories, hasher, "category_codes_")


@contextmanager
def refused(hasher: Hasher, expected: type[Exception], what: str) -> Iterator[None]:
    """The block raises an error of the expected type, warns of nothing, and changes nothing."""
    before = state_of(hasher)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    except expected as error:
        require(str(error), f"{what}: the {type(error).__name__} has no message")
    except Exception as error:
        raise AssertionError(
            f"{what}: raised {type(error).__name__} ({error}), not {expected.__name__}"
        ) from error
    else:
        raise AssertionError(f"{what}: was accepted, and {expected.__name__} is promised")
    after = state_of(hasher)
    promise = f"{what}: a refused call leaves the model as it was"
    require((before is None) == (after is None), promise)
    if before is not None and after is not None:
        require_same_state(before, after, promise)
