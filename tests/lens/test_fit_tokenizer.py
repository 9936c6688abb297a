"""A lens of a module that reads pieces of words, and the run that keeps its tokenizer."""

import json

import numpy as np
import pytest
import torch
from tests.asks import grid_json
from tests.corpus.pieces.test_tokenizer import GOLDEN, Library, piece_text
from tests.sampling import sampled
from torch import Tensor, nn

import rnnlens
from rnnlens.draw import terminal
from rnnlens.draw.look import Look
from rnnlens.page.publish.pack import text_json

TEXTS = [
    "the states of a network say what it will read next", "a word is a row, and a kind a column",
    "the words that wrote a state are told by what it would be without them",
] * 12  # fmt: skip


class PieceModel(nn.Module):
    def __init__(self, count: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(count, 8)
        self.recurrence = nn.GRU(8, 8, batch_first=True)
        self.readout = nn.Linear(8, count)

    def forward(self, words: Tensor) -> Tensor:
        return self.readout(self.recurrence(self.embedding(words))[0])  # type: ignore[no-any-return]


def made(path, name="qwen", more=3):
    """The module, its batches, and the file of its tokenizer."""
    file = path / "tokenizer.json"
    file.write_text(json.dumps(GOLDEN[name]["tokenizer"]), encoding="utf-8")
    text = piece_text(name)
    torch.manual_seed(0)
    rows = [torch.tensor(text.encode(one)) for one in TEXTS]
    return PieceModel(len(text.tokens) + more), [(r[None, :-1], r[None, 1:]) for r in rows], file


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    path = tmp_path_factory.mktemp("pieces")
    module, batches, file = made(path)
    lens = rnnlens.fit(module, batches, tokenizer=file, epochs=0)
    lens.save(path / "run")
    return module, lens, path / "run"


@pytest.mark.slow
def test_a_run_keeps_its_tokenizer(fitted):
    module, lens, run = fitted
    again = rnnlens.load(run, model=module)
    for one in (lens, again):
        grid = one("the networks {read", "output")
        assert list(grid.words)[:3] == ["the", "▁n", "et"]
        assert "".join(grid.words).replace("▁", " ") == "the networks {read"
        assert one.subject.labels[-1] == f"<unused-{len(one.subject.labels) - 1}>"
        state = grid["h1"][1]
        assert state.probability("words") == state.probability("▁words")
    texts = again.subject.session.examples
    assert texts
    assert all(any(one.startswith(text) for one in TEXTS) for text in texts)
    a, b = (one("the states")["h1"][2].vector() for one in (lens, again))
    assert np.abs(a - b).max() < 1e-6


@pytest.mark.slow
def test_texts_are_compared_and_continued(fitted):
    _, lens, _ = fitted
    pair = lens.compare("the {state|word}s of")
    assert "".join(lens("the states of").words) == "the▁states▁of"
    assert pair.pairs[0] == (0, 0)
    both = lens("the words of") - lens("the states of")
    assert both._lines.text == "{the states of|the words of}"
    continued = lens("the states of").continuation(4)
    assert len(continued.words) == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled([n for n in GOLDEN if n != "qwen"], "llama", "bert"))
def test_other_sorts_of_tokenizers_are_kept(name, tmp_path):
    module, batches, file = made(tmp_path, name)
    lens = rnnlens.fit(module, batches, tokenizer=file, epochs=0)
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=module)
    text = "the words of a state"
    assert again(text).words == lens(text).words


@pytest.mark.slow
def test_the_tokenizer_of_another_model_is_refused(tmp_path):
    module, batches, file = made(tmp_path, more=0)
    with pytest.raises(rnnlens.RnnlensError, match=r"has \d+ pieces and the module reads 40"):
        rnnlens.fit(PieceModel(40), batches, tokenizer=file)
    module.readout = nn.Linear(8, 40)
    few = [(a % 40, b % 40) for a, b in batches]
    with pytest.raises(rnnlens.RnnlensError, match=r"module predicts 40; .*\(AutoModelForCausal"):
        rnnlens.fit(module, few, tokenizer=file, epochs=0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"words": list}, "words= and tokenizer= both split"),
        ({"inputs": ["a"]}, "inputs= and tokenizer= both name"),
        ({"tokenizer": 3}, "tokenizer= is int"),
    ],
)
def test_what_does_not_go_together_is_refused(tmp_path, options, said):
    module, batches, file = made(tmp_path)
    with pytest.raises(rnnlens.RnnlensError, match=said):
        rnnlens.fit(module, batches, **{"tokenizer": file, **options})


