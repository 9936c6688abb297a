"""`rnnlens fit --model`: a module of one's own becomes a run like any other."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tests.grammar import sentences

from rnnlens.corpus.sentence import Sentence
from rnnlens.files import read_tensors, write_tensors
from rnnlens.model.own import own_model_at
from rnnlens.probe.fitting import Fitter
from rnnlens.run import Run

DATA = list(sentences(60))
WORDS = sorted({word for s in DATA for word in s.words})
TAGS = sorted({tag for s in DATA for tag in s.tags or ()})
FIT = ("--epochs", "1")


def conllu(sentence: Sentence) -> str:
    pairs = enumerate(zip(sentence.words, sentence.tags or (), strict=True), 1)
    return "\n".join(f"{k}\t{word}\t_\t{tag}" + "\t_" * 6 for k, (word, tag) in pairs)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's code, an untagged corpus and a tagged one."""
    made: Path = tmp_path_factory.mktemp("project")
    shutil.copy(Path(__file__).with_name("ownmodels.py"), made)
    (made / "names.json").write_text(json.dumps({"words": WORDS, "tags": TAGS}))
    (made / "plain.txt").write_text("\n".join(" ".join(s.words) for s in DATA))
    (made / "tagged.conllu").write_text("\n\n".join(map(conllu, DATA)) + "\n\n")
    return made


@pytest.fixture
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """In that folder, whose code is not installed."""
    monkeypatch.chdir(project)
    before = list(sys.path)
    yield project
    sys.path[:] = before
    sys.modules.pop("ownmodels", None)


def fit(command, factory, output, *flags, corpus="plain.txt"):
    return command(
        "fit", "--model", f"ownmodels:{factory}", "--corpus", corpus, "-o", output, *FIT, *flags
    )


@pytest.fixture(scope="module")
def kept(project: Path) -> Path:
    """A finished run, made by the real command in a process of its own."""
    words = ["fit", "--model", "ownmodels:language", "--corpus", "plain.txt", "-o", "kept", *FIT]
    script = Path(sys.executable).with_name("rnnlens")
    done = subprocess.run(
        [script, *words, "--semantic", "output,input"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return project / "kept"


def test_every_command_works_on_such_a_run(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    shown = command("eval", run)
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.count("unigram perplexity") == 2
    found = json.loads((run / "evaluation.json").read_text())
    assert {row["kind"] for row in found["probes"]} == {*"x f1 i1 o1 g1 l1 s1 c1 h1".split()}
    assert "the" in command("show", run, " ".join(DATA[0].words)).out
    again = command("fit", run, "--probe", "shared", *FIT)
    assert (again.code, again.err) == (0, "")
    assert Run(run).probes().family == "shared"


def test_what_is_measured_is_the_modules_own_loss(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    found = json.loads(command("eval", run, "--json").out)
    own, total, count = own_model_at("ownmodels:language"), 0.0, 0
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
    found = json.loads(command("eval", run, "--control", "--json").out)
    assert len(found["control"]) == len(found["probes"])
    for row, real in zip(found["control"], found["probes"], strict=True):
        assert row["perplexity"] > 0.9 * row["unigram"], row["kind"]
        assert row["semantic"] == "output" or row["perplexity"] > real["perplexity"]


def test_a_label_of_no_probability_is_no_number(command, here, tmp_path):
    assert fit(command, "masked", tmp_path / "run").code == 0
    shown = command("eval", tmp_path / "run")
    assert (shown.code, shown.err) == (0, "")
    assert " - " in shown.out
    found = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert found["model"]["train"]["perplexity"] is None or WORDS[0] not in {
        word for sentence in DATA for word in sentence.words[1:]
    }
    assert command("show", tmp_path / "run", " ".join(DATA[0].words)).code == 0


def test_without_its_code_all_but_new_texts_can_be_shown(command, kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = [example.text for example in Run(kept).examples()]
    assert len(examples) == 3
    assert all(text in {" ".join(s.words) for s in DATA} for text in examples)
    for text in examples:
        shown = command("show", kept, text, "-o", "grid.json")
        assert (shown.code, shown.err) == (0, "")
    told = command("show", kept, "the dogs see a bird")
    assert told.code == 2
    assert told.err.startswith("rnnlens: cannot import ownmodels")
    assert "PYTHONPATH" in told.err


def test_kept_texts_are_what_the_module_says(command, here, kept, tmp_path):
    text = Run(kept).examples()[0].text
    assert command("show", kept, text, "-o", tmp_path / "kept.json").code == 0
    without = Path(shutil.copytree(kept, tmp_path / "without"))
    (without / "examples.safetensors").unlink()
    assert command("show", without, text, "-o", tmp_path / "live.json").code == 0
    a, b = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("kept", "live"))
    assert a["rows"] == b["rows"]
    assert "ownmodels" in sys.modules


@pytest.mark.parametrize(
    ("factory", "fed"), [("turned", [-1, 1]), ("prepared", None), ("batched", [1, -1])]
)
def test_modules_are_fed_as_they_want(command, here, tmp_path, factory, fed):
    done = fit(command, factory, tmp_path / "run")
    assert (done.code, done.err) == (0, "")
    assert json.loads((tmp_path / "run" / "model.json").read_text())["fed"] == fed
    assert command("show", tmp_path / "run", "the dogs see a bird").code == 0


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
    assert command("show", tmp_path / "run", "the dogs see a bird").code == 0


def test_a_tagger_is_asked_for_tags(command, here, tmp_path):
    done = fit(command, "tagger", tmp_path / "run", corpus="tagged.conllu")
    assert (done.code, done.err) == (0, "")
    run = Run(tmp_path / "run")
    words = sum(len(s.words) for s in DATA)
    rows = json.loads(command("eval", run.path, "--json").out)["model"].values()
    assert sum(row["pairs"] for row in rows) == words
    assert "h1<" in run.probes().kinds
    assert run.colours()["groupings"]["labels"]["colours"]["NOUN"] == "#009e73"
    assert command("show", run.path, "the dogs see a bird").code == 0


def test_tags_may_have_marks_beside_them(command, here, tmp_path):
    assert fit(command, "marked", tmp_path / "run", corpus="tagged.conllu").code == 0
    colours = Run(tmp_path / "run").colours()["groupings"]["labels"]["colours"]
    assert colours["NOUN"] == "#009e73"
    assert "<pad>" not in colours


def test_a_tagged_corpus_colours_the_words(command, here, tmp_path):
    assert fit(command, "language", tmp_path / "run", corpus="tagged.conllu").code == 0
    groups = Run(tmp_path / "run").colours()["groupings"]["universal"]["groups"]
    assert groups["the"] == "DET"


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
    a, b = (read_tensors(tmp_path / n / "probes.safetensors")[0] for n in ("whole", "run"))
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_the_weights_of_the_run_are_put_into_what_the_factory_makes(command, here, kept, tmp_path):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    described = json.loads((run / "model.json").read_text())
    described["factory"] = "ownmodels:other"  # the same shape, other weights
    (run / "model.json").write_text(json.dumps(described))
    text = "the dogs see a bird"
    for at, name in ((run, "other"), (kept, "kept")):
        assert command("show", at, text, "-o", tmp_path / f"{name}.json").code == 0
    a, b = (json.loads((tmp_path / f"{n}.json").read_text()) for n in ("other", "kept"))
    assert a["rows"] == b["rows"]


FACTORIES = [
    ("ownmodels", "names no model; write package.module:factory"),
    ("nowhere.at.all:model", "cannot import nowhere.at.all"),
    ("ownmodels:missing", "ownmodels.py) has no missing"),
    ("ownmodels:WORDS", "gave list; give a module"),
    ("ownmodels:nothing", "gave NoneType; give a module"),
    ("ownmodels:broken", "ownmodels:broken failed: ValueError: the weights are not there ("),
    ("ownmodels:stuck", "the forward of Stuck failed: RuntimeError: shapes do not fit ("),
    ("ownmodels:carried", "missing 1 required positional argument: 'hidden'); return OwnModel("),
    ("ownmodels:nan", "are NaN or infinite"),
    ("ownmodels:few", "the module has no word"),
    ("ownmodels:unnamed", "does not name the labels"),
    ("ownmodels:bad_words", "words= of ownmodels:bad_words failed: KeyError"),
]


@pytest.mark.parametrize(("model", "message"), FACTORIES)
def test_bad_models_are_told_in_one_line(command, here, tmp_path, model, message):
    told = command("fit", "--model", model, "--corpus", "plain.txt", "-o", tmp_path / "run")
    assert told.code == 2
    assert message in told.err
    assert told.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "ownmodels:language"], "takes: rnnlens fit --model"),
        (["--model", "m:f", "--corpus", "c", "-o", "r", "run"], "takes: rnnlens fit --model"),
        ([], "give a run folder to fit, or a module of your own"),
        (["kept", "-o", "elsewhere"], "--output goes with --model"),
        (["kept", "--longest", "20"], "--longest goes with --model"),
        (["--model", "m:f", "--corpus", "c", "-o", "r", "--longest", "1"], "at least 3"),
    ],
)
def test_flags_that_do_not_go_together(command, here, kept, words, message):
    told = command("fit", *words)
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert message in told.err


