"""What all commands say, and how: tables, JSON, bars, and errors in one line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)

from ..errors import OmhashError, ParameterError

CollectionPath: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="COLLECTION",
        help="The collection's folder, or its address on Milvus.",
        show_default=False,
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]


@contextmanager
def told_in_a_line() -> Iterator[None]:
    """Show what stops a command as one line on stderr, and choose the exit code."""
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise  # typer leaves quietly when nobody reads any more
    except (OmhashError, OSError, MemoryError) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        typer.echo(f"omhash: error: {message}", err=True)
        raise typer.Exit(2 if isinstance(error, ParameterError) else 1) from None


def say(text: str) -> None:
    """Print to stdout; a name may hold what neither the terminal's encoding nor UTF-8 can say."""
    typer.echo(text.encode(errors="backslashreplace"))


def say_values(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print named values: as one JSON object, or a line for each that there is."""
    if as_json:
        say(json.dumps(values))
        return
    there = {name: value for name, value in values.items() if value is not None}
    say(aligned([[name.replace("_", " "), _text(value)] for name, value in there.items()]))


def aligned(lines: Iterable[Sequence[Any]]) -> str:
    """Lines of cells, one under the other: numbers to the right, all else to the left.

    Examples
    --------
    >>> print(aligned([["key", "score"], ["a rose", 0.5], ["oak", 12.25]]))
    key     score
    a rose    0.5
    oak     12.25
    """
    cells = [list(line) for line in lines]
    right = [isinstance(value, (int, float)) for value in cells[-1]] if cells else []
    texts = [[_text(value) for value in line] for line in cells]
    widths = [max(map(cell_len, column)) for column in zip(*texts, strict=True)]
    return "\n".join(
        "  ".join(
            f"{space}{text}" if to_right else f"{text}{space}"
            for text, space, to_right in (
                (text, " " * (width - cell_len(text)), to_right)
                for text, width, to_right in zip(line, widths, right, strict=True)
            )
        ).rstrip()
        for line in texts
    )


@contextmanager
def watched(*further: ProgressColumn, counted: bool = True, shown: bool) -> Iterator[Progress]:
    """A bar on stderr, if that is a terminal and `shown` is set.

    It tells what is done, how far it is (`counted`: in numbers too) and how long that took.
    """
    hidden = not (shown and sys.stderr.isatty())
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *([MofNCompleteColumn()] if counted else []),
        TimeElapsedColumn(),
        *further,
        console=Console(stderr=True),
        transient=True,
        disable=hidden,
    ) as progress:
        yield progress


def _text(value: Any) -> str:
    """A value on one line, and nothing in it that a terminal would obey."""
    if isinstance(value, Mapping):
        told = ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    elif isinstance(value, (list, tuple)):
        told = ", ".join(map(_text, value))
    elif isinstance(value, bool):
        told = "yes" if value else "no"
    else:
        told = str(value)
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in told
    )
