"""Something else in the place of each state in turn: in one batch as one by one."""

import numpy as np
import pytest
import torch
from tests.ask.plain import Plain
from tests.fixtures import WORDS
from torch import nn

from rnnlens.base.draws import uniform
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.lens.fit import fit

TEXT = "the old dog sees a bird"


class Turned(nn.Module):
    """Reads both ways, so that later words have a part in what is said of earlier ones."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), 3)
        self.layer = nn.GRU(3, 4, batch_first=True, bidirectional=True)
        self.readout = nn.Linear(8, 5)

    def forward(self, x):
        return self.readout(self.layer(self.embedding(x))[0])


@pytest.fixture(scope="module")
def turned():
    torch.manual_seed(0)
    data = [(torch.randint(len(WORDS), (4, 6)), torch.randint(5, (4, 6))) for _ in range(3)]
    return fit(Turned(), data, list("abcde"), inputs=list(WORDS), epochs=1)


def one_by_one(lens, text, kind, step, at):
    edited = lens(text, edits=[f"{kind}@{step + 1}=0"]) - lens(text)
    return edited["y"][at]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["formula", "gru"])
def test_one_batch_gives_what_one_edit_after_the_other_gives(formula, formulas, run):
    lens = formula if run == "formula" else formulas[run]
    without = lens(TEXT).zeroed()
    assert without.kinds == tuple(kind.id for kind in lens.subject.model.kinds)
    assert without.values.shape == (6, len(without.kinds))
    for kind in without.kinds:
        for step in (0, 3, 5):
            expected = one_by_one(lens, TEXT, kind, step, 5)
            assert without[kind][step] == pytest.approx(expected, abs=1e-5)
    assert len(without.to_pandas()) == without.values.size


def test_what_is_read_later_has_no_part_in_it(formula):
    without = formula(TEXT).zeroed(["h1"], at=2)
    assert without.words == ("the", "old", "dog")
    assert without["h1"][1] == pytest.approx(one_by_one(formula, TEXT, "h1", 1, 2), abs=1e-5)


def test_users_modules_are_read_one_text_at_a_time(turned):
    without = turned(TEXT).zeroed(at=2)
    assert len(without.words) == 6
    assert without.values[4].max() > 0  # read backwards
    kind = without.kinds[0]
    assert without[kind][4] == pytest.approx(one_by_one(turned, TEXT, kind, 4, 2), abs=1e-5)


def test_what_there_is_not_is_refused(formula):
    grid = formula(TEXT)
    for asked, told in (
        ({"kinds": ["q7"]}, "'q7' is no kind"),
        ({"kinds": []}, "no state to take away"),
        ({"at": 6}, "no word 6; the text has 6 words"),
        ({"kinds": "q7"}, "'q7' is no kind"),
    ):
        with pytest.raises(RnnlensError, match=told):
            grid.zeroed(**asked)
    with pytest.raises(RnnlensError, match="without edits"):
        formula(TEXT, edits=["h1@1=0"]).zeroed()
    with pytest.raises(RnnlensError, match="there is no kind 'y'"):
        grid.zeroed()["y"]


OTHERS = ["a small bird sees the dogs .", "she said , `` now '' .", "the dog sees the old bird now",
          "very old dogs see a bird"]  # fmt: skip


def bits_apart(a, b):
    """Jensen-Shannon of two rows of logits, from its definition."""
    p, q = (np.exp(x - x.max()) / np.exp(x - x.max()).sum() for x in (a, b))
    middle = (p + q) / 2
    return sum((one * np.log2(one / middle)).sum() for one in (p, q)) / 2


@pytest.mark.parametrize(
    ("kind", "letter", "layer"), [("c2", "c", 1), ("h1", "h", 0), ("o2", "o", 1)]
)
def test_means_and_states_of_other_texts_are_those_of_plain_numpy(formula, kind, letter, layer):
    """Resampled states are read one by one, each in the place of one."""
    plain, index = Plain(formula), list(WORDS).index
    ids, elsewhere = [*map(index, TEXT.split())], []
    for text in OTHERS:
        elsewhere += plain.states([*map(index, text.split())], layer, letter)
    real = plain.logits(ids)[-1]
    for step in (0, 3, 5):
        every = [bits_apart(plain.logits(ids, (layer, letter, step, state))[-1], real)
                 for state in elsewhere]  # fmt: skip
        one = plain.logits(ids, (layer, letter, step, np.mean(elsewhere, 0)))[-1]
        mean = formula(TEXT).ablated([kind], by="mean", others=OTHERS)
        assert mean[kind][step] == pytest.approx(bits_apart(one, real), abs=1e-5)
        assert (mean.texts, mean.states, mean.draws) == (4, len(elsewhere), 0)
        drawn = formula(TEXT).ablated([kind], others=OTHERS, draws=100, seed=2)
        assert drawn.low is not None
        assert drawn.high is not None
        low, high = drawn.low[step, 0], drawn.high[step, 0]
        assert low <= drawn[kind][step] <= high
        wide = 1.984217 * np.std(every, ddof=1) / 10
        assert high - drawn[kind][step] == pytest.approx(wide, rel=0.5, abs=1e-7)
        assert drawn[kind][step] == pytest.approx(np.mean(every), abs=4 * wide + 1e-6)


def test_a_state_of_another_text_is_what_an_edit_puts_there(formula):
    """Drawn states are those that swapping edits would put there, and their mean is given."""
    other = "the dog sees the old bird now and then the dogs see a small bird near an old dog now ."
    drawn = formula(TEXT).ablated(["l2"], others=[other], draws=8, seed=5)
    assert drawn.states == len(other.split())
    every = [(formula(TEXT, edits=[f"l2@3=@{row + 1}:{other}"]) - formula(TEXT))["y"][5]
             for row in range(len(other.split()))]  # fmt: skip

    rows = (uniform(5, 8, 2, 1)[:, 0] * len(every)).astype(int)
    assert drawn["l2"][2] == pytest.approx(np.mean([every[row] for row in rows]), abs=1e-5)


def test_what_stands_in_for_a_state_is_said_and_seeds_count(formula):
    grid = formula(TEXT)
    once, again, other = (grid.ablated(["h1"], others=OTHERS, seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(once.values, again.values)
    assert (once.values != other.values).any()
    assert "set to 12 draws from 27 states of 4 other texts" in repr(once)
    assert "set to the mean of 27 states" in repr(grid.ablated(["h1"], by="mean", others=OTHERS))
    assert "set to zero" in repr(grid.zeroed(["h1"]))
    assert list(once.to_pandas().columns) == ["step", "word", "kind", "bits", "low", "high"]
    with pytest.raises(RnnlensError, match="the run's examples have 10 states beside"):
        grid.ablated(["h1"], by="mean")


def test_too_few_other_states_are_refused(formula):
    grid = formula(TEXT)
    for asked, told in (
        (
            {"others": ["the dog"]},
            "others= have 2 states beside this text's, and 20 are the fewest",
        ),
        ({"others": [TEXT, ""]}, "others= have 0 states"),
        ({"by": "mode"}, "by='mode' is no way to take a state away; give resampled, mean, zero"),
        ({"draws": 3}, "3 draws"),
        ({"seed": -1}, "the seed is -1"),
    ):
        with pytest.raises(RnnlensError, match=told) as refused:
            grid.ablated(**asked)
        assert "\n" not in str(refused.value)


class Exponential(nn.Module):
    def forward(self, x):
        return (4 * x).exp()


class Logarithm(nn.Module):
    """Takes the logarithm of what a submodule returns, of which zero and less have none."""

    def __init__(self):
        super().__init__()
        self.embedding, self.layer = nn.Embedding(len(WORDS), 3), nn.GRU(3, 4, batch_first=True)
        self.positive, self.after, self.readout = Exponential(), nn.Identity(), nn.Linear(4, 5)

    def forward(self, x):
        return self.readout(self.after(self.positive(self.layer(self.embedding(x))[0]).log()))


def test_kinds_without_which_others_are_no_numbers_are_left_out_with_a_word():
    torch.manual_seed(0)
    data = [(torch.randint(len(WORDS), (4, 6)), torch.randint(5, (4, 6))) for _ in range(3)]
    kinds = ["positive", "after"]
    lens = fit(Logarithm(), data, list("abcde"), inputs=list(WORDS), epochs=0, kinds=kinds)
    grid = lens(TEXT)
    with pytest.warns(RnnlensWarning, match="without some states of positive others become NaN"):
        without = grid.zeroed(["h1", "positive", "after"])
    assert np.isnan(without["positive"]).all()
    for kind in ("h1", "after"):
        assert np.array_equal(without[kind], grid.zeroed([kind])[kind])
    with pytest.raises(RnnlensError, match="the states of after are NaN or infinite"):
        grid.zeroed(["positive"])
    with pytest.warns(RnnlensWarning, match="what is used of positive is not measured"):
        scores = lens.evaluate(data, used=True)
    assert [score.kind for score in scores if score.used is None] == ["positive"]
