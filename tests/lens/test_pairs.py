"""Encoder-decoders: source and target in one grid, each side as plain torch has it."""

import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.asks import grid_json
from tests.corpus.pieces.test_tokenizer import GOLDEN, piece_text
from tests.letters import trained
from tests.pairs import (
    SOURCE,
    TARGET,
    Bahdanau,
    Heads,
    Looking,
    Luong,
    Masked,
    Packed,
    Plain,
    Shared,
    V,
    WholeTarget,
    pairs,
)
from tests.sampling import sampled
from torch import Tensor, nn

import rnnlens
from rnnlens.adapter import pair_side
from rnnlens.adapter.source import padding_of
from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.base.tensors import read_sealed, write_tensors
from rnnlens.draw.terminal import attention_lines
from rnnlens.labels.sets import LabelSet
from rnnlens.reading.encoding import encode
from rnnlens.run.run_files import ExamplesHeader

TEXT = "ka ku ki => u a"
READ, WRITTEN = [1, 5, 3], [1, 7, 3]  # the numbers of its words, with <s>


@dataclass(frozen=True)
class Case:
    """A module, and what plain torch is given and gives for a pair."""

    module: nn.Module
    data: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    source: Any = field(default_factory=lambda: list(SOURCE))
    text: str = TEXT
    feeds: Callable[[list[int], list[int]], Any] = lambda s, t: (
        torch.tensor([s]), torch.tensor([t]),
    )  # fmt: skip
    parts: tuple[tuple[str, str, Callable[[Any], Tensor]], ...] = (
        ("encoder", "encoder.h1", lambda out: out[0][0]),
        ("decoder", "decoder.h1", lambda out: out[0][0]),
    )
    logits: Callable[[Any], Tensor] = lambda out: out[0]
    attention: str = ""
    read: list[int] = field(default_factory=lambda: list(READ))
    #: Whether padding behind a source is not read: backwards, it is read first.
    same: bool = True


def _time_first(module: nn.Module, **more: Any) -> Case:
    return Case(
        module, pairs(False), feeds=lambda s, t: (torch.tensor([s]).T, torch.tensor([t]).T),
        parts=(("encoder", "encoder.h1", lambda out: out[0][:, 0]),
               ("decoder", "decoder.h1", lambda out: out[0][:, 0])),
        logits=lambda out: out[:, 0], **more,
    )  # fmt: skip


def _bahdanau() -> Case:
    return Case(
        Bahdanau(), pairs(),
        parts=(("encoder", "encoder.j1", lambda out: out[0][0]),
               ("decoder", "decoder.h1", lambda out: out)),
        attention="attention", same=False,
    )  # fmt: skip


def _masked() -> Case:
    def fed(source: Tensor, target: Tensor) -> dict[str, Tensor]:
        return {"src": source, "src_mask": (source != 0).float(), "trg": target,
                "trg_padding": target == 0}  # fmt: skip

    data = [(fed(*inputs), wanted) for inputs, wanted in pairs()]
    return Case(
        Masked(), data, feeds=lambda s, t: fed(torch.tensor([s]), torch.tensor([t])),
        parts=_bahdanau().parts, logits=lambda out: out["logits"][0], attention="attention",
        same=False,
    )  # fmt: skip


def _packed() -> Case:
    data = [((s, (s != 0).sum(1), t), wanted) for (s, t), wanted in pairs()]
    return Case(
        Packed(), data,
        feeds=lambda s, t: (torch.tensor([s]), torch.tensor([len(s)]), torch.tensor([t])),
        parts=(("encoder", "encoder.h1", lambda out: out[0].data),
               ("decoder", "decoder.h1", lambda out: out[0][0])),
    )  # fmt: skip


def _shared() -> Case:
    data = [((torch.where(s > 0, s + 2, 0), t), wanted) for (s, t), wanted in pairs()]
    return Case(
        Shared(), data, source=list(TARGET), text="a u i => u a", read=[3, 7, 5]
    )  # fmt: skip


def _whole_target() -> Case:
    """A forward that leaves the last word out: what the refusal tells to do, done."""
    return Case(
        WholeTarget(), pairs(),
        {"feed": lambda module, batch: module(batch[0], F.pad(batch[1], (0, 1)))},
        feeds=lambda s, t: (torch.tensor([s]), torch.tensor([[*t, 0]])),
    )  # fmt: skip


