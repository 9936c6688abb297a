"""Recurrent models of the library transformers: every state against the model's own cache."""

import warnings
from importlib import import_module
from importlib.util import find_spec

import pytest
import torch
from tests.adapter.transformers_models import (
    CONFIGS,
    WITHOUT_PAST,
    WORDS,
    WRONG_BETWEEN_CHUNKS,
    is_old,
    own_past,
    own_states,
    taps_of,
    tiny,
)

from rnnlens.adapter.adapter import Adapter
from rnnlens.ask.memory import Direction, stored
from rnnlens.base.errors import RnnlensError
from rnnlens.model.lazy import at_hand
from rnnlens.model.traceable import StateEdit

pytest.importorskip("transformers", reason="transformers is not installed: make check installs it")
pytestmark = [pytest.mark.release, pytest.mark.filterwarnings("ignore")]
IDS = torch.randint(2, WORDS, (2, 11), generator=torch.Generator().manual_seed(1))
MEMORIES = ("S", "c")


@pytest.fixture(scope="module", params=CONFIGS)
def model(request):
    if request.param == "xLSTMForCausalLM" and find_spec("xlstm"):
        # transformers then takes that package in place of its own lines, which needs kernels
        pytest.importorskip("mlstm_kernels")
    if not hasattr(import_module("transformers"), request.param):
        pytest.skip("this version of transformers does not have it")
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


def test_what_convolutions_remember_is_what_the_models_own_cache_has(model, adapter):
    trace, own = adapter.trace(IDS), own_past(model, IDS[1])
    assert bool(own) == (type(model).__name__ not in WITHOUT_PAST)
    assert {f"p{layer}" for layer in own} == {kind for kind in trace.states if kind[0] == "p"}
    for layer, states in own.items():
        mine = trace.states[f"p{layer}"][:, 1]
        assert float((mine - states).abs().max()) <= 1e-5 * float(states.abs().max())


def test_an_edit_of_what_a_convolution_remembers_goes_on_and_one_of_nothing_does_not(
    model, adapter
):
    real = adapter.trace(IDS)
    past = next((kind for kind in real.states if kind[0] == "p"), None)
    if past is None:
        pytest.skip("it has no convolution")
    edits = [StateEdit(past, 3, lambda v: v + 0)]
    same = adapter.trace(IDS, edits=edits)
    none = adapter.trace(IDS, edits=[StateEdit(past, 3, torch.zeros_like)])
    size = float(real.prediction.abs().max())
    assert float((same.prediction - real.prediction).abs().max()) <= 1e-6 * size
    assert bool((none.states[past][3] == 0).all())
    taps = taps_of(model)
    width = real.states[past].shape[-1] // (taps - 1)
    forgotten = [int((none.states[past][3 + k, 0] == 0).sum()) for k in range(taps)]
    assert forgotten == [width * (taps - 1 - k) for k in range(taps)]
    assert torch.equal(none.states[past][6], real.states[past][6])
    assert torch.equal(none.prediction[:3], real.prediction[:3])
    torch.testing.assert_close(none.prediction[3], real.prediction[3])  # it reads the past no more
    assert float((none.prediction - real.prediction)[4:].abs().max()) > 1e-5 * size


@torch.no_grad()
def test_a_model_whose_own_cache_forgets_its_convolution_says_what_an_edit_says(model, adapter):
    if type(model).__name__ not in (
        "MambaForCausalLM",
        "Mamba2ForCausalLM",
        "FalconMambaForCausalLM",
    ):
        pytest.skip("others step through attention, or have no such cache")
    edited = adapter.trace(IDS[:1], edits=[StateEdit("p1", 3, torch.zeros_like)])
    out = model(IDS[:1, :4], use_cache=True)
    states = out.cache_params.layers[0].conv_states
    (states if isinstance(states, torch.Tensor) else states[0]).zero_()
    for step in range(4, IDS.shape[1]):
        out = model(IDS[:1, step : step + 1], cache_params=out.cache_params, use_cache=True)
        torch.testing.assert_close(
            out.logits[0, 0], edited.prediction[step, 0], rtol=1e-4, atol=1e-4
        )


