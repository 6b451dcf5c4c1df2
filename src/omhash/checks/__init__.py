"""Checks that every `Hasher` must pass, for hashers of your own too.

Each check is a plain function that takes an unfitted hasher, works on clones of it, and
raises AssertionError with the promise that was broken. `check_hasher` runs them all;
`CHECKS` holds them one by one, for a test that is parametrised over them::

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_my_hasher(check):
        check(MyHasher(n_bits=32))

The checks make their own data, small views "image" of 12 columns and "text" of 20, with
categories called "category 0" to "category 7". Only the contract is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..hashers.base import Hasher
from ._encoding import (
    check_batch_independence,
    check_forms_of_views,
    check_item_codes,
    check_missing_modality,
    check_no_rows,
    check_not_fitted,
    check_outputs,
)
from ._learning import (
    check_bounded_memory,
    check_empty_round,
    check_forgetting,
    check_forms_of_labels,
    check_missing_in_rounds,
    check_new_categories,
    check_seed,
    check_single_item,
    check_split_of_rounds,
    check_unlabelled_items,
    check_unlabelled_start,
)
from ._refusals import check_bad_labels, check_bad_views, check_n_bits
from ._state import (
    check_foreign_state,
    check_inputs_are_kept,
    check_nothing_is_shared,
    check_state_is_plain,
    check_state_round_trip,
)

__all__ = [
    "CHECKS",
    "check_bad_labels",
    "check_bad_views",
    "check_batch_independence",
    "check_bounded_memory",
    "check_empty_round",
    "check_foreign_state",
    "check_forgetting",
    "check_forms_of_labels",
    "check_forms_of_views",
    "check_hasher",
    "check_inputs_are_kept",
    "check_item_codes",
    "check_missing_in_rounds",
    "check_missing_modality",
    "check_n_bits",
    "check_new_categories",
    "check_no_rows",
    "check_not_fitted",
    "check_nothing_is_shared",
    "check_outputs",
    "check_seed",
    "check_single_item",
    "check_split_of_rounds",
    "check_state_is_plain",
    "check_state_round_trip",
    "check_unlabelled_items",
    "check_unlabelled_start",
]

Check: TypeAlias = Callable[[Hasher], None]

CHECKS: tuple[Check, ...] = (
    check_outputs,
    check_item_codes,
    check_batch_independence,
    check_forms_of_views,
    check_missing_modality,
    check_no_rows,
    check_not_fitted,
    check_seed,
    check_forms_of_labels,
    check_split_of_rounds,
    check_new_categories,
    check_unlabelled_items,
    check_unlabelled_start,
    check_missing_in_rounds,
    check_single_item,
    check_empty_round,
    check_bounded_memory,
    check_forgetting,
    check_state_round_trip,
    check_state_is_plain,
    check_foreign_state,
    check_inputs_are_kept,
    check_nothing_is_shared,
    check_n_bits,
    check_bad_views,
    check_bad_labels,
)
"""Every check, in the order in which `check_hasher` runs them."""


def check_hasher(hasher: Hasher) -> None:
    """Run every check; AssertionError at the first promise that is broken.

    Parameters
    ----------
    hasher : Hasher
        Unfitted; it is cloned and never changed. It may declare, by an attribute that is
        true, what its method cannot promise: `depends_on_batch` (an item's code depends on
        its batch), `depends_on_rounds` (the same items in other rounds give another model),
        `recodes_database` (items are always stored under the code of `encode`),
        `keeps_items` (a batch method, which trains on all items so far), `unsupervised` (it
        learns from items, not from labels).

    Examples
    --------
    >>> from omhash import HCFW
    >>> check_seed(HCFW(n_bits=16))
    """
    for check in CHECKS:
        check(hasher)
