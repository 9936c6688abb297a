"""Two readings side by side: their lines, states and divergences, from one lens or two."""

import json
import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter
from tests.alike import alike
from tests.ask.test_state_pairs import jensen_shannon
from tests.asks import ask as asked_of
from tests.asks import grid_json, grid_parts
from tests.fixtures import formula_run, wave

import rnnlens
from rnnlens.ask import json_types as answers
from rnnlens.ask.continuation import ContinueQuestion
from rnnlens.ask.figures import FigureQuestion
from rnnlens.ask.follow import Followed, FollowQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.ask.turns import Turns, TurnsQuestion
from rnnlens.ask.written import WrittenQuestion
from rnnlens.base.errors import RnnlensError
from rnnlens.base.schema import json_type
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.draw import terminal
from rnnlens.draw.printable import percent
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.page.notebook import answer
from rnnlens.reading.edits import Edit
from rnnlens.reading.lines import REST
from rnnlens.run.folder import Run

TEXT = "the old dog {sees|said} the {very small|} bird now"
FIRST, SECOND = "the old dog sees the very small bird now", "the old dog said the bird now"


def both(lens, text=TEXT, **more):
    return json.loads(json.dumps(grid_json(lens, text, **more)))


def check(answer, value):
    """Hold JSON to the schema of its answer."""
    TypeAdapter(json_type(answer)).validate_python(value)


def rows_alike(ours, theirs):
    """Lines with the same states, gaps in the same places."""
    assert [row[0]["top"] == [] for row in ours] == [row[0]["top"] == [] for row in theirs]
    alike(*([row for row in rows if row[0]["top"]] for rows in (ours, theirs)))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """A run with some other labels, in another order."""
    path = formula_run(tmp_path_factory.mktemp("other") / "other", "gru")
    run, labels = Run(path), ["bird", "cat", "the", "dog", "old", "sees", "mouse", "UNK", "NUM"]
    network = Network(NetworkConfig("gru", width=4, layers=2, embedding=3), len(labels)).eval()
    for k, weight in enumerate(network.requires_grad_(False).parameters()):
        weight.copy_(wave(tuple(weight.shape), 1.1, k / 7))
    for name in ("probes.json", "probes.safetensors"):
        (path / name).unlink()
    colours = run.colours()
    run.write_vocabulary(Vocabulary(tuple(labels), tuple(range(9, 0, -1))))
    run.write_colours(colours)
    run.write_model(network)
    record = run.record().to_json()
    run.write_record({name: value for name, value in record.items() if name != "weights"})
    return opened(run)


def test_lines_are_of_both_until_the_texts_differ_then_of_each(formula):
    grid = both(formula)
    check(answers.Grid, grid)
    lines = [(line["side"][0], line["row"]) for line in grid["lines"]]
    assert lines == [
        ("b", 0), ("b", 1), ("b", 2), ("f", 3), ("s", 3), ("f", 4), ("s", 4), ("f", 5),
        ("s", None), ("f", 6), ("s", None), ("f", 7), ("s", 5), ("f", 8), ("s", 6),
    ]  # fmt: skip
    assert [line["then"] for line in grid["lines"][1:4]] == [None, ["sees", "said"], None]
    assert [side["text"] for side in grid["sides"]] == [FIRST, SECOND]
    assert grid["text"] == TEXT


def test_where_texts_part_each_state_says_how_probable_either_next_word_is(formula):
    """Exactly, over all labels; states that are not asked about the next word say nothing."""
    grid, alone = both(formula, "the old dog {sees|heard} the"), formula("the old dog")
    parted = [row for row, pairs in enumerate(grid["then"]) if pairs]
    assert parted == [2]
    assert [grid["lines"][row]["side"] for row in parted] == ["both"]
    for column, pair in zip(grid["columns"], grid["then"][2], strict=True):
        if column["back"]:
            assert pair is None
            continue
        p = alone.reading.logits(column["id"], 2).double().softmax(0)
        wanted = float(p[formula.labels.index("sees")])
        assert pair == [pytest.approx(wanted, rel=1e-4), None]  # the model does not know "heard"
    other = both(formula, "the old dog {sees|heard} the", semantic="input")["then"][2]
    assert [pair is not None for pair in other] == [c["letter"] == "y" for c in grid["columns"]]