@torch.no_grad()
def test_rwkv_whose_own_state_forgets_the_word_before_says_what_an_edit_says():
    model = tiny("RwkvForCausalLM")
    adapter = Adapter(model)
    adapter.trace(IDS)
    edited = adapter.trace(IDS[:1], edits=[StateEdit("p1", 3, torch.zeros_like)])
    out = model(IDS[:1, :4], use_cache=True)
    out.state[1][..., 0].zero_()
    rest = model(IDS[:1, 4:], state=out.state, use_cache=True).logits[0]
    torch.testing.assert_close(rest, edited.prediction[4:, 0], rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_what_rwkvs_channel_mixing_remembers_is_read_by_its_name():
    model = tiny("RwkvForCausalLM")
    name = "rwkv.blocks.1.feed_forward.time_shift"
    shifted = Adapter(model, kinds=[name]).trace(IDS).states[name]  # of the word before
    for step in range(IDS.shape[1] - 1):
        own = model(IDS[1:, : step + 1], use_cache=True).state[0][0, :, 1]
        assert float((shifted[step + 1, 1] - own).abs().max()) <= 1e-5 * float(own.abs().max())


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
    assert torch.equal(same.prediction, real.prediction)
    assert bool((ones.states[kind][3] == 1).all())
    assert torch.equal(ones.prediction[:3], real.prediction[:3])
    assert float((ones.prediction - real.prediction)[3:].abs().max()) > 1e-5 * size


def test_an_edit_is_the_same_where_a_cache_is_written(model, adapter):
    layer = adapter.recurrence[0]
    kind = layer.ids[next(iter(layer.cell.memories))]
    cached = Adapter(model, feed=lambda model, ids: model(ids, use_cache=True))
    cached.trace(IDS)
    plain, other = (
        one.trace(IDS, edits=[StateEdit(kind, 3, torch.ones_like)]) for one in (adapter, cached)
    )
    torch.testing.assert_close(other.prediction, plain.prediction)


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


@pytest.mark.parametrize("name", WRONG_BETWEEN_CHUNKS)
def test_old_layers_that_are_wrong_between_chunks_are_refused_there(name):
    model = tiny(name, chunk_size=8)
    if not is_old():
        Adapter(model).trace(IDS)  # of two chunks
        return
    Adapter(model).trace(IDS[:, :8])
    with pytest.raises(RnnlensError, match=r"of more than 8 words, .* has 11: .* 5\.15 or later"):
        Adapter(model).trace(IDS)


def test_a_cache_that_an_old_layer_would_go_on_from_is_refused():
    model = tiny("MambaForCausalLM")
    if not is_old():
        pytest.skip("a scan that is a function is told what it goes on from")
    cache = model(IDS, use_cache=True).cache_params
    feed = lambda model, ids: model(ids, cache_params=cache, use_cache=True)  # noqa: E731
    with pytest.raises(RnnlensError, match=r"goes on from a cache.*give whole sequences"):
        Adapter(model, feed=feed).trace(IDS[:, :1])


def test_padding_is_no_part_of_old_memories_either():
    model = tiny("MambaForCausalLM")
    mask = torch.ones_like(IDS)
    mask[1, :4] = 0
    feed = lambda model, ids: model(ids, attention_mask=mask, use_cache=False)  # noqa: E731
    states = Adapter(model, feed=feed).trace(IDS).states
    assert not states["S1"][3, 1].any()
    assert states["S1"][4, 1].any()


@pytest.mark.parametrize("name", ["cu_seqlens", "cu_seq_lens_q", "seq_idx"])
def test_packed_texts_are_refused_also_where_a_model_ignores_them(model, name):
    feed = lambda model, ids: model(ids, use_cache=False, **{name: torch.tensor([0, 5]).int()})  # noqa: E731
    with pytest.raises(RnnlensError, match=f"is given {name}=, several texts in one sequence"):
        Adapter(model, feed=feed).trace(IDS)
    assert not model._forward_pre_hooks


def test_positions_that_begin_anew_are_refused(model):
    positions = torch.tensor([[*range(11)], [*range(5), *range(6)]])
    feed = lambda model, ids: model(ids, use_cache=False, position_ids=positions)  # noqa: E731
    with pytest.raises(RnnlensError, match="begin anew at timestep 5 of sequence 1, as those of"):
        Adapter(model, feed=feed).trace(IDS)
    positions[1] = torch.arange(3, 14)
    Adapter(model, feed=feed).trace(IDS)


def test_positions_of_padding_behind_the_words_may_count_from_0(model):
    mask, positions = torch.ones_like(IDS), torch.tensor([[*range(11)], [*range(5), *range(6)]])
    mask[1, 5:] = 0
    named = {"attention_mask": mask, "position_ids": positions, "use_cache": False}
    Adapter(model, feed=lambda model, ids: model(ids, **named)).trace(IDS)


IGNORE_MASKS = ("RecurrentGemmaForCausalLM", "xLSTMForCausalLM", "RwkvForCausalLM")


def test_padding_before_the_words_is_no_part_of_a_memory_or_refused(model, adapter):
    mask = torch.ones_like(IDS)
    mask[1, :4] = 0
    feed = lambda model, ids: model(ids, attention_mask=mask, use_cache=False)  # noqa: E731
    padded = Adapter(model, feed=feed)
    if type(model).__name__ in IGNORE_MASKS:
        with pytest.raises(RnnlensError, match=r"before the words, which .* reads as words"):
            padded.trace(IDS)
        mask[1] = mask[1].flip(0)
        padded.trace(IDS)
        return
    states, alone = padded.trace(IDS).states, adapter.trace(IDS[1:, 4:]).states
    layer = adapter.recurrence[0]
    kind = layer.ids[next(iter(layer.cell.memories))]
    gap = float((states[kind][4:, 1] - alone[kind][:, 0]).abs().max())
    assert gap <= 1e-5 * float(alone[kind].abs().max())
