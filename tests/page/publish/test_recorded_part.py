"""A published file of recorded states draws the texts that it keeps as Python does."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from tests import recorded
from tests.asks import grid_json
from tests.page.publish.asking import apart, asked_python
from tests.page.publish.engine import answered
from tests.page.publish.test_grids import of_python, sent, wrong
from torch import Tensor, nn

import rnnlens
from rnnlens.page.publish.live_page import Words, published
from rnnlens.page.publish.pack import Packed, packed
from rnnlens.page.publish.recorded_part import RecordedPart


@pytest.fixture(scope="module")
def lens(tmp_path_factory):
    """Of states with targets of every sort, and with logits of the network's own."""
    folder, some = tmp_path_factory.mktemp("states"), recorded.arrays()
    ends = np.cumsum(some["lengths"])
    y = 3 * np.random.default_rng(1).normal(size=(int(ends[-1]), len(recorded.WORDS)))
    with rnnlens.record(folder, words=recorded.WORDS, targets={"short": ["no", "yes"]}) as to:
        for first, last in zip([0, *ends], ends, strict=False):
            rows = slice(int(first), int(last))
            targets = {name: some[f"targets.{name}"][rows] for name in ("short", "size", "traits")}
            to.add({kind: some[kind][rows] for kind in ("x", "h1")}, some["words"][rows], targets,
                   y[rows])  # fmt: skip
    semantics = "output,short,size,traits,input,output+2"
    return rnnlens.from_states(folder, semantic=semantics, epochs=20)


@pytest.mark.slow
def test_grids_of_recorded_texts_are_those_of_python(lens):
    texts = ["#5", "the dogs see a cat .", "{#3|#7}", ""]
    asked = [(0, "api/grid", {"text": t, "semantic": s}) for s in lens.semantics for t in texts]
    assert wrong([lens], asked) == []


def test_what_a_network_says_of_sets_is_shown_as_in_python(tmp_path):
    some = recorded.arrays(8)
    ends = np.cumsum(some["lengths"])
    y = np.random.default_rng(2).normal([2.5, -200.0], 0.3, (int(ends[-1]), 2))
    with rnnlens.record(tmp_path, words=recorded.WORDS, targets={"output": ["even", "late"]}) as to:
        for first, last in zip([0, *ends], ends, strict=False):
            rows = slice(int(first), int(last))
            to.add({"h1": some["h1"][rows]}, some["words"][rows],
                   {"output": some["targets.traits"][rows]}, y[rows])  # fmt: skip
    lens = rnnlens.from_states(tmp_path, semantic="output", epochs=2)
    assert lens.subject.session.text.labels.several
    assert wrong([lens], [(0, "api/grid", {"text": "#5"})]) == []


@pytest.mark.slow
def test_what_else_is_asked_is_answered_or_refused_as_in_python(lens):
    state = {"text": "#5", "column": "h1", "row": 2}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("api/follow", {"text": "#5", "labels": ["cat"]}),
        ("api/turns", {"text": "{#3|#7}"}),
        ("api/texts", {}),
        ("api/texts", {"find": "DOGS a", "first": 2}),
        ("api/texts", {"find": "#12"}),
        ("api/texts", {"find": "#1200"}),
        ("api/written", state),
        ("api/continue", {"text": "#5"}),
        ("api/grid", {"text": "#5", "edits": ["h1@2=0"]}),
    ]
    question = {"lenses": [sent(lens)], "ways": [True]}
    found = answered("grids.mjs", {**question, "questions": [(0, *one) for one in asked]})
    for (path, of), ours in zip(asked, found, strict=True):
        assert apart(ours, asked_python(lens, path, of)) == "", (path, of)
    missing = {**question, "questions": [(0, "api/grid", {"text": "a dog flies"})]}
    said = answered("grids.mjs", missing)[0]["refuses"]
    assert said == (
        '"a dog flies" is not among the 60 recorded texts that this file keeps; choose one of its '
        "list"
    )


