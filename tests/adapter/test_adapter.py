"""The adapter as a user meets it: three lines, and clear words where they do not suffice."""

from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter, modules
from rnnlens.base.errors import RnnlensError

WORDS = torch.randint(9, (6, 3))


class Model(nn.Module):
    """A language model as many are written."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.encoder = nn.LSTM(4, 5, 2)
        self.spare = nn.Linear(2, 2)
        self.head = nn.Linear(5, 9)
        self.skip = False

    def forward(self, words: Tensor, scale: float = 1.0) -> Tensor:
        x = self.embedding(words) * scale
        if self.skip:
            return cast("Tensor", self.head(torch.zeros(*words.shape, 5)))
        hidden: Tensor = self.encoder(x)[0]
        return cast("Tensor", self.head(hidden))


def test_three_lines():
    module = Model()
    adapter = Adapter(module)
    traced = adapter.trace(WORDS)
    assert list(traced.states) == [
        "x",
        *(k + u for u in "12" for k in "fiogLsch".replace("L", "l")),
    ]
    assert traced.states["h2"].shape == (6, 3, 5)
    assert traced.lengths is None
    assert adapter.difference < 1e-6
    with torch.no_grad():
        torch.testing.assert_close(traced.logits, module(WORDS), rtol=0, atol=1e-6)


def test_kinds_are_known_after_the_first_trace():
    adapter = Adapter(Model())
    with pytest.raises(RnnlensError, match="known once a batch has been traced; call trace first"):
        _ = adapter.kinds
    adapter.trace(WORDS)
    assert len(adapter.kinds) == 17


@pytest.mark.parametrize(
    "batch", [WORDS, (WORDS,), [WORDS, 1.0], {"words": WORDS}, {"words": WORDS, "scale": 1.0}]
)
def test_batches_are_fed_by_what_they_are(batch):
    module = Model()
    assert torch.equal(Adapter(module).trace(batch).states["h2"],
                       Adapter(module).trace(WORDS).states["h2"])  # fmt: skip


def test_feeding_may_be_said():
    module = Model()
    doubled = Adapter(module, feed=lambda m, batch: m(batch["text"], scale=2.0))
    states = doubled.trace({"text": WORDS, "label": 1}).states
    assert torch.equal(states["x"], module.embedding(WORDS) * 2)


@pytest.mark.parametrize("debug", [True, False])
def test_debug_checks_every_trace(debug, monkeypatch):
    calls = list[int]()
    torchs = nn.LSTM.forward

    def forward(self: nn.LSTM, *args: Any) -> Any:
        calls.append(1)
        return torchs(self, *args)

    monkeypatch.setattr(nn.LSTM, "forward", forward)
    monkeypatch.setattr(modules, "FORWARDS", (forward,))
    adapter = Adapter(Model(), debug=debug)
    for _ in range(4):
        adapter.trace(WORDS)
    assert len(calls) == (4 if debug else 1)


def test_a_forward_that_is_not_torchs_own_is_always_run():
    module, calls = Model(), list[int]()
    torchs = module.encoder.forward

    def forward(*args: Any) -> Any:
        calls.append(1)
        return torchs(*args)

    module.encoder.__dict__["forward"] = forward
    adapter = Adapter(module)
    for _ in range(3):
        adapter.trace(WORDS)
    assert len(calls) == 3


def test_a_changed_part_is_found_out():
    module = Model()
    wrong = Adapter(module)
    torchs = module.encoder.forward
    module.encoder.__dict__["forward"] = lambda *a: (torchs(*a)[0] + 1e-2, torchs(*a)[1])
    with pytest.raises(
        RnnlensError, match=r"encoder \(LSTM\) differs .* by 0\.01 .*cannot be trusted"
    ):
        wrong.trace(WORDS)


def test_no_recurrent_part_and_no_names():
    with pytest.raises(RnnlensError, match=r"Sequential has no recurrent part .*kinds=\["):
        Adapter(nn.Sequential(nn.Linear(2, 2)))


def test_a_part_that_is_never_called():
    module = Model()
    module.skip = True
    with pytest.raises(
        RnnlensError, match=r"never calls its recurrent part: encoder \(LSTM\); give"
    ):
        Adapter(module).trace(WORDS)


def test_a_named_submodule_that_is_never_called():
    with pytest.raises(RnnlensError, match="the module never calls spare"):
        Adapter(Model(), kinds=["spare"]).trace(WORDS)


def test_another_way_through_the_module():
    module = Model()
    adapter = Adapter(module, kinds=["head"])
    adapter.trace(WORDS)
    module.skip = True
    with pytest.raises(RnnlensError, match="encoder was called for the first batch and is not"):
        adapter.trace(WORDS)


@pytest.mark.parametrize(
    ("weight", "value", "where"),
    [
        (
            "embedding.weight",
            float("nan"),
            "x are NaN or infinite, first at timestep 4 of",
        ),
        (
            "embedding.weight",
            float("inf"),
            "x are NaN or infinite, first at timestep 4 of",
        ),
        ("encoder.bias_hh_l0", float("nan"), "f1 are NaN or infinite, first at timestep 0 of seq"),
    ],
)
@pytest.mark.parametrize("later", [True, False])
def test_states_that_are_no_numbers_are_named(weight, value, where, later):
    module = Model()
    adapter = Adapter(module)
    if later:
        adapter.trace(WORDS)
    words = torch.zeros_like(WORDS)
    words[4, 1] = 5
    with torch.no_grad():
        module.get_parameter(weight)[5] = value  # of the bias: a row of the forget gate's
    with pytest.raises(RnnlensError, match=f"the states of {where}"):
        adapter.trace(words)


def test_an_overflowing_output_is_named():
    module = nn.RNN(1, 1, nonlinearity="relu")
    with torch.no_grad():
        for p in module.parameters():
            p.fill_(1e30)
    with pytest.raises(RnnlensError, match="the states of h1 are NaN or infinite"):
        Adapter(module).trace(torch.ones(5, 1, 1))


def test_what_follows_a_sequences_end_may_be_anything():
    x = torch.randn(5, 2, 3)
    packed = nn.utils.rnn.pack_padded_sequence(x, [5, 2])
    traced = Adapter(nn.GRU(3, 4)).trace(packed)
    assert traced.lengths is not None
    assert traced.lengths.tolist() == [5, 2]


def test_a_batch_on_another_device():
    # The meta device stands in for one that this machine may lack.
    message = r"^(the module|part) \(\w+\) is given its input on meta and has .* batch.to\('cpu'\)"
    parts = ((nn.LSTM(3, 4), torch.randn(5, 2, 3)), (nn.GRUCell(3, 4), torch.randn(2, 3)))
    for module, batch in parts:
        adapter = Adapter(module, feed=lambda m, batch: m(batch["x"].to(batch["device"])))
        for device in ("meta", "cpu", "meta"):
            if device == "cpu":
                adapter.trace({"x": batch, "device": device})
                continue
            with pytest.raises(RnnlensError, match=message):
                adapter.trace({"x": batch, "device": device})
    with pytest.raises(RnnlensError, match="the batch is on meta, without values; make it on cpu"):
        Adapter(Model()).trace(WORDS.to("meta"))


def test_a_batch_that_torch_itself_refuses():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    with pytest.raises(
        RnnlensError, match="the batch is on cpu and the module on cuda:0; move the"
    ):
        Adapter(Model().cuda()).trace(WORDS)


def test_a_module_without_values():
    with pytest.raises(RnnlensError, match="on the meta device, without values; load its weights"):
        Adapter(Model().to("meta")).trace(WORDS)


def test_errors_of_the_users_own_code_say_where_and_what_it_was_given():
    with pytest.raises(RnnlensError, match="the forward of Model failed: IndexError") as refusal:
        Adapter(Model()).trace(WORDS + 9)
    line = Model.forward.__code__.co_firstlineno + 1
    said = str(refusal.value)
    assert "\n" not in said
    assert f"({__file__}, line {line})" in said, "the user's own line, not torch's or ours"
    low, high = int(WORDS.min()) + 9, int(WORDS.max()) + 9
    assert f"it was given int64 {tuple(WORDS.shape)} of {low} to {high}" in said
    assert isinstance(refusal.value.__cause__, IndexError)


def test_what_a_failing_forward_was_given_is_told_of_any_form():
    class Failing(Model):
        def forward(self, *_args: Any, **_named: Any) -> Tensor:
            raise ValueError

    packed = nn.utils.rnn.pack_sequence([torch.zeros(2, 3)])
    for batch, said in (
        ((WORDS.bool(), [1, None]), "(bool (2, 5), (int, NoneType))"),
        ({"a": torch.zeros(2, 0, dtype=torch.long)}, "(a: int64 (2, 0))"),
        (packed, "packed sequences of float32 (2, 3)"),
        (tuple(range(9)), "(int, int, int, int, int, int, ...)"),
    ):
        with pytest.raises(RnnlensError) as refusal:
            Adapter(Failing()).trace(batch)
        shape = str(tuple(WORDS.shape))
        assert f"it was given {said.replace('(2, 5)', shape)}; mend" in str(refusal.value)


def test_results_do_not_depend_on_what_was_read_before():
    adapter = Adapter(Model())
    first = adapter.trace(WORDS)
    adapter.trace(torch.randint(9, (2, 7)))
    again = adapter.trace(WORDS)
    for kind, values in first.states.items():
        torch.testing.assert_close(again.states[kind], values, rtol=0, atol=1e-6)


class Several(nn.Module):
    """Two recurrent parts, and a layer that returns two things."""

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(5, 5)

        def forward(self, x: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
            return x, {"seen": self.inner(x)}

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(9, 4)
        self.one, self.two = nn.GRU(4, 5), nn.GRU(5, 5)
        self.layer, self.head = self.Layer(), nn.Linear(5, 9)

    def forward(self, words: Tensor) -> Tensor:
        states, _ = self.layer(self.one(self.embedding(words))[0])
        return cast("Tensor", self.head(self.two(states)[0]))


def test_parts_may_be_left_out():
    whole = Adapter(Several())
    whole.trace(WORDS)
    assert {kind.part for kind in whole.kinds} == {"", "one", "two"}
    adapter = Adapter(Several(), exclude=["one"])
    adapter.trace(WORDS)
    assert [kind.id for kind in adapter.kinds] == ["x", *(f"{k}1" for k in "rznkwh")]
    with pytest.raises(RnnlensError, match="no submodule called 'three'; did you mean"):
        Adapter(Several(), exclude=["three"])
    with pytest.raises(RnnlensError, match="has no recurrent part that is read"):
        Adapter(Several(), exclude=["one", "two"])


def test_any_output_of_a_submodule_may_be_read():
    module = Several()
    adapter = Adapter(module, kinds=["layer", "layer[1]", "layer[1]['seen']"])
    states = adapter.trace(WORDS).states
    torch.testing.assert_close(states["layer"], states["one.h1"])
    torch.testing.assert_close(states["layer[1]"], module.layer.inner(states["one.h1"]))
    assert torch.equal(states["layer[1]"], states["layer[1]['seen']"])
    with pytest.raises(RnnlensError, match=r"layer returned tuple of .* no tensor \[2\]"):
        Adapter(module, kinds=["layer[2]"]).trace(WORDS)
    with pytest.raises(RnnlensError, match=r"no submodule called 'lay\[1\]'"):
        Adapter(module, kinds=["lay[1]"])


def test_a_batch_that_forward_does_not_take_is_told_of_feed():
    for batch in ({"wrong": WORDS}, (WORDS, 1.0, 2), {"words": WORDS, "label": 3}):
        with pytest.raises(RnnlensError, match=r"Model cannot be called so \(.*\); give feed="):
            Adapter(Model()).trace(batch)
    adapter = Adapter(Model(), feed=lambda module, batch: module(batch["words"]))
    assert adapter.trace({"words": WORDS, "label": 3}).states
