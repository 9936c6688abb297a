"""Named submodules are kinds like others: their outputs are edited, pushed, set to zero, used and
told by the words that wrote them.
"""

from typing import Any

import pytest
import torch
from tests.stranger_modules import MAKERS, Seq2seq

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