CASES: dict[str, Callable[[], Case]] = {
    "plain": lambda: Case(Plain(), pairs()),
    "plain_lstm": lambda: Case(Plain(cell=nn.LSTM), pairs()),
    "plain_both_ways": lambda: Case(
        Plain(both=True), pairs(), same=False,
        parts=(("encoder", "encoder.j1", lambda out: out[0][0]),
               ("decoder", "decoder.h1", lambda out: out[0][0])),
    ),
    "plain_time_first": lambda: _time_first(Plain(False)),
    "plain_not_ragged": lambda: Case(Plain(), pairs(ragged=False)),
    "luong": lambda: _time_first(Luong(), attention="forward"),
    "bahdanau": _bahdanau,
    "masked": _masked,
    "packed": _packed,
    "shared": _shared,
    "whole_target": _whole_target,
    "looking_ahead": lambda: Case(
        Looking(), pairs(), same=False,
        parts=(("encoder", "encoder.h1", lambda out: out[0][0]),
               ("decoder", "decoder.h1", lambda out: out[0][0])),
    ),
    "prepared": lambda: Case(
        Plain(), pairs(),
        {"prepare": lambda s, t: (torch.tensor([s]), torch.tensor([t]))},
    ),
}  # fmt: skip


def _fitted(case: Case, **more: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the module predicts its targets worse", RnnlensWarning)
        options = {"source": case.source, "epochs": 0, **case.options, **more}
        return rnnlens.fit(case.module, case.data, list(TARGET), **options)


@pytest.fixture(scope="module")
def lens() -> Any:
    torch.manual_seed(0)
    case = _bahdanau()
    return _fitted(replace(case, module=trained(case.module, case.data)), epochs=4)


@pytest.mark.parametrize("name", sampled(CASES, "luong", "packed"))
def test_a_pair_is_read_as_torch_reads_it(name):
    torch.manual_seed(0)
    case = CASES[name]()
    lens = _fitted(case)
    grid = lens(case.text)
    assert grid.source == case.text.split()[:3]
    assert grid.target == ["<s>", "u", "a"]
    said, heard = _plainly(case)
    for _, kind, _ in case.parts:
        assert np.abs(grid.to_numpy()[kind] - heard[kind]).max() < 1e-5, kind
        assert np.abs(grid[kind][1].vector() - heard[kind][1]).max() < 1e-5, kind
    assert np.abs(np.stack([s.distribution() for s in grid["y"]]) - said).max() < 1e-5
    assert lens.subject.model.attention_name == case.attention
    _check_perplexity(case, lens)
    verified = lens.subject.model.verified
    assert "words of a source moves the encoder in its row and the decoder" in verified
    assert ("a pair has the states that it has in a batch" in verified) is case.same
    assert ("On trust: pairs, whose states are not" in verified) is not case.same


def _plainly(case: Case) -> tuple[Any, dict[str, Any]]:
    """What the module says of each label, and states, by plain torch."""
    module, found = case.module.eval(), dict[str, list[Any]]()
    hooks = [
        module.get_submodule(part).register_forward_hook(
            lambda _m, _a, out, kind=kind: found.setdefault(kind, []).append(out)
        )
        for part, kind, _ in case.parts
    ]
    fed = case.feeds(case.read, WRITTEN)
    with torch.no_grad():
        output = module(**fed) if isinstance(fed, dict) else module(*fed)
    for hook in hooks:
        hook.remove()
    states = {kind: torch.cat([rows(out) for out in found[kind]]).numpy()
              for _, kind, rows in case.parts}  # fmt: skip
    return case.logits(output).softmax(-1).numpy(), states


def _check_perplexity(case: Case, lens: Any) -> None:
    score = lens.evaluate(case.data[:2])[-1]
    total, count = 0.0, 0
    for inputs, wanted in case.data[:2]:
        with torch.no_grad():
            feed = case.options.get("feed")
            if feed:
                output = feed(case.module, inputs)
            else:
                named = isinstance(inputs, dict)
                output = case.module(**inputs) if named else case.module(*inputs)
        logits = output["logits"] if isinstance(output, dict) else output
        total += float(F.cross_entropy(logits.reshape(-1, V), wanted.flatten(), reduction="sum"))
        count += int((wanted >= 0).sum())
    assert score.perplexity / score.ratio == pytest.approx(math.exp(total / count), rel=1e-3)


def test_attention_is_the_modules(lens):
    heard = []
    module = lens.subject.model.adapter.module
    hook = module.attention.register_forward_hook(lambda _m, _a, out: heard.append(out[0]))
    with torch.no_grad():
        module(torch.tensor([READ]), torch.tensor([WRITTEN]))
    hook.remove()
    grid = lens(TEXT)
    assert np.abs(grid.attention - torch.stack(heard).numpy()).max() < 1e-6
    (pair,) = grid.json["pairs"]
    assert (pair["source"], pair["attention"], pair["generated"]) == (3, "attention", False)
    assert {c for c in pair["columns"] if c.startswith("decoder") or c == "y"} == set()
    for row, links in enumerate(pair["links"]):
        assert [w for _, w in links] == sorted((w for _, w in links), reverse=True)
        assert dict(links) == pytest.approx(dict(enumerate(grid.attention[row])), abs=1e-4)


def test_a_state_of_one_side_has_none_on_the_other(lens):
    grid = lens(TEXT)
    columns = [column["id"] for column in grid.json["columns"]]
    for row, states in enumerate(grid.json["rows"]):
        there = {column for column, state in zip(columns, states, strict=True) if state}
        of_source = {c for c in columns if c.startswith(("encoder", "x"))}
        assert there == (of_source if row < 3 else {*columns} - of_source)
    for bad in ({"edits": ["decoder.h1@1=0"]}, {"edits": ["encoder.h1@4=0"]}):
        with pytest.raises(RnnlensError, match=r"has no state in row .* choose one of the other"):
            lens(TEXT, **bad)


@pytest.mark.parametrize("probe", ["linear", pytest.param("shared", marks=pytest.mark.release)])
def test_the_end_of_targets_is_nothing_that_a_source_says(lens, probe):
    if probe == "shared":
        lens = _fitted(Case(Plain(), pairs()), epochs=1, probe=probe)
    grid, probes = lens(TEXT), lens.subject.probes
    for state in (*grid["encoder.h1"], *grid["x"]):
        assert state.probability("</s>") == 0
        logits = probes.logits(state.kind, torch.from_numpy(state.vector()))
        p = logits.double().softmax(-1).numpy()
        others = p.copy()
        others[TARGET.index("</s>")] = 0
        assert np.abs(state.distribution() - others / others.sum()).max() < 1e-6
        assert state.top(1)[0][0] == state._drawn["top"][0][0]
    assert all(state.probability("</s>") > 0 for state in grid["decoder.h1"])


def test_an_edit_of_the_source_reaches_the_target(lens):
    plain, edited = lens(TEXT), lens(TEXT, edits=["encoder.h1@1=0"])
    bits = (edited - plain)["y"]
    assert np.isnan(bits[:3]).all()
    assert (bits[3:] > 0).all()
    change = (edited - plain)["encoder.h1"]
    assert change[0] > 0
    assert np.isnan(change[3:]).all()
    assert not np.allclose(edited.attention, plain.attention)


def test_a_target_is_written_greedily(lens):
    module = lens.subject.model.adapter.module
    written = [1]
    while len(written) <= 60:
        with torch.no_grad():
            label = int(module(torch.tensor([READ]), torch.tensor([written]))[0, -1].argmax())
        if label == 2:
            break
        written.append(label)
    for text in ("ka ku ki", "ka ku ki =>", "ka ku ki =>  "):
        grid = lens(text)
        assert grid.generated
        assert grid.target == [TARGET[label] for label in written]
    old = grid
    for number in range(140):  # more than words are remembered of
        lens.subject.session.text.words(f"ka {number} => a")
    assert old.generated
    assert old.json["pairs"][0]["generated"]
    assert not lens("ka ku ki", target="u a").generated
    assert not lens.subject.session.text.generated(" => ")
    assert lens("ka ku ki", target="u a").text == TEXT


@pytest.mark.parametrize("kind", ["y", "decoder.h1", "encoder.h1"])
def test_written_by_words_of_both_sides(lens, kind):
    grid = lens(TEXT)
    written = grid[kind][-1].written_by(stand_in="left_out")
    assert written.words == ("ka", "ku", "ki", "<s>", "u", "a")
    assert np.isnan(written.without[3])  # nothing else begins a target
    assert "not known" in written.note
    assert written.path is None
    shorter = lens("ka ki => u a")[kind][-1]
    logits = np.log(np.maximum(shorter.distribution(), 1e-300))  # of an end, never
    ours, theirs = (TARGET.index(some[0]) for some in (written.labels, written.against))
    left = written.difference - (logits[ours] - logits[theirs])
    assert written.without[1] == pytest.approx(left, abs=1e-4)
    if kind == "encoder.h1":
        assert np.allclose(written.without[4:], 0)
    drawn = grid[kind][-1].written_by()
    assert drawn.stand_in == "model"
    assert all({*words} <= {*SOURCE} for words in drawn.drawn[:3])
    assert drawn.drawn[3] == ()


def test_two_pairs_are_compared_side_by_side(lens):
    two = rnnlens.compare(lens, "ka {ku|ke} ki => {u|e} a")
    assert two.words == ("ka", "ke", "ki", "<s>", "e", "a")
    assert (two["y"][3:] > 0).all()
    assert np.isnan(two["y"][:3]).all()
    assert two["encoder.h1"][1] > 0
    assert len(two.json["pairs"]) == 2
    again = lens("ka ku ki => u a") - lens("ka ke ki => e a")
    assert np.allclose(two.values, again.values, equal_nan=True)


def test_other_questions_know_the_sides(lens):
    grid = lens(TEXT)
    followed = grid.follow("a")
    assert np.isnan(followed["y"][:3]).all()
    assert (followed["y"][3:] > 0).all()
    turns = grid.turns()
    assert turns.rows[0]["surprisal"] is None
    assert turns.rows[3]["surprisal"] is not None
    zeroed = grid.zeroed(["encoder.h1", "decoder.h1"])
    assert (zeroed["encoder.h1"][:3] > 0).all()
    assert np.isnan(zeroed["encoder.h1"][3:]).all()
    assert grid.decision("a").turned.keys() == {*grid.kinds}
    assert len(grid.continuation(2).words) == 2
    assert {*grid.to_pandas()["kind"][:3]} <= {*grid.kinds}


def test_a_run_keeps_pairs(lens, tmp_path):
    lens.save(tmp_path / "run")
    text = lens.examples()[0]
    again = rnnlens.load(tmp_path / "run")
    grid, kept = lens(text), again(text)  # without the module's code
    assert kept.json["pairs"] == grid.json["pairs"]
    assert kept.json["rows"] == grid.json["rows"]
    whole = rnnlens.load(tmp_path / "run", model=lens.subject.model.adapter.module)
    assert whole(TEXT).json["rows"] == lens(TEXT).json["rows"]
    assert whole("ka ku ki").target == lens("ka ku ki").target


SPOILT: tuple[tuple[str, Any], ...] = (
    ("kinds", ["nothing"]), ("kinds", []), ("names", ["a"]), ("names", [3]), ("counts", [-1]),
    ("fed", [{"role": "source"}]), ("fed", [{"role": "evil"}]), ("fed", []), ("more", 1),
    ("attention", 3), ("pad", -1), ("path", None), ("end", "x"),
)  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SPOILT)
def test_a_damaged_source_is_refused_in_one_line(lens, tmp_path_factory, name, value):
    path = tmp_path_factory.getbasetemp() / "spoilt"
    if not path.exists():
        lens.save(path)
    file = path / "model.json"
    text = file.read_text()
    record = json.loads(text)
    try:
        file.write_text(json.dumps({**record, "source": {**record["source"], name: value}}))
        with pytest.raises(RnnlensError) as refusal:
            rnnlens.load(path)(lens.examples()[0])
        assert "\n" not in str(refusal.value)
    finally:
        file.write_text(text)


