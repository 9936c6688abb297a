"""Modules as strangers have them, which were once read wrongly without a word."""

from typing import Any

import pytest
import torch
from tests.letters import LanguageModel, Turning, batches, trained
from torch import Tensor, nn

from rnnlens.adapter import Adapter
from rnnlens.adapter.batches import words_of
from rnnlens.base.errors import RnnlensError, RnnlensWarning

V = 6


class Minimal(nn.Module):
    """A recurrence written by hand, timesteps or sequences first."""

    def __init__(self, first: bool, width: int = 9) -> None:
        super().__init__()
        self.w, self.u, self.first = nn.Linear(7, width), nn.Linear(width, width), first

    def forward(self, x: Tensor) -> Tensor:
        axis = 1 if self.first else 0
        h, outputs = x.new_zeros(self.u.in_features), []
        for now in x.unbind(axis):
            h = (self.w(now) + self.u(h)).tanh()
            outputs.append(h)
        return torch.stack(outputs, axis)


class Custom(nn.Module):
    """No part that torch knows, and a readout that is not linear."""

    def __init__(self, first: bool) -> None:
        super().__init__()
        self.embedding, self.layer = nn.Embedding(V, 7), Minimal(first)
        self.head = nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, V))

    def forward(self, words: Tensor) -> Any:
        return self.head(self.layer(self.embedding(words)))


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("size", [7, 8])
def test_a_custom_layer_shows_which_axis_is_time(first, size):
    torch.manual_seed(0)
    module = Custom(first)
    words, targets = batches(first, size=size)[0]
    read = module.layer(module.embedding(words))
    expected = read.transpose(0, 1) if first else read
    adapter = Adapter(module, kinds=["layer"])
    trace = adapter.trace(words)  # even where nobody says what the targets are
    torch.testing.assert_close(trace.states["layer"], expected)
    torch.testing.assert_close(trace.logits, module.head(expected))
    axes = adapter.align((words, targets))
    assert (axes.words_first, axes.follows) == (first, True)
    assert axes.fed == ((1, -1) if first else (-1, 1))
    torch.testing.assert_close(adapter.trace(words).states["layer"], expected)
    assert torch.equal(adapter.in_time(targets, lambda: trace), targets.T if first else targets)


