"""A disk that fails at every write, sync, cut and renaming in turn, once and from then on.

``OMHASH_FULL=1`` lets every call fail; otherwise it is every seventh.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

STEP = 1 if os.environ.get("OMHASH_FULL") == "1" else 7
HERE = Path(__file__).parent


@pytest.mark.skipif(sys.platform != "linux", reason="preloading a library is Linux's")
def test_every_call_fails_in_turn(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler, to make the disk fail")
    library, folder = tmp_path / "faults.so", tmp_path / "disk"
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", library, HERE / "faults.c", "-ldl"]
    subprocess.run(command, check=True)  # noqa: S603 - a compiler and a file beside this one
    folder.mkdir()
    done = subprocess.run(  # noqa: S603 - this Python and a file beside this one
        [sys.executable, HERE / "fault_worker.py", folder, str(STEP)],
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), *sys.path]),
            "LD_PRELOAD": str(library),
            "FAULTS_BELOW": str(folder),
        },
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    print(report)  # noqa: T201 - seen with -s
    # No operation that writes goes unseen, so the library is in force.
    assert min(calls for calls, _ in report.values()) > 10, report
