"""What can be asked of a lens of a recurrent model of transformers, family by family."""

import sys
import warnings
from functools import wraps
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.adapter.transformers_models import WORDS, tiny

import rnnlens
from rnnlens.adapter.adapter import Adapter

pytest.importorskip("transformers", reason="transformers is not installed: make check installs it")
pytestmark = pytest.mark.filterwarnings("ignore")
NAMES = [f"w{k}" for k in range(WORDS)]
TEXT = "w1 w2 w3 w4 w5 w6"
FAMILIES = {
    "MambaForCausalLM": "S1", "Qwen3NextForCausalLM": "S1", "RwkvForCausalLM": "c1",
    "xLSTMForCausalLM": "S1", "RecurrentGemmaForCausalLM": "c1",
}  # fmt: skip


@pytest.fixture(
    scope="module",
    params=[name if name.startswith("Mamba") else pytest.param(name, marks=pytest.mark.release)
            for name in FAMILIES],
)  # fmt: skip
def fitted(request):
    """The module, a lens of it, and the id of its first memory."""
    if request.param == "xLSTMForCausalLM" and find_spec("xlstm"):
        pytest.skip("transformers takes the package xlstm in place of its own lines")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = tiny(request.param)
        with torch.no_grad():  # as small as they are made
            for weights in module.parameters():
                weights.div_(4 if weights.dim() > 1 else 1)
        rows = torch.randint(0, WORDS, (6, 3, 9), generator=torch.Generator().manual_seed(0))
        batches = [(one[:, :-1], one[:, 1:]) for one in rows]
        lens = rnnlens.fit(module, batches, NAMES, epochs=0)
    return module, lens, FAMILIES[request.param]


def test_a_text_is_drawn_followed_edited_and_split(fitted):
    _, lens, memory = fitted
    grid = lens(TEXT)
    read = "r" + memory[1:]
    assert len(grid) == 6
    assert grid.follow("w3", against=["w4"])[memory].shape == (6,)
    assert grid.turns().rows
    edited = lens(TEXT, edits=[f"{memory}@3=0"])
    assert not edited[memory][2].vector().any()
    assert np.array_equal(edited[memory][1].vector(), grid[memory][1].vector())
    for kind in {memory, read} & {*lens.kinds}:  # an RG-LRU's memory is what is read
        written = grid[kind][4].written_by("w3", against="w4")
        assert written.without is not None
        assert np.isfinite(written.stored).all()
        assert len(written.stored) == len(grid)
    assert grid[memory][4].memory().norm is not None
    assert (grid[memory][4].half_life() > 0).any()
    if memory.startswith("S"):
        assert grid[memory][4].asked("w3").labels
    else:
        with pytest.raises(rnnlens.RnnlensError, match="only a memory that is a matrix has"):
            grid[memory][4].asked("w3")


def test_texts_are_compared_and_shown(fitted, tmp_path):
    _, lens, memory = fitted
    both = lens.compare("w1 w2 {w3|w7} w4")
    assert float(np.nanmax(both[memory])) >= 0
    shown, _ = lens(TEXT)._repr_mimebundle_()
    assert "text/html" in shown
    for ending in ("svg", "html"):
        assert lens(TEXT).save(tmp_path / f"grid.{ending}").stat().st_size > 1000
    with pytest.raises(rnnlens.RnnlensError, match="cannot be computed outside of Python"):
        lens.publish(tmp_path / "page.html")


def test_a_run_of_it_is_saved_loaded_indexed_and_searched(fitted, tmp_path):
    module, lens, memory = fitted
    lens.save(tmp_path / "run")
    with pytest.raises(rnnlens.RnnlensError, match=r"give it: rnnlens\.load"):
        rnnlens.load(tmp_path / "run")(TEXT)
    again = rnnlens.load(tmp_path / "run", model=module)
    assert np.array_equal(again(TEXT)[memory][3].vector(), lens(TEXT)[memory][3].vector())
    rows = torch.randint(0, WORDS, (8, 6), generator=torch.Generator().manual_seed(1)).tolist()
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(" ".join(NAMES[k] for k in row) + "\n" for row in rows))
    rnnlens.index(again, corpus, states="int8", state_kinds=["o1"])
    found = again.find("word = w3 count")
    assert found.table.to_pylist()[0]["count"] == sum(row.count(3) for row in rows)
    assert len(again.find(f"{memory} entropy >= 0", limit=None).rows) == 48
    near = again(TEXT)["o1"][3].similar()
    assert all(a.distance <= b.distance for a, b in pairwise(near))


def test_masked_batches_have_the_states_of_their_sequences_alone():
    module, ids = tiny("MambaForCausalLM"), torch.arange(2, 10)
    adapter = Adapter(module)
    alone = adapter.trace({"input_ids": ids[None]})
    for padded, here in ((F.pad(ids, (3, 0)), slice(3, None)), (F.pad(ids, (0, 3)), slice(0, 8))):
        both = torch.stack([padded, torch.arange(11) + 5])
        mask = torch.ones_like(both)
        mask[0] = padded > 0
        trace = adapter.trace({"input_ids": both, "attention_mask": mask})
        for kind in ("S1", "r1", "S2"):
            torch.testing.assert_close(trace.states[kind][here, 0], alone.states[kind][:, 0])
        real = module(both, attention_mask=mask, use_cache=False).logits.transpose(0, 1)
        torch.testing.assert_close(trace.logits, real)


def test_a_scan_in_anothers_place_is_refused_where_it_reads_something_else(monkeypatch):
    module = tiny("MambaForCausalLM")
    around = sys.modules[type(module).__module__]
    scan = around.mamba_selective_scan

    @wraps(scan)
    def other(*args, **kwargs):
        return 1.01 * scan(*args, **kwargs)

    monkeypatch.setattr(around, "mamba_selective_scan", other)
    with pytest.raises(rnnlens.RnnlensError, match="differs from its recomputed output by"):
        Adapter(module).trace(torch.arange(2, 10)[None])


def test_a_tokenizer_with_fewer_pieces_than_batches_have_is_refused():
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {name: k for k, name in enumerate(NAMES[:30])}
    pieces = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="w0"))
    pieces.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    rows = torch.randint(0, WORDS, (6, 3, 9), generator=torch.Generator().manual_seed(0))
    most = int(rows[:-1, :, :-1].max())
    batches = [(one[:, :-1], one[:, 1:]) for one in rows]
    with pytest.raises(rnnlens.RnnlensError, match=f"the number {most} and the .* 0 to 29.* one"):
        rnnlens.fit(tiny("MambaForCausalLM"), batches, tokenizer=pieces, epochs=0)