def test_another_run_is_not_written_over(command, here, kept, tmp_path, trained_run):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    for factory, flags, message in (
        ("other", (), "gives other weights than those"),
        ("language", ("--longest", "9"), "made with --longest 200, not --longest 9"),
    ):
        told = fit(command, factory, run, *flags)
        assert told.code == 2
        assert message in told.err
    told = fit(command, "language", run, corpus="tagged.conllu")
    assert "is not the corpus that" in told.err
    assert "was trained" in fit(command, "language", trained_run).err
    assert "module of your own" in command("train", "plain.txt", "-o", run).err
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


def damaged(name: str, change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    def edit(run: Path) -> None:
        value = json.loads((run / name).read_text())
        change(value)
        (run / name).write_text(json.dumps(value))

    return edit


def halved(run: Path) -> None:
    path = run / "examples.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def strange(run: Path) -> None:
    write_tensors(run / "examples.safetensors", {"0/x": torch.zeros(1)}, {"examples": [3]})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (damaged("model.json", lambda m: m.pop("factory")), "model.json is damaged"),
        (damaged("model.json", lambda m: m["kinds"][0].pop("id")), "model.json is damaged"),
        (damaged("model.json", lambda m: m.update(labels=3)), "has 3 labels and its vocabulary"),
        (damaged("vocabulary.json", lambda m: m["counts"].pop()), "vocabulary is damaged"),
        (damaged("vocabulary.json", lambda m: m.pop("inputs")), "vocabulary is damaged"),
        (damaged("run.json", lambda m: m.update(status="training")), "has not finished"),
        (halved, "examples.safetensors is damaged"),
        (strange, "examples.safetensors is damaged"),
    ],
)
def test_damaged_runs_are_told_in_one_line(command, here, kept, tmp_path, spoil, message):
    run = Path(shutil.copytree(kept, tmp_path / "run"))
    spoil(run)
    told = command("show", run, "the dogs see a bird")
    assert (told.code, told.err.count("\n")) == (2, 1)
    assert message in told.err