def test_a_kept_pair_that_is_damaged_is_refused():
    weights = torch.tensor([[0.5, 0.3, 0.2], [1.0, 0.0, 0.0]])
    pair_side.check_kept({"attention": weights}, 3, 2)
    square, wide = weights[:, :2] + 0.25, torch.cat([weights, weights], 1)
    spoilt = (weights.double(), weights * 2, weights[0], -weights, weights / 0, weights / 2,
              weights.T.contiguous(), square, wide, weights * 0, weights[:1])  # fmt: skip
    for bad in spoilt:
        with pytest.raises(ValueError, match="not such as a pair has"):
            pair_side.check_kept({"attention": bad}, 3, 2)
    with pytest.raises(ValueError, match="not such as a pair has"):
        pair_side.check_kept({"inputs": weights}, 3, 2)


def test_a_stranger_s_attention_that_does_not_fit_its_pair_is_refused_in_one_line(lens, tmp_path):
    lens.save(tmp_path / "run")
    file = tmp_path / "run/examples.safetensors"
    tensors, header = read_sealed(file, ExamplesHeader)
    name = next(name for name in tensors if name.endswith("attention"))
    wrong = torch.full(tensors[name].shape[::-1], 1 / len(tensors[name]))
    assert wrong.shape != tensors[name].shape
    write_tensors(file, {**tensors, name: wrong}, header)
    with pytest.raises(RnnlensError, match="not such as a pair has") as refusal:
        rnnlens.load(tmp_path / "run")(lens.examples()[0])
    assert "\n" not in str(refusal.value)


