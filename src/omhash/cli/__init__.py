"""The command `omhash`: a thin command line over the library."""

from __future__ import annotations

from typing import Annotated

import typer

from .. import __version__
from .bench import EXAMPLE, bench
from .collections import backup, check, compact, copy, create, delete, restore, status
from .exporting import export
from .learning import learn
from .output import told_in_a_line
from .paper import EXAMPLE as PAPER_EXAMPLE
from .paper import paper
from .rounds import forget, ingest
from .searching import search
from .serving import demo, serve

__all__ = ["app", "main"]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

# In the order of a collection's life, which is that of the help.
for command in (
    create,
    ingest,
    learn,
    search,
    status,
    delete,
    forget,
    export,
    check,
    backup,
    restore,
    copy,
    compact,
    serve,
    demo,
):
    app.command()(told_in_a_line()(command))
app.command(epilog=EXAMPLE)(told_in_a_line()(bench))
app.command(epilog=PAPER_EXAMPLE)(told_in_a_line()(paper))


def main() -> None:
    """Run the command with the arguments of the process."""
    app(prog_name="omhash")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"omhash {__version__}")
        raise typer.Exit


@app.callback()
def omhash(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Online multi-modal hashing: short codes learned from a stream."""
