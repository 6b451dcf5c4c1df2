"""A report as a page of HTML and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from .blocks import Block, Cell, Table
from .drawing import svg

_LONG = 40
"""A name of more characters may take several lines."""


@dataclass(frozen=True)
class Chapter:
    """Blocks under one heading.

    Attributes
    ----------
    name : str
        Its anchor.
    title, remark, about : str
    blocks : sequence of Block
    level : int
        Of the heading, 2 or 3.
    """

    name: str
    title: str
    remark: str
    about: str
    blocks: Sequence[Block]
    level: int = 3


def html(title: str, about: Sequence[str], chapters: Sequence[Chapter]) -> str:
    """One page that needs no other file, readable in light and in dark."""
    style = resources.files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    contents = "\n".join(
        f'<li><a href="#{one.name}">{escape(one.title)}</a></li>' for one in chapters
    )
    told = "\n".join(f"<p>{escape(text)}</p>" for text in about)
    body = "\n".join(_html_chapter(one) for one in chapters)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{told}
<nav><ul>
{contents}
</ul></nav>
{body}
</main>
</body>
</html>
"""


def markdown(title: str, about: Sequence[str], chapters: Sequence[Chapter]) -> str:
    """The same in Markdown, with figures as files beside it."""
    parts = [f"# {title}", *about]
    for one in chapters:
        parts.append(f"{'#' * one.level} {one.title}{f' ({one.remark})' * bool(one.remark)}")
        parts += [one.about] * bool(one.about)
        for place, block in enumerate(one.blocks):
            if isinstance(block, Table):
                parts += [f"**{block.title}**", _markdown_table(block)]
            else:
                parts.append(f"![{block.title}](figures/{file_name(one, place)})")
            parts += [block.note] * bool(block.note)
    return "\n\n".join(parts) + "\n"


def file_name(chapter: Chapter, place: int) -> str:
    """Of the figure in that place of a chapter."""
    return f"{chapter.name}-{place + 1}.svg"


def _html_chapter(chapter: Chapter) -> str:
    remark = f" <small>{escape(chapter.remark)}</small>" if chapter.remark else ""
    heading = f"h{chapter.level}"
    parts = [f'<{heading} id="{chapter.name}">{escape(chapter.title)}{remark}</{heading}>']
    if chapter.about:
        parts.append(f'<p class="about">{escape(chapter.about)}</p>')
    for place, block in enumerate(chapter.blocks):
        parts.append(f"<figure><figcaption>{escape(block.title)}</figcaption>")
        if isinstance(block, Table):
            parts += _html_table(block)
        else:
            drawn = svg(block, prefix=f"{chapter.name}-{place}")
            single = len(block.panels) == 1
            parts.append(drawn.replace("<svg", '<svg class="single"', 1) if single else drawn)
        if block.note:
            parts.append(f'<p class="note">{escape(block.note)}</p>')
        parts.append("</figure>")
    return "\n".join(parts)


def _html_table(table: Table) -> Iterator[str]:
    yield '<div class="wide"><table>'
    heads = "".join(
        f"<th{' class=name' if at < table.n_names else ''}>{escape(text)}</th>"
        for at, text in enumerate(table.header)
    )
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for row in table.rows:
        beside = any(cell.text in ("paper", "difference") for cell in row[: table.n_names])
        cells = "".join(_html_cell(cell, at < table.n_names) for at, cell in enumerate(row))
        yield f"<tr{' class=beside' if beside else ''}>{cells}</tr>"
    yield "</tbody></table></div>"


def _html_cell(cell: Cell, is_name: bool) -> str:
    kinds = ["name"] * is_name + ["long"] * (is_name and len(cell.text) > _LONG)
    kinds += ["best"] * cell.best
    marked = f' class="{" ".join(kinds)}"' if kinds else ""
    return f"<td{marked}>{escape(cell.text)}</td>"


def _markdown_table(table: Table) -> str:
    rule = [":--" if at < table.n_names else "--:" for at in range(len(table.header))]
    rows = [table.header, rule, *([_marked(cell) for cell in row] for row in table.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _marked(cell: Cell) -> str:
    text = cell.text.replace("|", "\\|")
    return f"**{text}**" if cell.best else text
