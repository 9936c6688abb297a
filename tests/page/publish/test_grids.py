"""The engine computes the grids of Python from a packed lens, in WebAssembly and without."""

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.asks import grid_json
from tests.letters import WORDS, Classifier, LanguageModel, Turning, batches
from tests.page.publish.asking import apart, asked_python
from tests.page.publish.engine import answered
from tests.page.publish.lenses import (
    LINEAR,
    of_cells,
    of_linear,
    of_others,
    of_questions,
    of_sets,
)
from tests.sampling import sampled
from torch import nn

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.cells.rwkv import RWKV7
from rnnlens.model.network import Network
from rnnlens.page.publish import quantised
from rnnlens.page.publish.pack import packed
from rnnlens.page.publish.precisions import Precision
from rnnlens.page.publish.quantised import Tensors
from rnnlens.run.folder import run_at
from rnnlens.waves import series

TEXTS = ("the dog sees zebra <b> 12 the the", "")
Asked = tuple[int, str, dict[str, Any]]


def sent(lens: Lens, precision: Precision = "fp16") -> dict[str, Any]:
    pack = packed(lens.subject, lens.semantics, precision)
    return {"manifest": pack.manifest, "blob": base64.b64encode(pack.blob).decode()}


def of_python(lens: Lens, asked: dict[str, Any]) -> Any:
    """A grid as the server sends it."""
    return json.loads(json.dumps(grid_json(lens, **{"limit": 100, **asked})))


def every_grid(lenses: Sequence[Lens], texts: Sequence[str], first: int = 0) -> list[Asked]:
    """All texts in all semantics of lenses that are numbered from the first on."""
    return [
        (k, "api/grid", {"text": text, "semantic": semantic})
        for k, lens in enumerate(lenses, first)
        for semantic in lens.semantics or (None,)
        for text in texts
    ]


def wrong(lenses: Sequence[Lens], asked: Sequence[Asked]) -> list[Any]:
    """What the engine answers otherwise than Python."""
    question = {"lenses": [sent(lens) for lens in lenses], "ways": [True, False]}
    answers = answered("grids.mjs", {**question, "questions": asked})
    assert len(answers) == 2 * len(asked)
    right = [of_python(lenses[k], of) for k, _, of in asked]
    pairs = zip([*asked, *asked], answers, [*right, *right], strict=True)
    found = [(lenses[k].name, of, apart(ours["gives"], grid)) for (k, _, of), ours, grid in pairs]
    return [one for one in found if one[2]]


@pytest.mark.slow
def test_grids_are_those_of_python(formula, formulas):
    sets, others = of_sets(formulas["gru"]), of_others(formula)
    lenses = [formula, *formulas.values(), sets, others]
    assert wrong(lenses, every_grid(lenses, TEXTS)) == []


@pytest.mark.slow
def test_grids_of_linear_memories_are_those_of_python(tmp_path):
    """The engine's equations of each recurrence, with edits of what it alone has."""
    lenses = [of_linear(tmp_path, cell, "output") for cell in LINEAR]
    asked = every_grid(lenses, TEXTS[:1])
    for k, lens in enumerate(lenses):
        memories = [kind for kind in lens.subject.model.kinds if kind.memory]
        edits = [f"{kind.id}@2*0.5" for kind in memories]
        edits += [f"{kind.memory.decay}@3=0.25" for kind in memories[-1:] if kind.memory]
        asked.append((k, "api/grid", {"text": "the dog sees a bird", "edits": edits}))
    assert wrong(lenses, asked) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", sampled(["gla", "mamba2"], "mamba2")
)  # keys before values, and behind
def test_memories_are_asked_the_questions_that_their_probes_read(cell, tmp_path):
    lens = of_questions(of_linear(tmp_path, cell, "output"))
    (kind, *_) = lens.subject.model.matrices
    stacks = sent(lens)["manifest"]["probes"]["stacks"]["output"]["kinds"]
    assert lens.subject.probes is not None
    assert "questions" in stacks[lens.subject.probes.kinds.index(kind)]
    assert wrong([lens], every_grid([lens], TEXTS[:1])) == []
    asked: Asked = (0, "api/written", {"text": "the dog sees a bird .", "column": kind, "row": 4})
    push: list[Asked] = [
        (0, "api/grid", {"text": "the dog", "edits": [f"{one}@1+dog"]}) for one in (kind, "w1")
    ]
    answers = answered(
        "grids.mjs", {"lenses": [sent(lens)], "ways": [True], "questions": [asked, *push]}
    )
    assert apart(answers[0], asked_python(lens, *asked[1:])) == ""
    assert answers[1] == asked_python(lens, *push[0][1:])  # there is no spread to move along
    assert "is read by questions to it" in answers[1]["refuses"]
    assert "this file does not hold how the numbers of w1 vary" in answers[2]["refuses"]
    assert "gives" in asked_python(lens, *push[1][1:])


