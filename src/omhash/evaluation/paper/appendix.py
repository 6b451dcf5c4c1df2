"""How a report was made: data, methods and their parameters, and what failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .blocks import Cell, Table, names
from .plan import SCENARIO_NAMES, Plan

FAIRNESS = (
    "Every method sees the same rounds, queries and features of a seed. HCFW and OASIS learn "
    "from plain features and the same category vectors; FOMH, OMH-DQ and SAPMH see them behind "
    "their own kernels, as their authors prescribe, and learn from labels. Parameters are the "
    "authors' own, also with data that they did not tune them for. Methods run in their "
    "corrected modes; the page of each method tells what its authors' program does otherwise. "
    "Batch methods train anew on everything so far in every round. ODMVH, which sees no labels, "
    "is built from its description: neither its formulas nor its program were at hand."
)


def data_table(plan: Plan, results: Mapping[str, dict[str, Any]]) -> Table:
    """The size and the digest of the data, and the rounds of each scenario."""
    data = plan.on.data
    rows = [
        names("items", f"{len(data):,}"),
        names("categories", f"{len(data.categories):,}"),
        names("labels an item", f"{data.labels.sum() / len(data):.2f}"),
        *(names(f"features, {name}", f"{view.shape[1]:,}") for name, view in data.views.items()),
        names("SHA-256", plan.on.digest),
    ]
    for scenario, told in SCENARIO_NAMES.items():
        for one in results.values():
            asked = one["configuration"]
            if (asked["data"], asked["scenario"], asked["seed"]) == (plan.name, scenario, 0):
                sizes = [f"{each['n_train']:,}" for each in one["rounds"]]
                told_once = sizes[:1] if len(set(sizes)) == 1 else sizes
                text = f"{len(sizes)} rounds of {', '.join(told_once)} items"
                rows.append(
                    names(f"{told}, seed 0", f"{text}, {len(one['queries']):,} last queries")
                )
                break
    return Table(f"Data: {plan.name}", ["", ""], rows, n_names=2)


def parameter_table(called: Sequence[tuple[str, dict[str, Any]]]) -> Table:
    """Each method's parameters, for methods by name with one of their runs."""
    rows: dict[str, list[Cell]] = {}
    for name, run in called:
        told = {key: value for key, value in run["parameters"].items() if key not in _VARIED}
        text = ", ".join(f"{key} = {_text(value)}" for key, value in told.items())
        rows.setdefault(name, names(name, run["configuration"]["hasher"], text))
    return Table("Parameters", ["method", "class", "parameters"], list(rows.values()), n_names=3)


_VARIED = ("n_bits", "random_state")


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_text(own)}" for key, own in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(_text, value)) + ")"
    return f"{value:g}" if isinstance(value, float) else str(value)
