"""Templates: what is drawn from them, and what is refused before anything is made."""

import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.lab.template import is_incongruent, read_templates

LISTS = """# number
N.sg: dog, bird
N.pl: dogs, birds
V.sg: sees
V.pl: see
"""


def templates(tmp_path, text, name="mine.suite"):
    path = tmp_path / name
    path.write_text(LISTS + text, encoding="utf-8")
    return read_templates(path)


def test_a_choice_agrees_with_the_one_before(tmp_path):
    (one,) = templates(tmp_path, "paradigm: near\nthe {N.sg|N.pl} in the {N} {V.sg|V.pl} now\n")
    assert one.paradigm == "near"
    assert one.agrees
    assert one.count == 2 * 4
    draws = list(one.draws(0, 100))
    assert len(draws) == 4  # no noun stands twice
    sentences = {(one.sentence(d, s), one.other(d, s), one.condition(d, s))
                 for d in draws for s in (0, 1)}  # fmt: skip
    assert (("the dog in the birds sees now",), ("the dog in the birds see now",),
            "incongruent, sg pl") in sentences  # fmt: skip
    assert (("the dogs in the birds see now",), ("the dogs in the birds sees now",),
            "congruent, pl pl") in sentences  # fmt: skip
    assert len(sentences) == 8
    assert [is_incongruent(c) for *_, c in sentences].count(True) == 4


def test_one_choice_is_right_or_wrong_and_what_is_measured_stands_apart(tmp_path):
    one, two = templates(tmp_path, "the {N.sg} {sees|see} a bird\n{she|} said <now> ,\n")
    assert (one.sentence((0, 0), 0), one.other((0, 0), 0)) == (
        ("the dog sees a bird",),
        ("the dog see a bird",),
    )
    assert two.measured
    assert (two.sentence((0,), 0), two.other((0,), 0)) == (
        ("she said", "now", ","),
        ("said", "now", ","),
    )


def test_many_draws_are_counted_and_some_are_taken(tmp_path):
    words = ", ".join(f"w{k}" for k in range(1000))
    text = f"W: {words}\n{'{W} ' * 5}{{N.sg|N.pl}} {{V.sg|V.pl}}\n"
    (one,) = templates(tmp_path, text)
    assert one.count == 1000**5 * 2
    draws = list(one.draws(0, 50))
    assert 40 < len(draws) <= 50  # but for those with a word twice
    assert draws == list(one.draws(0, 50))
    assert draws != list(one.draws(1, 50))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "has no template"),
        ("the {N.sg} sees\n", "has a choice"),
        ("the {X} {is|are}\n", "no list 'X'"),
        ("the {N.sg|V.pl} {is|are}\n", "2 words on one side and 1"),
        ("the {is|is}\n", "are the same"),
        ("the {a|b|c}\n", "3 alternatives"),
        ("the {is|are\n", "do not pair"),
        ("the {is|are} <now\n", "measures one place"),
        ("E:\nthe {is|are}\n", "the list E has 0 words"),
        ("x" * 3000 + " {is|are}\n", "at most 2,000 letters"),
        ("{N} " * 31 + "{is|are}\n", "at most 30 places"),
        ("W: " + "w," * 9_999 + "w\n" + "{W} " * 6 + "{is|are}\n", "2^62 ways"),
        ("W: " + "w," * 10_001 + "w\n", "10,002 words"),
    ],
)
def test_bad_templates_are_refused_with_their_line(tmp_path, text, why):
    with pytest.raises(RnnlensError) as error:
        templates(tmp_path, text)
    assert why in str(error.value)
    assert "mine.suite" in str(error.value)
    assert "\n" not in str(error.value)
