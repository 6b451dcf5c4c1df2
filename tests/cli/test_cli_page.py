"""The page on the command line: its commands run, and it knows every command and option."""

import re
import shlex
from pathlib import Path

import pytest
from commands import ROOT, filled_folder, made_flowers, omhash  # noqa: F401 - pytest finds fixtures by name

from omhash import __version__
from omhash.cli import app

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = [
    command
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.M | re.S)
    for command in block.replace("\\\n", " ").splitlines()
]
NAMES = [command.callback.__name__ for command in app.registered_commands]


def run(command):
    words = shlex.split(command)
    given = None
    if words[-2] == "<":
        given = Path(words[-1]).read_bytes()
        words = words[:-2]
    program, *arguments = words
    assert program == "omhash"
    result = omhash(*arguments, given=given)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout
    return result.stdout


def test_the_documented_commands_work_in_their_order():
    said = {command: run(command) for command in COMMANDS if not command.startswith("omhash bench")}
    searched = next(text for command, text in said.items() if "search flowers" in command)
    header, *lines = searched.splitlines()
    assert (
        header.split()
        == next(line for line in PAGE.splitlines() if line.startswith("query  ")).split()
    )
    assert len(lines) == 3 * 3


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if command.startswith("omhash bench")]
)
def test_the_documented_benches_work(command):
    if "--figure" in command:
        pytest.importorskip("matplotlib")
    run(command)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_knows_every_command_and_option(name):
    help_text = omhash(name, "--help").stdout
    options = set(re.findall(r"(?<![\w-])--[a-z-]+", help_text))
    assert options >= {"--json", "--help"}
    assert f"`{name}`" in PAGE
    assert {option for option in options if f"{option}" not in PAGE} <= {"--help"}


def test_version_and_help():
    assert omhash("--version").stdout == f"omhash {__version__}\n"
    help_text = omhash("--help").stdout
    assert all(name in help_text for name in NAMES)