def test_a_row_of_a_batch_is_a_text(lens):
    (batch, *_) = pairs()
    grid = lens.grid(batch, 2)
    source, target = batch[0][0][2], batch[0][1][2]
    assert grid.source == [SOURCE[n] for n in source.tolist() if n]
    assert grid.target == [TARGET[n] for n in target.tolist() if n]


BAD = {
    "=> u a": "no source before",
    "ka => u => a": "=> twice",
    "ka xyz => u": "no word 'xyz'",
    "ka => xyz": "no word 'xyz'",
}


@pytest.mark.parametrize("text", BAD)
def test_bad_pairs_are_refused_in_one_line(lens, text):
    with pytest.raises(RnnlensError, match=BAD[text]) as refusal:
        lens(text)
    assert "\n" not in str(refusal.value)


def test_a_sign_can_be_a_word(lens):
    side = lens.subject.session.text
    with pytest.raises(RnnlensError, match="no word '=>'"):
        side.numbers(r"ka \=> => u", side.words(r"ka \=> => u"))
    assert side.words(r"ka \=> => u") == ("ka", "=>", "<s>", "u")


def test_what_cannot_be_written_says_why():
    torch.manual_seed(0)
    lens = _fitted(CASES["looking_ahead"]())
    with pytest.raises(RnnlensError, match=r"no target is given, .* words behind it; write source"):
        lens("ka ku")
    lens("ka ku => u")
    with pytest.raises(RnnlensError, match="reads a source beside its target, by code of its own"):
        lens.publish("never.html")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        ({"attention": "readout"}, "'readout', in which no weights over the source .* attention"),
        ({"attention": "nothing"}, "no submodule called 'nothing'"),
        ({"attention": 3}, "attention= is int"),
        ({"source": SOURCE[:4]}, "source= names 4 words and a batch has number 5"),
        ({"source": "abc"}, "source= is str"),
        ({"source": None, "attention": "attention"}, "attention= is given and no source"),
    ],
)
def test_bad_options_are_refused_in_one_line(options, wrong):
    torch.manual_seed(0)
    with pytest.raises(RnnlensError, match=wrong) as refusal:
        _fitted(_bahdanau(), **options)
    assert "\n" not in str(refusal.value)


