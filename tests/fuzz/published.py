"""Mutated published files in a browser: each says that it was changed, or its numbers are right."""

import contextlib
import gzip
import os
import random
import re
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Error, Page, sync_playwright
from tests import recorded
from tests.fixtures import BROWSERS, QUIET, formula_run
from tests.fuzz import mutations
from tests.fuzz.harness import Different

import rnnlens
from rnnlens.lens.open import opened
from rnnlens.page.publish.live_page import seven_bits
from rnnlens.run.folder import Run

FIRST, OTHER, WORDS = "the old dog sees a bird .", "she said the dogs see", 5
SHORT = "a dog sees ."  # one of the recorded texts, whose first is longer
STORY = """# What it says

After *dogs* [the memory](#text=the+old+dogs&at=l2:2) says so in 12.5% of 40 texts.

| kind | bits |
|---|---|
| l2 | 3.25 |
"""
PARTS = ("head", "engine", "manifest", "weights")
SECONDS = 15.0  # in which a page says what it has to say
LOADING = "loading the lens"  # stands in the file itself, until its script takes it away
STAYS = 2.0  # seconds after which that line stays: a whole file needs a quarter of that
ENDED = """(rows) => {
  const lines = [...document.querySelectorAll("#opening, .note.problem")];
  if (lines.some((line) => line.textContent)) return true;
  const grid = document.querySelector(".scroller");
  const drawn = Number(grid?.getAttribute("aria-rowcount"));
  return grid?.getAttribute("aria-busy") === "false" && (rows ? drawn === rows : drawn > 1);
}"""
LOADED = f"""() => !document.querySelector("#opening")?.textContent?.startsWith("{LOADING}")"""
SHOWN = """() => {
  const every = (selector, take) => [...document.querySelectorAll(selector)].map(take);
  return {
    told: every("#opening, .note.problem", (line) => line.textContent).join(" "),
    states: every(".row .state", (state) => state.getAttribute("aria-label")),
    story: document.querySelector("#story")?.textContent ?? "",
  };
}"""


def reading(page: Page, path: Path, other: str, rows: int) -> tuple[str, list[Any]]:
    """What a file complains of, and all that it shows: at first, and of another text."""
    shown = []
    page.goto(path.as_uri(), wait_until="load")
    with contextlib.suppress(Error):  # where it stays, it is what the file says
        page.wait_for_function(LOADED, timeout=1000 * STAYS)
    for due, text in ((0, ""), (rows, other)):
        try:
            if text:
                page.evaluate("text => { location.hash = new URLSearchParams({ text }) }", text)
            page.wait_for_function(ENDED, arg=due, timeout=1000 * SECONDS)
        except Error:
            if not page.query_selector(".row .state"):
                return "nothing is shown", []
            raise Different("it shows something and does not go on") from None
        found = page.evaluate(SHOWN)
        shown.append((found["states"], found["story"]))
        if found["told"]:
            return str(found["told"]), shown
    return "", shown


def _element(text: str, part: str) -> tuple[int, int]:
    """Where what an element holds begins and ends."""
    start = text.index(">", text.index(f'id="{part}"')) + 1
    return start, text.index("</script>", start)


def _digit(text: str, start: int, end: int, chance: random.Random) -> str:
    """Another digit in the place of one."""
    found = [m.start() for m in re.finditer(r"\d", text[start:end])]
    at = start + chance.choice(found)
    return text[:at] + str((int(text[at]) + chance.randrange(1, 10)) % 10) + text[at + 1 :]


