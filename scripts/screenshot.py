"""The picture in the README: the real page, the bundled model, a state in view and two pinned.

.venv/bin/python scripts/screenshot.py        after `make test`, which brings a browser
"""

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parents[1] / "docs/screenshot.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-background-networking", "--disable-component-update", "--no-first-run")
COLOURS = 256
VIEW = "pin=l2:8&pin=s2:8&at=c2:8"  # the memories after `she`, and the cell they make


def take(address: str) -> None:
    """Open the page and photograph it."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        page = browser.new_page(
            viewport={"width": 1360, "height": 860}, device_scale_factor=2, color_scheme="light"
        )
        page.goto(f"{address}#{VIEW}")
        page.locator(".comparison tfoot tr:last-child td", has_text="bits").last.wait_for()
        picture = Image.open(io.BytesIO(page.screenshot()))
        browser.close()
    fewer_colours(picture.convert("RGB")).save(PICTURE, optimize=True)


def fewer_colours(picture: Image.Image) -> Image.Image:
    """The most frequent colours kept exactly, so that the file is small and the legend true."""
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[np.argsort(-counts)[:COLOURS]].ravel().tolist())
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def main() -> None:
    """Serve the bundled model for as long as it takes."""
    command = [sys.executable, "-m", "rnnlens", "demo", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            take(server.stdout.readline().split(" at ")[1].split()[0])
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
