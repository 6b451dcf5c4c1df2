"""Figures as SVG that takes its ink from the page around it."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Mapping
from html import escape
from typing import Any

from ...errors import UnsupportedError
from .blocks import Figure, Line, Panel

_INK, _GRID = "#010203", "#040506"
"""Colours that stand for the page's own until the figure is part of it."""

_COLOURS: Mapping[str, str] = {
    "HCFW": "#2f86d8",
    "HCFW, omhash's default": "#e0455a",
    "HCFW, omhash's default, asymmetric": "#e0455a",
    "OASIS": "#e08a00",
    "FOMH": "#2aa37a",
    "OMH-DQ": "#9a6fd0",
    "SAPMH": "#b3743a",
    "ODMVH": "#8a919c",
}
_OTHERS = ("#2f86d8", "#e0455a", "#2aa37a", "#e08a00", "#9a6fd0", "#b3743a", "#8a919c")
_MARKS = "os^Dv<>PX"
_ROW = 2


def require_drawing() -> None:
    """Raise `UnsupportedError` where figures cannot be drawn."""
    try:
        import matplotlib  # noqa: F401 - whether it is there is the question
    except ImportError:
        raise UnsupportedError(
            "figures are drawn with matplotlib, which is not installed: "
            "python -m pip install 'omhash[plots]'"
        ) from None


def svg(figure: Figure, *, prefix: str) -> str:
    """The figure as an SVG element for a page; the same figure gives the same text.

    Parameters
    ----------
    prefix : str
        What the identifiers in it begin with, so that no two figures of a page share one.
    """
    text = _drawn(figure)
    text = text[text.index("<svg") :]
    text = re.sub(r' (width|height)="[\d.]+pt"', "", text, count=2)
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|href="#|url\(#)', rf"\1{prefix}-", text)
    text = text.replace(_INK, "var(--ink)").replace(_GRID, "var(--grid)")
    return text.replace("<svg", f'<svg role="img" aria-label="{escape(figure.title)}"', 1)


def file_svg(figure: Figure) -> str:
    """The figure as an SVG file, dark on white."""
    return _drawn(figure).replace(_INK, "#1c1e21").replace(_GRID, "#d9dce1")


def _drawn(figure: Figure) -> str:
    require_drawing()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    n_columns = min(_ROW, len(figure.panels))
    n_rows = math.ceil(len(figure.panels) / n_columns)
    names = list(dict.fromkeys(line.name for panel in figure.panels for line in panel.lines))
    settings: Any = {
        "svg.hashsalt": "omhash",
        "svg.fonttype": "none",
        "font.family": "sans-serif",
        "font.size": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.formatter.min_exponent": 4,
        **dict.fromkeys(
            ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK
        ),
        "grid.color": _GRID,
        "grid.linewidth": 0.7,
    }
    with rc_context(settings):
        in_legend = names if any(len(panel.lines) > 1 for panel in figure.panels) else []
        width, per_row = (6.6, 3) if n_columns == 1 else (4.9 * n_columns, 4)
        size = (width, 2.9 * n_rows + 0.35 * math.ceil(len(in_legend) / per_row))
        canvas = Canvas(figsize=size, layout="constrained")
        axes = canvas.subplots(n_rows, n_columns, squeeze=False, sharey=True).ravel()
        for spare in axes[len(figure.panels) :]:
            spare.set_visible(False)
        for panel, own in zip(figure.panels, axes, strict=False):
            _draw(own, panel, names)
        for own in axes:
            if not own.get_subplotspec().is_first_col():
                own.set_ylabel("")
        handles = {
            handle.get_label(): handle
            for own in axes
            for handle in own.get_legend_handles_labels()[0]
        }
        if in_legend:
            canvas.legend(
                handles=list(handles.values()),
                loc="outside lower center",
                ncols=min(per_row, len(names)),
                frameon=False,
            )
        file = io.StringIO()
        canvas.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    return file.getvalue()


def _draw(axes: Any, panel: Panel, names: list[str]) -> None:
    for line in panel.lines:
        if not line.x:
            continue
        place = names.index(line.name)
        colour = _COLOURS.get(line.name, _OTHERS[place % len(_OTHERS)])
        axes.plot(
            line.x,
            [value.mean for value in line.y],
            "--" if line.broken else "-",
            color=colour,
            marker=_MARKS[place % len(_MARKS)],
            markersize=4,
            linewidth=1.5,
            label=line.name,
        )
        axes.fill_between(line.x, *_band(line), color=colour, alpha=0.15, linewidth=0)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    axes.grid(axis="y")
    if panel.log_x:
        axes.set_xscale("log")
    elif panel.x_label in ("round", "iteration"):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.log_y:
        axes.set_yscale("log")
    if panel.from_zero:
        axes.set_ylim(0.0, 1.05 * axes.get_ylim()[1])


def _band(line: Line) -> tuple[list[float], list[float]]:
    spreads = [value.spread or 0.0 for value in line.y]
    means = [value.mean for value in line.y]
    return (
        [mean - spread for mean, spread in zip(means, spreads, strict=True)],
        [mean + spread for mean, spread in zip(means, spreads, strict=True)],
    )
