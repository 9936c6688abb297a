"""Each module of the table is read as plain torch reads it, or refused, or warned of."""

import math
import random
import re
import warnings
from typing import Any

import pytest
import torch
from tests.sampling import sampled
from tests.stranger_modules import MAKERS, Case, mean_loss

import rnnlens
from rnnlens.base.errors import RnnlensError, RnnlensWarning

_SAMPLE = (
    "lstm", "padded_in_front", "begun_with_a_mark", "teacher_forcing_half", "complex_states",
    "last_logits_in_evaluation", "prepare_that_reverses", "writes_into_its_input", "sigmoid_heads",
    "batch_first_forgotten", "dropout_always_on", "padded_behind_both_ways", "padded_by_prepare",
    "channels_before_timesteps", "each_of_heads_side_by_side", "a_shape_that_does_not_fit",
    "logits_of_each_against_the_rest", "a_list_of_timesteps", "pads_inside_of_forward",
    "lazy", "one_hot_targets", "labels_before_timesteps_as_many", "arrays_side_by_side",
)  # fmt: skip


def test_the_table_is_long():
    assert len(MAKERS) >= 60


@pytest.mark.parametrize("name", sampled(MAKERS, *_SAMPLE))
def test_a_module_is_read_as_torch_reads_it(name):
    torch.manual_seed(0)
    random.seed(0)  # by which one of them goes
    case = MAKERS[name]()
    _check(case)
    if case.remedy:
        _check(case.remedy())


def _check(case: Case) -> None:
    before = [_copied(inputs) for inputs, _ in case.data]
    lens, said = _fitted(case)
    for (inputs, _), old in zip(case.data, before, strict=True):
        assert all(map(torch.equal, _tensors(inputs), old)), "a batch was written into"
    if case.refused:
        assert lens is None
        return
    assert lens is not None
    strange = [line for line in said if not case.warned or not re.search(case.warned, line)]
    assert not strange, strange
    assert bool(case.warned) == bool(said)
    assert lens.subject.model.verified.startswith("verified: ")
    assert {*case.kinds} <= {*lens.kinds}
    if case.reads:
        _check_text(case, lens)
    _check_perplexity(case, lens)


def _fitted(case: Case) -> tuple[Any, list[str]]:
    """The lens of a case and the warnings; no lens where it is refused."""

    def fit() -> Any:
        return rnnlens.fit(case.module, case.data, case.labels, epochs=0, **case.options)

    if case.refused:
        with (
            warnings.catch_warnings(action="ignore"),  # of what was said before it
            pytest.raises(RnnlensError, match=case.refused) as refusal,
        ):
            fit()
        assert "\n" not in str(refusal.value)
        return None, []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lens = fit()
    ours = [str(w.message) for w in caught if issubclass(w.category, RnnlensWarning)]
    return lens, [line for line in ours if "worse" not in line]  # these modules are untrained


def _check_text(case: Case, lens: Any) -> None:
    """States and y of a typed text."""
    grid = lens(case.text)
    module, found = case.module.eval(), list[Any]()
    part = dict(module.named_modules()).get(case.part) if case.part else None
    hook = part.register_forward_hook(lambda _m, _a, out: found.append(out)) if part else None
    with torch.no_grad():
        output = module(*case.feeds(list(case.ids)))
    if hook:
        hook.remove()
    count = len(grid.words)
    if "random" not in case.warned:
        y = case.logits(output, count).float().softmax(-1).numpy()
        assert len(y) == count
        for row in range(count):
            assert abs(grid["y"][row].distribution() - y[row]).max() < 1e-4, row
    if part is None:
        return
    states = case.rows(found[0], count).float().numpy()
    for row in range(count):
        assert abs(grid[case.kind][row].vector() - states[row]).max() < 1e-4, row


def _check_perplexity(case: Case, lens: Any) -> None:
    """What the module is worth by itself."""
    if case.warned or not case.measured:
        return
    score = lens.evaluate(case.data[:2])[-1]
    own = score.perplexity / score.ratio
    total, count = 0.0, 0
    for inputs, targets in case.data[:2]:
        given = inputs if isinstance(inputs, tuple) else (inputs,)
        with torch.no_grad():
            output = case.module.eval()(*map(_clone, given))
        pairs = int((targets >= 0).sum())
        loss = (case.loss or mean_loss)(output, targets)
        total, count = total + float(loss) * pairs, count + pairs
    assert own == pytest.approx(math.exp(total / count), rel=1e-3)


def _clone(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value


def _tensors(inputs: Any) -> list[Any]:
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    flat = [t for one in given for t in (one if isinstance(one, tuple) else (one,))]
    return [t for t in flat if isinstance(t, torch.Tensor)]


def _copied(inputs: Any) -> list[Any]:
    return [t.clone() for t in _tensors(inputs)]


def test_an_error_of_the_modules_own_is_told_when_a_text_is_read():
    torch.manual_seed(0)
    lens, _ = _fitted(MAKERS["an_error_of_its_own_at_other_lengths"]())
    with pytest.raises(RnnlensError, match=r"SevenWords failed: ValueError: seven words") as told:
        lens("c d e a")
    assert "stranger_modules.py, line " in str(told.value)
    assert "it was given int64 (1, 4) of 1 to 5" in str(told.value)
    assert isinstance(told.value.__cause__, ValueError)
