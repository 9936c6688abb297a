"""The directives `lens` and `story`: what is alive on the site, published when it is built.

The argument of `lens` is a bundled run, and what it holds the view to begin with, as in the page's
address, in as many lines as are convenient; `:height:` is that of the frame, in pixels. `story`
makes a live article of the page itself: its prose beside the lens of a run. Links of the page that
are views, such as `#text=we+stand`, lead there.
"""

import re
import tempfile
from html import escape
from pathlib import Path
from urllib.parse import quote

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import rnnlens

_FOLDER = "_lenses"
_FRAME = (
    '<iframe class="lens" src="{file}#{view}" title="{title}" height="{height}" loading="lazy">'
    "</iframe>"
)
_STORY = (
    '<p class="story">This page is a live article: <a href="{file}">read it beside the lens</a>, '
    "which shows what is told. Dotted links open it at what they tell.</p>"
)
_FENCE = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
_VIEW = re.compile(r"\[([^\]]+)\]\((#[^\s()]*=[^\s()]*)\)")
_PAGE = re.compile(r"\]\(([\w-]+)\.md([)#])")
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)$", flags=re.MULTILINE)


class LensFrame(SphinxDirective):
    """A frame with the lens of a bundled run."""

    required_arguments = 1
    has_content = True
    option_spec = {"height": directives.positive_int}  # noqa: RUF012 - as Sphinx wants it

    def run(self) -> list[nodes.Node]:
        """Called by Sphinx."""
        run = self.arguments[0]
        self.env.metadata[self.env.docname].setdefault("lenses", "")
        self.env.metadata[self.env.docname]["lenses"] += f"{run} "
        view = quote("".join(line.strip() for line in self.content), safe="=&+,:;@/<>|'")
        frame = _FRAME.format(
            file=f"{_FOLDER}/{run}.html", view=escape(view), height=self.options.get("height", 560),
            title=f"What every state of {run} predicts, live: type a sentence",
        )  # fmt: skip
        return [nodes.raw("", frame, format="html")]


class StoryLink(SphinxDirective):
    """A link to this page as a live article."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Called by Sphinx."""
        self.env.metadata[self.env.docname]["story"] = self.arguments[0]
        return [nodes.raw("", _STORY.format(file=_live(self.env.docname)), format="html")]


def _live(page: str) -> str:
    return f"{page}-live.html"


def lead_to_story(_app: Sphinx, page: str, source: list[str]) -> None:
    """Let links that are views lead to the live article; code is left as it is."""
    text = source[0]
    if "```{story}" not in text:
        return

    def link(found: re.Match[str]) -> str:
        return f'<a class="view" href="{_live(page)}{escape(found[2])}">{found[1]}</a>'

    parts = re.split(f"({_FENCE.pattern})", text, flags=_FENCE.flags)
    source[0] = "".join(part if _FENCE.fullmatch(part) else _VIEW.sub(link, part) for part in parts)


def publish(app: Sphinx, problem: Exception | None) -> None:
    """Write every lens and every story that a page has."""
    if problem or app.builder.format != "html":
        return
    folder = Path(app.outdir) / _FOLDER
    folder.mkdir(exist_ok=True)
    pages = app.env.metadata.items()
    for run in sorted({run for _, page in pages for run in page.get("lenses", "").split()}):
        rnnlens.load(run).publish(folder / f"{run}.html")
    for name, page in pages:
        if run := page.get("story"):
            _publish_story(Path(app.srcdir) / f"{name}.md", run, Path(app.outdir) / _live(name))


def _publish_story(source: Path, run: str, target: Path) -> None:
    """A page as a live article: it links pages of the site, and needs no pictures of grids."""
    text = _PAGE.sub(r"](\1.html\2", _PICTURE.sub("", source.read_text(encoding="utf-8")))
    with tempfile.TemporaryDirectory() as folder:
        story = Path(folder) / source.name
        story.write_text(text, encoding="utf-8")
        rnnlens.load(run).publish(target, story=story)


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("lens", LensFrame)
    app.add_directive("story", StoryLink)
    app.connect("source-read", lead_to_story)
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True}
