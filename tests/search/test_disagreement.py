"""Two kinds of states over a corpus."""

import numpy as np
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.draw.charts import write_disagreement
from rnnlens.draw.sentences import sentence_page, sentence_table
from rnnlens.lens.lens import Lens
from rnnlens.search.disagreement import End, disagreement

SENTENCES = [
    text.split()
    for text in (
        "the old dog sees a bird", "she said so", "dogs see the small bird now .", "now",
        "the very old very small dog said , the bird", "a bird and a dog", "the dogs see dogs",
        "old dogs see a", "now she said so",
    )
]  # fmt: skip


@pytest.fixture(scope="module")
def found(formula, formulas):
    return disagreement(End(formula.subject, "h2"), End(formulas["gru"].subject, "h2"), SENTENCES)


def test_the_divergence_is_that_of_a_plain_loop_over_grids(formula, formulas, found):
    place = 0
    for words in SENTENCES:
        a, b = (lens(" ".join(words))["h2"] for lens in (formula, formulas["gru"]))
        for step in range(len(words)):
            assert found.bits[place] == pytest.approx(a[step].divergence(b[step]), abs=2e-6)
            place += 1
    assert place == len(found.bits)


def test_a_sentence_that_comes_several_times_is_listed_once(formula, formulas, found):
    ends = End(formula.subject, "h2"), End(formulas["gru"].subject, "h2")
    again = disagreement(*ends, [*SENTENCES, *SENTENCES[:3], SENTENCES[0]])
    once, top = found.top(5), again.top(5)
    assert [one.words for one in top] == [one.words for one in once]
    assert [one.bits for one in top] == pytest.approx([one.bits for one in once], abs=1e-6)
    times = {one.words: one.times for one in again.top(least=1)}
    assert [times[tuple(words)] for words in SENTENCES] == [3, 2, 2, *[1] * 6]
    table, page = sentence_table(again, top, 120), sentence_page(again, top, ["#"] * 5, "")
    assert table.count("a bird  ×3") == 1  # one of its words is in brackets
    assert page.count(" ×3</td>") == 1
    assert "×" not in sentence_table(found, once, 120)


def test_two_kinds_of_one_lens_and_the_prediction(formula):
    counted: list[int] = []
    both = disagreement(
        End(formula.subject, "l2"), End(formula.subject, "y"), SENTENCES, "output", counted.append
    )
    grid = formula(" ".join(SENTENCES[4]))
    first = sum(map(len, SENTENCES[:4]))
    for step in range(len(SENTENCES[4])):
        bits = grid["l2"][step].divergence(grid["y"][step])
        assert both.bits[first + step] == pytest.approx(bits, abs=2e-6)
    assert sum(counted) == 3 * len(both.bits)


def test_the_sentences_that_differ_most_come_first(found):
    top = found.top(3, least=1)
    means = [found.bits[a:b].mean() for a, b in zip(found.starts, found.starts[1:], strict=False)]
    assert [one.bits for one in top] == pytest.approx(sorted(means, reverse=True)[:3])
    for one in top:
        number = SENTENCES.index(list(one.words))
        bits = found.bits[found.starts[number] : found.starts[number + 1]]
        assert (one.step, one.most) == (int(bits.argmax()), pytest.approx(bits.max()))
        grids = [Lens(end.subject)(" ".join(one.words))[end.kind][one.step] for end in found.ends]
        assert one.said == tuple(state.top(1)[0][0] for state in grids)
    assert all(len(one.words) >= 4 for one in found.top())
    assert len(found.top(least=100)) == len(SENTENCES)  # of a corpus of shorter ones, any


def test_words_are_ranked_by_what_comes_after_them(found):
    words = np.array([word for words in SENTENCES for word in words])
    name, mean, count = found.by_word(2)[0]
    assert (mean, count) == (pytest.approx(found.bits[words == name].mean()), (words == name).sum())
    assert all(count >= 2 for *_, count in found.by_word(2))


@pytest.mark.slow
def test_a_table_a_page_and_a_figure(found, formula, tmp_path):
    top = found.top(2)
    lines = sentence_table(found, top, 100).splitlines()
    assert lines[0].startswith("formula and gru, h2: ")
    assert f"[{top[0].words[top[0].step]}]" in lines[3]
    html = sentence_page(found, top, ["#a&b", "#c"], "<hint>")
    assert 'href="#a&amp;b"' in html
    assert "&lt;hint&gt;" in html
    write_disagreement(found, tmp_path / "where.svg")
    assert (tmp_path / "where.svg").stat().st_size > 1000
    row = top[0].step + 1
    text = "+".join(top[0].words)
    assert found.link(top[0]) == (f"#run=formula&beside=gru&text={text}&kinds=h2,y&at=h2:{2 * row}")
    kinds = disagreement(
        End(formula.subject, "l2"), End(formula.subject, "s2"), [["``", "the"]], "input"
    )
    assert kinds.link(kinds.top(1)[0]) == (
        f"#run=formula&text=%60%60+the&semantic=input&pin=l2:{1 + kinds.top(1)[0].step}"
        f"&pin=s2:{1 + kinds.top(1)[0].step}&at=s2:{1 + kinds.top(1)[0].step}"
    )


@pytest.mark.parametrize(
    ("kinds", "semantic", "sentences", "said"),
    [
        (("q", "h2"), None, SENTENCES, "formula has no probes of 'q'; it has x, f1"),
        (("h2", "y"), "input", SENTENCES, "y is the model's own prediction, and the semantic"),
        (("h2", "l2"), "output+7", SENTENCES, "no probes for the semantic 'output[+]7'"),
        (("h2", "l2"), None, [[]], "there is nothing to compare on; give some sentences"),
    ],
)
def test_what_cannot_be_compared_is_said(formula, kinds, semantic, sentences, said):
    with pytest.raises(RnnlensError, match=said):
        disagreement(
            End(formula.subject, kinds[0]), End(formula.subject, kinds[1]), sentences, semantic
        )
