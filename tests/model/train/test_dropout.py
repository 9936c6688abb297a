"""Masks: what they drop, what they keep, and that they depend on the seed alone."""

import pytest
import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.model.train.dropout import Dropout, DropoutConfig

T, B, H, V = 5, 200, 40, 300
NAMES = ["dropout_words", "dropout_input", "dropout_hidden", "dropout_output", "dropout_weight"]


def dropout(share: float = 0.3, seed: int = 1, columns: slice | None = None) -> Dropout:
    made = Dropout(DropoutConfig(*[share] * 5), torch.device("cpu"))
    made.begin(seed, columns or slice(None), B)
    return made


def inputs() -> Tensor:
    return torch.randint(V, (T, B), generator=torch.Generator().manual_seed(0))


def test_share_zero_hands_back_what_it_was_given():
    x, w = torch.ones(T, B, H), torch.ones(H, H)
    nothing = dropout(share=0)
    assert nothing.words(x, inputs(), V) is x
    assert nothing.locked(x, 0) is x
    assert nothing.weight(w) is w


def test_locked_masks_are_the_same_at_every_timestep_and_differ_between_sentences():
    out = dropout().locked(torch.ones(T, B, H), 0.3)
    assert bool((out == out[0]).all())
    assert not torch.equal(out[0, 0], out[0, 1])


def test_a_dropped_word_is_dropped_wherever_it_stands():
    words = inputs()
    out = dropout().words(torch.ones(T, B, H), words, V)
    dropped = {int(word) for word in words[out[..., 0] == 0]}
    kept = {int(word) for word in words[out[..., 0] != 0]}
    assert dropped
    assert kept
    assert not dropped & kept
    assert bool((out == out[..., :1]).all())


def test_weight_drop_drops_single_weights():
    zero = dropout().weight(torch.ones(4 * H, H)) == 0
    assert not bool(zero.all(0).any() or zero.all(1).any())
    assert zero.float().mean().item() == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_the_expected_value_is_kept(share):
    x = torch.ones(T, B, H)
    for out in (
        dropout(share).locked(x, share),
        dropout(share).weight(torch.ones(V, H)),
        dropout(share).words(torch.ones(1, V * 100, 1), torch.arange(V * 100)[None], V * 100),
    ):
        assert out.mean().item() == pytest.approx(1, abs=4 * (share / (1 - share) / 8000) ** 0.5)
        assert out.unique().tolist() == pytest.approx([0.0, 1 / (1 - share)])


def test_same_seed_same_masks_other_seed_others():
    x = torch.ones(1, B, H)
    first, again, other = (dropout(seed=seed).locked(x, 0.3) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_masks_of_one_step_differ_from_each_other():
    x, made = torch.ones(1, B, H), dropout()
    assert not torch.equal(made.locked(x, 0.3), made.locked(x, 0.3))


def test_masks_do_not_depend_on_torchs_global_generator():
    x = torch.ones(1, B, H)
    first = dropout().locked(x, 0.3)
    torch.rand(1)
    assert torch.equal(dropout().locked(x, 0.3), first)


@pytest.mark.parametrize("columns", [slice(0, 77), slice(77, B), slice(0, 0)])
def test_a_shared_batch_is_masked_like_its_part_of_the_whole(columns):
    x, w, words = torch.rand(T, B, H), torch.rand(H, H), inputs()
    whole, part = dropout(), dropout(columns=columns)
    for _ in range(2):
        expected = whole.locked(x, 0.3)[:, columns]
        assert torch.equal(part.locked(x[:, columns], 0.3), expected)
        assert torch.equal(part.weight(w), whole.weight(w))
        shared = part.words(x[:, columns], words[:, columns], V)
        assert torch.equal(shared, whole.words(x, words, V)[:, columns])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_shares_outside_zero_to_one_are_refused_by_their_flag(name, share):
    with pytest.raises(RnnlensError, match=f"--{name.replace('_', '-')} {share}"):
        DropoutConfig(**{name: share}).check()
