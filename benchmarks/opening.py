"""A published lens in Chromium, from a file: until its first grid, a word, a key, and a long text.

`python -m benchmarks.opening` publishes the bundled model and opens it, with WebAssembly in a
worker and, as a baseline, with plain JavaScript beside the page. What is printed are the quickest
of some rounds, in which a busy machine shows least; memory is that of the first. A word with all
kinds is measured by the processor time of the thread that computes it, there and in node.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.keys import BROWSERS, CARET, REST, WAIT, WATCH
from benchmarks.noted import note
from benchmarks.publishing import speed
from playwright.sync_api import Browser, Page, sync_playwright

import rnnlens
from rnnlens.page.publish.pack import packed
from rnnlens.run.folder import BUNDLED

LONG = 1000  # words
BEGUN = """window.seen = { first: 0, tasks: [], blocks: [] };
new PerformanceObserver((list) => seen.tasks.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "longtask", buffered: true });
const now = () => { seen.first = performance.now(); };
const painted = () => requestAnimationFrame(() => setTimeout(now));
new MutationObserver(() => {
  if (!seen.first && document.querySelector(".row .state")) { seen.first = -1; painted(); }
  const told = document.querySelector(".note.loading")?.textContent;
  const count = Number(told?.split(" of ")[0].replace(",", ""));
  if (count && count !== seen.blocks.at(-1)?.[0]) seen.blocks.push([count, performance.now()]);
}).observe(document, { childList: true, subtree: true, characterData: true });"""
PLAIN = "delete window.Worker; delete window.WebAssembly;"
WANTED = {"plain": (1000, 40, None), "simd": (1000, 10, 33)}  # ms: first grid, a word, a key
TICK = 1000 / os.sysconf("SC_CLK_TCK")  # ms in which the system counts processor time


def opened(browser: Browser, path: Path, script: str, view: str = "") -> Page:
    """The file, with its engine ready."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}, offline=True).new_page()
    page.add_init_script(BEGUN + script)
    page.goto(path.as_uri() + view)
    page.locator(".row .state").first.wait_for()
    page.fill("#text", "the")
    settled(page, 1)
    return page


def settled(page: Page, words: int) -> None:
    """Wait until all of a text is drawn."""
    page.locator(f".scroller[aria-rowcount='{words + 1}'][aria-busy='false']").wait_for()


def a_word(page: Page, words: list[str]) -> tuple[float, float]:
    """Milliseconds a word of a long text takes, and the longest the page stood still meanwhile."""
    # Whoever watches keys asks where rows are, which lays the page out within the task that draws.
    page.evaluate("window.watcher?.disconnect()")
    page.evaluate("() => { seen.blocks.length = 0; seen.tasks.length = 0; }")
    page.fill("#text", " ".join(words))
    page.wait_for_timeout(300)
    page.set_default_timeout(120_000)
    settled(page, len(words))
    seen: dict[str, Any] = page.evaluate("seen")
    (first, since), *_, (last, until) = seen["blocks"][1:]  # after the lull behind the first
    return (until - since) / (last - first), max(seen["tasks"], default=0)


def a_key(page: Page, words: list[str], times: int) -> list[float]:
    """Milliseconds from a key to painted rows, at the end of a text."""
    page.fill("#text", " ".join(words))
    settled(page, len(words))
    page.locator("#text").evaluate(CARET, len(" ".join(words)))
    page.wait_for_timeout(REST)
    page.evaluate(WATCH)
    found = []
    for time in range(times):
        page.evaluate("window.waits.length = 0")
        page.keyboard.press("Backspace" if time % 2 else "x")
        found.append(page.evaluate(WAIT)[0])
        page.wait_for_timeout(REST)
    return found


def renderers(browser: Browser) -> list[Path]:
    """What the system tells of the processes of tabs."""
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return [Path("/proc") / str(one["id"]) for one in processes if one["type"] == "renderer"]


def processor(browser: Browser, way: str) -> float:
    """Milliseconds that the thread which computes, the worker's or the page's, had a processor."""
    taken = [0.0]
    for process in renderers(browser):
        for thread in (process / "task").iterdir():
            worker = thread.joinpath("comm").read_text().startswith("DedicatedWorker")
            if worker if way == "simd" else thread.name == process.name:
                fields = thread.joinpath("stat").read_text().rpartition(")")[2].split()
                taken.append((int(fields[11]) + int(fields[12])) * TICK)
    return max(taken)


