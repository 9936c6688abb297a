"""What is stored says what was fitted, and Python measures what the command measures."""

import json
import shutil
from itertools import product
from typing import Any

import pytest
import torch
from tests.letters import WORDS, LanguageModel, V, batches, trained
from tests.sampling import sampled
from torch import Tensor, nn

import rnnlens
from rnnlens.cli import main
from rnnlens.run.corpus_data import encoded_corpus
from rnnlens.run.folder import Run

pytestmark = pytest.mark.slow


class Shifted(LanguageModel):
    """A language model with a submodule whose units are all far from zero, or very small."""

    def __init__(self, offset: float, size: float) -> None:
        super().__init__()
        self.shifted = Affine(offset, size)

    def forward(self, words: Tensor) -> Any:
        h = self.recurrence(self.embedding(words))[0]
        self.shifted(h)
        return self.readout(h)


class Affine(nn.Module):
    def __init__(self, offset: float, size: float) -> None:
        super().__init__()
        self.offset, self.size = offset, size

    def forward(self, h: Tensor) -> Tensor:
        return (h + self.offset) * self.size


# Offset and size of the units of a kind.
UNITS = [(0.0, 1.0), (300.0, 1.0), (3000.0, 1.0), (0.0, 1e-5), (7.0, 1e9)]


@pytest.mark.parametrize(
    ("units", "probe"),
    sampled(product(UNITS, ("linear", "shared")), ((7.0, 1e9), "shared")),
)
def test_stored_probes_keep_what_they_say(units, probe, tmp_path):
    torch.manual_seed(0)
    data = batches()
    module = trained(Shifted(*units), data, 8)
    lens = rnnlens.fit(module, data, WORDS, kinds=["shifted"], probe=probe)
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=rnnlens.UserModel(module, kinds=["shifted"]))
    states, _ = lens.subject.session.read([1, 2, 3, 4, 5, 1], 0, 6)
    assert lens.subject.probes
    assert again.subject.probes
    for kind in lens.subject.probes.kinds:
        both = (lens.subject.probes, again.subject.probes)
        said, kept = (one.logits(kind, states[kind]).softmax(-1) for one in both)
        torch.testing.assert_close(kept, said, rtol=0, atol=1e-4)
    score = {s.kind: s.perplexity for s in again.evaluate(batches(seed=3))}
    assert score["shifted"] == pytest.approx(score["h1"], rel=0.1)
    assert score["shifted"] < 1.5


def started(count: int, seed: int) -> list[tuple[Tensor, Tensor]]:
    """Batches of a model that begins every sequence with <s>, here label 0."""
    pairs = []
    for words, targets in batches(count=count, seed=seed):
        start = torch.zeros(len(words), 1, dtype=torch.long)
        pairs.append((torch.cat([start, words], 1), torch.cat([words[:, :1], targets], 1)))
    return pairs


def test_every_semantic_is_measured_against_its_own_frequencies():
    train, test = started(12, 0), started(4, 5)
    lens = rnnlens.fit(
        LanguageModel(), train, ["<s>", *WORDS[1:]], semantic="output,input,output-1", epochs=0
    )
    unigram = {score.semantic: score.unigram for score in lens.evaluate(test)}
    kept = [w.flatten() for k, (w, _) in enumerate(train) if k % 10]  # the others are held out
    read = torch.bincount(torch.cat(kept), minlength=V)
    frequencies = (read + 1.0) / (read + 1.0).sum()
    words = torch.cat([w.flatten() for w, _ in test])
    expected = float((-frequencies.double()[words].log().mean()).exp())
    assert unigram["input"] == pytest.approx(expected, rel=1e-5)
    assert unigram["output-1"] == pytest.approx(expected, rel=1e-5)
    assert unigram["output"] != pytest.approx(expected, rel=1e-2)


def test_python_and_the_command_measure_the_same(trained_run, tmp_path, capsys):
    run = shutil.copytree(trained_run, tmp_path / "run")
    semantics = "output,input,output+1,output-2"
    flags = ["--semantic", semantics, "--epochs", "1", "--device", "cpu"]
    assert main(["fit", str(run), *flags]) == 0
    assert main(["eval", str(run), "--json", "--device", "cpu"]) == 0
    told = json.loads("{" + capsys.readouterr().out.partition("{")[2])
    lens = rnnlens.load(run)
    test = encoded_corpus(Run(run)).splits
    labels, split = lens.labels, test["test"]
    sentences = [
        [labels[k] for k in split.ids[a:b]]
        for a, b in zip(split.starts[:-1], split.starts[1:], strict=True)
    ]
    scores = lens.evaluate(sentences)
    assert [(s.semantic, s.kind) for s in scores] == [
        (row["semantic"], row["kind"]) for row in told["probes"]
    ]
    for score, row in zip(scores, told["probes"], strict=True):
        assert score.pairs == row["pairs"]
        assert score.perplexity == pytest.approx(row["perplexity"], rel=1e-4)
        assert score.unigram == pytest.approx(row["unigram"], rel=1e-9)


def prepared(ids: list[int]) -> Tensor:
    """<s> in front, and without the last word."""
    return torch.tensor([[0, *ids[:-1]]])


def test_sentences_of_a_model_that_reads_a_mark_first_are_measured_as_its_batches_are():
    train = [(words[:, :-1], targets[:, :-1]) for words, targets in started(12, 0)]
    labels = ["<s>", *WORDS[1:]]
    lens = rnnlens.fit(trained(LanguageModel(), train, 4), train, labels, prepare=prepared)
    sentences = [[labels[k] for k in row] for _, rows in started(3, 5) for row in rows.tolist()]
    batch = [(words, targets) for words, targets in started(3, 5)]
    for a, b in zip(lens.evaluate(batch), lens.evaluate(sentences), strict=True):
        assert (a.kind, a.pairs) == (b.kind, b.pairs)
        assert a.perplexity == pytest.approx(b.perplexity, rel=1e-4)


def test_a_module_that_was_trained_on_is_measured_no_more():
    module = LanguageModel()
    lens = rnnlens.fit(module, batches(), WORDS, epochs=0)
    with torch.no_grad():
        pairs = module.embedding.weight.view(-1, 2)  # the same bits in another order
        pairs.copy_(pairs.flip(0))
    for ask in (lambda: lens("a b"), lambda: lens.evaluate(batches())):
        with pytest.raises(rnnlens.RnnlensError, match="has changed since its probes were fitted"):
            ask()


def test_many_labels_that_are_no_words_have_colours_by_frequency():
    names = [f"q{k}zx" for k in range(40)]
    module = nn.Sequential(nn.Embedding(40, 5), Recurrent(), nn.Linear(6, 40))
    words = torch.randint(40, (6, 8, 7))
    lens = rnnlens.fit(module, [(w, w) for w in words], names, inputs=names, epochs=0)
    assert list(lens.palettes) == ["frequency"]
    assert lens("q1zx q2zx")["h1"][1].group in ("FREQUENT", "COMMON", "RARE")


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRU(5, 6, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        states: Tensor = self.cell(x)[0]
        return states


def test_states_beyond_all_measure_are_fitted_from_the_prior():
    data = batches(count=4)
    lens = rnnlens.fit(Shifted(0.0, 1e30), data, WORDS, kinds=["shifted"], epochs=0)
    scores = {score.kind: score.perplexity for score in lens.evaluate(data)}
    assert scores["shifted"] < 10
