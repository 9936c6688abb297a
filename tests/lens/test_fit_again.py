"""Runs are opened with a bare module, and read as they were when they were fitted."""

import json
from typing import Any

import pytest
import torch
from tests.letters import WORDS, LanguageModel, V, batches, trained
from tests.runfiles import contents
from torch import Tensor, nn

import rnnlens
from rnnlens.base.errors import RnnlensError

pytestmark = pytest.mark.slow


class Several(nn.Module):
    """Two parts, a layer of its own kind, and a second tensor as wide as the logits."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 7)
        self.one, self.two = nn.GRU(7, 9, batch_first=True), nn.GRU(9, 9, batch_first=True)
        self.readout = nn.Linear(9, V)

    def forward(self, words: Tensor) -> Any:
        h = self.two(self.one(self.embedding(words))[0])[0]
        return h.tanh(), self.readout(h)


def equal(a: Any, b: Any) -> None:
    assert a.kinds == b.kinds
    for kind in a.kinds:
        for one, other in zip(a[kind], b[kind], strict=True):
            assert one.divergence(other) < 1e-3


def test_kinds_and_parts_left_out_are_kept_in_the_run(tmp_path):
    torch.manual_seed(0)
    module = Several()
    lens = rnnlens.fit(module, batches(), WORDS, kinds=["embedding"], exclude=["one"], epochs=0)
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=module)
    equal(again("c d e"), lens("c d e"))
    assert "embedding" in again("c d e").kinds
    assert "h1" in again("c d e").kinds


def test_functions_have_to_be_given_again(tmp_path):
    torch.manual_seed(0)
    module = trained(LanguageModel(), batches(), 3)
    prepare = lambda ids: torch.tensor([ids])  # noqa: E731
    letters = list("?abcde")
    lens = rnnlens.fit(module, batches(), letters, words=list, prepare=prepare, epochs=0)
    lens.save(tmp_path / "run")
    with pytest.raises(RnnlensError, match=r"fitted with prepare=, .*UserModel\(module, "):
        rnnlens.load(tmp_path / "run", model=module)("cde?")
    with pytest.raises(RnnlensError, match=r"fitted with prepare=, which a run cannot hold"):
        rnnlens.load(tmp_path / "run", model=rnnlens.UserModel(module, words=list))("cde?")
    given = rnnlens.UserModel(module, words=list, prepare=prepare)
    equal(rnnlens.load(tmp_path / "run", model=given)("cde?"), lens("cde?"))


def test_a_run_of_before_says_nothing_of_it(tmp_path):
    module = LanguageModel()
    lens = rnnlens.fit(module, batches(), WORDS, epochs=0)
    lens.save(tmp_path / "run")
    path = tmp_path / "run" / "model.json"
    record = contents(path)
    assert record.pop("settings") == {
        "kinds": [], "exclude": [], "batch_first": None, "functions": [], "mark": None,
        "letters": False, "pattern": "",
    }  # fmt: skip
    path.write_text(json.dumps(record))
    equal(rnnlens.load(tmp_path / "run", model=module)("c d"), lens("c d"))
    path.write_text(json.dumps({**record, "settings": 3}))
    with pytest.raises(RnnlensError, match="is damaged"):
        rnnlens.load(tmp_path / "run", model=module)


def marked() -> list[tuple[Tensor, Tensor]]:
    """Sentences that begin with `<s>`, number 0, and what follows in them."""
    return [
        (torch.cat([torch.zeros_like(words[:, :1]), words[:, :-1]], 1), words)
        for words, _ in batches()
    ]


NAMES = ["<s>", *"abcde"]


def check_marked(lens: Any, text: str, own: Tensor, rows: list[str]) -> None:
    """Assert that every row is asked for what really follows it."""
    for step, state in enumerate(lens(text)["y"]):
        found = torch.from_numpy(state.distribution()).float()
        torch.testing.assert_close(found, own[step].detach(), rtol=1e-3, atol=1e-4)
    grid = lens(text)
    assert [s.top(1)[0][0] for s in grid["h1"]][1:] == rows[1:]
    came = [s.wanted[0] for s in grid["h1"] if s.wanted]
    assert came == rows[: len(came)]
    assert len(came) >= len(rows) - 1
    read = lens(text, "input")
    assert [s.top(1)[0][0] for s in read["h1"]] == ["<s>", *rows[:-1]]
    assert [s.wanted[0] for s in read["h1"] if s.wanted] == ["<s>", *rows[:-1]]


def test_a_mark_that_prepare_puts_in_front(tmp_path):
    """A state then stands beside the word that it predicts."""
    torch.manual_seed(0)
    model = trained(LanguageModel(), marked(), 10)
    prepare = lambda ids: torch.tensor([[0, *ids[:-1]]])  # noqa: E731
    lens = rnnlens.fit(model, marked(), NAMES, semantic="output,input", epochs=25, prepare=prepare)
    own = model(torch.tensor([[0, 3, 4, 5]])).softmax(-1)[0]
    check_marked(lens, "c d e a", own, ["c", "d", "e", "a"])
    assert all(text[0] in "abcde" for text in lens.examples())
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=rnnlens.UserModel(model, prepare=prepare))
    check_marked(again, "c d e a", own, ["c", "d", "e", "a"])


def test_a_mark_that_words_puts_in_front():
    """A row of its own, beside which stands what begins a sentence."""
    torch.manual_seed(0)
    model = trained(LanguageModel(), marked(), 10)
    lens = rnnlens.fit(
        model, marked(), NAMES, semantic="output,input", epochs=25,
        words=lambda text: ["<s>", *text.split()],
    )  # fmt: skip
    own = model(torch.tensor([[0, 3, 4, 5]])).softmax(-1)[0]
    check_marked(lens, "c d e", own, ["c", "d", "e", "a"])
    assert all(text[0] in "abcde" for text in lens.examples())


@pytest.mark.parametrize(
    ("prepare", "mark"),
    [
        (None, None),
        (lambda ids: torch.tensor([[7, *ids[:-1]]]), 7),
        (lambda ids: {"words": torch.tensor([7, *ids[:-1]])[:, None], "n": len(ids)}, 7),
        (lambda ids: torch.tensor([ids]), None),
        (lambda ids: torch.tensor([ids[::-1]]), None),
        (lambda ids: torch.tensor([[len(ids), *ids[:-1]]]), None),
        (lambda ids: 1 / 0, None),
    ],
)
def test_a_mark_is_known_by_what_prepare_makes(prepare, mark):
    assert rnnlens.UserModel(LanguageModel(), prepare=prepare).mark(6) == mark
