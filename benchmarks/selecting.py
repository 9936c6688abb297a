"""Click to panel on the real page: from the pointer's event to the painted account of the state.

`python -m benchmarks.selecting`, in Chromium against a server of the bundled model: each click on
another state of the first sentence, with each tab of the panel open that is drawn at once. What
words wrote a state and which are similar are asked for, and their answers come later.
"""

import argparse
import os
import statistics
from collections.abc import Iterator

from benchmarks.keys import opened
from playwright.sync_api import Page

from rnnlens.run.folder import BUNDLED

MOST = 50  # ms of the median
WATCH = """() => {
  window.waits = [];
  let began = 0;
  addEventListener("pointerdown", () => { began = performance.now(); }, true);
  new MutationObserver(() => {
    if (!began) return;
    const since = began;
    began = 0;
    requestAnimationFrame(() => { // a message after the frame comes after its paint
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.waits.push(performance.now() - since);
      channel.port2.postMessage(0);
    });
  }).observe(document.querySelector(".panel h2"), { childList: true, characterData: true });
}"""
WAIT = """() => new Promise((resolve) => {
  const look = () => (window.waits.length ? resolve(window.waits.shift()) : setTimeout(look, 5));
  look();
})"""


def waits(page: Page, times: int) -> Iterator[float]:
    """Click so many states, one after the other, and wait for the panel each time."""
    rows = ":is([aria-rowindex='2'], [aria-rowindex='3'])"  # which nothing covers
    states = page.locator(f".row{rows} .state .mark")
    count = states.count()
    for time in range(times):
        box = states.nth(time * 7 % count).bounding_box()
        assert box
        page.mouse.move(box["x"] + 4, box["y"] + 4)
        page.wait_for_timeout(120)
        page.mouse.down()
        page.mouse.up()
        yield page.evaluate(WAIT)


def main() -> None:
    """Serve a run and select states on its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20, help="clicks")
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    args = parser.parse_args()
    with opened(args.run) as (page, _, address):
        print(f"load {os.getloadavg()[0]:.1f}  ms from click to panel: quickest  median  slowest")
        for tab, pins in (("says", ""), ("changed", ""), ("says", "&pin=l2:3&pin=h2:5&pin=c1:4")):
            page.goto("about:blank")
            page.goto(f"{address}#at=c1:1&tab={tab}{pins}")
            page.locator(".panel h2:has-text('after')").wait_for()
            page.locator(".scroller[aria-busy='false']").wait_for()
            page.wait_for_timeout(500)
            page.evaluate(WATCH)
            found = list(waits(page, args.times))
            name = f"tab {tab}{', three pins compared' if pins else ''}"
            beyond = "" if statistics.median(found) <= MOST else f"more than {MOST} ms"
            print(f"{name:<32}{min(found):6.0f}{statistics.median(found):8.0f}"
                  f"{max(found):8.0f}   {beyond}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