def test_what_the_user_says_of_a_custom_layer_counts():
    words = batches(False, size=7)[0][0]
    module = Custom(False)
    turned = Adapter(module, kinds=["layer"], batch_first=True).trace(words).states["layer"]
    torch.testing.assert_close(turned, module.layer(module.embedding(words)).transpose(0, 1))


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [0, 10])
@pytest.mark.parametrize("size", [7, 8])
def test_flat_targets_lie_as_the_logits_do(size, rounds):
    """Words (B, T), logits (T * B, V), and targets to go with these."""

    class TimeFirst(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Turning(flat=False)

        def forward(self, words: Tensor) -> Tensor:
            return self.inner(words).transpose(0, 1).reshape(-1, V)  # type: ignore[no-any-return]

    torch.manual_seed(0)
    for asked in ("next", "other"):  # what follows tells, and what does not
        data = []
        for words, following in batches(size=size):
            tags = following if asked == "next" else (words * 2 + 1) % V
            data.append((words, tags.T.reshape(-1)))
        module = trained(TimeFirst(), data, rounds)
        adapter = Adapter(module)
        adapter.align(*data[:2])
        words, flat = data[0]
        trace = adapter.trace(words)
        assert torch.equal(adapter.in_time(flat, lambda: trace), flat.view(7, size))  # noqa: B023
        assert torch.equal(adapter.in_time(words, lambda: trace), words.T)  # noqa: B023


def test_words_and_targets_in_different_orders():
    torch.manual_seed(0)
    data = [(words, targets.T.contiguous()) for words, targets in batches(False, size=7)]
    straight = [(words, targets.T) for words, targets in data]
    oblong = [(words, targets.T) for words, targets in batches(False, size=8)]
    tags = [(words, ((words * 2 + 1) % V).T.contiguous()) for words, _ in data]
    tagger = trained(LanguageModel(False), [(words, t.T) for words, t in tags], 10)
    for module, some in ((LanguageModel(False), data), (tagger, tags)):
        adapter = Adapter(module)
        adapter.align(some[0])
        with pytest.raises(RnnlensError, match=r"different orders, .* give targets\.T$"):
            adapter.in_time(some[0][1], lambda: adapter.trace(some[0][0]))  # noqa: B023
    told = Adapter(LanguageModel(False)).align(straight[0])
    assert (told.follows, told.words_first, told.targets_first) == (True, False, False)
    adapter = Adapter(LanguageModel(False))
    adapter.align(oblong[0])  # the shape tells, so that both are right
    for labels in oblong[0]:
        found = adapter.in_time(labels, lambda: adapter.trace(oblong[0][0]))
        assert torch.equal(found, labels if len(labels) == 7 else labels.T)


class Translator(nn.Module):
    """An encoder and a decoder, whose sentences are padded to one length."""

    def __init__(self, attends: bool = False) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(9, 7), nn.Embedding(V, 7)
        self.encoder, self.decoder = nn.GRU(7, 9, batch_first=True), nn.GRU(7, 9, batch_first=True)
        self.readout, self.attends = nn.Linear(9, V), attends

    def forward(self, source: Tensor, target: Tensor) -> Any:
        read, last = self.encoder(self.source(source))
        states = self.decoder(self.target(target), last)[0]
        if self.attends:
            states = states + (states @ read.transpose(1, 2)).softmax(-1) @ read
        return self.readout(states)


@pytest.mark.parametrize("attends", [True, False])
@pytest.mark.parametrize("size", [7, 8])
def test_an_encoder_is_not_drawn_beside_the_decoders_words(attends, size):
    torch.manual_seed(0)
    words, targets = batches(size=size)[0]
    source = torch.randint(9, words.shape)  # has more different numbers than the words
    batch = (source, words)
    assert words_of(batch, targets) is words
    adapter = Adapter(Translator(attends))
    with pytest.warns(RnnlensWarning, match=r"left out, .*: x, encoder\.r1"):
        axes = adapter.align((batch, targets))
    assert {kind.part for kind in adapter.kinds} == {"decoder"}
    assert [kind.id for kind in adapter.kinds] == list(axes.kinds)
    assert axes.follows


def test_every_kind_is_tried_whatever_its_name():
    """A part that reads other inputs, named as no recurrent kind is."""

    class Beside(LanguageModel):
        def __init__(self) -> None:
            super().__init__()
            self.other = nn.Linear(3, 9)

        def forward(self, words: Tensor, features: Tensor) -> Any:  # type: ignore[override]
            h = self.recurrence(self.embedding(words))[0]
            return self.readout(h + self.other(features))

    words, targets = batches()[0]
    adapter = Adapter(Beside(), kinds=["other", "readout"])
    with pytest.warns(RnnlensWarning, match=r"targets: other$"):
        adapter.align(((words, torch.randn(8, 7, 3)), targets))
    assert [kind.id for kind in adapter.kinds][-2:] == ["h1", "readout"]


class Two(LanguageModel):
    """Returns what a function makes of states and logits."""

    def __init__(self, made: Any) -> None:
        super().__init__()
        self.made = made

    def forward(self, words: Tensor) -> Any:
        h = self.recurrence(self.embedding(words))[0]
        return self.made(h, self.readout(h))


@pytest.mark.parametrize(
    ("made", "labels", "named", "right"),
    [
        (lambda h, y: (y * 2, y), range(V), r"\[0\] and \[1\]", lambda output: output[1]),
        (lambda h, y: (h.tanh(), y), None, r"\[0\] and \[1\]", lambda output: output[1]),
        (lambda h, y: {"attention": (h @ h.mT).softmax(-1), "scores": y}, None,
         r"\['attention'\] and \['scores'\]", lambda output: output["scores"]),
        (lambda h, y: {"a_logits": y + 1 * h[..., :1], "b_logits": y * 3}, range(V),
         r"\['a_logits'\] and \['b_logits'\]", lambda output: output["b_logits"] / 3),
    ],
)  # fmt: skip
def test_of_tensors_that_may_all_be_the_logits_none_is_taken(made, labels, named, right):
    module, words = Two(made), batches()[0][0]
    with pytest.raises(RnnlensError, match=rf"in which {named} may be its logits; give logits="):
        Adapter(module, labels=labels).trace(words)
    trace = Adapter(module, labels=labels, logits=right).trace(words)
    torch.testing.assert_close(trace.logits, module.readout(trace.states["h1"]))


def test_the_same_prediction_twice_is_no_riddle():
    words = batches()[0][0]
    for made in (lambda h, y: (y, y.clone()), lambda h, y: (y.log_softmax(-1), y.softmax(-1))):
        trace = Adapter(Two(made), labels=range(V)).trace(words)
        assert trace.logits is not None
        assert trace.logits.shape == (7, 8, V)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("size", [5, 8])
def test_features_in_place_of_words_tell_as_well(first, size):
    class Features(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer, self.head = Minimal(first), nn.Sequential(nn.Tanh(), nn.Linear(9, V))

        def forward(self, x: Tensor) -> Any:
            return self.head(self.layer(x))

    torch.manual_seed(0)
    module = Features()
    x = torch.randn(*((size, 5) if first else (5, size)), 7)
    read = module.layer(x)
    adapter = Adapter(module, kinds=["layer"])
    states = adapter.trace(x).states["layer"]
    torch.testing.assert_close(states, read.transpose(0, 1) if first else read)
    axes = adapter.align((x, torch.randint(V, x.shape[:2])))
    fed = (1, -1, 7) if first else (-1, 1, 7)
    assert (axes.words_first, axes.targets_first, axes.fed) == (first, first, fed)
