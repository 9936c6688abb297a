"""When a text is decided: of modules of somebody's own too, and what is said of it in a line."""

import pytest
import torch
from tests.letters import WORDS, Classifier, batches

import rnnlens
from rnnlens.ask.decision import answer_line, since


@pytest.mark.parametrize(
    ("leads", "step"),
    [
        ([True, False, True], 2),
        ([True, True], 0),
        ([False], None),
        ([True, False], None),
        ([], None),
    ],
)
def test_it_holds_since(leads, step):
    assert since(leads) == step


def test_a_users_classifier_is_known_to_be_one():
    torch.manual_seed(0)
    words = batches(count=4, size=6)
    pairs = [(one, one[:, 0] % 2) for one, _ in words]
    lens = rnnlens.fit(Classifier(labels=2), pairs, ["even", "odd"], inputs=WORDS, epochs=1)
    grid = lens("a b c d")
    assert grid.json["answer"] == "mean"
    decision = grid.decision()
    assert decision.label == grid["y"][3].top(1)[0][0]
    assert decision.turned["y"] == 0  # it says the same at every word
    assert len(decision["h1"]) == 4


def row(p: float) -> list[dict[str, object]]:
    top = sorted([("pos", p), ("neg", 1 - p)], key=lambda one: -one[1])
    return [{"top": top}]


@pytest.mark.parametrize(
    ("answer", "sure", "said"),
    [
        ("last", [0.2, 0.3, 0.9], "the answer is pos, the most probable from w2 on"),
        ("mean", [0.9, 0.9, 0.4], "the answer is pos"),
        ("last", [0.9, 0.9], "the answer is pos from the first word on"),
        (None, [0.9], ""),
        ("last", [], ""),
    ],
)
def test_a_line_says_since_when(answer, sure, said):
    words = [{"text": f"w{k}"} for k in range(len(sure))]
    assert answer_line({"answer": answer, "words": words, "rows": [row(p) for p in sure]}) == said