@pytest.mark.slow
def test_what_cannot_be_kept_is_refused_before_anything_is_written(tmp_path):
    words = [f"w{k}" for k in range(9)]
    rows = [torch.arange(k, k + 6) % 9 for k in range(12)]
    batches = [(row[None, :-1], row[None, 1:]) for row in rows]
    torch.manual_seed(0)
    lens = rnnlens.fit(PieceModel(9), batches, tokenizer=Library(words), epochs=0)
    assert list(lens("w3 w4").words) == ["w3", "w4"]
    with pytest.raises(rnnlens.RnnlensError, match=r"a Library, which .* a run cannot keep"):
        lens.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_another_runs_tokenizer_is_refused(fitted, tmp_path):
    module, _, run = fitted
    spoilt = tmp_path / "run"
    spoilt.mkdir()
    for file in run.iterdir():
        (spoilt / file.name).write_bytes(file.read_bytes())
    path = spoilt / "tokenizer.json"
    described = {k: v for k, v in json.loads(path.read_text()).items() if k != "checksum"}
    path.write_text(json.dumps({**described, "fused": True}))
    with pytest.raises(rnnlens.RnnlensError, match=r"the tokenizer in .* is not its model's"):
        rnnlens.load(spoilt, model=module)
    path.unlink()
    with pytest.raises(rnnlens.RnnlensError, match=r"tokenizer\.json"):
        rnnlens.load(spoilt, model=module)


@pytest.mark.slow
def test_a_published_page_has_the_tokenizer(fitted, tmp_path):
    _, lens, _ = fitted
    assert text_json(lens.subject.session.text)["pieces"]["model"] == "bpe"
    assert lens.publish(tmp_path / "page.html").stat().st_size > 1000


@pytest.mark.slow
def test_pieces_of_a_word_are_drawn_together(fitted, tmp_path):
    _, lens, _ = fitted
    found = grid_json(lens, "a network<|im_start|> said")
    words = {word["text"]: word["piece"] for word in found["words"]}
    assert found["words"][0]["piece"] == ""
    assert words["▁n"] == "first"
    assert words["<|im_start|>"] == "mark"
    assert [word["piece"] for word in found["words"]].count("last") == 2
    drawn = terminal.draw(found, Look(kinds="all"), width=100).splitlines()
    rows = [line for line in drawn if any(line.lstrip().startswith(word) for word in words)]
    assert sum("┐" in line[:20] for line in rows) == 2
    assert sum("┘" in line[:20] for line in rows) == 2
    lens("a network").save(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 1000
    said = lens("the states of").continuation(3)
    assert str(said) == lens.subject.session.text.written(
        lens.subject.session.text.encode(said.words)
    )


def test_two_texts_have_brackets_of_pieces_in_the_terminal(fitted):
    _, lens, _ = fitted
    given = grid_json(lens, "the {networks|wordnets} read")
    drawn = terminal.draw(given, look=Look(kinds=["h1"], density="compact"), width=100)
    rows = [line for line in drawn.splitlines() if line.strip().startswith(("┌", "└"))]
    heads = [line[: line.index("╲")][-3:] if "╲" in line else "│  " for line in rows]
    assert heads[2:12] == ["┐  ", "│  ", "│  ", "│┐ ", "││ ", "││ ", "││ ", "││ ", "┘│ ", " ┘ "]


def test_a_tokenizer_that_gives_other_pieces_than_the_batches_have_is_told(tmp_path, capsys):
    module, batches, file = made(tmp_path)
    count = len(piece_text("qwen").tokens)
    others = [(count - 1 - a, count - 1 - b) for a, b in batches]  # numbered another way
    for some, told in (
        (batches, "made with: it gives 100% of a batch's pieces again"),
        (others, "is it the one that your batches were made with?"),
    ):
        rnnlens.fit(module, some, tokenizer=file, epochs=0)
        assert told in capsys.readouterr().err
