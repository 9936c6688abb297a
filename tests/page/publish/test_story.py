"""Stories: their views are those of the page, and what the lens has not is refused by its line."""

import json
import re

import pytest
from tests.page.publish.engine import answered

from rnnlens.base.errors import RnnlensError
from rnnlens.page.publish.live_page import Words, published
from rnnlens.page.publish.story import Story
from rnnlens.page.view_link import decoded

LINKS = [
    "#text=we+stand&at=l2:3", "text=100%25+%2B+a%26b", "#kinds=all", "#kinds=l2,c1@-1,odd%2Cid",
    "#density=compact&naming=symbols&bars=5&page=accuracy&turns=1&view=bare", "#text=",
    "#pin=l2:1&pin=c1:2@runs%2Fx/input/other+text+/+more&pin=h1:3//a", "#find=a&run=x&beside=y",
    "#tab=written&reading=path&explain=have,a%2Cb&than=has&alike=divergence&folded=1",
    "#seed=4294967295&map=l2",
    "#follow=are,were&against=is", "#edit=l2@4=0&edit=l2@5+said&edit=l2@5%2B1:said",
    "#semantic=output%2B1&palette=my+own", "#text=%E4%B8%AD%zz", "#", "", "#at=a:b:12",
]  # fmt: skip
WRONG = [
    "#text", "#foo=1", "#density=wide", "#bars=6", "#bars=x",
    "#seed=x", "#seed=4294967296", "#seed=1_0", "#turns=0", "#at=l2", "#at=l2:0",
    "#edit=l2", "#edit=l2@0=0", "#run=", "#follow=", "#page=nowhere", "#view=small", "#pins=l2:1",
    "#focus=l2:1", "#naming=", "#pin=l2", "#edits=l2@4=0",
]  # fmt: skip


def test_a_link_means_what_it_means_on_the_page():
    read = answered("links.mjs", LINKS)
    plain = answered("links.mjs", [""])[0]["view"]
    for link, (view, problems) in zip(LINKS, (one.values() for one in read), strict=True):
        assert problems == []
        assert json.loads(json.dumps({**plain, **decoded(link)}), parse_int=float) == view, link
    for link, one in zip(WRONG[1:], answered("links.mjs", WRONG[1:]), strict=True):
        assert one["problems"], link
        with pytest.raises(RnnlensError, match="which means nothing here"):
            decoded(link)


@pytest.fixture
def tell(tmp_path):
    def told(text: str | bytes, name: str = "story.md") -> Story:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return Story.read(path)

    return told


def test_its_first_view_is_drawn_first_and_its_heading_is_the_title(formula, tell):
    text = "# Dogs & birds\n\nA [dog](#text=the+old+dog&semantic=input&edit=l2@2=0&at=c2:2).\n"
    page = published(formula.subject, words=Words(story=tell(text).path)).page.decode()
    head = json.loads(page.split('id="head">')[1].split("</script>")[0])
    assert (head["grid"]["text"], head["grid"]["semantic"]) == ("the old dog", "input")
    assert head["grid"]["edits"] == head["first"]["edits"] == ["l2@2=0"]
    assert head["run"]["title"] == "Dogs & birds"
    assert head["run"]["examples"][0] == "the old dog"
    assert '<h1 id="story-dogs--birds">Dogs &amp; birds</h1>' in page
    assert 'data-view="#text=the+old+dog&amp;semantic=input' in page


