"""The paper's tables and figures: the runs that each needs, and how it shows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import printed
from .beside import by_length, by_round, numbered, over_rounds
from .blocks import Block, Cell, Figure, Line, Panel, Table, Value, names
from .convergence import losses
from .jobs import Job
from .methods import (
    EQUAL_WEIGHTS,
    HADAMARD,
    NO_PENALTY,
    OASIS,
    OASIS_FW,
    OWN_VECTORS,
    SHIPPED_VECTORS,
    Method,
    hcfw,
    incremental,
    standard,
)
from .plan import Found, Plan, hamming

INCREMENTAL = ("overlap", "non-overlap")

_PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3)
_FEW_PENALTIES = (1e-2, 1.0, 1e2)


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Attributes
    ----------
    name : str
    paper : tuple of str
        Which tables and figures of the paper it makes.
    title, about : str
    jobs : callable
        The runs that it needs.
    blocks : callable
        What it shows of them.
    """

    name: str
    paper: tuple[str, ...]
    title: str
    about: str
    jobs: Callable[[Plan], list[Job]]
    blocks: Callable[[Plan, Found], list[Block]]


def _standard(plan: Plan, found: Found) -> list[Block]:
    title = "MAP of the last round, standard online scenario"
    return [by_length(plan, found, title, {"iid": standard(plan.name)}, printed.last_round)]


def _rounds(plan: Plan, found: Found) -> list[Block]:
    return [
        Figure(
            "rounds",
            "MAP against rounds, standard online scenario",
            [
                Panel(
                    f"{n_bits} bits",
                    "round",
                    "MAP",
                    [
                        over_rounds(method.name, found.by_round("iid", method, n_bits, hamming))
                        for method in standard(plan.name)
                    ],
                )
                for n_bits in plan.bits
            ],
        )
    ]


def _incremental(plan: Plan, found: Found) -> list[Block]:
    title = "MAP of the last round, category-incremental scenarios"
    groups = dict.fromkeys(INCREMENTAL, incremental())
    return [by_length(plan, found, title, groups, printed.last_round)]


_CATEGORY_CODES = (OASIS, OASIS_FW, hcfw())


