"""The files of the deployment guide are at least files of their form."""

import re
import shlex
from pathlib import Path

import pytest
from typer.main import get_command

from omhash.cli import app

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which comes with the extra dask")

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "deployment.md"
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.M | re.S)


def documents():
    return [document for block in BLOCKS for document in yaml.safe_load_all(block)]


def commands(found):
    """Every command line of containers, as words."""
    if isinstance(found, dict):
        for name, value in found.items():
            if name == "command" and isinstance(value, str):
                yield shlex.split(value)
            elif name == "args":
                yield value
            else:
                yield from commands(value)
    elif isinstance(found, list):
        for value in found:
            yield from commands(value)


def test_yaml_parses_and_names_what_it_is():
    compose, *kubernetes, values = documents()
    assert {"scheduler", "worker", "learn", "serve", "milvus"} <= compose["services"].keys()
    assert [one["kind"] for one in kubernetes] == [
        "Service",
        "Deployment",
        "Deployment",
        "Job",
        "NetworkPolicy",
    ]
    assert values["cluster"]["enabled"] is True
    assert yaml.safe_load(values["extraConfigFiles"]["user.yaml"])["common"]["security"]


def test_nothing_is_published_beyond_this_machine():
    services = documents()[0]["services"].values()
    ports = [port for service in services for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_commands_of_omhash_are_there_with_these_options():
    found = [words for document in documents() for words in commands(document)]
    ours = [words for words in found if words[0] == "omhash"]
    assert {words[1] for words in ours} == {"learn", "serve"}
    known = get_command(app).commands
    for words in ours:
        options = {name for parameter in known[words[1]].params for name in parameter.opts}
        used = {word.split("=")[0] for word in words if word.startswith("--")}
        assert used <= options
    assert {tuple(words[:2]) for words in found} >= {("dask", "scheduler"), ("dask", "worker")}
