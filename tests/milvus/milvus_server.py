"""A real Milvus server for tests, in a process of its own: see `server_worker`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


class Server:
    """A server that can be killed, started again, and frozen.

    Attributes
    ----------
    address : str
        The beginning of the addresses of its collections.
    """

    def __init__(self, folder):
        self._process = subprocess.Popen(  # noqa: S603 - this Python and a file beside this one
            [sys.executable, str(HERE / "server_worker.py"), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        self._names = 0
        told = json.loads(self._process.stdout.readline() or '{"refused": "it did not start"}')
        if "refused" in told:
            self.close()
            pytest.skip(f"a server that only this machine can reach: {told['refused']}")
        self.address = f"milvus+http://127.0.0.1:{told['port']}"

    def __call__(self, word):
        """Have it do what the word says, and wait until it is done."""
        self._process.stdin.write(f"{word}\n")
        assert json.loads(self._process.stdout.readline()) == {"done": word}

    def new_path(self, options=""):
        """Where a collection can be made."""
        self._names += 1
        return f"{self.address}/things{self._names}{options}"

    def close(self):
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