def test_partings_are_told_in_python_and_in_a_terminal(formula):
    found = rnnlens.compare(formula, TEXT)
    grid = found.json
    both_of, *lanes = found.partings
    assert (both_of.row, both_of.side, both_of.words) == (2, "both", ("sees", "said"))
    assert [both_of["y"][0], both_of["h2"][1]] == [grid["then"][2][-1][0], grid["then"][2][-2][1]]
    assert [(one.row, one.side, one.words) for one in lanes] == [
        (4, "first", ("very", "bird")), (4, "second", ("very", "bird")),
    ]  # fmt: skip
    with pytest.raises(RnnlensError, match="'c2@-1' is not asked about the next word"):
        both_of["c2@-1"]
    lines = terminal.parted_lines(grid)
    y = [percent(p) for p in both_of["y"] if p is not None]
    assert lines[0] == f"after dog: sees {y[0]}, said {y[1]}"
    assert lines[1].startswith("after the in the first text: very ")
    assert terminal.parted_lines(both(formula, "the dog {sees|heard}"))[0].endswith(
        " heard unknown"
    )


def test_texts_part_in_both_lanes_where_edits_have_parted_them_before(formula):
    edits = ["l2@2:2=0"]
    grid = both(formula, "the old dog {sees|said} the", edits=edits)
    parted = {row: pairs[-1] for row, pairs in enumerate(grid["then"]) if pairs}
    assert [grid["lines"][row]["side"] for row in parted] == ["first", "second"]
    lenses = [formula("the old dog"), formula("the old dog", edits=["l2@2=0"])]
    for pair, one in zip(parted.values(), lenses, strict=True):
        p = one.reading.logits("y", 2).double().softmax(0)
        labels = [formula.labels.index(word) for word in ("sees", "said")]
        assert pair == pytest.approx([float(p[label]) for label in labels], rel=1e-4)
    assert not any(both(formula, "{the|a} old dog")["then"])  # nothing is read before


def test_each_line_has_the_states_of_its_text(formula):
    grid = both(formula)
    alone = [json.loads(json.dumps(grid_json(formula, t))) for t in (FIRST, SECOND)]
    for line, word, states in zip(grid["lines"], grid["words"], grid["rows"], strict=True):
        if line["row"] is None:
            assert (word["text"], {state["unread"] for state in states}) == ("", {True})
            continue
        mine = alone[line["side"] == "second"]
        assert word == mine["words"][line["row"]]
        alike([states], [mine["rows"][line["row"]]])


def test_the_divergence_is_that_of_a_plain_loop_over_states(formula):
    found = rnnlens.compare(formula, TEXT)
    a, b = formula(FIRST), formula(SECOND)
    for row, (i, j) in enumerate(found.pairs):
        for k, kind in enumerate(found.kinds):
            if i is None or j is None:
                assert np.isnan(found.values[row, k])
                continue
            p, q = (
                grid.reading.logits(kind, step).double().softmax(0)
                for grid, step in ((a, i), (b, j))
            )
            assert found.values[row, k] == pytest.approx(jensen_shannon(p, q), abs=2e-6)
    drawn = both(formula)
    for (upper, lower), changes in zip(pairwise(drawn["lines"]), drawn["changes"][1:], strict=True):
        if lower["side"] != "second" or None in (upper["row"], lower["row"]):
            assert changes == []
            continue
        row = found.pairs.index((upper["row"], lower["row"]))
        bits = [change["bits"] for change in changes]
        assert bits == pytest.approx(found.values[row].tolist(), abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "previous", ["the old dog {sees|said} the", TEXT.removesuffix(" now"), "the old dog", TEXT, "{"]
)
def test_whoever_has_the_first_lines_is_sent_the_others(formula, previous):
    whole = both(formula)
    have = 0 if previous == "{" else len(both(formula, previous)["rows"])
    part = both(formula, previous=previous, have=have)
    assert 0 < part["from"] <= have if have else part["from"] == 0
    rows_alike(part["rows"], whole["rows"][part["from"] :])
    bits = [[change["bits"] for row in some["changes"] for change in row] for some in (part, {
        "changes": whole["changes"][part["from"] :]})]  # fmt: skip
    assert bits[0] == pytest.approx(bits[1], abs=1e-4)
    if have and previous != TEXT:
        before = both(formula, previous)
        kept = before["rows"][: part["from"]]
        rows_alike(kept, whole["rows"][: part["from"]])