def a_whole_word(browser: Browser, path: Path, words: list[str], way: str) -> float:
    """Milliseconds of processor time that a word takes with all kinds there are."""
    page = opened(browser, path, PLAIN if way == "plain" else "", "#kinds=all")
    page.wait_for_timeout(1000)  # the engine's own start is over
    page.set_default_timeout(120_000)
    before = processor(browser, way)
    page.fill("#text", " ".join(words))
    settled(page, len(words))
    assert page.evaluate("document.querySelector('.row').querySelectorAll('.state').length") > 17
    taken = processor(browser, way) - before
    page.context.close()
    return taken / len(words)


def memory(browser: Browser, page: Page) -> float:
    """Megabytes that the tab's process has to itself."""
    page.wait_for_timeout(1000)
    sizes = [(one / "smaps_rollup").read_text() for one in renderers(browser)]
    private = [sum(int(line.split()[1]) for line in text.splitlines()
                   if line.startswith("Private")) for text in sizes]  # fmt: skip
    return max(private) / 1024


def measure(browser: Browser, path: Path, words: list[str], way: str, rounds: int) -> None:
    """Print what one way to compute takes."""
    firsts, each, sizes, keys = [], [], list[float](), list[float]()
    for _ in range(rounds):
        page = opened(browser, path, PLAIN if way == "plain" else "")
        firsts.append(page.evaluate("seen.first"))
        keys += a_key(page, words[:20], 10)
        sizes.append(memory(browser, page))
        each.append(a_word(page, words))
        sizes.append(memory(browser, page))
        page.context.close()
    whole = min(a_whole_word(browser, path, words[:200], way) for _ in range(rounds))
    most = WANTED[way]
    page_of = f"published page, {way}"
    note(f"{page_of}: first grid", min(firsts), "ms", most[0])
    note(f"{page_of}: a word", min(one for one, _ in each), "ms", most[1])
    note(f"{page_of}: a word with all kinds, processor", whole, "ms", most[1])
    note(f"{page_of}: longest freeze", min(one for _, one in each), "ms", 50)
    note(f"{page_of}: memory", sizes[0], "MB", 200)
    print(f"{way}: first grid {min(firsts):.0f} ms (at most {most[0]} is wanted), "
          f"a word {min(one for one, _ in each):.1f} ms ({most[1]}), with all kinds {whole:.1f} ms "
          f"of a processor ({most[1]}), "
          f"a key {min(keys):.0f}, median {statistics.median(keys):.0f} ms ({most[2] or 'any'}), "
          f"longest freeze {min(one for _, one in each):.0f} ms (50), memory {sizes[0]:.0f} MB "
          f"(200), {sizes[1]:.0f} with {LONG:,} words", flush=True)  # fmt: skip


def in_node(lens: rnnlens.Lens, words: list[str]) -> None:
    """Print what a word takes with all kinds where no page is drawn."""
    texts = [" ".join(words[k : k + 25]) for k in range(0, 100, 25)]
    for way, found in speed(packed(lens.subject, lens.semantics), texts).items():
        most = WANTED["simd" if way == "wasm" else way][1]
        note(
            f"published engine, {way}: a word with all kinds, processor",
            found["processor"],
            "ms",
            most,
        )
        print(f"in node, {way}: a word with all kinds {found['processor']:.1f} ms of a processor "
              f"({most})", flush=True)  # fmt: skip


def main() -> None:
    """Publish a run and open it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", default=BUNDLED)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    lens = rnnlens.load(args.run)
    labels = [label for label in lens.subject.session.vocabulary.inputs if label.isalnum()][:3000]
    words = [labels[k * 37 % len(labels)] for k in range(LONG)]
    flags = ["--no-sandbox"] if os.geteuid() == 0 else []
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = lens.publish(Path(folder) / "lens.html")
        print(f"{path.stat().st_size / 1e6:.2f} MB (at most 16 is wanted); "
              f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
        in_node(lens, words)
        for way in ("simd", "plain"):
            browser = playwright.chromium.launch(executable_path=found, args=flags)
            measure(browser, path, words, way, args.rounds)
            browser.close()


if __name__ == "__main__":
    main()