def test_a_target_that_is_left_out_by_the_module_says_what_to_give():
    data = [((s, F.pad(t, (0, 1))), wanted) for (s, t), wanted in pairs()]
    with pytest.raises(RnnlensError, match=r"one word more than there are targets.* feed=lambda"):
        _fitted(Case(WholeTarget(), data))


def test_a_language_model_has_no_source():
    from tests.letters import WORDS, LanguageModel, batches

    with pytest.raises(RnnlensError, match="source= names the words of a source, and no kind"):
        rnnlens.fit(LanguageModel(), batches(), WORDS, source=WORDS, epochs=0)
    with pytest.raises(RnnlensError, match="no source; leave target= out"):
        rnnlens.load("english-news")("a text", target="another")


def _by_hand(module: Heads, source: list[int], target: list[int]) -> Any:
    """The weights of each head, (heads, T, S), in plain torch."""
    with torch.no_grad():
        words = module.encoder(module.source(torch.tensor([source])))[0]
        states = module.decoder(module.target(torch.tensor([target])))[0]
        if module.how == "torch":
            made = module.attention(states, words, words, average_attn_weights=False)
            return made[1][0].numpy()
        q, k = (one.unflatten(-1, (module.heads, -1)) for one in (states, words))
        scale = q.shape[-1] ** -0.5 if module.how == "products" else 1
        scores = torch.einsum("bthd,bshd->bhts", q, k) * scale
        return scores.softmax(-1)[0].numpy()