def test_rows_that_edits_changed_are_no_lines_of_two_readings(formula):
    asked = {"edits": ["l2@2=0"], "previous_edits": ["l2@2=0"], "lenient": True}
    part, _ = next(grid_parts(formula, TEXT, previous="the old dog", have=3, limit=9, **asked))
    assert part["from"] == 0
    assert (part["edits"], part["dropped"]) == (["l2@2=0"], [])


@pytest.mark.parametrize("edits", [["l2@2=0"], ["l2@1:2=0"], ["l2@2:3*2", "h1@1:6=0"]])
def test_each_reading_has_the_edits_of_its_side(formula, edits):
    grid = both(formula, edits=edits)
    assert {*grid["edits"]} == {str(Edit.parse(edit)) for edit in edits}
    texts = [FIRST, SECOND]
    sides = [
        [re.sub(r"@\d:", "@", edit) for edit in edits if f"@{3 - side}:" not in edit]
        for side in (1, 2)
    ]
    alone = [grid_json(formula, t, edits=e) for t, e in zip(texts, sides, strict=True)]
    for line, states in zip(grid["lines"], grid["rows"], strict=True):
        if line["row"] is not None:
            mine = alone[line["side"] == "second"]
            alike([states], json.loads(json.dumps([mine["rows"][line["row"]]])))
    shared = [line["row"] for line in grid["lines"] if line["side"] == "both"]
    assert shared == ([0, 1, 2] if edits == ["l2@2=0"] else [0] if "l2@1:2=0" in edits else [0, 1])


def test_lines_that_edits_of_one_side_change_are_sent_anew(formula):
    whole = both(formula, edits=["l2@2:3=0"])
    part = both(formula, edits=["l2@2:3=0"], previous=TEXT, have=len(both(formula)["rows"]))
    assert 0 < part["from"] < 4
    rows_alike(part["rows"], whole["rows"][part["from"] :])


def test_an_edit_that_one_of_two_cannot_make_is_made_in_the_other(formula):
    grid = both(formula, edits=["l2@9=0", "q1@1=0"], lenient=True)
    assert (grid["edits"], len(grid["dropped"])) == (["l2@9=0"], 1)
    alone = grid_json(formula, FIRST, edits=["l2@9=0"])
    alike(grid["rows"][-2:-1], json.loads(json.dumps(alone["rows"][-1:])))


@pytest.mark.parametrize("text", [TEXT, FIRST])
def test_whoever_asks_again_with_the_edits_that_were_made_gets_the_same(formula, text):
    sides = ["h2@4*0.5", "h2@2:4+bird", "h2@4*0.5", "c1@1=0"]
    edits = sides if text == TEXT else [edit.replace("2:", "") for edit in sides]
    grid = both(formula, text, edits=edits)
    assert grid["edits"] == [str(Edit.parse(edit)) for edit in edits]
    assert both(formula, text, edits=grid["edits"]) == grid