@pytest.mark.slow
@of_cells
@pytest.mark.parametrize("precision", sampled(["int8", "fp16"], "int8"))
def test_weights_that_a_byte_can_hold_are_read_as_they_were(
    cells, precision, tmp_path, monkeypatch
):
    """Of networks whose weights are such numbers no file rounds anything."""
    rows = Tensors.rows

    def all_rounded(self: Tensors, part: str, values: torch.Tensor) -> int:
        monkeypatch.setattr(quantised, "_SMALL", 0 if part == "network" else 8192)
        return rows(self, part, values)

    monkeypatch.setattr(Tensors, "rows", all_rounded)
    lenses = [of_linear(tmp_path, cell, "output") for cell in cells]
    for lens in lenses:
        assert isinstance(lens.subject.model, Network)
        for weight in lens.subject.model.parameters():
            weight.copy_((weight * 100).round().clamp(-127, 127) / 256)
            if weight.dim() > 1:
                weight[..., 0] = 127 / 256  # which makes a step of a byte 1 / 256
    packs = [sent(lens, precision) for lens in lenses]
    sorts = {layout["sort"] for pack in packs for layout in pack["manifest"]["tensors"]}
    assert "int8" in sorts  # which is as good as two bytes where nothing is lost
    asked = every_grid(lenses, TEXTS[:1])
    answers = answered("grids.mjs", {"lenses": packs, "ways": [True], "questions": asked})
    right = [of_python(lenses[k], of) for k, _, of in asked]
    assert [apart(a["gives"], b) for a, b in zip(answers, right, strict=True)] == [""] * len(cells)


@pytest.mark.release
@pytest.mark.parametrize("cell", LINEAR)
def test_more_grids_of_linear_memories_are_those_of_python(cell, tmp_path):
    lens = of_linear(tmp_path, cell)
    assert wrong([lens], every_grid([lens], TEXTS)) == []


def test_a_cell_that_the_page_has_no_equations_of_is_refused_in_one_line(tmp_path, monkeypatch):
    lens = of_linear(tmp_path, "rwkv7", "output")
    monkeypatch.setattr(RWKV7, "in_browser", False)
    with pytest.raises(RnnlensError, match="the page has no equations of the cell 'rwkv7'"):
        packed(lens.subject, lens.semantics, "fp16")


