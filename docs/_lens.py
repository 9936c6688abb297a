"""The directive `lens`: a live lens within a page, published when the site is built.

Its argument is a bundled run. What it holds is the view to begin with, as in the page's address, in
as many lines as are convenient; `:height:` is that of the frame, in pixels.
"""

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


def publish(app: Sphinx, problem: Exception | None) -> None:
    """Write every lens that a page has."""
    if problem or app.builder.format != "html":
        return
    folder = Path(app.outdir) / _FOLDER
    folder.mkdir(exist_ok=True)
    pages = app.env.metadata.values()
    for run in sorted({run for page in pages for run in page.get("lenses", "").split()}):
        rnnlens.load(run).publish(folder / f"{run}.html")


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.add_directive("lens", LensFrame)
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True}
