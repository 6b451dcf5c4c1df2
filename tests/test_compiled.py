"""Kernels are kept between processes where they can be, and never outlive their source."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import omhash

SOURCES = Path(omhash.__file__).parent


def printed(program, folder, **environment):
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", program],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_folder_that_cannot_be_written_to_costs_only_time(tmp_path):
    copy = shutil.copytree(
        SOURCES, tmp_path / "omhash", ignore=shutil.ignore_patterns("__pycache__")
    )
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        (folder / "__pycache__").touch()  # a file, which stops even the superuser
    program = """
import numpy as np
from omhash.index import ExactIndex
import omhash.evaluation
print(omhash.__file__, len(ExactIndex(8).kept(np.arange(3)).numbers))
"""
    nowhere = {"HOME": os.devnull, "XDG_CACHE_HOME": os.devnull, "PYTHONPATH": str(tmp_path)}
    assert printed(program, tmp_path, **nowhere) == f"{copy / '__init__.py'} 3"


@pytest.fixture
def package(tmp_path):
    """Two files of kernels, of which one calls the other."""
    folder = tmp_path / "sums"
    folder.mkdir()
    (folder / "__init__.py").touch()
    head = "from omhash.compiled import kernel\n"
    (folder / "inner.py").write_text(f"{head}\n@kernel\ndef more(x):\n    return x + 1\n")
    (folder / "outer.py").write_text(
        f"{head}from .inner import more\n\n@kernel\ndef twice(x):\n    return 2 * more(x)\n"
    )
    return folder


def test_a_kernel_that_calls_what_was_changed_is_compiled_anew(package):
    environment = {"PYTHONPATH": os.pathsep.join([str(SOURCES.parent), str(package.parent)])}
    program = "from sums.outer import twice; print(twice(1), *twice.stats.cache_hits.values())"
    assert printed(program, package, **environment) == "4"
    assert printed(program, package, **environment) == "4 1"
    inner = package / "inner.py"
    inner.write_text(inner.read_text().replace("+ 1", "+ 5"))
    assert printed(program, package, **environment) == "12"