@pytest.mark.slow
def test_only_the_columns_that_are_asked_for_are_answered(formula):
    some = [
        ["h2", "y"], ["c1@-1", "x", "h2", "l1", "f1", "y"], None, ["nothing"], ["h2"],
        ["h1", "l2", "h2", "y"],  # beside three probes the prediction has a place of its own
    ]  # fmt: skip
    more = {"text": f"{TEXTS[0]} dog", "previous": TEXTS[0], "have": 8}
    asked: list[Asked] = [
        (0, "api/grid", {**question, "columns": columns, "semantic": semantic})
        for columns in some
        for semantic in formula.semantics
        for question in ({"text": TEXTS[0]}, more)
    ]
    two = f"{TEXTS[0]} {{dog|cats see}}"
    compared = ({"text": TEXTS[0], "edits": ["l1@2=0"]}, {"text": two, "edits": ["c1@1:0=0"]})
    asked += [
        (0, "api/grid", {**question, "columns": columns, "lenient": True})
        for columns in some
        for question in compared
    ]
    assert wrong([formula], asked) == []
    rows = of_python(formula, asked[0][2])["rows"]
    assert sum(state is not None for state in rows[0]) == 2


@pytest.mark.slow
def test_grids_of_bundled_runs_are_those_of_python():
    waves, tags, news = (opened(run_at(n)) for n in ("waves", "english-tags", "english-news"))
    asked = every_grid([waves], ["0.1 0.5 0.9 1.2 0.3 -0.4 -1", "1"])
    asked += every_grid([tags], ["the old teacher sees zebras ."], 1)
    asked += every_grid([news], ["`` we stand in solidarity"], 2)
    assert wrong([waves, tags, news], asked) == []


@pytest.mark.release
def test_the_engines_intervals_are_widened_by_step_and_its_number_is_the_networks():
    waves = opened(run_at("waves"))
    text = " ".join(map(repr, series(1, 8)[0, :40].tolist()))
    asked = every_grid([waves], [text])
    assert wrong([waves], asked) == []
    older = opened(run_at("waves"))
    older.subject.probes = replace(run_at("waves").probes(), widths={})
    assert wrong([older], asked) == []
    with torch.no_grad():
        own = run_at("waves").module().user.module(series(1, 8)[:, :40])[0].tolist()
    asks = {"lenses": [sent(waves)], "ways": [True], "questions": asked[:1]}
    drawn = answered("grids.mjs", asks)[0]["gives"]
    column = [c["id"] for c in drawn["columns"]].index("y")
    shown = [row[column]["number"][0] for row in drawn["rows"]]
    assert shown == pytest.approx(own, rel=1e-4, abs=1e-5)


MODULES = {
    "gru": LanguageModel(cell=nn.GRU, num_layers=2),
    "relu": LanguageModel(cell=nn.RNN, nonlinearity="relu", bias=False),
    "both": LanguageModel(cell=nn.LSTM, bidirectional=True),
    "whole": Classifier(),
}


@pytest.mark.slow
def test_grids_of_users_modules_are_those_of_python():
    data, lenses = batches(), list[Lens]()
    for name, module in MODULES.items():
        pairs = [(x, y[:, -1]) for x, y in data] if name == "whole" else data
        with torch.random.fork_rng():
            lenses.append(rnnlens.fit(module.eval(), pairs, WORDS, inputs=WORDS, epochs=20))
    assert wrong(lenses, every_grid(lenses, ["c d e a b", "a"])) == []
    assert [sent(lens)["manifest"]["network"]["whole"] for lens in lenses] == [0, 0, 0, 1]


class Scaled(LanguageModel):
    """Does something between its embedding and its recurrent part."""

    def forward(self, words: torch.Tensor) -> Any:
        return self.readout(self.recurrence(2 * self.embedding(words))[0])


class Started(LanguageModel):
    """Begins with a state of its own."""

    def forward(self, words: torch.Tensor) -> Any:
        start = torch.full((1, len(words), 9), 0.5)
        return self.readout(self.recurrence(self.embedding(words), start)[0])


class Masked(LanguageModel):
    """Predicts nothing after a word that it takes for padding."""

    def forward(self, words: torch.Tensor) -> Any:
        states = self.recurrence(self.embedding(words))[0]
        return self.readout(states) * (words != 0)[..., None]


