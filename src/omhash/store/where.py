"""Filters: a mapping of conditions, and the SQL that finds the items that keep them all."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import ge, gt, le, lt
from typing import Any, TypeAlias

from ..errors import InputError

Where: TypeAlias = Mapping[str, Any]
"""Field -> condition: a value, or a mapping of operators to values."""

CATEGORIES = "categories"
"""The field that speaks of an item's categories; all others are of its payload."""

_COMPARISONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "IS", "!=": "IS NOT"}
_ORDER = {"<": lt, "<=": le, ">": gt, ">=": ge}
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


@dataclass(frozen=True)
class Condition:
    """One thing that a field must be, known to make sense.

    Attributes
    ----------
    operator : str
        One of ``any``, ``all``, ``none`` for categories; a comparison or ``in`` for others.
    value : text, number, bool or None; a tuple of such; of categories, a tuple of their numbers
    """

    field: str
    operator: str
    value: Any


def conditions(
    where: Where, fields: Collection[str], categories: Mapping[str, int]
) -> tuple[Condition, ...]:
    """What `where` says; an `InputError` where it makes no sense.

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
    found: list[Condition] = []
    for field, condition in where.items():
        if field == CATEGORIES:
            found += _of_categories(condition, categories)
        elif field in fields:
            found += _of_payload(field, condition)
        else:
            told = ", ".join(sorted(fields)) or "none"
            raise InputError(
                f"where: no item has a field {field!r}: the fields are categories and {told}"
            )
    return tuple(found)


def compiled(where: Where, fields: Collection[str], categories: Mapping[str, int]) -> Clause:
    """The SQL condition on the table of items, and its values: see `conditions`."""
    clauses: list[str] = []
    values: list[Any] = []
    for one in conditions(where, fields, categories):
        if one.field == CATEGORIES:
            clauses.append(f"labels {'NOT ' if one.operator == 'none' else ''}{_WITH_CATEGORIES}")
            values += [json.dumps(one.value), len(one.value) if one.operator == "all" else 1]
            continue
        path = f"$.{json.dumps(one.field, ensure_ascii=False)}"
        if one.operator == "in":
            clauses.append(f"json_extract(payload, ?) {_LISTED}")
            values += [path, json.dumps(one.value)]
        else:
            clauses.append(f"json_extract(payload, ?) {_COMPARISONS[one.operator]} ?")
            values += [path, one.value]
    return " AND ".join(clauses) or "1", tuple(values)


def normal(value: Any) -> Any:
    """A value of a payload as it is compared: a number, a text, or None.

    So SQLite's ``json_extract`` gives it, and every store compares by it.
    """
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if isinstance(value, bool) or (isinstance(value, int) and -(2**63) <= value < 2**63):
        return int(value)
    return float(value) if isinstance(value, int) else value


def keeps(condition: Condition, value: Any) -> bool:
    """Whether a `normal` value keeps a condition on a payload's field, as in SQLite."""
    if condition.operator == "in":
        return value is not None and value in condition.value
    wanted = normal(condition.value)
    if condition.operator in ("=", "!="):
        return bool(value == wanted) == (condition.operator == "=")
    if value is None or wanted is None:
        return False
    # Every text is greater than every number.
    one, other = ((isinstance(each, str), each) for each in (value, wanted))
    return bool(_ORDER[condition.operator](one, other))


def _of_categories(condition: Any, categories: Mapping[str, int]) -> Iterator[Condition]:
    for operator, names in _operators(condition, "any").items():
        if operator not in _CATEGORY_OPERATORS:
            raise InputError(_no_operator(CATEGORIES, operator, _CATEGORY_OPERATORS))
        wanted = [names] if isinstance(names, str) else _listed(CATEGORIES, names)
        for name in wanted:
            if not isinstance(name, str) or name not in categories:
                raise InputError(f"where: there is no category {name!r}")
        if not wanted:
            raise InputError(f"where: categories {operator!r} names no category")
        numbers = sorted({categories[name] for name in wanted})
        yield Condition(CATEGORIES, operator, tuple(numbers))


def _of_payload(field: str, condition: Any) -> Iterator[Condition]:
    for operator, value in _operators(condition, "=").items():
        if operator == "in":
            listed = tuple(_plain(field, one) for one in _listed(field, value))
            yield Condition(field, operator, listed)
        elif operator in _COMPARISONS:
            yield Condition(field, operator, _plain(field, value))
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
