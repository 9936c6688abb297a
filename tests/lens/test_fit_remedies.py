"""What a message tells to do is done here, and works; what was refused once is read rightly."""

import warnings
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from tests.letters import WORDS, Classifier, Flipped, LanguageModel, V, batches, trained
from tests.sampling import sampled
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import rnnlens
from rnnlens.base.errors import RnnlensError, RnnlensWarning

pytestmark = pytest.mark.slow

WORSE = "predicts its targets worse"


@pytest.fixture(autouse=True)
def every_warning_is_an_error():
    """Also the one that the other tests, whose modules are untrained, do not heed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def said(grid: Any, kind: str) -> list[str]:
    return [state.top(1)[0][0] for state in grid[kind]]


class Shifting(LanguageModel):
    """Puts 0 in front of what it reads, and drops the last word."""

    def forward(self, words: Tensor) -> Any:
        return super().forward(torch.cat([torch.zeros_like(words[:, :1]), words[:, :-1]], 1))


def test_a_module_that_shifts_its_words_is_read_as_it_reads_them():
    torch.manual_seed(0)
    data = [(words, words) for words, _ in batches()]
    model = trained(Shifting(), data, 8)
    with pytest.raises(
        RnnlensError, match=r"moves its words by 1.* module\(words.roll\(-1, 1\)\)$"
    ):
        rnnlens.fit(model, data, WORDS, epochs=0)
    read = [(torch.cat([0 * words[:, :1], words[:, :-1]], 1), words) for words, _ in data]
    lens = rnnlens.fit(
        model, read, WORDS, epochs=5, feed=lambda module, words: module(words.roll(-1, 1))
    )
    grid = lens("<unk> c d e")
    assert said(grid, "y")[1:] == said(grid, "h1")[1:] == ["d", "e", "a"]
    assert lens.subject.session.text.follows


def test_a_module_that_reads_from_the_end_is_given_words_from_the_end():
    torch.manual_seed(0)
    data = [(words, (words * 2 + 1) % V) for words, _ in batches()]
    model = trained(Flipped(), data, 8)
    with pytest.raises(RnnlensError, match=r"reads from the end; .* module\(words.flip\(1\)\)"):
        rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=0)
    turned = [(words.flip(1), targets.flip(1)) for words, targets in data]
    lens = rnnlens.fit(
        model, turned, WORDS, inputs=WORDS, epochs=5,
        feed=lambda module, words: module(words.flip(1)).flip(1),
    )  # fmt: skip
    expected = [WORDS[(WORDS.index(word) * 2 + 1) % V] for word in "edcba"]
    assert said(lens("e d c b a"), "h1") == said(lens("e d c b a"), "y") == expected


def test_one_number_becomes_two_labels_or_bins():
    torch.manual_seed(0)
    answers = [(words, (words[:, 0] > 2).long()) for words, _ in batches()]
    with pytest.raises(RnnlensError, match=r"one number, .* torch.cat\(\[0 \* z, z\], -1\)"):
        rnnlens.fit(Classifier(labels=1), answers, ["low", "high"], inputs=WORDS, epochs=0)
    with pytest.warns(RnnlensWarning, match=WORSE):
        lens = rnnlens.fit(
            Classifier(labels=1), answers, ["low", "high"], inputs=WORDS, epochs=0,
            logits=lambda z: torch.cat([0 * z, z - 3], -1),
        )  # fmt: skip
    assert lens("c d")["y"][1].top(1)[0][0] == "low"

    model = Classifier(labels=1)
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for words, _ in batches() * 20:
        loss = F.mse_loss(model(words)[:, 0], words[:, 0] * 10.0)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    bins = [(words, words[:, 0] // 2) for words, _ in batches()]
    middles = [5.0, 25.0, 45.0]
    with pytest.raises(RnnlensError, match=r"one number, .* give numbers as targets.float\(\)"):
        rnnlens.fit(model, bins, ["few", "some", "many"], inputs=WORDS, epochs=0)
    lens = rnnlens.fit(
        model, bins, ["few", "some", "many"], inputs=WORDS, epochs=0,
        logits=lambda z: -(((z - torch.tensor(middles)) / 20) ** 2),
    )  # fmt: skip
    assert [lens(text)["y"][6].top(1)[0][0] for text in ("a b c d e a b", "e a b c d e a")] == [
        "few",
        "some",
    ]


class Pairs(nn.Module):
    """One encoder for two texts, as in models of inference: do they begin alike?"""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.encoder = nn.Embedding(V, 7), nn.GRU(7, 9, batch_first=True)
        self.head = nn.Sequential(nn.Linear(18, 12), nn.ReLU(), nn.Linear(12, 2))

    def forward(self, one: Tensor, other: Tensor) -> Any:
        read = [self.encoder(self.embedding(words))[1][0] for words in (one, other)]
        return self.head(torch.cat(read, -1))


@pytest.mark.parametrize("shorter", sampled([0, 2], 2))
def test_an_encoder_of_pairs_is_read_on_the_first(shorter):
    torch.manual_seed(0)
    data = []
    for words, _ in batches(count=20, size=16):
        other = words.roll(3, 0)[:, : 7 - shorter]
        data.append(((words, other), (words[:, 0] == other[:, 0]).long()))
    model = trained(Pairs(), data, 10)
    prepare = lambda ids: (torch.tensor([ids]), torch.tensor([[1, 2, 3]]))  # noqa: E731
    with pytest.warns(RnnlensWarning, match=r"left out, .*: encoder#2\.x"):
        lens = rnnlens.fit(model, data, ["other", "same"], inputs=WORDS, prepare=prepare, epochs=0)
    assert [kind.id for kind in lens.subject.model.kinds] == [
        "x",
        *(f"encoder.{k}1" for k in "rznkwh"),
    ]
    for text in ("a b c", "b c d"):
        ids = torch.tensor([[WORDS.index(word) for word in text.split()]])
        own = model(ids, torch.tensor([[1, 2, 3]])).softmax(-1)[0]
        found = torch.from_numpy(lens(text)["y"][2].distribution()).float()
        torch.testing.assert_close(found, own.detach())


class Deep(nn.Module):
    """One layer that is run twice."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(V, 7), nn.GRU(7, 7, batch_first=True)
        self.readout = nn.Linear(7, V)

    def forward(self, words: Tensor) -> Any:
        return self.readout(self.layer(self.layer(self.embedding(words))[0])[0])


