"""A module of one's own on a GPU: fitted, measured, kept and read there."""

from typing import Any

import pytest
import torch
from torch import nn

import rnnlens
from rnnlens import Adapter
from rnnlens.base.errors import RnnlensError

WORDS = ["<unk>", "a", "b", "c", "d", "e"]
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), 7)
        self.recurrence = nn.LSTM(7, 9, num_layers=2, batch_first=True)
        self.readout = nn.Linear(9, len(WORDS))

    def forward(self, words):
        return self.readout(self.recurrence(self.embedding(words))[0])


def batches(device):
    generator = torch.Generator().manual_seed(0)
    starts = [torch.randint(5, (8, 1), generator=generator) for _ in range(12)]
    rows = [(1 + (start + torch.arange(9)) % 5).to(device) for start in starts]
    return [(words[:, :-1], words[:, 1:]) for words in rows]  # square: 8 x 8


@pytest.mark.parametrize("probe", ["linear", "shared"])
def test_a_lens_on_a_gpu_says_what_one_on_the_cpu_says(probe, tmp_path):
    torch.manual_seed(0)
    here = LanguageModel()
    there = LanguageModel().cuda()
    there.load_state_dict(here.state_dict())
    asked: dict[str, Any] = {
        "semantic": "output,input",
        "probe": probe,
        "epochs": 200,
        "patience": 20,
    }
    a = rnnlens.fit(here, batches("cpu"), WORDS, **asked)
    b = rnnlens.fit(there, batches("cuda"), WORDS, **asked)
    for semantic in ("output", "input"):
        one, other = a("c d e a b", semantic), b("c d e a b", semantic)
        for kind in ("x", "l1", "h2", "y"):
            for mine, theirs in zip(one[kind], other[kind], strict=True):
                assert mine.divergence(theirs) < 0.01
    scores, others = a.evaluate(batches("cpu")[:3]), b.evaluate(batches("cuda")[:3])
    assert [s.kind for s in scores] == [s.kind for s in others]
    for score, beside in zip(scores, others, strict=True):
        assert beside.perplexity == pytest.approx(score.perplexity, rel=0.05)
        assert beside.unigram == pytest.approx(score.unigram, rel=1e-6)
    b.save(tmp_path / "run")
    kept = rnnlens.load(tmp_path / "run", model=there)
    assert kept("e d c")["h2"][2].divergence(b("e d c")["h2"][2]) < 1e-3


def test_a_batch_on_another_device_is_named():
    with pytest.raises(RnnlensError, match=r"the batch is on cpu and the module on cuda:0"):
        rnnlens.fit(LanguageModel().cuda(), batches("cpu"), WORDS)


@pytest.mark.parametrize("precision", ["highest", "high"])
def test_rounded_products_of_the_users_do_not_spoil_what_is_recomputed(precision):
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        torch.manual_seed(0)
        part = nn.LSTM(300, 300, num_layers=2).cuda()
        for weight in part.parameters():
            nn.init.normal_(weight, std=0.1)
        adapter = Adapter(part, debug=True)
        adapter.trace(torch.randn(25, 64, 300, device="cuda"))
        assert adapter.difference < 1e-5
        assert torch.get_float32_matmul_precision() == precision
    finally:
        torch.set_float32_matmul_precision(before)