def _category_codes(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(96)
    values = {m.name: found.by_round("iid", m, n_bits, hamming) for m in _CATEGORY_CODES}
    given = printed.CATEGORY_CODES if plan.name == "NUS-WIDE" and n_bits == 96 else {}
    title = f"MAP by round with {n_bits} bits: what category codes give"
    return [by_round(plan, title, values, given)]


_WEIGHTS = (EQUAL_WEIGHTS, NO_PENALTY, hcfw())


def _weights(plan: Plan, found: Found) -> list[Block]:
    title = "MAP of the last round with and without fine-grained weights and penalty"
    groups = dict.fromkeys(("iid", "non-overlap"), _WEIGHTS)
    return [by_length(plan, found, title, groups, printed.weights)]


def _penalised(plan: Plan) -> dict[str, list[tuple[float, Method]]]:
    penalties = _FEW_PENALTIES if plan.quick else _PENALTIES
    return {
        "θ": [(penalty, hcfw(f"θ = {penalty:g}", theta=penalty)) for penalty in penalties],
        "δ": [(penalty, hcfw(f"δ = {penalty:g}", delta=penalty)) for penalty in penalties],
    }


def _sensitivity_jobs(plan: Plan) -> list[Job]:
    methods = [method for own in _penalised(plan).values() for _, method in own]
    return plan.jobs(["iid"], methods, [plan.length(32)])


def _sensitivity(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(32)
    lines = {
        sign: Line(
            sign,
            [penalty for penalty, _ in own],
            [found.last("iid", method, n_bits, hamming) for _, method in own],
        )
        for sign, own in _penalised(plan).items()
    }
    penalties = [penalty for penalty, _ in _penalised(plan)["θ"]]
    return [
        Figure(
            "sensitivity",
            f"MAP of the last round against θ and δ, {n_bits} bits",
            [
                Panel(f"{sign}, the other at 1", sign, "MAP", [line], log_x=True)
                for sign, line in lines.items()
            ],
        ),
        Table(
            f"MAP of the last round by θ and by δ, {n_bits} bits",
            ["", *(f"{penalty:g}" for penalty in penalties)],
            [names(f"{sign}, the other at 1") + _cells(line.y) for sign, line in lines.items()],
        ),
    ]


def _cells(values: Sequence[Value]) -> list[Cell]:
    return [Cell(value.text(), value) for value in values]


def _convergence(plan: Plan, found: Found) -> list[Block]:
    del found
    n_iterations = 10
    vectors = plan.on.vectors[OWN_VECTORS]
    lines = [
        Line(
            f"{n_bits} bits",
            [float(at) for at in range(n_iterations + 1)],
            losses(vectors, n_bits, range(plan.n_seeds), n_iterations),
        )
        for n_bits in plan.bits
    ]
    title = "Loss of the category codes against iterations"
    return [
        Figure(
            "convergence",
            title,
            [Panel("", "iteration", "‖K − C W‖² / ‖K‖²", lines, from_zero=True)],
            f"The {len(vectors)} category vectors K are rebuilt from codes C by the best W. "
            "With no more categories than bits any independent codes rebuild them, also the "
            "random ones at iteration 0: the loss is 0 throughout.",
        ),
        Table(
            title,
            ["", *(f"{at}" for at in range(n_iterations + 1))],
            [names(line.name) + _cells(line.y) for line in lines],
        ),
    ]


def _seconds(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(32)

    def learning(result: dict[str, Any]) -> float:
        return float(result["learn_seconds"])

    values = {m.name: found.by_round("iid", m, n_bits, learning) for m in standard(plan.name)}
    given: Mapping[str, Mapping[int, float]] = {}
    if plan.name == "MIRFlickr" and n_bits == 32:
        given = {name: numbered(own) for name, own in printed.SECONDS.items()}
    table = by_round(
        plan, f"Seconds to learn each round, {n_bits} bits", values, given, digits=3, lowest=True
    )
    own = Value.of(value.mean for value in values["HCFW"])
    theirs = Value.of(printed.SECONDS["HCFW"])
    ratios = Table(
        "Mean seconds of a round, as multiples of HCFW's",
        ["method", "here", "paper (MIRFlickr)"],
        [
            names(name)
            + [
                Cell(ratio.text(2), ratio)
                for ratio in (
                    Value(Value.of(value.mean for value in line).mean / own.mean),
                    Value(Value.of(printed.SECONDS.get(name, ())).mean / theirs.mean),
                )
            ]
            for name, line in values.items()
        ],
        note="The paper's seconds are those of its authors' programs on their machine. "
        "Ratios compare across machines, seconds do not.",
    )
    lines = [over_rounds(name, line) for name, line in values.items()]
    panel = Panel("", "round", "seconds", lines, log_y=True)
    return [Figure("time", f"Seconds to learn each round, {n_bits} bits", [panel]), table, ratios]


_SEMANTICS = hcfw("Semantics")


def _supervision(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(64)
    values = {m.name: found.by_round("iid", m, n_bits, hamming) for m in (HADAMARD, _SEMANTICS)}
    given: Mapping[str, Mapping[int, float]] = {}
    if plan.name == "MIRFlickr" and n_bits == 64:
        given = {name: numbered(own) for name, own in printed.SUPERVISION.items()}
    title = f"MAP by round with {n_bits} bits: category codes from a Hadamard matrix or from names"
    return [by_round(plan, title, values, given)]


def _embedded(plan: Plan) -> dict[str, Method]:
    found = {"omhash's own": hcfw("omhash's own", SHIPPED_VECTORS)}
    if plan.on.data.category_vectors is not None:
        found["the data's own"] = hcfw("the data's own")
    return found | {name: hcfw(name, name) for name in plan.embeddings}


def _embeddings(plan: Plan, found: Found) -> list[Block]:
    n_bits = plan.length(64)
    values = {
        name: found.by_round("iid", method, n_bits, hamming)
        for name, method in _embedded(plan).items()
    }
    given: Mapping[str, Mapping[int, float]] = {}
    if plan.name == "MIRFlickr" and n_bits == 64:
        given = {name: numbered(own) for name, own in printed.EMBEDDINGS.items() if name in values}
    title = f"MAP by round with {n_bits} bits, by where the category vectors come from"
    return [by_round(plan, title, values, given)]


PAPER: tuple[Section, ...] = (
    Section(
        "standard",
        ("table1", "table2"),
        "Standard online scenario",
        "Random items in every round, the same queries in all. MAP is over the whole database "
        "by Hamming distance; mean ± sample deviation over the seeds, the best in bold.",
        lambda plan: plan.jobs(["iid"], standard(plan.name), plan.bits),
        _standard,
    ),
    Section(
        "rounds",
        ("figure2",),
        "MAP against rounds",
        "The same runs, round by round. Bands are the deviation over seeds.",
        lambda plan: plan.jobs(["iid"], standard(plan.name), plan.bits),
        _rounds,
    ),
    Section(
        "incremental",
        ("table3", "table4"),
        "Category-incremental scenarios",
        "New categories come round by round; old ones go on appearing (overlap), or do not "
        "(non-overlap).",
        lambda plan: plan.jobs(INCREMENTAL, incremental(), plan.bits),
        _incremental,
    ),
    Section(
        "category-codes",
        ("table5",),
        "High-level codes",
        "OASIS, OASIS with fine-grained weights (FW), and HCFW, which has category codes too. "
        "Standard scenario.",
        lambda plan: plan.jobs(["iid"], _CATEGORY_CODES, [plan.length(96)]),
        _category_codes,
    ),
    Section(
        "weights",
        ("table6",),
        "Fine-grained weights and penalty",
        "HCFW with equal weights, and with θ = δ = 10⁻⁶ for no penalty (at 0 sums of rare words "
        "cannot be solved).",
        lambda plan: plan.jobs(["iid", "non-overlap"], _WEIGHTS, plan.bits),
        _weights,
    ),
    Section(
        "sensitivity",
        ("figure3",),
        "Sensitivity to θ and δ",
        "HCFW with the paper's settings but one. Standard scenario.",
        _sensitivity_jobs,
        _sensitivity,
    ),
    Section(
        "convergence",
        ("figure4",),
        "Convergence",
        "How far the alternation that makes category codes lowers its loss.",
        lambda plan: [],  # noqa: ARG005 - it needs no run
        _convergence,
    ),
    Section(
        "time",
        ("table7",),
        "Seconds against rounds",
        "Wall-clock seconds to learn each round of the standard scenario, one thread a run.",
        lambda plan: plan.jobs(["iid"], standard(plan.name), [plan.length(32)]),
        _seconds,
    ),
    Section(
        "supervision",
        ("table8",),
        "Hadamard against semantics",
        "HCFW with category codes from a Hadamard matrix, and from the names' vectors.",
        lambda plan: plan.jobs(["iid"], (HADAMARD, _SEMANTICS), [plan.length(64)]),
        _supervision,
    ),
    Section(
        "embeddings",
        ("table9",),
        "Embeddings of the category names",
        "HCFW with vectors from several sources: --embeddings NAME=FILE adds one.",
        lambda plan: plan.jobs(["iid"], list(_embedded(plan).values()), [plan.length(64)]),
        _embeddings,
    ),
)
"""In the paper's order."""
