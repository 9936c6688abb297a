"""A served run and a browser to look at it with."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=flags)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def demo_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`rnnlens demo`, the real command, on a port of its own choice."""
    cache: Path = tmp_path_factory.mktemp("cache")
    process = subprocess.Popen(
        [sys.executable, "-m", "rnnlens", "demo", "--no-browser"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    try:
        for line in process.stdout:
            if " at http://" in line:
                yield line.split(" at ")[1].split()[0]
                break
        else:
            pytest.fail("the demo ended without serving")
    finally:
        process.terminate()
        process.wait(timeout=20)
        process.stdout.close()
