"""Filters: a mapping of conditions, and the SQL that finds the items that keep them all."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

from ..errors import InputError

Where: TypeAlias = Mapping[str, Any]
"""Field -> condition: a value, or a mapping of operators to values."""

CATEGORIES = "categories"
"""The field that speaks of an item's categories; all others are of its payload."""

_COMPARISONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "IS", "!=": "IS NOT"}
_CATEGORY_OPERATORS = ("any", "all", "none")

# Lists are bound as one JSON text each, so that they may be of any length.
_LISTED = "IN (SELECT value FROM json_each(?))"
_WITH_CATEGORIES = (
    "IN (SELECT s.number FROM label_sets s, json_each(s.categories) e WHERE e.value "  # noqa: S608 - no value in it
    + _LISTED
    + " GROUP BY s.number HAVING count(*) >= ?)"
)

Clause: TypeAlias = tuple[str, tuple[Any, ...]]
"""An SQL condition and its values."""


def compiled(where: Where, fields: Collection[str], categories: Mapping[str, int]) -> Clause:
    """The SQL condition on the table of items, and its values.

    Parameters
    ----------
    fields : names
        What the payloads have; a condition on anything else is an error.
    categories : mapping of name to number
    """
    if not isinstance(where, Mapping):
        raise InputError(
            f"where must be a mapping of field to condition, not {type(where).__name__}: "
            'write {"categories": "dog"} or {"price": {"<": 5}}'
        )
    clauses: list[str] = []
    values: list[Any] = []
    for field, condition in where.items():
        if field == CATEGORIES:
            _of_categories(condition, categories, clauses, values)
        elif field in fields:
            _of_payload(field, condition, clauses, values)
        else:
            told = ", ".join(sorted(fields)) or "none"
            raise InputError(
                f"where: no item has a field {field!r}: the fields are categories and {told}"
            )
    return " AND ".join(clauses) or "1", tuple(values)


def _of_categories(
    condition: Any, categories: Mapping[str, int], clauses: list[str], values: list[Any]
) -> None:
    for operator, names in _operators(condition, "any").items():
        if operator not in _CATEGORY_OPERATORS:
            raise InputError(_no_operator(CATEGORIES, operator, _CATEGORY_OPERATORS))
        wanted = [names] if isinstance(names, str) else _listed(CATEGORIES, names)
        for name in wanted:
            if not isinstance(name, str) or name not in categories:
                raise InputError(f"where: there is no category {name!r}")
        if not wanted:
            raise InputError(f"where: categories {operator!r} names no category")
        clauses.append(f"labels {'NOT ' if operator == 'none' else ''}{_WITH_CATEGORIES}")
        numbers = sorted({categories[name] for name in wanted})
        values += [json.dumps(numbers), len(numbers) if operator == "all" else 1]


def _of_payload(field: str, condition: Any, clauses: list[str], values: list[Any]) -> None:
    path = f"$.{json.dumps(field, ensure_ascii=False)}"
    for operator, value in _operators(condition, "=").items():
        if operator == "in":
            listed = [_plain(field, one) for one in _listed(field, value)]
            clauses.append(f"json_extract(payload, ?) {_LISTED}")
            values += [path, json.dumps(listed)]
        elif operator in _COMPARISONS:
            clauses.append(f"json_extract(payload, ?) {_COMPARISONS[operator]} ?")
            values += [path, _plain(field, value)]
        else:
            raise InputError(_no_operator(field, operator, (*_COMPARISONS, "in")))


def _operators(condition: Any, usual: str) -> Mapping[Any, Any]:
    return condition if isinstance(condition, Mapping) else {usual: condition}


def _no_operator(field: str, operator: Any, known: Collection[str]) -> str:
    return f"where: {field!r} has no operator {operator!r}: write one of {', '.join(known)}"


def _listed(field: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Collection):
        raise InputError(f"where: {field!r} needs a list of values here, not {values!r}")
    return list(values)


def _plain(field: str, value: Any) -> Any:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and is_unicode(value)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    raise InputError(
        f"where: {field!r} is compared with {value!r}: only text, numbers, true, false and null "
        "can be compared"
    )


def is_unicode(text: str) -> bool:
    """Whether a text can be written down: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