def _of_heads(how: str) -> tuple[Heads, rnnlens.Lens]:
    torch.manual_seed(0)
    module = Heads(how, 3)
    with warnings.catch_warnings(action="ignore", category=RnnlensWarning):  # untrained
        return module, rnnlens.fit(module, pairs(), TARGET, source=SOURCE, epochs=0)


@pytest.mark.parametrize(
    "how", sampled(("torch", "products", "steps", "before"), "torch", "before")
)
def test_each_head_of_an_attention_is_the_modules(how, tmp_path):
    module, lens = _of_heads(how)
    for text, read, written in ((TEXT, READ, WRITTEN), ("ka ku => u", [1, 5], [1, 7])):
        heads = lens(text).attention_heads
        mean = lens(text).attention
        assert heads is not None
        assert mean is not None
        assert np.abs(heads - _by_hand(module, read, written)).max() < 1e-6, "as many as words"
        assert np.abs(mean - heads.mean(0)).max() < 1e-9
    assert "of each of 3 heads are not negative and sum to 1" in lens.subject.model.verified
    lens.save(tmp_path / "run")
    kept = rnnlens.load(tmp_path / "run")
    example = kept.examples()[0]
    again, before = (one(example).attention_heads for one in (kept, lens))
    assert again is not None
    assert before is not None
    assert np.abs(again - before).max() < 1e-6


def test_one_head_or_their_mean_is_told():
    _, lens = _of_heads("torch")
    grid = lens(TEXT)
    (pair,) = grid_json(lens, TEXT)["pairs"]
    assert [len(one) for one in pair["heads"]] == [3, 3, 3]
    for head in (1, 3):
        at, weight = pair["heads"][head - 1][2][0]
        assert grid.attention_heads is not None
        row = grid.attention_heads[head - 1, 2]
        assert (at, weight) == (row.argmax(), pytest.approx(row.max(), abs=1e-4))
    mean, second = (attention_lines(grid_json(lens, TEXT), head) for head in (0, 2))
    assert "(attention, the mean of 3 heads) over 3 words of the source, no cause" in mean[0]
    assert "(attention, head 2 of 3)" in second[0]
    assert mean[1:] != second[1:]
    with pytest.raises(RnnlensError, match="head 4: the attention has 3; give 1 to 3, or 0"):
        attention_lines(grid_json(lens, TEXT), 4)
    with pytest.raises(RnnlensError, match="head -1: give the number of a head"):
        grid.figure(head=-1)


def test_heads_that_two_ways_fit_are_not_drawn():
    """Targets of as many words as there are heads do not tell which axis is which."""
    torch.manual_seed(0)
    module = Heads("before", 3)
    some = [((s, t[:, :3]), w[:, :3]) for (s, t), w in pairs(ragged=False)]
    with warnings.catch_warnings(action="ignore", category=RnnlensWarning):
        lens = rnnlens.fit(module, some, TARGET, source=SOURCE, epochs=0)
    assert lens("ka ku ki => u a").attention is None