@pytest.mark.parametrize(
    ("before", "after", "edits"),
    [([], ["c2@2=0"], ["c2@2:2=0"]), (["c2@2=0"], [], ["c2@1:2=0"]),
     (["l2@1=0"], ["l2@1=0"], ["l2@1=0"]),
     (["l2@1=0"], ["l2@1=0", "c2@2=0"], ["l2@1:1=0", "l2@2:1=0", "c2@2:2=0"])],
)  # fmt: skip
def test_a_comparison_of_grids_can_be_asked_for_again(formula, before, after, edits):
    found = formula(FIRST, edits=after) - formula(FIRST, edits=before)
    assert found.json["edits"] == edits
    again = both(formula, found.json["text"], edits=edits)
    assert again["lines"] == found.json["lines"]
    alike(again["rows"], json.loads(json.dumps(found.json["rows"])))


def test_lenses_of_one_name_are_told_apart_where_they_are_compared(formula, formulas):
    twin = Lens(formulas["gru"].subject.called(formula.name))
    found = rnnlens.compare(formula, twin, "the dog sees")
    runs = [side["run"] for side in found.json["sides"]]
    assert runs == [formula.name, f"{formula.name}-2"]
    subjects = Subjects.of(*(one.reading.subject for one in (found.before, found.after)))
    asked = {"text": found.json["text"], "run": runs[0], "beside": runs[1], "limit": None}
    given = answer(subjects, {"id": "1", "path": "api/grid", "body": asked})
    assert json.loads(given["answer"]) == json.loads(json.dumps(found.json))


def test_a_lens_beside_itself_differs_nowhere(formula):
    assert not rnnlens.compare(formula, formula, FIRST).values.any()


def test_two_texts_with_edits_are_each_read_once(formula, monkeypatch):
    traced, trace = [], formula.subject.model.trace

    def counted(*given, **more):
        traced.append(more.get("edits"))
        return trace(*given, **more)

    monkeypatch.setattr(formula.subject.model, "trace", counted)
    both(formula, " ".join([TEXT] * 6), edits=["l2@2=0", "l2@1:3=0"])
    assert len([edits for edits in traced if edits]) == 2


def test_the_words_that_wrote_a_state_are_told_of_either_reading(formula):
    for line, text, row in ((3, FIRST, 3), (4, SECOND, 3), (1, FIRST, 1)):
        told = asked_of(formula, WrittenQuestion(text=TEXT, column="c2", row=line))
        alone = asked_of(formula, WrittenQuestion(text=text, column="c2", row=row))
        assert told == alone
    with pytest.raises(RnnlensError, match="no word stands in row 9; choose another"):
        asked_of(formula, WrittenQuestion(text=TEXT, column="c2", row=8))


def test_lines_of_two_readings_are_no_rows_of_one(formula):
    part, _ = next(grid_parts(formula, "the old dog", previous=TEXT, have=9, limit=9))
    assert part["from"] == 0
    assert len(part["rows"]) == 3


@pytest.mark.slow
def test_a_part_is_the_same_however_it_is_cut(formula):
    whole = both(formula)
    for limit in (1, 3):
        rows: list[object] = []
        while len(rows) < len(whole["rows"]):
            rows += both(formula, previous=TEXT, have=len(rows), limit=limit)["rows"]
        rows_alike(rows, whole["rows"])


def test_two_lenses_share_kinds_by_id_and_labels_by_name(formula, other):
    grid = both(formula, "the dog sees", beside=other)
    check(answers.Grid, grid)
    assert [column["id"] for column in grid["columns"]] == ["y"]  # the other has no probes
    assert [line["side"] for line in grid["lines"]] == ["first", "second"] * 3
    only = [c.id for c in formula.subject.columns if c.id != "y"]
    assert grid["notes"][0].startswith(f"only {formula.name} has {', '.join(only[:6])} and ")
    assert grid["notes"][1] == (
        f"7 labels are in both; 16 only in {formula.name} and 2 only in other count as one"
    )
    found = rnnlens.compare(formula, other, "the dog sees")
    shared = [label for label in formula.labels if label in other.labels]
    for step in range(3):
        p, q = (lens("the dog sees")["y"][step].distribution() for lens in (formula, other))
        both_of = []
        for lens, d in ((formula, p), (other, q)):
            known = [d[lens.labels.index(label)] for label in shared]
            both_of.append(np.array([*known, 1 - sum(known)]))
        m = sum(both_of) / 2
        bits = sum((d * np.log2(d / m)).sum() for d in both_of) / 2
        assert found["y"][step] == pytest.approx(bits, abs=2e-6)
    assert REST not in shared


