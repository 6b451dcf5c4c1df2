"""What a report is made of: tables and figures as values, before they are shown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Value:
    """A mean over seeds.

    Attributes
    ----------
    mean : float
        NaN where nothing was measured.
    spread : float or None
        The sample deviation; None of fewer than two.
    """

    mean: float
    spread: float | None = None

    @classmethod
    def of(cls, numbers: Iterable[float | None]) -> Value:
        """Of what was measured.

        Examples
        --------
        >>> Value.of([0.5, 1.0, None]).mean
        0.75
        """
        known = [number for number in numbers if number is not None and not math.isnan(number)]
        if not known:
            return NOTHING
        return cls(statistics.fmean(known), statistics.stdev(known) if len(known) > 1 else None)

    def text(self, digits: int = 4, *, signed: bool = False) -> str:
        """As a cell shows it.

        Examples
        --------
        >>> Value(0.75, 0.01).text(2)
        '0.75 ± 0.01'
        """
        if math.isnan(self.mean):
            return "–"
        sign = "+" if signed else ""
        spread = "" if self.spread is None else f" ± {self.spread:.{digits}f}"
        return f"{self.mean:{sign}.{digits}f}{spread}".replace("-", "−")


NOTHING = Value(math.nan)


@dataclass(frozen=True)
class Cell:
    """A text in a table, and the number behind it."""

    text: str
    value: Value | None = None
    best: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of cells.

    Attributes
    ----------
    title, note : str
    header : sequence of str
    rows : list of list of Cell
    n_names : int
        How many columns at the left hold names; the others hold numbers.
    """

    title: str
    header: Sequence[str]
    rows: list[list[Cell]]
    n_names: int = 1
    note: str = ""


@dataclass(frozen=True)
class Line:
    """Values of one name along an axis."""

    name: str
    x: Sequence[float]
    y: Sequence[Value]
    broken: bool = False


@dataclass(frozen=True)
class Panel:
    """A pair of axes with lines."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    log_x: bool = False
    log_y: bool = False
    from_zero: bool = False


@dataclass(frozen=True)
class Figure:
    """Panels side by side, with one legend.

    Attributes
    ----------
    name : str
        Of its file.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    note: str = ""


Block = Table | Figure


def names(*texts: str) -> list[Cell]:
    """Cells that hold no number."""
    return [Cell(text) for text in texts]


def numbers(values: Iterable[Value], digits: int = 4, *, signed: bool = False) -> list[Cell]:
    """Cells of values."""
    return [Cell(value.text(digits, signed=signed), value) for value in values]


@dataclass
class Group:
    """Rows whose best value in each column is marked."""

    rows: list[tuple[list[Cell], list[Value], str]] = field(default_factory=list)

    def add(self, cells: list[Cell], values: list[Value], kind: str = "here") -> None:
        """One more row: found "here", printed in the "paper", or the "difference" of these."""
        self.rows.append((cells, values, kind))

    def cells(self, digits: int = 4, *, lowest: bool = False) -> list[list[Cell]]:
        """The rows of the table."""
        competing = [values for _, values, kind in self.rows if kind == "here"]
        wanted = min if lowest else max
        best = [
            wanted((value.mean for value in column if not math.isnan(value.mean)), default=math.nan)
            for column in zip(*competing, strict=True)
        ]
        return [
            before
            + [
                Cell(
                    value.text(digits, signed=kind == "difference"),
                    value,
                    kind == "here" and value.mean == top,
                )
                for value, top in zip(values, best, strict=True)
            ]
            for before, values, kind in self.rows
        ]
