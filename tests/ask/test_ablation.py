"""Each state set to zero in turn: in one batch as one by one."""

import pytest
import torch
from tests.fixtures import WORDS
from torch import nn

from rnnlens.base.errors import RnnlensError
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
        ({"kinds": []}, "nothing to set to zero"),
        ({"at": 6}, "no word 6; the text has 6 words"),
        ({"kinds": "q7"}, "'q7' is no kind"),
    ):
        with pytest.raises(RnnlensError, match=told):
            grid.zeroed(**asked)
    with pytest.raises(RnnlensError, match="without edits"):
        formula(TEXT, edits=["h1@1=0"]).zeroed()
    with pytest.raises(RnnlensError, match="there is no kind 'y'"):
        grid.zeroed()["y"]
