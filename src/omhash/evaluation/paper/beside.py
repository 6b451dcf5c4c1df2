"""Tables in which what the paper prints stands beside what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from . import printed
from .blocks import NOTHING, Group, Line, Table, Value, names
from .methods import Method
from .plan import SCENARIO_NAMES, Found, Plan, hamming


def by_length(
    plan: Plan,
    found: Found,
    title: str,
    groups: Mapping[str, Sequence[Method]],
    paper: Callable[[str, str, str, int], printed.Printed | None],
) -> Table:
    """MAP of the last round by code length; under each method what the paper prints."""
    rows = []
    beside = any(
        paper(plan.name, scenario, method.name, n_bits)
        for scenario, methods in groups.items()
        for method in methods
        for n_bits in plan.bits
    )
    for scenario, methods in groups.items():
        group = Group()
        for method in methods:
            values = [found.last(scenario, method, n_bits, hamming) for n_bits in plan.bits]
            told = [SCENARIO_NAMES[scenario]] * (len(groups) > 1) + [method.name]
            group.add(names(*told, *["here"] * beside), values)
            given = [paper(plan.name, scenario, method.name, n_bits) for n_bits in plan.bits]
            if any(given):
                there = [Value(*one) if one else NOTHING for one in given]
                blank = [""] * len(told)
                group.add(names(*blank, "paper"), there, "paper")
                less = [Value(a.mean - b.mean) for a, b in zip(values, there, strict=True)]
                group.add(names(*blank, "difference"), less, "difference")
        rows += group.cells()
    header = ["scenario"] * (len(groups) > 1) + ["method"] + [""] * beside
    return Table(
        title,
        header + [f"{n_bits} bits" for n_bits in plan.bits],
        rows,
        n_names=len(header),
        note=_sizes(plan) if beside else "",
    )


def by_round(
    plan: Plan,
    title: str,
    found: Mapping[str, list[Value]],
    given: Mapping[str, Mapping[int, float]],
    *,
    digits: int = 4,
    lowest: bool = False,
) -> Table:
    """Values of each round; under each name what the paper prints."""
    n_rounds = max(map(len, found.values()), default=0)
    shown = list(range(1, n_rounds + 1))
    if n_rounds > 10 and given:
        shown = sorted({number for own in given.values() for number in own if number <= n_rounds})
    group = Group()
    for name, values in found.items():
        cells = [values[at - 1] if at <= len(values) else NOTHING for at in shown]
        group.add(names(name, *["here"] * bool(given)), cells)
        if name in given:
            there = [Value(given[name][at]) if at in given[name] else NOTHING for at in shown]
            group.add(names("", "paper"), there, "paper")
            less = [Value(a.mean - b.mean) for a, b in zip(cells, there, strict=True)]
            group.add(names("", "difference"), less, "difference")
    header = ["", *[""] * bool(given)]
    return Table(
        title,
        header + [f"round {at}" for at in shown],
        group.cells(digits, lowest=lowest),
        n_names=len(header),
        note=_sizes(plan) if given else "",
    )


def _sizes(plan: Plan) -> str:
    theirs, here = printed.ITEMS[plan.name], len(plan.on.data)
    if theirs == here:
        return f"The paper's data: {here:,} items."
    return (
        f"The paper's {plan.name} has {theirs:,} items, and these data have {here:,}: "
        "the printed values are not comparable."
    )


def numbered(values: Sequence[float]) -> dict[int, float]:
    """Values of rounds, counted from 1."""
    return dict(enumerate(values, start=1))


def over_rounds(name: str, values: Sequence[Value]) -> Line:
    """A line along the rounds."""
    return Line(name, [float(at) for at in range(1, len(values) + 1)], values)
