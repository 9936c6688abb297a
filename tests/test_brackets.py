"""The generated language of brackets, and the check of a network that has learnt it."""

from itertools import accumulate

import pytest
import torch
from scripts import brackets

LABELS = ("(", ")", "[", "]", "UNK")


@pytest.mark.parametrize("depths", [range(1, 4), range(5, 7)])
def test_words_are_balanced_and_just_so_deep(depths):
    made = list(brackets.words(60, brackets.SORTS, depths, 0))
    opening = {sort[0] for sort in brackets.SORTS}
    for k, word in enumerate(made):
        heights = list(accumulate(1 if one in opening else -1 for one in word))
        assert heights[-1] == 0
        assert max(heights) == depths[k % len(depths)]
        wanted = brackets.asked_for(word)
        closed = [one == before for one, before in zip(word[1:], wanted, strict=False)]
        assert all(closed[t] for t in range(len(closed)) if word[t + 1] not in opening)
    assert made == list(brackets.words(60, brackets.SORTS, depths, 0))


def test_a_network_is_right_where_it_says_what_may_follow():
    word = "( [ ] )".split()
    says = torch.full((4, 5), -9.0)
    for step, label in enumerate("[ ) ) (".split()):  # opens: right; ) where ] is wanted; ): right
        says[step, LABELS.index(label)] = 0
    found = brackets.Check()
    found.add(word, LABELS, says)
    assert found.depths[1] == brackets.Tally(asked=2, legal=2, closings=1, right=1)
    assert found.depths[2] == brackets.Tally(asked=1, legal=0, closings=1, right=0)
    assert found.table().splitlines()[-1].split() == ["all", "3", "66.67%", "2", "50.00%"]


def test_a_run_is_checked_on_a_file(command, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["brackets", "make", str(tmp_path), "--words", "80"])
    brackets.main()
    flags = "--format text --min-count 1 --width 4 --layers 1 --epochs 1 --device cpu".split()
    assert command("train", tmp_path / "train.txt", "-o", tmp_path / "run", *flags).code == 0
    monkeypatch.setattr(
        "sys.argv", ["b", "check", str(tmp_path / "run"), str(tmp_path / "deep.txt")]
    )
    brackets.main()
    asked = sum(len(line.split()) - 1 for line in (tmp_path / "deep.txt").read_text().splitlines())
    assert f"{asked:,}" in capsys.readouterr().out.splitlines()[-1]
