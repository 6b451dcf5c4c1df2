"""A real browser for the page's tests, and where its pictures of the page go."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
SCREENSHOTS = TESTS / "_screenshots"

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_NPM = ("--no-save", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=30000")

_SERVE = """
import sys
from omhash.service import serve
serve(sys.argv[1], port=int(sys.argv[2]), ready=lambda address: print(address, flush=True))
"""


def chromium(profile):
    """Debian's Chromium through its own driver; a skip where either is not there."""
    driver, browser = shutil.which("chromedriver"), shutil.which("chromium")
    if not driver or not browser:
        pytest.skip("needs Chromium and its driver (Debian: apt install chromium chromium-driver)")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


@contextmanager
def served(folder, port=0):
    """A service in a process of its own: the process and its address."""
    path = os.pathsep.join([str(TESTS.parent / "src"), *filter(None, sys.path)])
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _SERVE, str(folder), str(port)],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        address = process.stdout.readline().strip()
        assert address, "the service did not start"
        yield process, address
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def axe(cache):
    """The source of axe-core, from npm; a skip where it cannot be had."""
    source = cache / "axe.min.js"
    if not source.is_file():
        npm = shutil.which("npm")
        if not npm:
            pytest.skip("needs npm, to get axe-core (Debian: apt install npm)")
        with tempfile.TemporaryDirectory() as folder:
            install = [npm, "install", "--prefix", folder, *_NPM, "axe-core@4"]
            try:
                subprocess.run(install, capture_output=True, check=True, timeout=120)  # noqa: S603 - fixed words
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
                pytest.skip("npm could not get axe-core")
            # Another process of the tests may be getting it too: it is there whole or not at all.
            whole = source.with_suffix(f".{os.getpid()}")
            shutil.move(Path(folder, "node_modules", "axe-core", "axe.min.js"), whole)
        whole.replace(source)
    return source.read_text(encoding="utf-8")


def violations(driver, source):
    """What axe-core finds wrong with the page as it stands, in words."""
    driver.execute_script(source)
    found = driver.execute_async_script(
        "const done = arguments[arguments.length - 1];"
        "axe.run(document).then((found) => done(JSON.stringify(found.violations)));"
    )
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in json.loads(found)
        for node in one["nodes"]
    ]