def test_fences_and_links_and_pictures(tell, tmp_path):
    (tmp_path / "a b.png").write_bytes(b"\x89PNG")
    story = tell(
        "# One\n\n```{story} english-news\n```\n```{lens} english-news\n:height: 600\ntext=a+b\n"
        "&at=y:1\n```\n[up](#one) [there](https://a.b) ![it](a%20b.png) [near](other.html)\n"
    )
    assert story.first == {"text": "a b", "focus": {"column": "y", "row": 0}}
    assert (
        '<p data-view="#text=a+b&amp;at=y:1"><a class="view" href="#text=a+b&amp;at=y:1">'
        in story.html
    )
    assert 'href="#story-one"' in story.html
    assert 'href="https://a.b" target="_blank" rel="noopener noreferrer"' in story.html
    assert 'src="data:image/png;base64,iVBORw=="' in story.html
    assert "english-news" not in story.html


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\n\n[x](#foo=1)", "line 3: the link says 'foo=1', which means nothing here"),
        ("[x](javascript:a(1))", "line 1: the link 'javascript:a(1)' leads nowhere that is safe"),
        ("[x](JaVaScript:alert)", "leads nowhere that is safe"),
        ("[x](java&#x0a;script:alert)", "leads nowhere that is safe"),
        ("[x](&#106;avascript:alert)", "leads nowhere that is safe"),
        ("[x](data:text/html,a)", "leads nowhere that is safe"),
        ("[x](//a.b)", "leads nowhere that is safe"),
        ("[x]()", "leads nowhere that is safe"),
        ("[x](#nowhere)", "line 1: no heading is called #nowhere"),
        ("![x](https://a.b/c.png)", "cannot be put into the file"),
        ("![x](c.html)", "cannot be put into the file"),
        ("![x](c.png)", "c.png is not there"),
        ("a\n<!-- b", "line 2: a comment never ends"),
        ("[x](#text=a)" * 501, "a story of more than 500 views is too long"),
        ("x" * 10_000_000, "story.md has more than 0.5 MB; give a shorter one"),
        (b"a\nb\xff", "story.md line 2: that is no text in UTF-8"),
        (b"\x00" * 9 + b"\xfe\xff", "that is no text in UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_story_is_refused_in_one_line(tell, text, told):
    with pytest.raises(RnnlensError, match=re.escape(told)) as refused:
        tell(text)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


@pytest.mark.parametrize(
    ("view", "told"),
    [
        ("run=other", "one run, formula; leave run= out"),
        ("beside=other", "leave beside= out"),
        ("page=corpus", "no corpus; leave page= out"),
        ("find=word+%3D+a", "no corpus; leave find= out"),
        ("semantic=mood", "has no probes for the semantic 'mood'"),
        ("semantic=output%2B1", "no probes for the semantic 'output+1'; it has output, input"),
        ("palette=mine", "has no palette 'mine'"),
        ("kinds=l2,l9", "has no kind 'l9'"),
        ("at=l9:1", "has no column 'l9'"),
        ("at=l2:4", "the link points at word 4; give one up to 3"),
        ("pin=l2:4", "the link points at word 4; give one up to 3"),
        ("pin=l2:2//dog", "the link points at word 2; give one up to 1"),
        ("pin=l2:1@other", "leave pin= out"),
        ("pin=l2:1/mood", "has no probes for the semantic 'mood'"),
        ("follow=dgo", "there is no label 'dgo'; the nearest: 'dog'"),
        ("follow=dog&against=dog", "'dog' is followed and stands against itself"),
        ("edit=l2@4=0", "l2@4"),
        ("edit=y@1=0", "y"),
        ("text=" + "a+" * 2001, "2,001 words are too many"),
        ("text=%7Ba", "{"),
    ],
)  # fmt: skip
def test_a_view_that_the_lens_has_not_is_refused_by_its_line(formula, tell, tmp_path, view, told):
    view = view if view.startswith("text=") else f"text=the+old+dog&{view}"
    story = tell(f"# A\n\nfirst\n[see](#{view})\n")
    with pytest.raises(RnnlensError, match=re.escape(told)) as refused:
        formula.publish(tmp_path / "lens.html", ["output", "input"], story=story.path)
    assert str(refused.value).startswith("story.md line 4: ")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "lens.html").exists()


def test_a_missing_story_is_one_line(formula, tmp_path):
    for name in ("nowhere.md", ".", "a\0b"):
        with pytest.raises(RnnlensError) as refused:
            formula.publish(tmp_path / "lens.html", story=tmp_path / name)
        assert "\n" not in str(refused.value)
