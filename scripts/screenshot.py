"""The pictures of the page, with the bundled model and its index: in the README, a selected state;
in the quick start, figure mode; and the corpus page.

.venv/bin/python scripts/screenshot.py        after `make test`, which brings a browser
"""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

DOCS = Path(__file__).parents[1] / "docs"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--disable-background-networking", "--disable-component-update", "--no-first-run")
FREQUENT, WIDESPREAD = 192, 64  # colours of a picture
PAPERS = "%60%60+we+stand+in+solidarity+%2C+%27%27+she+emphasized+."  # sentence
VIEW = f"text={PAPERS}&at=l2:8"  # the long-term memory after `she`
ASKED = "page=corpus&find=l2+disagrees+with+s2"  # the two memories


@contextmanager
def window() -> Iterator[Page]:
    """An empty page of a browser."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=flags)
        yield browser.new_page(
            viewport={"width": 1360, "height": 860}, device_scale_factor=2, color_scheme="light"
        )
        browser.close()


def take(address: str) -> None:
    """Open the page and photograph it, as it is and in figure mode."""
    with window() as page:
        page.goto(f"{address}#{VIEW}")
        page.locator(".panel dd", has_text="unigram").wait_for()
        keep(page, "screenshot.png")
        page.get_by_role("button", name="figure").click()
        page.get_by_label("rows", exact=True).fill("7-9")
        page.get_by_label("parts", exact=True).fill("l2,s2,c2,h2,y")
        page.wait_for_timeout(1000)
        page.locator(".figure[aria-busy=false] img").wait_for()
        keep(page, "figure-mode.png")


def take_corpus(address: str) -> None:
    """Photograph the corpus page."""
    with window() as page:
        page.goto(f"{address}#{ASKED}")
        page.locator("[data-picture=disagreement] .leads").first.wait_for()
        page.locator(".hits .mark").first.wait_for()
        keep(page, "corpus-page.png")


def keep(page: Page, name: str) -> None:
    """Write what is on the screen."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    fewer_colours(picture.convert("RGB")).save(DOCS / name, optimize=True)


def fewer_colours(picture: Image.Image) -> Image.Image:
    """The most frequent colours kept exactly, and others that lie between all there are, so that
    the file is small and the legend true.
    """
    pixels = np.asarray(picture).reshape(-1, 3)
    colours, counts = np.unique(pixels, axis=0, return_counts=True)
    palette = Image.new("P", (1, 1))
    frequent = colours[np.argsort(-counts)[:FREQUENT]].ravel().tolist()
    covering = picture.quantize(WIDESPREAD, Image.Quantize.MAXCOVERAGE).getpalette() or []
    palette.putpalette([*frequent, *covering[: 3 * WIDESPREAD]])
    return picture.quantize(palette=palette, dither=Image.Dither.NONE)


def served(words: Sequence[str], look: Callable[[str], None]) -> None:
    """Serve the bundled model for as long as it takes to look at it."""
    command = [sys.executable, "-m", "rnnlens", *words, "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            look(server.stdout.readline().split(" at ")[1].split()[0])
        finally:
            server.terminate()


def main() -> None:
    """Take all pictures that can be taken."""
    served(["demo"], take)
    served(["demo"], take_corpus)


if __name__ == "__main__":
    main()