def test_kinds_of_another_cell_are_those_that_both_have(formula, formulas):
    found = rnnlens.compare(formula, formulas["gru"], "the dog sees")
    assert found.kinds == ("x", "h1", "h2", "y")
    assert any("only gru has r1, z1" in note for note in found.notes)
    assert found.to_pandas().shape[0] == 3 * 4
    first, second = found.json["sides"]
    assert first["columns"] == []  # the grid's own
    assert [column["equation"] for column in second["columns"]] == [
        column.kind.equation
        for column in formulas["gru"].subject.columns
        if column.id in found.kinds
    ]


def test_following_and_turning_go_by_lines(formula, formulas):
    gru = formulas["gru"]
    for text, beside in ((TEXT, None), ("the dog sees", gru)):
        grid = both(formula, text, beside=beside)
        given: dict[str, Any] = {"text": text, "beside": beside and beside.name, "limit": None}
        followed = asked_of(formula, FollowQuestion(labels=("dog",), **given), beside)
        turning = asked_of(formula, TurnsQuestion(**given), beside)
        check(Followed, followed)
        check(Turns, turning)
        numbers, turns = followed["rows"], turning["rows"]
        ids = [column["id"] for column in grid["columns"]]
        for line, values, turn in zip(grid["lines"], numbers, turns, strict=True):
            assert len(turn["edges"]) == len(grid["edges"])
            if line["row"] is None:
                assert (values, set(turn["above"])) == ([], {None})
                continue
            lens = beside if beside and line["side"] == "second" else formula
            mine = lens(grid["sides"][line["side"] == "second"]["text"]).follow("dog")
            expected = [mine[kind][line["row"]] for kind in ids]
            assert values == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda a, b: a(TEXT), r"holds two texts; compare them: rnnlens.compare\(lens, text\)"),
        (
            lambda a, b: asked_of(a, ContinueQuestion(text=TEXT)),
            "is read twice, and this is asked of one text; give one",
        ),
        (lambda a, b: both(a, TEXT, edits=["c1@9:9=0"]), "'c1@9:9=0' is no edit; write it like"),
        (lambda a, b: both(a, TEXT, edits=["c1@10=0"]), "is about word 10, and the text has 9"),
        (lambda a, b: both(a, TEXT, edits=["c1@2:8=0"]), "is about word 8, and the text has 7"),
        (lambda a, b: both(a, "the dog", edits=["c1@2:1=0"]), "about a second text, and there is"),
        (lambda a, b: both(a, "{the|}"), "one of the two texts is empty; give each a word"),
        (lambda a, b: rnnlens.compare(a, "the dog"), "'the dog' is one text; write two in one"),
        (lambda a, b: rnnlens.compare(a, b, None), "Lens, Lens cannot be compared; give two grids"),
        (lambda a, b: both(a, "the dog", semantic="input", beside=b), "no probes for the semantic"),
        (lambda a, b: both(a, "{the|a} " + "dog " * 2500), "2,501 words are too many"),
        (
            lambda a, b: rnnlens.compare(a("the", semantic="input"), a("the")),
            "one grid asks about 'input', the other about 'output'",
        ),
    ],
)
def test_what_cannot_be_compared_is_said(formula, other, ask, said):
    with pytest.raises(RnnlensError, match=said):
        ask(formula, other)