def test_a_page_keeps_some_texts_and_says_before_how_many(lens, capsys):
    page = published(lens.subject, ["output"], texts=4)
    said = capsys.readouterr().err
    assert "the page keeps 4 of 60 recorded texts: " in said
    assert "MB of states" in said
    assert page.sizes["states"] > 0
    part = RecordedPart.of(lens.subject, 4, ["#33"])
    assert part is not None
    assert 33 in part.numbers
    assert len(part.numbers) == 4


def test_both_of_two_texts_are_kept(lens):
    for text in ("{#33|#37}", "{ #33 | #37 }", " {#33|#37}"):
        part = RecordedPart.of(lens.subject, 2, [text])
        assert part is not None
        assert part.numbers == (33, 37)


def test_what_a_story_tells_of_is_kept(lens, tmp_path, monkeypatch):
    files: list[Packed] = []

    def pack(*given: Any) -> Packed:
        files.append(packed(*given))
        return files[-1]

    monkeypatch.setattr("rnnlens.page.publish.live_page.packed", pack)

    def kept(words: Words, texts: int) -> set[int]:
        published(lens.subject, ["output"], words=words, texts=texts)
        return {one["number"] for one in files[-1].manifest["text"]["recorded"]}

    story = tmp_path / "story.md"
    story.write_text(
        "# Dogs\n\n[One](#text=%2341&pin=h1:1//%2344), [two](#text={%2333|%2337}&at=h1:2), "
        "[the first](#kinds=all).\n"
    )
    words = Words(story=story)
    assert kept(words, 4) == {33, 37, 41, 44}
    first = replace(words, text="#50")
    assert kept(first, 5) == {33, 37, 41, 44, 50}
    with pytest.raises(rnnlens.RnnlensError) as refusal:
        kept(first, 4)
    assert str(refusal.value) == (
        "4 texts are to be kept, and what is read first and what the story shows are 5; give 5 at "
        "least: texts= (--texts)"
    )


def test_as_many_texts_as_there_is_room_for_are_kept(lens, monkeypatch):
    kept, seven = lens.subject.model.kept, (*range(6), 33)
    whole = RecordedPart.of(lens.subject)
    assert whole is not None
    size = 2 * whole.kept.width * sum(len(kept.span(k)) for k in seven)
    monkeypatch.setattr("rnnlens.page.publish.recorded_part.MOST_BYTES", size)
    monkeypatch.setattr(type(lens.subject), "examples", lambda _: [])
    part = RecordedPart.of(lens.subject, 7, ["#33"])
    assert part is not None
    assert part.numbers == seven
    with pytest.raises(rnnlens.RnnlensError, match="8 texts have"):
        RecordedPart.of(lens.subject, 8, ["#33"])
    monkeypatch.setattr("rnnlens.page.publish.recorded_part.USUAL_BYTES", 1)
    part = RecordedPart.of(lens.subject, None, ["{#33|#37}"])
    assert part is not None
    assert part.numbers == (33, 37)


@pytest.mark.parametrize("texts", [0, -1, 61])
def test_as_many_texts_as_there_are_not_are_refused(lens, texts):
    with pytest.raises(rnnlens.RnnlensError, match=r"texts cannot be kept; give 1 to 60$"):
        RecordedPart.of(lens.subject, texts)


def test_more_than_a_page_holds_is_refused_before_anything_is_read(lens, monkeypatch):
    monkeypatch.setattr("rnnlens.page.publish.recorded_part.MOST_BYTES", 100)
    with pytest.raises(rnnlens.RnnlensError, match=r"60 texts have 0 MB of states.*give fewer"):
        RecordedPart.of(lens.subject, 60)


def test_a_network_has_no_texts_to_keep(formula):
    assert RecordedPart.of(formula.subject) is None
    with pytest.raises(rnnlens.RnnlensError, match="has a network"):
        RecordedPart.of(formula.subject, 3)