class _Pieces(nn.Module):
    """One tokenizer for both sides."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Embedding(count, 5), nn.Linear(6, count)
        self.encoder, self.decoder = nn.GRU(5, 6, batch_first=True), nn.GRU(5, 6, batch_first=True)

    def forward(self, source: Tensor, target: Tensor) -> Any:
        last = self.encoder(self.embedding(source))[1]
        return self.readout(self.decoder(self.embedding(target), last)[0])


def test_one_tokenizer_splits_both_sides_of_a_pair(tmp_path):
    file = tmp_path / "tokenizer.json"
    file.write_text(json.dumps(GOLDEN["llama"]["tokenizer"]), encoding="utf-8")
    text, data = piece_text("llama"), []
    some = [("the words of a state", "what it says next"), ("a kind of states", "a column")] * 6
    for sides in some:
        source, target = (torch.tensor([text.encode(one)]) for one in sides)
        target = torch.cat([torch.tensor([[1]]), target, torch.tensor([[2]])], 1)
        data.append(((source, target[:, :-1]), target[:, 1:]))
    torch.manual_seed(0)
    module = _Pieces(len(text.tokens))
    with warnings.catch_warnings(action="ignore", category=RnnlensWarning):  # untrained
        lens = rnnlens.fit(module, data, tokenizer=file, source=file, epochs=0)
    assert lens.examples() == ["the words of a state => what it says next"]
    lens.save(tmp_path / "run")
    typed = "the words of a state => what it says"
    for one in (lens, rnnlens.load(tmp_path / "run", model=module)):
        grid = one(typed)
        assert [grid.source, grid.target] == [
            [text.names[n] for n in text.encode("the words of a state")],
            ["<s>", *(text.names[n] for n in text.encode("what it says"))],
        ]
        with torch.no_grad():
            read, written = (text.encode(one) for one in typed.split(" => "))
            y = module(torch.tensor([read]), torch.tensor([[1, *written]]))[0].softmax(-1)
        at = len(grid.target) - 1
        assert np.abs(grid["y"][at].distribution() - y[at].numpy()).max() < 1e-5
    pieces = [word["piece"] for word in grid_json(lens, typed)["words"]]
    assert pieces[1:3] == ["first", "last"], "of the source"
    assert pieces[len(grid.source)] == "mark"
    assert pieces[len(grid.source) + 1 :][:2] == ["first", "last"], "of the target"


def test_a_word_that_some_sources_end_with_is_no_padding():
    rows = [torch.tensor([[3, 4, 1], [4, 3, 2]]), torch.tensor([[4, 1], [3, 2]])]
    assert padding_of(rows) is None
    assert padding_of([torch.tensor([[3, 4, 5, 1]]), torch.tensor([[3, 1, 1, 1]])]) is None
    assert padding_of([torch.tensor([[3, 4, 5, 3], [3, 4, 1, 1]])]) == 1
    assert padding_of([torch.tensor([[3, 4, 5, 3], [3, 4, 4, 0]])]) == 0


def test_an_index_of_pairs_is_refused_before_anything_is_written(lens, tmp_path):
    lens.save(tmp_path / "run")
    kept = rnnlens.load(tmp_path / "run", model=lens.subject.model.user.module)
    (tmp_path / "pairs.txt").write_text("ka ku => u a\nke ki => i e\n")
    with pytest.raises(RnnlensError, match="reads a source beside its target, and an index is"):
        rnnlens.index(kept, tmp_path / "pairs.txt")
    assert not (tmp_path / "run" / "index").exists()


def test_colours_of_a_source_do_not_lean_on_the_end_of_targets(lens):
    """Whoever knows the frequencies of all words but the end has no colour."""
    palette = next(iter(lens.subject.palettes.values()))
    knows = LabelSet.numbered(V).prior(lens.subject.probes.counts["output"]).clone()
    knows[TARGET.index("</s>")] = -1e4
    nothing = np.array([-1])
    without, usual = (
        encode(knows[None].float(), one, nothing) for one in (palette.without, palette)
    )
    assert without.share[0] < 0.01 < usual.share[0]
    grid = lens(TEXT)
    k = [column["id"] for column in grid.json["columns"]].index("encoder.h1")
    for row in range(3):
        state = torch.from_numpy(grid["encoder.h1"][row].vector())
        logits = lens.subject.shown_probes.logits("encoder.h1", state)[None]
        share = encode(logits, palette.without, nothing).share[0]
        assert grid.json["rows"][row][k]["share"] == pytest.approx(share, abs=1e-3)