def _unzipped(text: str) -> bytes:
    """What `seven_bits` was given."""
    codes = ["\0\r<".index(c) if c in "\0\r<" else ord(c) for c in text]
    bits = "".join(f"{(0, 13, 60)[c - 192] if c >= 192 else c:07b}" for c in codes)
    whole = bits[: len(bits) // 8 * 8]
    return gzip.decompress(bytes(int(whole[k : k + 8], 2) for k in range(0, len(whole), 8)))


class Published:
    """The cases, over files that are made once: with a story and without, of recorded texts, of a
    memory that is a matrix, and of another lens, whose parts come in the place of theirs.
    """

    longest = 90.0  # seconds of one case, most of which a browser computes for

    def __init__(self, folder: Path) -> None:
        (folder / "story.md").write_text(STORY, encoding="utf-8")
        lens = opened(Run(formula_run(folder / "formula")))
        matrix = opened(Run(formula_run(folder / "matrix", "mamba2", heads=2, keys=3)))
        kept = rnnlens.from_states(recorded.recorded(folder / "states"), epochs=10)
        self.files = {  # each with another of its texts, and the rows of that
            lens.publish(folder / "plain.html", text=FIRST, title="a lens"): (OTHER, WORDS + 1),
            lens.publish(folder / "story.html", text=FIRST, story=folder / "story.md"): (
                OTHER, WORDS + 1,
            ),
            kept.publish(folder / "kept.html", texts=20): (SHORT, len(SHORT.split()) + 1),
            matrix.publish(folder / "matrix.html", text=FIRST): (OTHER, WORDS + 1),
        }  # fmt: skip
        other = lens.publish(folder / "other.html", text="the small dog said a bird .")
        self.other = other.read_text(encoding="utf-8")
        self.code = _unzipped(self._part(self.other, "engine")).decode()
        self.browser: tuple[int, Browser] | None = None
        self.wanted: dict[Path, list[Any]] = {}

    @staticmethod
    def _part(text: str, part: str) -> str:
        start, end = _element(text, part)
        return text[start:end]

    def page(self) -> Page:
        """A page of a browser that this process started."""
        if self.browser is None or self.browser[0] != os.getpid():
            found = next(filter(None, map(shutil.which, BROWSERS)), None)
            flags = [*QUIET, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
            playwright = sync_playwright().start()
            chromium = playwright.chromium.launch(executable_path=found, args=flags)
            self.browser = os.getpid(), chromium
        return self.browser[1].new_page()

    def _mutated(self, text: str, chance: random.Random) -> str:
        """A file in which something that counts is another."""
        part = chance.choice(PARTS)
        start, end = _element(text, part)
        script = text.index("<script>") + 8
        policy = text.index("Content-Security-Policy")
        ways: list[Callable[[], str]] = [
            lambda: _digit(text, *_element(text, "head"), chance),
            lambda: text[:start] + self._part(self.other, part) + text[end:],
            lambda: text[:start] + text[end:],
            lambda: text[:end] + text[start:end] + text[end:],
            lambda: _digit(text, script, text.index("</script>", script), chance),
            lambda: _digit(text, policy, policy + 300, chance),
            lambda: text.replace('http-equiv="Content-Security-Policy"', 'name="policy"'),
            lambda: _digit(text, text.index("<style>"), text.index("</style>"), chance),
            lambda: text[:start] + self._packed(text[start:end], part, chance) + text[end:],
            lambda: text[:start] + self._packed(text[start:end], "engine", chance) + text[end:],
            lambda: self._resized(text, chance),
            lambda: text[: chance.randrange(len(text))],
            lambda: text[:start] + " " * chance.choice([1, 100_000]) + text[start:],
            lambda: text.replace("<noscript>", "<p>h2 says 99%</p><noscript>"),
            lambda: text.replace("12.5%", "72.5%").replace("3.25", "0.25"),
            lambda: text.replace("</body>", chance.choice(["<b>99%</b>", " ", "x" * 10**6])),
        ]
        return chance.choice(ways)()

    def _packed(self, held: str, part: str, chance: random.Random) -> str:
        """Something else in gzip whose own checksum is right, as large as before or not."""
        if part == "engine":
            at = chance.choice([m.start() for m in re.finditer(r"[-+*/<>]|\d", self.code)])
            odd = chance.choice("+-*/<>0123456789")
            data = (self.code[:at] + odd + self.code[at + 1 :]).encode()
        elif part == "head":
            return held.replace("0.", "0.9", 1)
        else:
            made = bytearray(_unzipped(held))
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
            data = bytes(made) + bytes(chance.choice([0, 0, 5, 10**6]))
        return seven_bits(gzip.compress(data, mtime=0))

    @staticmethod
    def _resized(text: str, chance: random.Random) -> str:
        """A file in which a matrix has other heads or keys, or a convolution other taps."""
        start, end = _element(text, "manifest")
        made = _unzipped(text[start:end]).decode()
        digits = [m.end() - 1 for m in re.finditer(r'"(?:sizes|shape)":[^}\]]*?\d', made)]
        at = chance.choice(digits)
        made = made[:at] + str((int(made[at]) + chance.randrange(1, 10)) % 10) + made[at + 1 :]
        return text[:start] + seven_bits(gzip.compress(made.encode(), mtime=0)) + text[end:]

    def __call__(self, chance: random.Random, folder: Path) -> str:
        base, other = chance.choice([*self.files.items()])
        path = folder / "lens.html"
        path.write_bytes(base.read_bytes())
        for _ in range(chance.choice([1, 1, 1, 2])):
            if chance.random() < 0.5:
                mutations.spoil_bytes(path, chance)
            else:
                text = path.read_text("utf-8", "surrogateescape")
                try:
                    text = self._mutated(text, chance)
                except (ValueError, IndexError, OSError, EOFError, zlib.error):
                    continue  # a mutation before has left no such part
                path.write_text(text, "utf-8", "surrogateescape")
        page = self.page()
        try:
            if base not in self.wanted:
                told, self.wanted[base] = reading(page, base, *other)
                assert not told, told
            told, shown = reading(page, path, *other)
        finally:
            page.close()
        states = [some for some, _ in shown if some]
        wanted = [some for some, _ in self.wanted[base]]
        if not all(some in wanted for some in states):
            raise Different(f"other numbers are shown; it says {told!r}")
        if not told and shown != self.wanted[base]:
            pairs = zip(shown, self.wanted[base], strict=True)
            raise Different(f"without a word: {[(a, b) for a, b in pairs if a != b]}"[:1500])
        return "refused" if told else "same"
