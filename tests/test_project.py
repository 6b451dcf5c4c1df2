"""The project as a whole: its documents, its lock, its layers, its imports."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from omhash.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

ABSOLUTE_PATH = re.compile(r"(?<![\w.:/~-])(/(home|root|Users|work|tmp|opt|mnt)/|[A-Z]:\\)\w")
NOT_RUN = re.compile(r"<!-- not run: .+ -->\n")


def run(*command):
    return subprocess.run(  # noqa: S603 - our own commands
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )


def blocks(page):
    """Python and commands of a page, those marked as not run left out, at their own lines."""
    text = page.read_text(encoding="utf-8")
    fenced = rf"^({NOT_RUN.pattern})?```(python|console)\n(.*?)^```$"
    for block in re.finditer(fenced, text, re.M | re.S):
        if block[1] is None:
            yield block[2], "\n" * text[: block.start(3)].count("\n") + block[3]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for language, block in blocks(page):
        if language == "python":
            exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own pages
            continue
        for command in re.findall(r"^\$ omhash (.+)$", block, re.M):
            result = CliRunner().invoke(app, shlex.split(command), catch_exceptions=False)
            assert (result.exit_code, result.stderr) == (0, ""), command


def test_no_file_names_an_absolute_path():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("needs git and a checkout to know the project's files")
    listed = run(git, "ls-files", "--cached", "--others", "--exclude-standard").stdout.split("\n")
    found = []
    for file in filter(Path.is_file, (ROOT / name for name in listed)):
        written = file.read_bytes()
        if b"\0" in written:
            continue  # weights and pictures: their bytes spell anything
        lines = written.decode("utf-8", errors="ignore").split("\n")
        found += [
            f"{file.name}:{i}" for i, line in enumerate(lines, 1) if ABSOLUTE_PATH.search(line)
        ]
    assert listed[:-1]
    assert found == []


def test_the_lock_pins_every_package_and_names_no_host():
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = [line for line in lock.split("\n") if line and not line.lstrip().startswith("#")]
    assert pins
    assert [pin for pin in pins if not re.match(r"[a-z0-9-]+(\[.+\])?==\d", pin)] == []
    assert "://" not in lock


def test_ci_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_imports_go_one_way():
    lint = shutil.which("lint-imports", path=str(Path(sys.executable).parent))
    assert lint, "import-linter is not installed beside this Python: run make setup"
    result = run(lint, "--no-cache")
    assert result.returncode == 0, result.stdout


def test_importing_omhash_loads_nothing_heavy_that_few_need():
    heavy = {"wordllama", "matplotlib", "h5py", "dask", "distributed"}
    program = f"import omhash, sys; print(*{heavy} & set(sys.modules))"
    path = os.pathsep.join([str(ROOT / "src"), *filter(None, sys.path)])
    result = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert result.stdout.split() == []
