"""What of the cells can be read on the first screen, at 1440 by 900 and one dot a pixel.

In Chromium, of the bundled model's first sentence, on light and dark: the share of bars that are
under 5 pixels long; labels whose ink a bar runs through, rather than lie behind all of it with a
contrast of 4.5:1 at least; and signs that are shown as they are rather than by name.
"""

import argparse
import shutil
import subprocess
import sys
from typing import Any

from playwright.sync_api import sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
COUNT = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const number = (one, key) => Number(one.getAttribute(key) ?? 0);
  const rgb = (text) => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
  const light = (colour) => colour.map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const ground = rgb(getComputedStyle(document.querySelector(".rnnlens")).backgroundColor);
  const bottom = document.querySelector(".scroller").getBoundingClientRect().bottom;
  const seen = [...document.querySelectorAll(".row .state")]
    .filter((one) => one.getBoundingClientRect().top < bottom);
  const counts = { bars: 0, short: 0, labels: 0, crossed: 0, signs: 0, unnamed: 0, values: 0 };
  for (const state of seen) {
    const bars = [...state.querySelectorAll(".bar")].map((one) => {
      const { fill, fillOpacity } = getComputedStyle(one), share = Number(fillOpacity);
      return { left: number(one, "x"), right: number(one, "x") + number(one, "width"),
        top: number(one, "y"), bottom: number(one, "y") + number(one, "height"),
        light: light(rgb(fill).map((c, k) => share * c + (1 - share) * ground[k])) };
    });
    counts.bars += bars.length;
    counts.short += bars.filter((bar) => bar.right - bar.left < 5).length;
    counts.values += state.querySelectorAll(".value").length;
    for (const label of state.querySelectorAll("[data-label]")) {
      const style = getComputedStyle(label), text = label.firstChild.textContent;
      canvas.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const ink = canvas.measureText(text), x = number(label, "x"), y = number(label, "y");
      const own = light(rgb(style.fill));
      counts.labels += 1;
      const top = y - ink.actualBoundingBoxAscent, foot = y + ink.actualBoundingBoxDescent;
      counts.crossed += bars.some((bar) => bar.left < x + ink.actualBoundingBoxRight
        && bar.right > x - ink.actualBoundingBoxLeft && bar.top < foot && bar.bottom > top
        && (bar.top > top || bar.bottom < foot || contrast(own, bar.light) < 4.5));
      const sign = /^[^\\p{L}\\p{N}]+$/u.test(label.dataset.label);
      counts.signs += sign;
      counts.unnamed += sign && text === label.dataset.label;
    }
  }
  return counts;
}"""


def counted(address: str, scheme: Any) -> dict[str, int]:
    """The counts of a served page."""
    with sync_playwright() as playwright:
        found = next(filter(None, map(shutil.which, BROWSERS)), None)
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
        page.goto(address)
        page.locator(".row .state").first.wait_for()
        page.locator(".scroller[aria-busy='false']").wait_for()
        counts: dict[str, int] = page.evaluate(COUNT)
        browser.close()
        return counts


def main() -> None:
    """Count, of a page that is served already or of one that is served for it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--address", help="of a page that is served already")
    address, server = parser.parse_args().address, None
    if not address:
        command = [sys.executable, "-m", "rnnlens", "view", "english-news", "--no-browser"]
        server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
        assert server.stdout
        address = server.stdout.readline().split(" at ")[1].split()[0]
    try:
        for scheme in ("light", "dark"):
            c = counted(address, scheme)
            print(
                f"{scheme}: {c['short']} of {c['bars']} bars under 5 px "
                f"({c['short'] / c['bars']:.0%}), "
                f"{c['crossed']} of {c['labels']} labels crossed, "
                f"{c['unnamed']} of {c['signs']} signs not named, {c['values']} numbers"
            )
    finally:
        if server:
            server.terminate()


if __name__ == "__main__":
    main()
