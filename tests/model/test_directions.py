"""A network that reads both ways is torch's bidirectional one, whatever the lengths."""

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter.adapter import Adapter
from rnnlens.base.errors import RnnlensError
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import StateEdit

CELLS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
LABELS, WORDS, T = 4, 9, 6
LENGTHS = torch.tensor([6, 3, 1])


def network(cell: str = "lstm", layers: int = 2) -> Network:
    config = NetworkConfig(cell, 5, layers, 3, tied=False, bidirectional=True)
    return Network(config, LABELS, WORDS).initialise(1).double().requires_grad_(False).eval()


def words() -> Tensor:
    return torch.randint(WORDS, (T, 3), generator=torch.Generator().manual_seed(0))


class Tagger(nn.Module):
    """The same of torch's parts."""

    def __init__(self, net: Network) -> None:
        super().__init__()
        config = net.config
        self.embedding = nn.Embedding.from_pretrained(net.embedding)
        part = CELLS[config.cell](3, 5, config.layers, bidirectional=True).double()
        for layer, weights in zip(net.recurrent, part.all_weights, strict=True):
            for p, weight in zip(weights, layer.weights().values(), strict=True):
                assert isinstance(p, nn.Parameter)
                p.data.copy_(weight)
        self.part, self.out = part.requires_grad_(False), nn.Linear(10, LABELS).double()
        self.out.weight.data, self.out.bias.data = net.readout.data, net.bias.data

    def forward(self, ids: Tensor) -> Tensor:
        found: Tensor = self.out(self.part(self.embedding(ids))[0])
        return found


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("layers", [1, 2])
def test_it_agrees_with_torchs_and_is_drawn_as_a_users(cell, layers):
    net = network(cell, layers)
    adapter = Adapter(Tagger(net))
    trace, theirs = net.trace(words()), adapter.trace(words())
    assert trace.logits is not None
    assert theirs.logits is not None
    torch.testing.assert_close(trace.logits, theirs.logits)
    assert net.kinds == adapter.kinds
    assert net.prediction == adapter.prediction
    for kind in trace.states:
        torch.testing.assert_close(trace.states[kind], theirs.states[kind])
    places = [(la.ids, la.below, la.reverse) for la in net.recurrence]
    assert places == [(la.ids, la.below, la.reverse) for la in adapter.recurrence]


def test_a_sentence_is_read_beside_longer_ones_as_it_is_alone():
    net, ids = network(), words()
    trace, hidden = net.trace((ids, LENGTHS)), net.hidden(ids, lengths=LENGTHS)
    for column, length in enumerate(LENGTHS.tolist()):
        alone = net.trace(ids[:length, column : column + 1])
        for kind, states in alone.states.items():
            torch.testing.assert_close(trace.states[kind][:length, column], states[:, 0])
        assert alone.y is not None
        torch.testing.assert_close(hidden[:length, column], alone.y[:, 0])


def test_an_edit_meets_a_timestep_whenever_each_sentence_comes_to_it():
    net, ids = network(), words()
    edits = [StateEdit("c1<", 1, torch.zeros_like), StateEdit("h2", 2, torch.ones_like)]
    trace = net.trace((ids, LENGTHS), edits=edits)
    for column, length in enumerate(LENGTHS.tolist()):
        some = [edit for edit in edits if edit.step < length]
        alone = net.trace(ids[:length, column : column + 1], edits=some)
        for kind, states in alone.states.items():
            torch.testing.assert_close(trace.states[kind][:length, column], states[:, 0])
    assert not trace.states["c1<"][1, :2].any()


def test_it_cannot_be_continued():
    net = network()
    assert not net.causal
    assert net.carried == ()
    assert "both ways" in net.description


@pytest.mark.parametrize("theirs", [False, True], ids=["network", "module"])
def test_the_classifier_reads_the_joined_output(theirs):
    net = network()
    model = Adapter(Tagger(net)) if theirs else net
    trace = model.trace(words())
    readout, logits = model.classifier(), trace.logits
    assert readout is not None
    assert logits is not None
    assert readout.kind == "j2"
    both = [trace.states["h2"], trace.states["h2<"]]
    torch.testing.assert_close(trace.states["j2"], torch.cat(both, -1))
    read = trace.states["j2"].float() @ readout.weight.float().T + readout.bias.float()
    torch.testing.assert_close(read, logits.float())

    edited = model.trace(words(), edits=[StateEdit("j2", 2, torch.zeros_like)])
    assert edited.logits is not None
    torch.testing.assert_close(edited.logits[2], net.bias.expand(3, -1))
    for kind in set(trace.states) - {"j2"}:  # nothing goes on from it
        torch.testing.assert_close(edited.states[kind], trace.states[kind])
    others = [0, 1, 3, 4, 5]
    torch.testing.assert_close(edited.logits[others], logits[others])


def test_labels_that_are_no_words_cannot_share_the_embedding():
    with pytest.raises(RnnlensError, match="--no-tied"):
        Network(NetworkConfig(width=4), LABELS, WORDS)
