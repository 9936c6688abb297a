"""Markdown as HTML: what it says is kept, what it may not do is text, nothing is slow."""

import html
import re
import time
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rnnlens.base.errors import RnnlensError
from rnnlens.page.publish.markdown import Renderer

TAGS = set(
    "a blockquote br code div em h1 h2 h3 h4 h5 h6 hr img li ol p pre strong table tbody td th "
    "thead tr ul".split()
)
EMPTY = {"br", "hr", "img"}


class Every:
    """Links as they are; those with a = are views."""

    def link(self, address: str, line: int) -> str:
        return f'href="{html.escape(address)}" data-line="{line}"'

    def picture(self, address: str, line: int) -> str:
        return f"data:,{address},{line}"

    def view(self, address: str) -> bool:
        return "=" in address

    def fence(self, info: str, body: str, line: int) -> str | None:
        return None


def rendered(text: str) -> str:
    return Renderer(Every()).render(text)


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# One *two* #", '<h1 id="story-one-two">One <em>two</em></h1>'),
        ("One\n===", '<h1 id="story-one">One</h1>'),
        ("# a\n# a", '<h1 id="story-a">a</h1>\n<h1 id="story-a-1">a</h1>'),
        ("a\nb  \nc", "<p>a\nb<br>\nc</p>"),
        ("**b *i* b** _e_ a_b 2*3", "<p><strong>b <em>i</em> b</strong> <em>e</em> a_b 2*3</p>"),
        ("***x***", "<p><em><strong>x</strong></em></p>"),
        ("*a **b* c", "<p>*a *<em>b</em> c</p>"),
        ("`` a`b `` `c<d`", "<p><code>a`b</code> <code>c&lt;d</code></p>"),
        ("`open *x*", "<p>`open <em>x</em></p>"),
        (r"\*a\* &amp; &lt;", "<p>*a* &amp; &lt;</p>"),
        ("[a [b](c) d](e)", '<p>[a <a href="c" data-line="1">b</a> d](e)</p>'),
        ("x\n[a](b(c)d)", '<p>x\n<a href="b(c)d" data-line="2">a</a></p>'),
        ('[a](<b c> "t")', '<p><a href="b c" data-line="1">a</a></p>'),
        ("[a]", "<p>[a]</p>"),
        ("![a *b*](c.png)", '<p><img src="data:,c.png,1" alt="a  b "></p>'),
        ("[x](#a=1) y", '<p data-view="#a=1"><a href="#a=1" data-line="1">x</a> y</p>'),
        ("- a\n- b\n  - c\n- d", "<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>"),
        ("3. a\n4. b\n\nc", '<ol start="3"><li>a</li><li>b</li></ol>\n<p>c</p>'),
        ("- a\n\n- b", "<ul><li><p>a</p></li><li><p>b</p></li></ul>"),
        ("- a\nb", "<ul><li>a\nb</li></ul>"),
        ("> a\n> > b", "<blockquote><p>a</p>\n<blockquote><p>b</p></blockquote></blockquote>"),
        ("```py\n<x>\n```", '<pre tabindex="0"><code>&lt;x&gt;</code></pre>'),
        ("    x\n\n    y\nz", '<pre tabindex="0"><code>x\n\ny</code></pre>\n<p>z</p>'),
        ("a\n\n***\n", "<p>a</p>\n<hr>"),
        ("<!-- no\nway -->\nyes", "<p>yes</p>"),
        ("<https://a.b/>", '<p><a href="https://a.b/" data-line="1">https://a.b/</a></p>'),
    ],
)  # fmt: skip
def test_what_is_written_is_what_is_meant(text, made):
    assert rendered(text) == made


def test_a_table_has_its_cells_and_the_view_of_a_row():
    made = rendered("| a | b |\n|---|--:|\n| 1 \\| 2 | [v](#t=z) | more |\n| x |\n\nend")
    assert '<tr data-view="#t=z"><td>1 | 2</td><td class="right"><a ' in made
    assert '<tr><td>x</td><td class="right"></td></tr>' in made
    assert "<thead><tr><th>a</th>" in made
    assert "more" not in made
    assert "<thead>" not in rendered("| | |\n|---|---|\n| a | b |")


class Nested(HTMLParser):
    """Every tag is one of ours, closed where it was opened, and has no attribute of an author's."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.said = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        assert tag in TAGS
        known = {"id", "class", "href", "data-line", "data-view", "src", "alt", "tabindex", "start",
                 "role", "aria-label"}  # fmt: skip
        assert {name for name, _ in attrs} <= known
        self.open += [] if tag in EMPTY else [tag]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said += data


@given(st.text(st.sampled_from("#*_`[]()<>!|-=~1. \n\\&\"'ab:{}+\t"), max_size=60))
def test_whatever_is_written_is_html_that_closes(text):
    Nested(rendered(text.replace("<!--", "")))  # a comment may never end, which is refused


def test_markup_of_an_author_is_text():
    text = '<script>x</script> <img src=x onerror=y> [a](b"onclick="c) `<b>` &lt;b&gt;\n\n# <i>'
    seen = Nested(rendered(text))
    assert "<script>x</script> <img src=x onerror=y>" in seen.said
    assert "<b> <b>" in seen.said


HOSTILE = {
    "brackets": "[" * 200_000,
    "half links": "](" * 100_000,
    "links in links": "[a](z(y)" * 50_000,
    "pictures": "![a" * 100_000,
    "stars": "*a " * 100_000,
    "stars and lines": "*a" * 100_000 + " b_" * 100_000,
    "ticks": "".join("`" * (k % 50 + 1) + "a" for k in range(15_000)),
    "quotes": ">" * 400_000,
    "lists": "- " * 200_000,
    "stairs": "\n".join(" " * (k % 40) + "- x" for k in range(10_000)),
    "headings alike": "# a\n" * 50_000,
    "blanks": "-" + " " * 400_000 + "x\n# " + " " * 400_000 + "x",
    "wide table": "|" * 200_000 + "\n" + "|-" * 100_000,
    "ruled": "a|\n-|\n" * 30_000,
    "fences": "```\n" * 100_000,
    "addresses": "<https://a" * 40_000,
    "backslashes": "\\" * 400_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_takes_long(name):
    begun = time.perf_counter()
    made = rendered(HOSTILE[name])
    assert (
        time.perf_counter() - begun < 5
    )  # most take a tenth of a second; a square would take hours
    assert len(made) < 40 * len(HOSTILE[name])


def test_a_comment_that_never_ends_is_refused_by_its_line():
    with pytest.raises(RnnlensError, match=re.escape("line 3: a comment never ends; close it")):
        rendered("a\n\n<!-- b\nc")
