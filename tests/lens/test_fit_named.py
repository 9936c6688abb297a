"""Named submodules are kinds like others: their outputs are edited, pushed, set to zero, used and
told by the words that wrote them.
"""

from typing import Any

import pytest
import torch
from tests.letters import WORDS, V, batches
from tests.stranger_modules import MAKERS, Seq2seq
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter import Adapter
from rnnlens.base.errors import RnnlensError
from rnnlens.model.traceable import StateEdit

NAMED = ("own_recurrence", "complex_states", "attention")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_an_edited_output_is_what_the_forward_goes_on_from(name):
    torch.manual_seed(0)
    case = MAKERS[name]()
    lens = rnnlens.fit(case.module, case.data, case.labels, epochs=2, **case.options)
    edited = lens("c d e a", edits=[rnnlens.Edit("recurrence", step=1, zero=True)])
    assert not edited["recurrence"][1].vector().any()

    def zero(_module: Any, _args: Any, output: Any) -> Any:
        output = output.clone()
        output[:, 1] = 0
        return output

    hook = case.module.recurrence.register_forward_hook(zero)  # type: ignore[union-attr]
    with torch.no_grad():
        expected = case.module.eval()(torch.tensor([[3, 4, 5, 1]])).softmax(-1)[0].numpy()
    hook.remove()
    for row in range(4):
        assert abs(edited["y"][row].distribution() - expected[row]).max() < 1e-5
    grid = lens("c d e a")
    assert grid.zeroed().values.shape == (4, 1)
    pushed = lens("c d e a", edits=[rnnlens.Edit("recurrence", step=1, push="d", strength=1)])
    moved = pushed["recurrence"][1].vector() - grid["recurrence"][1].vector()
    assert abs(moved).max() > 0 or grid["recurrence"][1].silent
    written = grid["recurrence"][2].written_by()
    assert written.path is None
    assert "`without` can still be asked" in written.note
    assert lens.evaluate(case.data[:1], used=True)[0].used is not None


def test_an_output_that_is_edited_in_many_calls():
    """A cell that is called once a timestep, whose next calls read what is put there."""
    torch.manual_seed(0)
    module = MAKERS["gru_cell"]().module
    words = torch.tensor([[3, 4, 5, 1], [1, 2, 3, 4]])
    adapter = Adapter(module, kinds=["recurrence"], exclude=["recurrence"])
    plain = adapter.trace(words).states["recurrence"]
    edit = StateEdit("recurrence", 1, lambda state: state + 1)
    edited = adapter.trace(words, edits=[edit]).states["recurrence"]
    torch.testing.assert_close(edited[1], plain[1] + 1)
    assert torch.equal(edited[0], plain[0])
    after = module.recurrence(module.embedding(words[:, 2]), plain[1] + 1)  # type: ignore[operator]
    torch.testing.assert_close(edited[2], after)
    with pytest.raises(RnnlensError, match="timestep 9 of recurrence cannot be edited"):
        adapter.trace(words, edits=[StateEdit("recurrence", 9, lambda state: state)])


@pytest.mark.slow
def test_the_words_that_wrote_a_decoders_state():
    torch.manual_seed(0)
    case = MAKERS["teacher_forcing_always"]()
    assert isinstance(case.module, Seq2seq)
    with pytest.warns(rnnlens.RnnlensWarning, match="left out"):
        lens = rnnlens.fit(case.module, case.data, case.labels, epochs=0, **case.options)
    written = lens("c d e a")["decoder.h1"][2].written_by("a", against="b")
    assert len(written.without) == 4
    assert written.note  # it begins with a state of the encoder's


@pytest.mark.slow
def test_a_kind_of_another_shape_is_edited_in_the_tensors_own(tmp_path):
    torch.manual_seed(0)
    case = MAKERS["one_of_several_heads"]()
    lens = rnnlens.fit(case.module, case.data, case.labels, epochs=0, **case.options)
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=case.module)

    def zero(_module: Any, _args: Any, output: Any) -> Any:
        output = output.clone()
        output[:, 1, 2] = 0  # head 1 at timestep 2
        return output

    hook = case.module.recurrence.register_forward_hook(zero)  # type: ignore[union-attr]
    with torch.no_grad():
        expected = case.module.eval()(torch.tensor([[3, 4, 5, 1]])).softmax(-1)[0].numpy()
    hook.remove()
    for one in (lens, again):
        assert "recurrence.h1" in one.kinds
        edited = one("c d e a", edits=["recurrence.h1@3=0"])
        assert edited["recurrence.h1"][2].vector().shape == (3,)
        for row in range(4):
            assert abs(edited["y"][row].distribution() - expected[row]).max() < 1e-5


def test_of_arrays_side_by_side_each_is_edited_by_its_own_name():
    torch.manual_seed(0)
    model = TwoArrays()
    options: dict[str, Any] = {"kinds": ["layer", "layer[1]"], "inputs": WORDS, "epochs": 0}
    lens = rnnlens.fit(model, batches(), WORDS, **options)
    assert [kind for kind in lens.kinds if kind.startswith("layer")] == ["layer", "layer[1]"]
    edit = rnnlens.Edit("layer[1]", 2, zero=True)
    assert str(edit) == "layer[1][]@3=0"
    with torch.no_grad():
        h, c = model.layer(model.embedding(torch.tensor([[3, 4, 5, 1]])))
        c[0, 2] = 0
        y = model.readout(h * c)[0].softmax(-1).numpy()
    for one in (edit, "layer[1][]@3=0"):
        grid = lens("c d e a", edits=[one])
        assert max(abs(grid["y"][row].distribution() - y[row]).max() for row in range(4)) < 1e-5
    with pytest.raises(RnnlensError, match=r"write layer\[1\]\[\] for the kind, layer\[1,1\] for"):
        lens("c d e a", edits=["layer[1]@3=0"])
    assert lens("c d e a", edits=["layer[1,1]@3=0"])["layer"][2].vector()[1] == 0


class Both(nn.Module):
    """Gives two arrays of states."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(6, 8), nn.Linear(6, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.one(x).cumsum(1).tanh(), self.other(x).tanh()


class TwoArrays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.layer, self.readout = nn.Embedding(V, 6), Both(), nn.Linear(8, V)

    def forward(self, words: Tensor) -> Any:
        h, c = self.layer(self.embedding(words))
        return self.readout(h * c)
