"""The commands that serve collections: one's own, and the bundled one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, cast

import typer

from .. import open as open_collection
from ..collection import Collection
from ..datasets import emoji
from ..encoders import Suite
from ..encoders.pictures import thumbnail
from ..errors import DataFileError, ParameterError
from ..measures import Measures, mean_average_precision
from .output import AsJson, say, say_values, watched

Port: TypeAlias = Annotated[
    int, typer.Option(min=0, max=65535, help="Where to listen; 0 takes any that is free.")
]

_DEMO = Path("demo") / "emoji.omhash"


def serve(
    path: Annotated[
        str,
        typer.Argument(
            metavar="PATH", help="A collection, or a folder of them.", show_default=False
        ),
    ],
    host: Annotated[str, typer.Option(help="Others than this machine need tokens.")] = "127.0.0.1",
    port: Port = 8000,
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Lines of a token and what it may: read or write."),
    ] = None,
    origin: Annotated[
        list[str] | None, typer.Option(help="A site whose pages may use the service.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve collections and a page to search them, until ctrl-C."""
    from ..service import serve as run  # FastAPI takes a while to load, and only this needs it
    from ..service.access import Scope

    known = {} if tokens is None else cast("dict[str, Scope]", _tokens(tokens))
    ready = _announced(as_json=as_json)
    run(path, host=host, port=port, tokens=known, origins=origin or (), ready=ready)


def demo(
    serving: Annotated[
        bool, typer.Option("--serve/--no-serve", help="Serve the collection when it is there.")
    ] = True,
    port: Port = 8000,
    as_json: AsJson = False,
) -> None:
    """Stream the bundled emoji, group by group, and serve a page to search them.

    The collection is made in the folder `demo`; run again, it goes on where it stopped.
    """
    collection = (
        open_collection(_DEMO)
        if _DEMO.exists()
        else Collection.create(_DEMO, encoders=Suite.default())
    )
    with collection:
        rows: list[dict[str, Any]] = []
        for row in _streamed(collection, shown=not as_json):
            if not as_json:
                if not rows:
                    say(_line(list(row)))
                say(_line(list(row.values())))
            rows.append(row)
        if as_json:
            say_values({"path": str(_DEMO), "rounds": rows}, as_json=True)
        else:
            say(f"\n{len(collection):,} items are in {_DEMO}")
    if serving:
        serve(str(_DEMO), port=port, as_json=as_json)


def _line(cells: list[Any]) -> str:
    return f"{cells[0]:18}" + "".join(f"{cell:>16}" for cell in cells[1:])


def _streamed(collection: Collection, *, shown: bool) -> Iterator[dict[str, Any]]:
    """Learn and store the emoji; a row for each round, with how well its like was found."""
    suite, measures = collection.encoders(), Measures(_DEMO)
    stored = {report.id: report for report in collection.rounds()}
    with watched(shown=shown) as progress:
        rounds = emoji.rounds()
        bar = progress.add_task("", total=sum(len(this.items) for this in rounds))
        for this in rounds:
            progress.update(bar, description=this.group)
            if this.group not in stored:
                asked = suite.round(this.queries)
                del asked["payloads"]
                given = suite.round(this.items)
                given["payloads"] = [
                    {**item.payload, "picture": thumbnail(item.parts["image"])}
                    for item in this.items
                ]
                stored[this.group], _ = measures.around(
                    partial(mean_average_precision, collection, **asked),
                    partial(collection.ingest, **given, round_id=this.group),
                )
            progress.update(bar, advance=len(this.items))
            report, measured = stored[this.group], measures.all().get(this.group, {})
            yield {
                "round": report.id,
                "items": report.items,
                "new categories": len(report.new_categories),
                "MAP before": round(measured.get("before") or 0.0, 3),
                "MAP after": round(measured.get("after") or 0.0, 3),
                "seconds": round(report.seconds, 2),
            }


def _announced(*, as_json: bool) -> Callable[[str], None]:
    """Says where the page is, once it is there."""

    def announce(address: str) -> None:
        if as_json:
            say_values({"address": address}, as_json=True)
        else:
            say(f"The page is at {address}  (ctrl-C stops the service)")

    return announce


def _tokens(path: Path) -> dict[str, str]:
    """Tokens and their scopes, one of each a line."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path}: cannot be read: {error}") from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = line.split()
        if len(words) == 2 and words[1] in ("read", "write"):
            found[words[0]] = words[1]
        elif words:
            raise ParameterError(
                f"{path}: line {number}: must be a token, a space, and read or write"
            )
    if not found:
        raise ParameterError(f"{path}: holds no token")
    return found