class _Listener(nn.Module):
    """Reads frames from a state that it has learned."""

    def __init__(self, labels: int) -> None:
        super().__init__()
        self.recurrence, self.readout = nn.LSTM(4, 5, batch_first=True), nn.Linear(5, labels)
        self.start = nn.Parameter(torch.randn(1, 1, 5))

    def forward(self, frames: Tensor) -> Tensor:
        start = self.start.expand(1, len(frames), 5).contiguous()
        return self.readout(self.recurrence(frames, (start, start))[0])  # type: ignore[no-any-return]


def _frames(numbers: bool) -> tuple[rnnlens.Lens, list[Any]]:
    torch.manual_seed(0)
    frames = torch.randn(20, 6, 4)
    wanted = frames[..., 0].cumsum(1) if numbers else (frames[..., 0] > 0).long()
    data = list(zip(frames.split(5), wanted.split(5), strict=True))
    with warnings.catch_warnings(action="ignore", category=rnnlens.RnnlensWarning):  # untrained
        lens = rnnlens.fit(_Listener(1 if numbers else 2), data, epochs=0)
    return lens, data


def _wrong_but_for_reads(lens: rnnlens.Lens, asked: list[Any]) -> list[Any]:
    """What the engine answers otherwise than Python, where there is a network that could read on;
    in the page there is none, and it says so.
    """
    question = {"lenses": [sent(lens)], "ways": [True, False], "questions": asked}
    answers = [one["gives"] for one in answered("grids.mjs", question)]
    assert len(answers) == 2 * len(asked)
    assert not any(one["reads"] for one in answers)
    right = [of_python(lens, of) for _, _, of in asked] * 2
    pairs = zip(answers, right, strict=True)
    return [found for ours, grid in pairs if (found := apart({**ours, "reads": True}, grid))]


@pytest.mark.parametrize("numbers", [False, True])
def test_sequences_that_are_no_text_are_published_as_python_draws_them(numbers, capsys):
    lens, data = _frames(numbers)
    given = lens.grid(data[0], 3, names=lambda t: f"{t / 100:.2f} s").text
    asked: list[Any] = [(0, "api/grid", {"text": text}) for text in (given, f"{{#0|{given}}}")]
    assert _wrong_but_for_reads(lens, asked) == []
    assert any(word["picture"] for word in grid_json(lens, given)["words"])
    page = published(lens.subject, words=Words(text=given)).page.decode()
    assert "the page keeps 4 of 4 sequences: 24 rows" in capsys.readouterr().err
    assert '"reads":false' in page.replace(" ", "")
    with pytest.raises(rnnlens.RnnlensError, match="is typed, and a page of sequences keeps"):
        published(lens.subject, words=Words(text="a b"))
    with pytest.raises(rnnlens.RnnlensError, match="9 texts cannot be kept; give 1 to 4"):
        published(lens.subject, texts=9)


def test_sequences_of_a_run_are_published_without_its_code(tmp_path):
    lens, _ = _frames(numbers=False)
    lens.save(tmp_path / "run")
    kept = rnnlens.load(tmp_path / "run")
    assert _wrong_but_for_reads(kept, [(0, "api/grid", {"text": "#1"})]) == []


def test_recorded_numbers_are_drawn_as_a_line(tmp_path):
    chance = np.random.default_rng(0)
    with rnnlens.record(tmp_path, targets={"output": ["low", "high"]}) as to:
        for _ in range(30):
            heard = chance.normal(size=7).astype(np.float32)
            to.add({"h1": chance.normal(size=(7, 4))}, heard, {"output": (heard > 0).astype(int)})
    lens = rnnlens.from_states(tmp_path, epochs=0)
    words = grid_json(lens, "#2")["words"]
    assert [word["value"] for word in words] == [
        pytest.approx(float(w["text"]), rel=1e-4) for w in words
    ]
    assert wrong([lens], [(0, "api/grid", {"text": "#2"})]) == []