class Forgetful(LanguageModel):
    """Shows its states forty words long."""

    def forward(self, words: torch.Tensor) -> Any:
        near = torch.arange(words.shape[1])[:, None] < 40
        return self.readout(self.recurrence(self.embedding(words))[0] * near)


class Bounded(LanguageModel):
    """Shortens a row of its embedding when it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding.max_norm = 1.0


REFUSED = [
    (Masked(), (), "its prediction is more than a linear map of h1"),
    (Forgetful(), (), "its prediction is more than a linear map of h1"),
    (
        Bounded(),
        (),
        "its embedding has a max_norm, by which torch changes a word's row when it is .*",
    ),
    (Turning(flat=False), (), "its prediction is no linear map of one of its states"),
    (Scaled(), (), "what its recurrent part reads is not just a row of one embedding"),
    (Started(cell=nn.GRU), (), "its r1 is more than its recurrent cells make of its input"),
    (
        LanguageModel(),
        ["readout"],
        "its readout is the output of readout, which is no recurrent cell",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(("module", "kinds", "why"), REFUSED)
def test_modules_that_compute_more_are_refused_by_name(module, kinds, why):
    lens = rnnlens.fit(module.eval(), batches(), WORDS, kinds=kinds, epochs=1)
    with pytest.raises(RnnlensError, match=rf"^{type(module).__name__} cannot .*: {why}; save "):
        packed(lens.subject, lens.semantics)


def test_semantics_that_there_are_not_are_refused(formula):
    with pytest.raises(RnnlensError, match="no probes for the semantic 'tag'; it has output, inpu"):
        packed(formula.subject, ["tag"])


@pytest.mark.slow
def test_a_key_costs_one_row(formula):
    """Typing on at the end of a text, and in its middle, computes what has changed alone."""
    start = "the dog sees a bird , she said"
    texts = [start, f"{start} n", f"{start} no", f"{start} now", f"{start} now .", f"{start} now a"]
    middle = ["a dog sees the bird now", "a dog saw the bird now", "a dog see the bird now"]
    asked = [
        {"text": text, "previous": before, "have": 8, "limit": 3}
        for some in (texts, middle)
        for before, text in zip(["", *some], some, strict=False)
    ]
    typed = answered("typed.mjs", {**sent(formula), "questions": asked})
    for one, of in zip(typed, asked, strict=True):
        assert apart(one["gives"], of_python(formula, of)) == ""
    # One more: the row before the first, which the first shows again.
    assert [one["computed"] for one in typed] == [4, 3, 0, 1, 1, 1, 3, 2, 2]


@pytest.mark.slow
def test_questions_asked_at_the_same_time_are_answered_as_one_by_one(formula):
    """Others have their turn in the midst of a row, and ask about states of their own then."""
    ends = [{"text": "the dog sees", "column": "h1", "row": row} for row in (1, 2)]
    asked = [
        ("api/grid", {"text": "the dog sees a bird , she said"}),
        ("api/grid", {"text": "a bird sees the dogs now", "semantic": "input"}),
        ("api/divergence", {"pairs": [dict(zip("ab", ends, strict=True))]}),
        ("api/follow", {"text": "the dog sees a bird", "labels": ["dog"]}),
    ]
    alone = answered(
        "grids.mjs",
        {"lenses": [sent(formula)], "ways": [False], "questions": [(0, *one) for one in asked]},
    )
    together = answered("together.mjs", {**sent(formula), "questions": asked})
    assert together["answers"] == [one["gives"] for one in alone]
    rows = sum(len(one["gives"]["rows"]) for one in alone[:2])
    assert together["pauses"] > 3 * rows  # more than one of each layer, and of the row


@pytest.mark.slow
def test_padding_is_no_word_that_people_type():
    names = ["<pad>", *WORDS[1:]]
    lens = rnnlens.fit(Masked().eval(), batches(), names, inputs=names, epochs=1)
    assert packed(lens.subject, lens.semantics).manifest["name"] == lens.name
