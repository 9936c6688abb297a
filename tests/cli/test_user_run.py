"""`rnnlens fit --model`: a module of one's own becomes a run like any other."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from tests.alike import alike
from tests.cli.project import DATA, FIT, TRUST, WORDS, complaints, fit
from tests.runfiles import contents, edit, tensors_in

from rnnlens.adapter.user_model import user_model_at
from rnnlens.probe.fitting import Fitter
from rnnlens.run.folder import Run


def test_every_command_works_on_such_a_run(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    shown = command("eval", run, *TRUST)
    assert (shown.code, complaints(shown)) == (0, "")
    assert shown.out.count("unigram perplexity") == 2
    found = json.loads((run / "evaluation.json").read_text())
    assert {row["kind"] for row in found["probes"]} == {*"x f1 i1 o1 g1 l1 s1 c1 h1".split()}
    assert "the" in command("show", run, " ".join(DATA[0].words), *TRUST).out
    again = command("fit", run, "--probe", "shared", *FIT, *TRUST)
    assert (again.code, complaints(again)) == (0, "")
    assert Run(run).probes().family == "shared"


def test_what_is_measured_is_the_modules_own_loss(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    found = json.loads(command("eval", run, "--json", *TRUST).out)
    own, total, count = user_model_at("usermodels:language"), 0.0, 0
    number = {word: k for k, word in enumerate(WORDS)}
    with torch.no_grad():
        for sentence in DATA:
            ids = torch.tensor([[number[word] for word in sentence.words]])
            loss = torch.nn.functional.cross_entropy(
                own.module(ids[:, :-1])[0], ids[0, 1:], reduction="sum"
            )
            total, count = total + float(loss), count + ids.shape[1] - 1
    rows = found["model"].values()
    assert sum(row["pairs"] for row in rows) == count
    logs = sum(row["pairs"] * torch.tensor(row["perplexity"]).log().item() for row in rows)
    assert logs == pytest.approx(total, rel=1e-5)


def test_a_control_of_such_a_run(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    found = json.loads(command("eval", run, "--control", "--json", *TRUST).out)
    rows = {(row["semantic"], row["kind"]): row for row in found["probes"]}
    for row in rows.values():
        assert row["description"]["bits"] < 1.02 * row["description"]["unigram"], row["kind"]
    for kind in ("x", "s1", "h1"):  # say which word was read, better than what it was given
        assert rows["input", kind]["selectivity"] > 0.05
        assert rows["input", kind]["selectivity"] > rows["output", kind]["selectivity"]
    # What is kept of earlier words knows little of this one.
    assert rows["input", "l1"]["control"]["control"] < rows["input", "x"]["control"]["control"] / 2


@pytest.mark.slow
def test_a_label_of_no_probability_is_no_number(command, here, tmp_path):
    assert fit(command, "masked", tmp_path / "run").code == 0
    shown = command("eval", tmp_path / "run", *TRUST)
    assert (shown.code, complaints(shown)) == (0, "")
    assert " - " in shown.out
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert [row["perplexity"] for row in found["model"].values()] == [None] * 3
    assert command("show", tmp_path / "run", " ".join(DATA[0].words), *TRUST).code == 0


def test_without_its_code_all_but_new_texts_can_be_shown(command, kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [example.text for example in Run(kept).examples() or ()]
    assert len(examples) == 3
    assert all(text in {" ".join(s.words) for s in DATA} for text in examples)
    for text in examples:
        shown = command("show", kept, text, "-o", "grid.json")
        assert (shown.code, complaints(shown)) == (0, "")
    told = command("show", kept, "the dogs see a bird", "--trust")
    assert told.code == 2
    assert told.err.startswith("rnnlens: cannot import usermodels")
    assert "--path FOLDER" in told.err


def test_kept_texts_are_what_the_module_says(command, here, kept, tmp_path):
    text = (Run(kept).examples() or [])[0].text
    assert command("show", kept, text, "-o", tmp_path / "kept.json").code == 0
    without = Path(shutil.copytree(kept, tmp_path / "without"))
    (without / "examples.safetensors").unlink()
    assert command("show", without, text, "-o", tmp_path / "live.json", *TRUST).code == 0
    a, b = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("kept", "live"))
    alike(a["rows"], b["rows"])
    assert "usermodels" in sys.modules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factory", "fed"), [("turned", [-1, 1]), ("prepared", None), ("batched", [1, -1])]
)
def test_modules_are_fed_as_they_want(command, here, tmp_path, factory, fed):
    done = fit(command, factory, tmp_path / "run")
    assert (done.code, complaints(done)) == (0, "")
    assert json.loads((tmp_path / "run" / "model.json").read_text())["fed"] == fed
    assert command("show", tmp_path / "run", "the dogs see a bird", *TRUST).code == 0


@pytest.mark.slow
def test_kinds_that_are_read_in_another_order_are_left_out(command, here, tmp_path):
    done = fit(command, "two_ways", tmp_path / "run")
    assert done.code == 0
    left = [line for line in done.err.splitlines() if "left out" in line]
    assert len(left) == 1
    assert left[0].startswith("rnnlens: left out, as their states are not beside")
    assert "back.f1" in left[0]
    kinds = Run(tmp_path / "run").probes().kinds
    assert "recurrence.h1" in kinds
    assert not any(kind.startswith("back") for kind in kinds)
    assert command("show", tmp_path / "run", "the dogs see a bird", *TRUST).code == 0


@pytest.mark.slow
def test_a_tagger_is_asked_for_tags(command, here, tmp_path):
    done = fit(command, "tagger", tmp_path / "run", corpus="tagged.conllu")
    assert (done.code, complaints(done)) == (0, "")
    run = Run(tmp_path / "run")
    words = sum(len(s.words) for s in DATA)
    rows = json.loads(command("eval", run.path, "--json", *TRUST).out)["model"].values()
    assert sum(row["pairs"] for row in rows) == words
    assert "h1<" in run.probes().kinds
    assert run.colours()["groupings"]["labels"]["colours"]["NOUN"] == "#009e73"
    assert command("show", run.path, "the dogs see a bird", *TRUST).code == 0
    assert "j1" in run.probes().kinds

    # A run from before there was such a kind has no probe of it, and no record.
    (run.path / "examples.safetensors").unlink()
    model = contents(run.path / "model.json")
    edit(run.path / "model.json", kinds=[kind for kind in model["kinds"] if kind["id"] != "j1"])
    again = command("fit", run.path, *FIT, *TRUST)
    assert (again.code, complaints(again)) == (0, "")
    assert "j1" not in run.probes().kinds
    shown = command("show", run.path, "the dogs see a bird", "-o", tmp_path / "g.json", *TRUST)
    assert (shown.code, complaints(shown)) == (0, "")
    edges = json.loads((tmp_path / "g.json").read_text())["edges"]
    assert [source for source, target in edges if target == "y"] == ["h1", "h1<"]


def test_tags_may_have_marks_beside_them(command, here, tmp_path):
    assert fit(command, "marked", tmp_path / "run", corpus="tagged.conllu").code == 0
    colours = Run(tmp_path / "run").colours()["groupings"]["labels"]["colours"]
    assert colours["NOUN"] == "#009e73"
    assert "<pad>" not in colours


@pytest.mark.slow
def test_a_tagged_corpus_colours_the_words(command, here, tmp_path):
    assert fit(command, "language", tmp_path / "run", corpus="tagged.conllu").code == 0
    groups = Run(tmp_path / "run").colours()["groupings"]["universal"]["groups"]
    assert groups["the"] == "DET"


@pytest.mark.slow
def test_an_interrupted_fit_goes_on(command, here, tmp_path, monkeypatch):
    flags = ("--checkpoint-seconds", "0", "--epochs", "2")
    assert fit(command, "language", tmp_path / "whole", *flags).code == 0
    real, calls = Fitter._learn, iter(range(100))

    def stopped(self, chosen, number):
        if next(calls) == 1:
            raise KeyboardInterrupt
        real(self, chosen, number)

    with monkeypatch.context() as patched:
        patched.setattr(Fitter, "_learn", stopped)
        assert fit(command, "language", tmp_path / "run", *flags).code == 130
    assert Run(tmp_path / "run").fit_checkpoint.exists()
    assert fit(command, "language", tmp_path / "run", *flags).code == 0
    a, b = (tensors_in(tmp_path / n / "probes.safetensors") for n in ("whole", "run"))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_the_weights_of_the_run_are_put_into_what_the_factory_makes(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    edit(run / "model.json", factory="usermodels:other")  # the same shape, other weights
    text = "the dogs see a bird"
    for at, name in ((run, "other"), (kept, "kept")):
        assert command("show", at, text, "-o", tmp_path / f"{name}.json", *TRUST).code == 0
    a, b = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("other", "kept"))
    assert a["rows"] == b["rows"]


@pytest.mark.slow
def test_sentences_of_two_words_are_enough_to_be_asked_for_either(command, here, tmp_path):
    """That the second follows the first is known, though nothing in a batch can show it."""
    (tmp_path / "two.txt").write_text("\n".join(f"{a} {b}" for a in WORDS[:8] for b in WORDS[:8]))
    flags = ("--semantic", "output,input")
    assert fit(command, "language", tmp_path / "run", *flags, corpus=tmp_path / "two.txt").code == 0
    shown = command("eval", tmp_path / "run", *TRUST)
    assert (shown.code, complaints(shown)) == (0, "")
    assert shown.out.count("unigram perplexity") == 2
    assert command("show", tmp_path / "run", f"{WORDS[0]} {WORDS[1]} {WORDS[2]}", *TRUST).code == 0
