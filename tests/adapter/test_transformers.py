"""Recurrent models of the library transformers: every state against the model's own cache."""

import warnings
from importlib.util import find_spec

import pytest
import torch
from tests.adapter.transformers_models import CONFIGS, WORDS, own_states, tiny

from rnnlens.adapter.adapter import Adapter
from rnnlens.ask.memory import Direction, stored
from rnnlens.model.lazy import at_hand
from rnnlens.model.traceable import StateEdit

pytest.importorskip("transformers", reason="transformers is not installed: make check installs it")
pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore")]
IDS = torch.randint(2, WORDS, (2, 11), generator=torch.Generator().manual_seed(1))
MEMORIES = ("S", "c")


@pytest.fixture(scope="module", params=CONFIGS)
def model(request):
    if request.param == "xLSTMForCausalLM" and find_spec("xlstm"):
        pytest.skip("transformers takes the package xlstm in place of its own lines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tiny(request.param)


@pytest.fixture(scope="module")
def adapter(model):
    made = Adapter(model)
    made.trace(IDS)
    return made


def test_states_are_those_of_the_models_own_cache(model, adapter):
    trace, own = adapter.trace(IDS), own_states(model, IDS[1])
    assert own
    for layer, states in own.items():
        kind = next(f"{one}{layer}" for one in MEMORIES if f"{one}{layer}" in trace.states)
        mine = trace.states[kind][:, 1].reshape(states.shape)
        assert float((mine - states).abs().max()) <= 1e-5 * float(states.abs().max())


def test_the_model_predicts_what_it_did(model, adapter):
    real = model(IDS, use_cache=False).logits.transpose(0, 1)
    torch.testing.assert_close(adapter.trace(IDS).logits, real)


def test_writers_sum_to_memories_and_reads(adapter):
    states = adapter.trace(IDS[:1]).states
    for layer in adapter.recurrence:
        letters = [*layer.cell.memories, layer.cell.output.id]
        for letter in letters:
            kind = layer.ids[letter]
            state = states[kind][9, 0].double()
            weight = torch.ones_like(state) / max(1e-30, float(state.abs().sum()))
            parts, rest = stored(adapter.recurrence, states, Direction(kind, 9, weight, 0.0))
            assert parts.sum() + rest == pytest.approx(float(state @ weight), abs=1e-5)


def test_an_edit_of_the_memory_goes_on_and_one_of_nothing_does_not(adapter):
    real = adapter.trace(IDS)
    layer = adapter.recurrence[0]
    kind = layer.ids[next(iter(layer.cell.memories))]
    same, ones = (
        adapter.trace(IDS, edits=[StateEdit(kind, 3, change)])
        for change in (lambda v: v, torch.ones_like)
    )
    size = float(real.prediction.abs().max())
    assert float((same.prediction - real.prediction).abs().max()) <= 1e-6 * size
    assert bool((ones.states[kind][3] == 1).all())
    assert torch.equal(ones.prediction[:3], real.prediction[:3])
    assert float((ones.prediction - real.prediction)[3:].abs().max()) > 1e-5 * size


def test_large_memories_are_not_computed_unasked(adapter):
    there = at_hand(adapter.trace(IDS).states)
    for layer in adapter.recurrence:
        assert not {layer.ids[letter] for letter in layer.cell.large} & {*there}


def test_rwkv_of_more_than_six_layers_stays_as_it_is():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.RwkvConfig(
        vocab_size=WORDS, hidden_size=32, num_hidden_layers=8, context_length=32
    )
    model = transformers.RwkvForCausalLM(config).eval()  # rescales its weights as it first reads
    adapter = Adapter(model)
    traces = [adapter.trace(IDS).logits for _ in range(3)]
    real = model(IDS, use_cache=False).logits.transpose(0, 1)
    for logits in traces:
        torch.testing.assert_close(logits, real)
