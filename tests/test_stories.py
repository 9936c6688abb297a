"""The stories of the documentation: every view can be shown, and what is told is so."""

import re
from pathlib import Path

import pytest
from scripts.case_study import SENTENCE
from tests.sampling import sampled
from tests.shown import ROOT

import rnnlens
from rnnlens.page.publish.live_page import Words, published
from rnnlens.page.publish.story import Story

DOCS = ROOT / "docs"
STORIES = [path for path in sorted(DOCS.glob("*.md")) if "```{story}" in path.read_text("utf-8")]
MOST = 16_000_000  # bytes that a published file may have with its story


@pytest.fixture(scope="module")
def news():
    return rnnlens.load("english-news")


def test_the_case_study_and_the_page_of_reasons_are_stories():
    assert {path.stem for path in STORIES} >= {"case-study", "why", "memories"}


def told_of(path: Path) -> rnnlens.Lens:
    """The lens of a story."""
    run = re.search(r"```{story} (\S+)", path.read_text("utf-8"))
    assert run
    return rnnlens.load(run[1])


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_every_view_can_be_shown(path):
    lens, story = told_of(path), Story.read(path)
    assert len(story.views) >= 3
    story.check(
        lens.subject, lens.semantics, SENTENCE if lens.name == "english-news" else "b 3 ? b"
    )


@pytest.fixture(scope="module")
def states(news):
    """States of the case study's sentence: a kind after a word, which is counted from 1."""
    grid = news(SENTENCE, palette="coarse/paper")
    return lambda kind, word: grid[kind][word - 1]


def test_the_case_study_tells_what_the_model_says(states):
    told = (DOCS / "case-study.md").read_text("utf-8")
    rows = [re.sub(r"\]\(#[^)]*\)|\[", "", line) for line in told.splitlines() if line[:1] == "|"]
    at = {words: row for row in rows for words in [row.split("|")[1].strip()]}

    def row(start):
        return next(text for words, text in at.items() if words.startswith(start))

    def percent(kind, word, label):
        return f"{label} {round(100 * states(kind, word).probability(label))}%"

    first = row("After the closing")
    assert percent("y", 7, "he") in first
    assert percent("y", 7, "said") in first
    assert f"a share of {states('y', 7).share:.2f}" in first
    layer = ("l2", "s2", "c2", "h2")
    shares = [states(kind, 7).share for kind in layer]
    bits = [states(kind, 7).entropy() for kind in layer]
    assert f"{min(shares):.2f} to {max(shares):.2f}" in row("At that point")
    assert f"{min(bits):.1f} to {max(bits):.1f} bits" in row("At that point")
    assert [states(kind, 7).group for kind in (*layer, "s1", "c1")] == [
        *["NOUN"] * 4,
        *["OTHER"] * 2,
    ]
    assert f"{states('l2', 7).share:.2f} and {states('c2', 7).share:.2f}" in row(
        "Long-term memory and"
    )
    turned = row("After *she*")
    assert percent("y", 8, "said") in turned
    assert f"verbs {states('y', 8).share:.2f}" in turned
    assert f"{states('y', 7).entropy():.1f} to {states('y', 8).entropy():.1f} bits" in turned
    still = row("Long-term memory still")
    for kind in ("l2", "s2"):
        assert f"{states(kind, 8).share:.2f}" in still
        assert f"{states(kind, 8).entropy():.1f}" in still
    assert {states(kind, 8).group for kind in layer} == {"VERB"}
    lower = row("The output gate")
    assert f"function word ({states('c1', 7).share:.2f})" in lower
    assert f"noun ({states('h1', 7).share:.2f})" in lower
    assert [states(kind, 7).group for kind in ("l1", "h1")] == ["VERB", "NOUN"]


@pytest.mark.slow
@pytest.mark.parametrize("path", sampled(STORIES, STORIES[0]), ids=lambda path: path.stem)
def test_a_story_fits_into_a_published_file(path):
    page = published(told_of(path).subject, words=Words(story=path))
    assert page.sizes["story"] > 10_000
    assert len(page.page) <= MOST
