"""Filters as Milvus expressions, and the check of what they let through.

Payload fields are compared as in SQLite (see `where.normal`), where texts are greater than
numbers and a missing field is null. Expressions say as much of that as Milvus can and never too
much: what they let through is checked once more, by `where.keeps`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..where import CATEGORIES, Condition, keeps, normal

_MOST_VALUES = 2_000
"""Values in one expression; a longer one takes longer to read than it saves."""

_EXACT = 2**53
"""Below this, a number is the same whether whole or not."""

_ANY_NUMBER = "{0} >= -1.7976931348623157e+308"
_ANY_TEXT = '{0} >= ""'


@dataclass(frozen=True)
class Filter:
    """Conditions, ready to be asked.

    Attributes
    ----------
    expression : str
        What Milvus keeps: all that keep the conditions, and perhaps more; may be empty.
    checks : conditions with the names that their fields have in the rows
    label_sets : numbers of the sets of categories that are kept; None where all are
    """

    expression: str
    checks: tuple[tuple[str, Condition], ...]
    label_sets: frozenset[int] | None

    def keeps(self, row: Mapping[str, Any]) -> bool:
        """Whether a row that Milvus kept keeps the conditions."""
        if self.label_sets is not None and row["labels"] not in self.label_sets:
            return False
        return all(keeps(condition, row["fields"].get(name)) for name, condition in self.checks)


def compiled(
    conditions: Sequence[Condition],
    fields: Mapping[str, int],
    label_sets: Mapping[int, tuple[int, ...]],
) -> Filter:
    """The filter of some conditions.

    Parameters
    ----------
    fields : number of each payload field
    label_sets : category numbers of each set of categories
    """
    kept: frozenset[int] | None = None
    checks: list[tuple[str, Condition]] = []
    expressions: list[str] = []
    for one in conditions:
        if one.field == CATEGORIES:
            those = frozenset(n for n, places in label_sets.items() if _has(one, set(places)))
            kept = those if kept is None else kept & those
            continue
        name = field_name(fields[one.field])
        # In a set, one of many values is found at once.
        many = one.operator == "in"
        checks.append((name, replace(one, value=frozenset(one.value)) if many else one))
        said = _expression(f'fields["{name}"]', one)
        expressions += [f"({said})"] if said else []
    if kept is not None:
        others = label_sets.keys() - kept
        if len(kept) <= min(len(others), _MOST_VALUES) or not kept:
            expressions.append(f"labels in {sorted(kept) or [-1]}")
        elif 0 < len(others) <= _MOST_VALUES:
            expressions.append(f"labels not in {sorted(others)}")
    return Filter(" and ".join(expressions), tuple(checks), kept)


def field_name(number: int) -> str:
    """What a payload field is called in the rows, whatever its own name."""
    return f"f{number}"


def stored_fields(payload: Mapping[str, Any], numbers: Mapping[str, int]) -> dict[str, Any]:
    """A payload as filters see it: nulls are left out."""
    told = {field_name(numbers[name]): normal(value) for name, value in payload.items()}
    return {name: value for name, value in told.items() if value is not None}


def _has(condition: Condition, places: set[int]) -> bool:
    wanted = set(condition.value)
    if condition.operator == "all":
        return wanted <= places
    return bool(wanted & places) == (condition.operator == "any")


def _expression(field: str, condition: Condition) -> str:
    """What Milvus can say of a condition; empty where that is nothing."""
    if condition.operator == "in":
        values = [normal(one) for one in condition.value if one is not None]
        listed = [(type(one), _literal(one)) for one in values]
        if len(listed) > _MOST_VALUES or not all(text for _, text in listed):
            return ""
        # Values of one list must be of one kind.
        lists = [[text for kind, text in listed if kind is one] for one in (int, float, str)]
        joined = [f"{field} in [{','.join(texts)}]" for texts in lists if texts]
        return " or ".join(joined) or f'{field} == "" and {field} == 0'
    value = normal(condition.value)
    if value is None:
        if condition.operator == "!=":
            return f"{_ANY_NUMBER.format(field)} or {_ANY_TEXT.format(field)}"
        return ""
    literal = _literal(value)
    if not literal:
        return ""
    operator = "==" if condition.operator == "=" else condition.operator
    said = f"{field} {operator} {literal}"
    if operator in (">", ">=") and not isinstance(value, str):
        return f"{said} or {_ANY_TEXT.format(field)}"
    if operator in ("<", "<=") and isinstance(value, str):
        return f"{said} or {_ANY_NUMBER.format(field)}"
    return said


def _literal(value: Any) -> str:
    """A value as Milvus reads it; empty where it might read it otherwise."""
    if isinstance(value, str):
        plain = value.isprintable() and '"' not in value and "\\" not in value
        return json.dumps(value, ensure_ascii=False) if plain and len(value) < 1000 else ""
    if not -_EXACT < value < _EXACT:
        return ""
    if isinstance(value, int):
        return str(value)
    text = f"{value:.17g}" if abs(value) >= 1e-4 or value == 0 else ""
    return text if not text or "." in text else f"{text}.0"
