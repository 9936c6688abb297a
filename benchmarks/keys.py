"""Key press to painted rows on the real page: at a text's end, in its middle, after a paste.

In Chromium against a server of the bundled model. A wait ends with the first frame in which no row
in view is still on its way; what of it is spent until the answer is here is told apart. Typing at
the end, which changes two rows, is the baseline. On a busy machine waits are noise: then look at
the processor time that server and page take for each.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.noted import note
from playwright.sync_api import Browser, Page, sync_playwright

from rnnlens.run.folder import BUNDLED, run_at

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
REST = 450  # ms after each: the page has asked for rows out of view by then, and has them
MOST_AT_END, MOST, MOST_PASTED = 33, 60, 150  # ms of the median, on two idle cores
WATCH = """() => {
  const scroller = document.querySelector(".scroller"), body = document.querySelector(".body");
  window.waits = [];
  let began = 0;
  for (const event of ["keydown", "beforeinput"]) {
    addEventListener(event, () => { began ||= performance.now(); }, true);
  }
  performance.setResourceTimingBufferSize(10_000);
  const whole = () => {
    if (body.matches("[data-left]")) return false; // rows that are drawn in the next slice
    const box = scroller.getBoundingClientRect();
    return [...body.querySelectorAll(".row")].every((row) => {
      const { top, bottom } = row.getBoundingClientRect();
      if (bottom < box.top || top > box.bottom) return true;
      return !row.matches(".stale") && row.querySelector(".state");
    });
  };
  const isRow = ({ target, addedNodes, attributeName }) => attributeName === "data-left"
    || target.closest?.(".states")
    || [...addedNodes].some((node) => node.matches?.(".states"));
  window.watcher = new MutationObserver((changes) => {
    if (!began || !changes.some(isRow) || !whole()) return;
    const since = began;
    began = 0;
    requestAnimationFrame(() => { // a message after the frame comes after its paint
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        const now = performance.now();
        const asked = performance.getEntriesByType("resource")
          .filter((one) => one.name.endsWith("/api/grid") && one.responseEnd > since)[0];
        window.waits.push([now - since, asked ? asked.responseEnd - since : 0]); // 0: no server
      };
      channel.port2.postMessage(0);
    });
  });
  window.watcher.observe(body, { attributes: true, childList: true, subtree: true });
}"""
WAIT = """() => new Promise((resolve) => {
  const look = () => (window.waits.length ? resolve(window.waits[0]) : setTimeout(look, 20));
  look();
})"""
CARET = "(one, at) => { one.focus(); one.setSelectionRange(at, at); }"
MIDDLE = """(one, [at, words]) => {
  const row = (one.querySelector(".body").offsetHeight - 6) / words;
  one.scrollTop = Math.max(0, at * row - one.clientHeight / 2);
}"""


@dataclass(frozen=True)
class Edit:
    """Where something is typed, in a text of how many words; pasted as a whole without a place."""

    name: str
    words: int
    at: int | None
    most: float
    rest: int = REST  # ms to the next; less, and rows out of view are still on their way then


EDITS = (
    Edit("at the end of 25 words", 25, 25, MOST_AT_END),
    Edit("in word 12 of 25", 25, 12, MOST),
    Edit("in word 5 of 300", 300, 5, MOST),
    Edit("in word 150 of 300", 300, 150, MOST),
    Edit("there, a key in 250 ms", 300, 150, MOST, 250),
    Edit("300 words pasted", 300, None, MOST_PASTED),
)


@dataclass(frozen=True)
class Clocks:
    """The processor time that the server's and the browser's processes have had."""

    server: int
    browser: Browser

    def seconds(self) -> tuple[float, float]:
        """Of the server, and of the page's process."""
        stat = Path(f"/proc/{self.server}/stat").read_text().rpartition(")")[2].split()
        ticks = int(stat[11]) + int(stat[12])
        found = self.browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")
        page = sum(one["cpuTime"] for one in found["processInfo"] if one["type"] == "renderer")
        return ticks / os.sysconf("SC_CLK_TCK"), page


def begin(page: Page, address: str, edit: Edit, words: list[str]) -> None:
    """Have the text drawn that is edited, with the caret and the window's middle in its place."""
    page.goto("about:blank")
    page.goto(f"{address}#text=the")
    page.locator(".row .state").first.wait_for()
    if edit.at is not None:
        page.fill("#text", " ".join(words))
        page.locator(f".scroller[aria-rowcount='{edit.words + 1}'][aria-busy='false']").wait_for()
        page.locator("#text").evaluate(CARET, len(" ".join(words[: edit.at])))
        page.locator(".scroller").evaluate(MIDDLE, [edit.at, edit.words])
        page.wait_for_timeout(REST)
    page.evaluate(WATCH)


def waits(page: Page, edit: Edit, words: list[str], times: int) -> Iterator[tuple[float, float]]:
    """Press a key, or paste, so often: how long each took, and until its answer was here."""
    for time in range(times):
        if edit.at is None:
            page.fill("#text", "the")
            page.wait_for_timeout(REST)
            page.evaluate("window.waits.length = 0")
            page.locator("#text").evaluate("(one) => { one.focus(); one.select(); }")
            page.keyboard.insert_text(" ".join(words[time:] + words[:time]))
        else:
            page.evaluate("window.waits.length = 0")
            page.keyboard.press("Backspace" if time % 2 else "x")  # unknown and known again
        yield page.evaluate(WAIT)
        if edit.rest == REST:
            page.locator(".scroller[aria-busy='false']").wait_for()
        page.wait_for_timeout(edit.rest)


def measure(page: Page, clocks: Clocks, address: str, labels: list[str], times: int) -> None:
    """Print what each edit takes."""
    print(f"load {os.getloadavg()[0]:.1f}  ms: quickest  median  of which until the answer is here;"
          "  processor time of server, page")  # fmt: skip
    for edit in EDITS:
        words = [labels[k * 37 % len(labels)] for k in range(edit.words)]
        begin(page, address, edit, words)
        before = clocks.seconds()
        found = list(waits(page, edit, words, times))
        after = clocks.seconds()
        each, answered = zip(*found, strict=True)
        used = [1000 * (b - a) / times for a, b in zip(before, after, strict=True)]
        median = statistics.median(each)
        note(f"a key {edit.name}", median, "ms", edit.most)
        note(f"a key {edit.name}, processor time", sum(used), "ms")
        beyond = "" if median <= edit.most else f"more than {edit.most} ms"
        print(f"{edit.name:<24}{min(each):10.0f}{median:8.0f}{statistics.median(answered):8.0f}"
              f"{used[0]:12.0f}{used[1]:6.0f}   {beyond}", flush=True)  # fmt: skip


@contextmanager
def opened(run: str) -> Iterator[tuple[Page, Clocks, str]]:
    """A page of a browser, the clocks of both processes, and the address of a server of a run."""
    browser_at = next(filter(None, map(shutil.which, BROWSERS)), None)
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    command = [sys.executable, "-m", "rnnlens", "view", run, "--no-browser"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout
        address = server.stdout.readline().split(" at ")[1].split()[0]
        browser = playwright.chromium.launch(executable_path=browser_at, args=flags)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        try:
            yield page, Clocks(server.pid, browser), address
        finally:
            browser.close()
            server.terminate()


def main() -> None:
    """Serve a run and edit texts on its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="key presses, or pastes")
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    args = parser.parse_args()
    labels = [label for label in run_at(args.run).vocabulary().labels if label.isalnum()][:3000]
    with opened(args.run) as (page, clocks, address):
        measure(page, clocks, address, labels, args.times)


if __name__ == "__main__":
    main()
