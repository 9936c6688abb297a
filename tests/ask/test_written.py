"""Who wrote a state: parts that add up, reading again with stand-ins, and what cannot be split."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from tests.fixtures import WORDS
from tests.sampling import sampled
from torch import nn

from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import to_json
from rnnlens.lens.fit import fit

TEXT = "the old dog sees a bird ."
LABELS = tuple(WORDS)
MEMORIES = {
    "formula": ("l1", "c1", "h1", "l2", "c2", "h2", "y"),
    "gru": ("k1", "h1", "k2", "h2", "y"),
}


@pytest.fixture(scope="module")
def lenses(formula, formulas):
    return {"formula": formula, **formulas}


def logit(lens, ids, kind, step, sides) -> float:
    """The contrast of two sets of labels in a state, asked directly."""
    trace = lens.subject.model.trace(torch.tensor(ids)[:, None])
    values = (
        trace.logits[step, 0]
        if kind == "y"
        else lens.subject.probes.logits(kind, trace.states[kind][step, 0])
    )
    ours, theirs = ([LABELS.index(label) for label in side] for side in sides)
    return float(values[ours].mean() - values[theirs].mean())


@pytest.mark.slow
@pytest.mark.parametrize("run", sorted(MEMORIES))
def test_parts_and_the_rest_are_what_the_state_says(lenses, run):
    lens = lenses[run]
    grid, ids = lens(TEXT), lens.subject.session.vocabulary.encode(TEXT.split())
    for kind in MEMORIES[run]:
        for step, sides in (
            (6, (("dog",), ("said", "."))),
            (3, (("now", "old"), ("a",))),
            (0, (("a",), ("in",))),
        ):
            state = grid[kind][step]
            written = state.written_by(*sides[0], against=sides[1], stand_in="unknown")
            real = logit(lens, ids, kind, step, sides)
            assert written.difference == pytest.approx(real, abs=1e-5)
            assert written.stored.sum() + written.stored_rest == pytest.approx(real, abs=1e-4)
            assert written.path.sum() + written.path_rest == pytest.approx(real, abs=1e-4)
            assert written.gates == pytest.approx(written.without - written.path)
            assert len(written.words) == step + 1
            for word in range(step + 1):
                others = [*ids[:word], LABELS.index("UNK"), *ids[word + 1 :]]
                lost = real - logit(lens, others, kind, step, sides)
                assert written.without[word] == pytest.approx(lost, abs=1e-5)


def test_what_is_stored_is_what_each_word_wrote_times_later_forget_gates(formula):
    grid, step = formula(TEXT), 5
    written = grid["c2"][step].written_by("dog", against="old")
    f, s = (
        np.stack([state.vector() for state in grid[kind]]).astype(float) for kind in ("f2", "s2")
    )
    weights = formula.subject.probes.rows("c2", [LABELS.index("dog"), LABELS.index("old")])[
        0
    ].numpy()
    for word in range(step + 1):
        kept = s[word] * np.prod(f[word + 1 : step + 1], axis=0)
        assert written.stored[word] == pytest.approx((weights[0] - weights[1]) @ kept, abs=1e-5)
    assert grid["l2"][step].written_by("dog", against="old").stored[step] == 0


def test_a_path_is_what_a_word_counts_for_while_gates_stay(formula):
    """Where gates do not move, the path is all there is but for the bend of a tanh."""
    network = formula.subject.model
    weights = {name: p.clone() for name, p in network.named_parameters()}
    try:
        for layer in network.recurrent:
            for weight in layer.weights().values():
                gates = weight.view(4, 4, -1)  # i, f, g, o
                gates[2] *= 0.02 if weight.dim() == 2 else 0
                if weight.dim() == 2:
                    gates[[0, 1, 3]] = 0
        formula.subject.forget()
        for stand_in in ("unknown", "tag", "model"):
            written = formula(TEXT)["y"][6].written_by("dog", against="old", stand_in=stand_in)
            size = np.nanmax(np.abs(written.without))
            assert size > 1e-4
            there = np.isfinite(written.without)
            np.testing.assert_allclose(
                written.path[there], written.without[there], rtol=0, atol=0.02 * size
            )
    finally:
        for name, p in network.named_parameters():
            p.copy_(weights[name])
        formula.subject.forget()


def test_without_labels_the_top_stands_against_the_next(formula):
    state = formula(TEXT)["h2"][4]
    (first, _), (second, _) = state.top(2)
    written = state.written_by()
    assert (written.labels, written.against) == ((first,), (second,))
    assert state.written_by(second).against == (first,)
    assert state.written_by(against=first).labels == (second,)
    assert written.difference > 0
    told = repr(written).splitlines()
    assert told[0].startswith(f"h2 after 'a': {first} against {second}, +")
    assert told[1].split() == ["stored", "path", "without", "±", "gates"]
    assert [line.split()[0] for line in told[2:]] == [*TEXT.split()[:5], "the", "without:"]
    assert told[-1].endswith("12 other words of the same tag in its place: mean and 95% interval")
    fixed = repr(state.written_by(stand_in="unknown")).splitlines()
    assert fixed[1].split() == ["stored", "path", "without", "gates"]
    assert fixed[-1].endswith("with 'UNK', the unknown word, in its place")


def test_another_word_can_stand_in_the_place(formula):
    state = formula(TEXT)["h2"][4]
    assert state.written_by(instead="old").without[1] == pytest.approx(0, abs=1e-6)
    assert "read again with 'old' in its place" in repr(state.written_by(instead="old"))
    with pytest.raises(RnnlensError, match="the model does not read 'ddog'"):
        state.written_by(instead="ddog")
    with pytest.raises(RnnlensError, match="give one of them"):
        state.written_by(instead="old", stand_in="tag")


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("f1", "f1 is no memory, .* memories are l1, c1, h1"),
        ("x", "how x follows"),
        ("s2", "no memory"),
    ],
)
def test_what_is_no_memory_can_still_be_read_without_a_word(formula, kind, said):
    written = formula(TEXT)[kind][3].written_by("dog", against="old")
    assert written.stored is None
    assert len(written.without) == 4
    assert to_json(written)["stored"] is None
    assert re.search(said, written.note)


def test_an_elman_network_has_no_additive_memory(lenses):
    written = lenses["rnn"](TEXT)["h2"][6].written_by("dog", against="old")
    assert written.stored is None
    assert "without an additive memory" in written.note
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)
    assert np.abs(written.without).max() > 0


def test_what_cannot_be_asked_is_one_line(formula):
    grid = formula(TEXT)
    with pytest.raises(RnnlensError, match="'dog' cannot stand against itself"):
        grid["h2"][1].written_by("dog", against="dog")
    with pytest.raises(RnnlensError, match="there is no label 'dgo'"):
        grid["h2"][1].written_by("dgo")
    with pytest.raises(RnnlensError, match="nothing is read into c1@-1 of the first row"):
        grid["c1@-1"][0].written_by()
    with pytest.raises(
        RnnlensError, match=r"told only of a text without edits, and this one has c2@1=0"
    ):
        formula(TEXT, edits=["c2@1=0"])["h2"][1].written_by()
    assert grid["c1@-1"][3].written_by("dog", against="old").stored == pytest.approx(
        grid["c1"][2].written_by("dog", against="old").stored
    )


class Tagger(nn.Module):
    """A user's module: what reads, and what the last output becomes."""

    def __init__(self, part: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.embedding, self.part, self.head = nn.Embedding(len(LABELS), 3), part, head

    def forward(self, words: torch.Tensor) -> Any:
        return self.head(self.part(self.embedding(words))[0])


class Looped(Tagger):
    """The same with a cell in a loop."""

    def forward(self, words: torch.Tensor) -> Any:
        state, outputs = None, []
        for x in self.embedding(words).unbind(1):
            state = self.part(x, state)
            outputs.append(state[0] if isinstance(state, tuple) else state)
        return self.head(torch.stack(outputs, 1))


def user_lens(module: nn.Module, labels: tuple[str, ...] = LABELS):
    torch.manual_seed(0)
    for weight in module.parameters():
        nn.init.normal_(weight, std=0.7)
    chance = torch.Generator().manual_seed(1)
    words = torch.randint(0, len(LABELS), (40, 8), generator=chance)
    for step in range(2, 8, 2):  # which probes can tell better than by frequencies
        with torch.no_grad():
            words[:, step] = module(words[:, :step])[:, -1].argmax(-1)
    batches = [(words[k : k + 8, :-1], words[k : k + 8, 1:]) for k in range(0, 40, 8)]
    return fit(module, batches, labels, epochs=30)


MODULES = {
    "fused": lambda: Tagger(nn.LSTM(3, 4, 2, batch_first=True), nn.Linear(4, len(LABELS))),
    "gru": lambda: Tagger(nn.GRU(3, 4, batch_first=True), nn.Linear(4, len(LABELS))),
    "projected": lambda: Tagger(
        nn.LSTM(3, 4, proj_size=2, batch_first=True), nn.Linear(2, len(LABELS))
    ),
    "loop": lambda: Looped(nn.LSTMCell(3, 4), nn.Linear(4, len(LABELS))),
    "both ways": lambda: Tagger(
        nn.GRU(3, 4, 2, batch_first=True, bidirectional=True), nn.Linear(8, len(LABELS))
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize("how", sampled(sorted(MODULES), "gru", "loop", "projected"))
def test_users_modules_are_split_and_edited_in_the_same_way(how):
    lens = user_lens(MODULES[how]())
    grid = lens(TEXT)
    kinds = [c.id for c in lens.subject.columns if c.kind.letter in {*"lckhj"} and not c.back]
    for kind in kinds:
        written = grid[kind][3].written_by("dog", against="old")
        assert written.stored.sum() + written.stored_rest == pytest.approx(
            written.difference, abs=1e-4
        )
        assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)
        assert len(written.words) == len(grid)
        same = lens(TEXT, edits=[f"{kind}@4*1"])
        assert (same - grid).values.max() < 1e-5
        edited = lens(TEXT, edits=[f"{kind}@4=0"]) - grid
        assert edited.values.max() > 1e-4
    written = grid["y"][3].written_by("dog", against="old")
    assert written.path.sum() + written.path_rest == pytest.approx(written.difference, abs=1e-4)
    written = grid["y"][3].written_by("dog", against="old", stand_in="unknown")
    assert written.without[3] == pytest.approx(
        written.difference - lens("the old dog UNK a bird .")["y"][3].written_by(
            "dog", against="old").difference, abs=1e-4)  # fmt: skip
    heard = [kind for kind in kinds if not grid[kind][3].silent]  # the modules are not trained
    assert heard
    pushed = lens(TEXT, edits=[f"{heard[-1]}@4+2:dog"])
    assert pushed[heard[-1]][3].probability("dog") > grid[heard[-1]][3].probability("dog")
    assert len(lens(TEXT, edits=[f"{kinds[-1]}@4=0"]).continuation(3).words) == 3


@pytest.mark.slow
def test_a_word_that_is_left_out_moves_the_states_that_read_on_from_it():
    lens = user_lens(MODULES["both ways"](), tuple(w if w != "UNK" else "few" for w in LABELS))
    words, step, sides = TEXT.split(), 3, (("dog",), ("old",))
    for kind, own in (("h1", step - 1), ("h1<", step)):
        written = lens(TEXT)[kind][step].written_by("dog", against="old", stand_in="left_out")
        assert written.instead == ""  # no word is put in the place of another
        for word in range(len(words)):
            ids = lens.subject.session.vocabulary.encode(words[:word] + words[word + 1 :])
            place = step - 1 if word < step else own if word == step else step
            states = lens.subject.session.read(ids, place, place + 1)[0][kind][0]
            values = lens.subject.probes.logits(kind, states)
            left = float(values[LABELS.index("dog")] - values[LABELS.index("old")])
            assert written.without[word] == pytest.approx(written.difference - left, abs=1e-4)
    end = lens(TEXT)["h1<"][len(words) - 1]
    last = end.written_by(*sides[0], against=sides[1], stand_in="left_out")
    assert np.isfinite(last.without).all()


class Twisted(Looped):
    """Something else happens to the state between words."""

    def forward(self, words: torch.Tensor) -> Any:
        state, outputs = None, []
        for x in self.embedding(words).unbind(1):
            h, c = self.part(x, state)
            state = h, c.roll(1, -1)
            outputs.append(h)
        return self.head(torch.stack(outputs, 1))


def test_a_memory_that_the_module_changes_itself_is_not_split():
    lens = user_lens(Twisted(nn.LSTMCell(3, 4), nn.Linear(4, len(LABELS))))
    written = lens(TEXT)["c1"][4].written_by("dog", against="old")
    assert written.stored is None
    assert written.note.endswith("`without` can still be asked")
    assert np.abs(written.without).max() > 0
