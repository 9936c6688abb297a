"""The documentation site: it builds without a warning, is whole, and says what the code says."""

import argparse
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.shown import ROOT

import rnnlens
from rnnlens.cli import parser
from rnnlens.model.cells import CELLS

DOCS = ROOT / "docs"
CARD = ROOT / "src/rnnlens/bundled/english-news/README.md"
SOURCES = [*DOCS.glob("*.md"), *ROOT.glob("*.md"), CARD]
ALLOWED = {
    line
    for line in (ROOT / "tests/links.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
}
LOADING = {"img": "src", "script": "src", "iframe": "src", "source": "src", "object": "data"}


class Page(HTMLParser):
    """What an HTML file has: anchors, links, and what a browser loads with it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.pictures: list[dict[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found["id"]} if "id" in found else set()
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])
        if LOADING.get(tag) in found:
            self.loads.append(found[LOADING[tag]])
        if tag == "img":
            self.pictures.append(found)


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as `make docs` does."""
    made: Path = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--nitpicky", "--quiet"]
    done = subprocess.run(
        [*command, "--doctree-dir", made / "doctrees", DOCS, made / "html"],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return made / "html"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def is_view(address: str) -> bool:
    """Whether a link sets a lens; tests/test_stories.py asks whether it can."""
    return "=" in urlsplit(address).fragment


def is_elsewhere(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def test_every_page_of_the_folder_is_in_the_site(site):
    assert {path.stem for path in DOCS.glob("*.md")} <= {path.stem for path in site.glob("*.html")}


def test_every_link_within_the_site_leads_somewhere(pages):
    broken = []
    for path, page in pages.items():
        for link in filter(lambda link: not is_elsewhere(link), page.links):
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            anchor = unquote(parts.fragment)
            there = target.is_file() and (
                not anchor or is_view(link) or target not in pages or anchor in pages[target].ids
            )
            broken += [] if there else [(path.name, link)]
    assert broken == []
    assert sum(len(page.links) for page in pages.values()) > 100


def test_nothing_is_loaded_from_elsewhere_and_nothing_is_missing(pages, site):
    for path, page in pages.items():
        for address in page.loads:
            assert not is_elsewhere(address), (path.name, address)
            assert (path.parent / unquote(urlsplit(address).path)).is_file(), (path.name, address)
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        for address in re.findall(r"url\(\s*['\"]?([^'\")]{0,200})|@import\s+['\"]([^'\"]+)", text):
            assert not is_elsewhere("".join(address).partition("data:")[0]), (sheet, address)
    for script in site.rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not re.search(r"(import|fetch|src)\W{1,4}(https?:)?//\w", text), script


def test_every_picture_says_what_it_shows(pages):
    pictures = [p for path, page in pages.items() for p in page.pictures]
    assert len(pictures) >= 10
    assert all(len(picture["alt"]) > 20 for picture in pictures)


def test_the_reference_has_every_public_name(pages, site):
    ids = pages[site / "reference.html"].ids
    assert {f"rnnlens.{name}" for name in rnnlens.__all__} <= ids
    assert {"rnnlens.Grid.save", "rnnlens.State.top", "rnnlens.Lens.__call__"} <= ids
    text = (site / "reference.html").read_text(encoding="utf-8")
    assert "The lens of a run folder" in text
    assert "~" not in re.sub(r"<[^>]+>", "", text), "a signature could not be read"


def test_the_commands_page_has_every_verb_and_flag(pages, site):
    text = re.sub(r"<[^>]+>", "", (site / "commands.html").read_text(encoding="utf-8"))
    verbs = next(a for a in parser()._actions if isinstance(a, argparse._SubParsersAction)).choices
    for name, verb in verbs.items():
        assert f"rnnlens-{name}" in pages[site / "commands.html"].ids
        for action in verb._actions:
            assert all(flag in text for flag in action.option_strings if action.dest != "help")
    assert "passes over the training data, at most (default: 30)" in text


def links(text: str) -> list[str]:
    """The addresses in a Markdown source, outside of code."""
    prose = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"\]\(([^)\s]+)\)", prose)


def anchors(text: str) -> set[str]:
    """What code hosts make of the headings of a Markdown source."""
    plain = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    heads = re.findall(r"^#+ (.+)$", plain, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_relative_links_of_the_sources_lead_somewhere(source):
    for link in links(source.read_text(encoding="utf-8")):
        if not is_elsewhere(link):
            parts = urlsplit(link)
            target = source.parent / parts.path if parts.path else source
            assert target.exists(), link
            if parts.fragment and not is_view(link):
                assert parts.fragment in anchors(target.read_text(encoding="utf-8")), link


def test_links_elsewhere_are_secure_and_listed(pages):
    found = {link for page in pages.values() for link in page.links}
    for source in SOURCES:
        found |= set(links(source.read_text(encoding="utf-8")))
    away = {link for link in found if is_elsewhere(link)}
    assert away == ALLOWED
    assert all(link.startswith("https://") for link in away)


HEADS = {"lstm": "LSTM", "gru": "GRU", "rnn": "Elman", "mingru": "minGRU", "minlstm": "minLSTM",
         "rglru": "RG-LRU", "mamba": "Mamba", "mamba2": "Mamba-2", "gla": "GLA",
         "deltanet": "Gated DeltaNet", "rwkv7": "RWKV-7", "mlstm": "mLSTM",
         "slstm": "sLSTM"}  # fmt: skip


@pytest.mark.parametrize("cell", CELLS.values(), ids=lambda cell: cell.name)
def test_concepts_has_the_equations_of_the_code(cell):
    text = (DOCS / "concepts.md").read_text(encoding="utf-8")
    section = text.split(f"# {HEADS[cell.name]}\n")[1].split("\n#")[0]
    rows = [line for line in section.splitlines() if line.startswith("|")][2:]
    wanted = []
    for kind in cell.kinds:
        fed = [("x" if s.kind == "below" else s.kind) + "₋₁" * s.back for s in kind.sources]
        wanted.append(f"| {kind.id} | {kind.name} | `{kind.equation}` | {', '.join(fed)} |")
    assert rows == wanted


def test_every_test_that_security_names_is_there():
    """A promise without a test is none."""
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page)
    assert len(named) > 15
    for path, name in named:
        assert f"def {name}(" in (DOCS.parent / path).read_text(encoding="utf-8"), f"{path}::{name}"