def test_a_layer_that_is_run_twice_has_kinds_of_each_time():
    torch.manual_seed(0)
    model = trained(Deep(), batches(), 8)
    lens = rnnlens.fit(model, batches(), WORDS, epochs=2)
    kinds = {kind.id: kind for kind in lens.subject.model.kinds}
    assert [kinds[k].layer for k in ("layer.h1", "layer#2.h1")] == [1, 2]
    assert {edge.kind for edge in kinds["layer#2.r1"].sources} == {"layer.h1", "layer#2.h1"}
    grid = lens("c d e a")
    assert said(grid, "layer#2.h1") == said(grid, "y") == ["d", "e", "a", "b"]
    adapter = rnnlens.Adapter(model)
    words = batches()[0][0]
    states = adapter.trace(words).states
    once = model.layer(model.embedding(words))[0]
    torch.testing.assert_close(states["layer.h1"], once.transpose(0, 1))
    torch.testing.assert_close(states["layer#2.h1"], model.layer(once)[0].transpose(0, 1))
    last = rnnlens.Adapter(model)
    last.trace(words)
    readout = last.classifier()
    assert readout is not None
    assert readout.kind == "layer#2.h1"


class Sorting(LanguageModel):
    """A tagger that sorts by length before it packs."""

    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        lengths, order = lengths.sort(descending=True)
        x = pack_padded_sequence(self.embedding(words[order]), lengths, batch_first=True)
        read = pad_packed_sequence(self.recurrence(x)[0], batch_first=True, total_length=7)[0]
        return self.readout(read[order.argsort()])


def test_a_tagger_that_sorts_is_read_in_the_order_of_the_batch():
    torch.manual_seed(0)
    data = []
    for k, (words, _) in enumerate(batches()):
        lengths = (torch.arange(8) * 3 + k) % 7 + 1
        past = torch.arange(7) >= lengths[:, None]
        tags = ((words * 2 + 1) % V).masked_fill(past, -100)
        data.append(((words.masked_fill(past, 0), lengths), tags))
    model = trained(Sorting(), data, 8)
    lens = rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=5)
    scores = {s.kind: s for s in lens.evaluate(data)}
    assert scores["x"].accuracy > 0.95
    assert scores["h1"].ratio == pytest.approx(1, abs=0.1)