def test_runs_without_a_common_label_are_refused(formula, tmp_path):
    path = formula_run(tmp_path / "apart", family="")
    labels = (*(f"label{k}" for k in range(21)), "NUM", "UNK")
    colours = Run(path).colours()
    Run(path).write_vocabulary(Vocabulary(labels, tuple(range(23, 0, -1))))
    Run(path).write_colours(colours)
    Run(path).write_model(Run(path).network())
    with pytest.raises(
        RnnlensError, match=r"they have no labels in common .*'the', the second 'label0'"
    ):
        rnnlens.compare(formula, opened(Run(path)), "the dog")


@pytest.mark.slow
def test_runs_of_hardly_a_common_label_are_refused():
    words, brackets = rnnlens.load("english-news"), rnnlens.load("brackets")
    assert set(words.labels) & set(brackets.labels) - {"UNK", "NUM"}
    for pair in ((words, brackets), (brackets, words)):
        with pytest.raises(RnnlensError, match="they have almost no labels in common"):
            rnnlens.compare(*pair, "( )")


def test_two_words_that_are_read_as_one_are_two_lines(formula):
    grid = both(formula, "the {qwxzz|zzyqx} dog")
    assert [word["text"] for word in grid["words"]] == ["the", "qwxzz", "zzyqx", "dog"]
    assert [line["side"] for line in grid["lines"]] == ["both", "first", "second", "both"]
    assert all(word["unknown"] for word in grid["words"][1:3])
    assert max(change["bits"] for change in grid["changes"][2]) == 0
    assert len(both(formula, "the {DOG|dog}")["lines"]) == 2  # read and meant as one


def test_a_lens_beside_itself_is_one(formula):
    assert both(formula, "the dog", beside=formula)["lines"] == []


@pytest.mark.slow
def test_a_comparison_is_drawn_and_saved_like_a_grid(formula, tmp_path):
    found = rnnlens.compare(formula(FIRST), formula(SECOND))
    assert found.json["text"] == TEXT
    assert found.json["lines"] == both(formula)["lines"]
    for ending in ("svg", "json", "html"):
        assert found.save(tmp_path / f"two.{ending}", kinds="outputs").stat().st_size > 1000
    row, kind, before, after = found.groups()[0]
    assert (formula(FIRST)[kind][row].group, formula(SECOND)[kind][row].group) == (before, after)
    followed = found.follow("dog")
    assert [bool(np.isnan(row).all()) for row in followed[:6]] == [False] * 5 + [True]
    static = found._repr_mimebundle_()[0]["text/html"]
    assert [line in static for line in ("┌ sees", "└ said", "└ –")] == [True] * 3


def test_a_notebook_asks_for_two_readings_like_the_page(formula, formulas):
    def asked(path, body, *others):
        subjects = Subjects.of(formula.subject, *(other.subject for other in others))
        return json.loads(answer(subjects, {"id": 1, "path": path, "body": body})["answer"])

    assert asked("api/grid", {"text": TEXT})["lines"] == both(formula)["lines"]
    gru = formulas["gru"]
    runs = asked("api/grid", {"text": "the dog", "beside": "gru"}, gru)
    assert [side["run"] for side in runs["sides"]] == ["formula", "gru"]
    pair = {"column": "h2", "row": 1}, {"column": "h2", "row": 0}
    body = {"run": "gru", "text": "the dog", "pairs": [{"a": pair[0], "b": pair[1]}]}
    states = gru("the dog")["h2"]
    assert asked("api/divergence", body, gru)["bits"] == pytest.approx(
        [states[1].divergence(states[0])], abs=1e-6
    )


def test_a_figure_of_some_lines_is_drawn_for_the_page(formula, formulas):
    for text, beside in ((TEXT, None), ("the old dog sees", formulas["gru"])):
        given: dict[str, Any] = {
            "text": text,
            "rows": "3-6",
            "kinds": ("h2", "y"),
            "labels": ("dog",),
        }
        question = FigureQuestion(**given, pins=("y:4",), beside=beside and beside.name)
        drawn = asked_of(formula, question, beside)
        assert drawn["ending"] == "svg"
        assert drawn["data"].count("<!-- ┌ sees" if beside is None else "<!-- ┌ dog") == 1
