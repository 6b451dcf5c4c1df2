"""Filters: a mapping of conditions, and the SQL that finds the items that keep them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias

from ..errors import InputError

Where: TypeAlias = Mapping[str, Any]
"""Field -> condition: a value, or a mapping of operators to values."""

CATEGORIES = "categories"
"""The field that speaks of an item's categories; all others are of its payload."""

_COMPARISONS = {"<": "<", "<=": "<=", ">": ">", ">=": ">=", "=": "IS", "!=": "IS NOT"}
_CATEGORY_OPERATORS = ("any", "all", "none")

_WITH_CATEGORY = (
    "labels IN (SELECT s.number FROM label_sets s, json_each(s.categories) e WHERE e.value = ?)"
)

Clause: TypeAlias = tuple[str, list[Any]]


def compiled(
    where: Where, fields: Collection[str], category_number: Callable[[str], int | None]
) -> Clause:
    """The SQL condition on the table of items, and its values.

    Parameters
    ----------
    fields : names
        What the payloads have; a condition on anything else is an error.
    category_number : callable
        Category name -> number, or None where there is no such category.
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
            clause, more = _of_categories(condition, category_number)
        elif field in fields:
            clause, more = _of_payload(field, condition)
        else:
            told = ", ".join(sorted(map(str, fields))) or "none"
            raise InputError(
                f"where: no item has a field {field!r}: the fields are categories and {told}"
            )
        clauses.append(clause)
        values += more
    return " AND ".join(clauses) or "1", values


def _of_categories(condition: Any, category_number: Callable[[str], int | None]) -> Clause:
    if not isinstance(condition, Mapping):
        condition = {"any": condition}
    clauses: list[str] = []
    values: list[Any] = []
    for operator, names in condition.items():
        if operator not in _CATEGORY_OPERATORS:
            raise InputError(
                f"where: categories has no operator {operator!r}: write one of "
                f"{', '.join(_CATEGORY_OPERATORS)}"
            )
        numbers = []
        for name in [names] if isinstance(names, str) else _listed(CATEGORIES, names):
            number = category_number(name) if isinstance(name, str) else None
            if number is None:
                raise InputError(f"where: there is no category {name!r}")
            numbers.append(number)
        if not numbers:
            raise InputError(f"where: categories {operator!r} names no category")
        joined = (" AND " if operator == "all" else " OR ").join([_WITH_CATEGORY] * len(numbers))
        clauses.append(f"NOT ({joined})" if operator == "none" else f"({joined})")
        values += numbers
    return " AND ".join(clauses) or "1", values


def _of_payload(field: str, condition: Any) -> Clause:
    if not isinstance(condition, Mapping):
        condition = {"=": condition}
    clauses: list[str] = []
    values: list[Any] = []
    for operator, value in condition.items():
        found = "json_extract(payload, ?)"
        path = f'$."{field}"'
        if operator == "in":
            listed = [_plain(field, one) for one in _listed(field, value)]
            clauses.append(f"{found} IN ({', '.join('?' * len(listed))})")
            values += [path, *listed]
        elif operator in _COMPARISONS:
            clauses.append(f"{found} {_COMPARISONS[operator]} ?")
            values += [path, _plain(field, value)]
        else:
            raise InputError(
                f"where: {field!r} has no operator {operator!r}: write one of "
                f"{', '.join(_COMPARISONS)}, in"
            )
    return " AND ".join(clauses) or "1", values


def _listed(field: str, values: Any) -> list[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Collection):
        raise InputError(f"where: {field!r} needs a list of values here, not {values!r}")
    return list(values)


def _plain(field: str, value: Any) -> Any:
    if value is None or isinstance(value, (str, bool, float)):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    raise InputError(
        f"where: {field!r} is compared with {value!r}: only text, numbers, true, false and null "
        "can be compared"
    )