def test_the_scores_below_a_crf_are_its_logits():
    class Chain(LanguageModel):
        """Its forward is a loss, of a chain that goes from tag to tag."""

        def __init__(self) -> None:
            super().__init__()
            self.moves = nn.Parameter(torch.zeros(V, V))

        def emissions(self, words: Tensor) -> Any:
            return super().forward(words)

        def forward(self, words: Tensor, tags: Tensor) -> Any:  # type: ignore[override]
            scores = self.emissions(words)  # (B, T, V)
            total = scores.gather(2, tags[..., None]).sum()
            total = total + self.moves[tags[:, :-1], tags[:, 1:]].sum()
            alpha = scores[:, 0]
            for now in scores[:, 1:].unbind(1):
                alpha = (alpha[:, :, None] + self.moves).logsumexp(1) + now
            return (alpha.logsumexp(1).sum() - total) / tags.numel()

    torch.manual_seed(0)
    data = [(words, (words * 2 + 1) % V) for words, _ in batches()]
    model = Chain()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    for words, tags in data * 8:
        loss = model(words, tags)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    with pytest.raises(RnnlensError, match=r"Chain cannot be called so \(.*'tags'\); give feed="):
        rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=0)
    lens = rnnlens.fit(
        model, data, WORDS, inputs=WORDS, epochs=3,
        feed=lambda module, words: module.emissions(words),
    )  # fmt: skip
    assert said(lens("a b c"), "h1") == [WORDS[(k * 2 + 1) % V] for k in (1, 2, 3)]


def test_targets_of_ignore_index_are_none():
    torch.manual_seed(0)
    model = trained(LanguageModel(), batches(), 5)
    data = [(words, targets.clone()) for words, targets in batches()]
    for _, targets in data:
        targets[:, 4:] = 0
    lens = rnnlens.fit(model, data, WORDS, ignore_index=0, epochs=1)
    assert sum(lens.subject.session.vocabulary.counts) == 10 * 8 * 4
    assert data[0][1][0, 5] == 0  # the user's own are left alone
    assert {s.pairs for s in lens.evaluate(data)} == {12 * 8 * 4}
    with pytest.warns(RnnlensWarning, match=WORSE):
        other = rnnlens.fit(model, data, WORDS, epochs=0)
    assert sum(other.subject.session.vocabulary.counts) == 10 * 8 * 7


def test_a_part_may_be_left_out():
    torch.manual_seed(0)
    model = trained(Deep(), batches(), 5)
    lens = rnnlens.fit(model, batches(), WORDS, kinds=["embedding"], exclude=["layer"], epochs=0)
    assert [kind.id for kind in lens.subject.model.kinds] == ["embedding"]
    with pytest.raises(RnnlensError, match="exclude= names 3; give dotted names"):
        rnnlens.fit(model, batches(), WORDS, exclude=[3])


def test_a_batch_without_values_is_told_in_one_line():
    for data in (
        [(words.to("meta"), targets) for words, targets in batches()],
        [(words, targets.to("meta")) for words, targets in batches()],
    ):
        with pytest.raises(RnnlensError, match=r"meta.*, without values; make"):
            rnnlens.fit(LanguageModel(), data, WORDS)


@pytest.mark.parametrize("mistake", ["targets", "logits", "padding"])
def test_a_module_that_is_worse_than_unigram_is_warned_of(mistake):
    class Tagger(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            made = super().forward(words)
            return {"scores": made, "others": made.flip(-1)}

    torch.manual_seed(0)
    data = [(words, (words * 2 + 1) % V) for words, _ in batches()]
    model = trained(LanguageModel(), data, 8)
    rnnlens.fit(model, data, WORDS, inputs=WORDS, epochs=0)  # no warning
    tagger = Tagger()
    tagger.load_state_dict(model.state_dict())
    pick = (lambda made: made["others"]) if mistake == "logits" else (lambda made: made["scores"])
    if mistake == "targets":
        data = [(words, targets.roll(1, 0)) for words, targets in data]
    if mistake == "padding":
        data = [(words, targets.index_fill(1, torch.arange(3, 7), 0)) for words, targets in data]
    with pytest.warns(
        RnnlensWarning, match=rf"the module {WORSE} \(perplexity .*\) than .* logits="
    ):
        rnnlens.fit(tagger, data, WORDS, inputs=WORDS, logits=pick, epochs=0)
