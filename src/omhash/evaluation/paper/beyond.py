"""What the report shows beyond the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .blocks import Block, Cell, Figure, Group, Line, Panel, Table, Value, names, numbers
from .jobs import Job
from .methods import DEFAULT, Method, hcfw, incremental, standard
from .plan import SCENARIO_NAMES, Found, Plan, asymmetric, hamming
from .sections import Section
from .significance import N_DRAWS, by_item, compare


def _methods(plan: Plan, scenario: str) -> list[Method]:
    return standard(plan.name) if scenario == "iid" else incremental()


_SHOWN = 1000.0
_CUTS = (10, 50, 100, 500)


def _settings(plan: Plan, found: Found) -> list[Block]:
    rows = []
    for scenario in SCENARIO_NAMES:
        group = Group()
        for method in (hcfw(), DEFAULT):
            for name, reading in (("Hamming", hamming), ("asymmetric", asymmetric)):
                values = [found.last(scenario, method, n_bits, reading) for n_bits in plan.bits]
                group.add(names(SCENARIO_NAMES[scenario], method.name, name), values)
        rows += group.cells()
    header = ["scenario", "method", "ranking", *(f"{n_bits} bits" for n_bits in plan.bits)]
    return [Table("MAP of the last round", header, rows, n_names=3)]


def _curves(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(64)
    blocks: list[Block] = []
    for scenario in SCENARIO_NAMES:
        chosen = [(method, "hamming", method.name) for method in _methods(plan, scenario)]
        chosen.append((DEFAULT, "asymmetric", f"{DEFAULT.name}, asymmetric"))
        recalled, counted = [], []
        for method, ranking, name in chosen:
            k, precision, recall = (
                found.curve(scenario, method, n_bits, ranking, kind)
                for kind in ("k", "precision", "recall")
            )
            broken = ranking == "asymmetric"
            recalled.append(Line(name, [value.mean for value in recall], precision, broken))
            first = [at for at, value in enumerate(k) if value.mean <= _SHOWN]
            counted.append(
                Line(name, [k[at].mean for at in first], [precision[at] for at in first], broken)
            )
        title = f"{SCENARIO_NAMES[scenario]}, {n_bits} bits"
        blocks += [
            Figure(
                f"curves-{scenario}",
                f"Precision, {title}",
                [
                    Panel("Precision and recall", "recall", "precision", recalled),
                    Panel("Precision@k", "k", "precision", counted, log_x=True),
                ],
            ),
            _precision_table(title, counted),
        ]
    return blocks


def _precision_table(title: str, lines: Sequence[Line]) -> Table:
    group = Group()
    cuts = [k for k in _CUTS if any(k in line.x for line in lines)]
    for line in lines:
        at = dict(zip(line.x, line.y, strict=True))
        group.add(names(line.name), [at.get(k, Value.of([])) for k in cuts])
    return Table(f"Precision@k, {title}", ["method", *(f"k = {k}" for k in cuts)], group.cells())


def _significance(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(64)
    blocks: list[Block] = []
    for scenario in SCENARIO_NAMES:
        runs = {
            method.name: found.runs(scenario, method, n_bits) for method in _methods(plan, scenario)
        }
        whole = {name: own for name, own in runs.items() if len(own) == plan.n_seeds}
        values = {
            name: by_item(
                [run["queries"] for run in own],
                [run["average_precision"]["hamming"] for run in own],
            )[1]
            for name, own in whole.items()
        }
        rows = [
            [
                *names(one.first, one.second),
                Cell(Value(one.difference).text(signed=True), Value(one.difference)),
                Cell(_p(one.p), Value(one.p)),
                Cell("yes" if one.p < 0.05 else "no"),
                Cell(f"{one.n_queries:,}", Value(float(one.n_queries))),
            ]
            for one in compare(values)
        ]
        header = ["method", "against", "difference in MAP", "p", "p < 0.05", "queries"]
        title = f"{SCENARIO_NAMES[scenario]}, {n_bits} bits"
        blocks.append(Table(f"Paired comparison, {title}", header, rows, n_names=2))
    return blocks


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _memory(plan: Plan, found: Found) -> list[Block]:
    def megabytes(what: str) -> Any:
        return lambda result: result[what] / 1e6

    methods: list[Method] = standard(plan.name)
    rows = []
    for method in methods:
        state = [
            found.last("iid", method, n_bits, megabytes("state_bytes")) for n_bits in plan.bits
        ]
        peak = [found.last("iid", method, n_bits, megabytes("peak_bytes")) for n_bits in plan.bits]
        rows.append(names(method.name, "state") + numbers(state, 1))
        rows.append(names("", "process, at most") + numbers(peak, 0))
    return [
        Table(
            "Megabytes after the last round, standard scenario",
            ["method", "of", *(f"{n_bits} bits" for n_bits in plan.bits)],
            rows,
            n_names=2,
            note="Every run has a process of its own, whose most memory is told: Python, the "
            "libraries and the data that the run touched are in it. An item's code takes "
            "bits / 8 bytes with any method.",
        )
    ]


def _all_jobs(plan: Plan) -> list[Job]:
    return [
        job
        for scenario in SCENARIO_NAMES
        for job in plan.jobs([scenario], _methods(plan, scenario), [plan.length(64)])
    ]


BEYOND: tuple[Section, ...] = (
    Section(
        "settings",
        (),
        "omhash's default beside the paper's settings",
        "HCFW as published and as omhash has it by default, by Hamming distance and by "
        "asymmetric score, which keeps the query's real values and costs no storage.",
        lambda plan: plan.jobs(SCENARIO_NAMES, (hcfw(), DEFAULT), plan.bits),
        _settings,
    ),
    Section(
        "curves",
        (),
        "Precision and recall",
        "Means over the queries of the last round. Hamming distance, unless said otherwise.",
        _all_jobs,
        _curves,
    ),
    Section(
        "significance",
        (),
        "Do the methods differ?",
        f"Average precision of the same queries under two methods: a paired randomisation test "
        f"({N_DRAWS:,} draws of signs), two-sided, with Holm's correction for all pairs of a "
        "table. A query that several seeds ask counts once, with its mean. The test speaks of "
        "other queries, not of other data or draws of the methods.",
        _all_jobs,
        _significance,
    ),
    Section(
        "memory",
        (),
        "Memory",
        "What a method keeps to go on learning, and the most that its process had.",
        lambda plan: plan.jobs(["iid"], standard(plan.name), plan.bits),
        _memory,
    ),
)
"""In the order of the report."""
