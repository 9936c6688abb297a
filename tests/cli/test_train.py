"""`rnnlens train` from a corpus to a run folder."""

import json
import shlex
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests import grammar

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import locked, sha256
from rnnlens.corpus.corpus import Corpus, CorpusConfig
from rnnlens.model.train import training
from rnnlens.model.train.training import TrainingConfig
from rnnlens.reading.session import TEXTS
from rnnlens.run.folder import Run
from rnnlens.work.train_run import _too_little

FILES = {
    "run.json", "vocabulary.json", "colours.json", "model.json", "model.safetensors",
    "evaluation.json", "training.log", "examples.safetensors",
}  # fmt: skip
OWN = {"colours": {"PET": "#ff0000", "REST": "#00ff00"}, "groups": {"dog": "PET", "the": "REST"}}


def contents(path: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in path.iterdir()}


def read(path: Path) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_a_finished_run_holds_its_files_and_nothing_else(trained_run):
    assert set(contents(trained_run)) == FILES


def test_the_record_tells_how_the_run_came_about(trained_run, corpus_file, tiny):
    record = Run(trained_run).record()
    assert record.network
    assert record.training
    assert record.metrics
    words = ["rnnlens", "train", str(corpus_file), "-o", str(trained_run), *tiny]
    assert shlex.split(record.command) == words
    assert record.status == "trained"
    assert record.corpus["source"] == str(corpus_file)
    assert (record.corpus["min_count"], record.corpus["lowercase"]) == (1, True)
    assert (record.network["cell"], record.network["width"]) == ("lstm", 8)
    assert (record.training["epochs"], record.training["seed"]) == (2, 0)
    assert record.metrics["epochs"] == 2
    assert record.metrics["best_epoch"] in (1, 2)
    evaluation = read(trained_run / "evaluation.json")["model"]
    assert record.metrics["perplexity"] == evaluation


def test_its_examples_are_sentences_of_its_test_part(trained_run, corpus_file, tmp_path):
    lens = rnnlens.load(trained_run)
    test = Corpus.read(str(corpus_file), CorpusConfig(min_count=1), lowercase=True)
    texts = [" ".join(sentence.words) for sentence in test.sentences("test")]
    examples = lens.examples()
    assert 1 < len(examples) <= TEXTS
    assert set(examples) <= set(texts)
    assert all(4 <= len(example.split()) <= 12 for example in examples)
    assert lens(examples[0]).words == examples[0].split()
    copy = lens.save(tmp_path / "copied")
    assert rnnlens.load(copy).examples() == examples


def test_a_run_is_not_copied_while_it_is_written(trained_run, tmp_path):
    lens = rnnlens.load(trained_run)
    with locked(trained_run), pytest.raises(RnnlensError, match="is being written by process"):
        lens.save(tmp_path / "copied")
    assert not (tmp_path / "copied").exists()
    assert rnnlens.load(lens.save(tmp_path / "copied")).examples() == lens.examples()


def test_the_parts_of_a_run_fit_each_other(trained_run):
    run = Run(trained_run)
    vocabulary = run.vocabulary()
    assert run.model().label_count == len(vocabulary)
    groupings = read(trained_run / "colours.json")["groupings"]
    assert set(groupings) == {"classes", "coarse", "universal"}
    for grouping in groupings.values():
        assert isinstance(grouping, dict)
        assert set(grouping["groups"]) <= set(vocabulary.labels)
        assert set(grouping["groups"].values()) <= set(grouping["colours"])


def test_it_prints_what_it_read_each_epoch_and_the_result(command, corpus_file, tiny, tmp_path):
    answer = command("train", corpus_file, "-o", tmp_path / "run", *tiny)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    starts = ["corpus", "train", "valid", "test", "colours", "epoch 1/2", "epoch 2/2", "  ",
              "train", "valid", "test", "it predicts no better"]  # fmt: skip
    assert len(lines) == len(starts)
    assert all(line.startswith(start) for line, start in zip(lines, starts, strict=True))
    assert lines[-1].endswith("give more --epochs (now 2), or a smaller --batch (now 16)")
    assert (tmp_path / "run" / "training.log").read_text().splitlines() == lines[5:7]


@pytest.mark.parametrize(
    ("test", "valid", "told"),
    [((9, 8), (1, 8), "9.00"), ((1, 8), (9, 8), ""), (None, (8, 8), "8.00"), (None, None, "")],
)
def test_what_is_not_predicted_is_not_compared_with_frequencies(test, valid, told):
    none = {"pairs": 0, "perplexity": None, "unigram": None}
    parts = {"test": test, "valid": valid}
    model = {
        name: dict(zip(none, (5, *two), strict=True)) if two else none
        for name, two in parts.items()
    }
    said = _too_little(model, 12, TrainingConfig())
    assert bool(said) == bool(told)
    assert told in said


def test_the_same_command_again_finds_the_run_trained(command, corpus_file, tiny, run_copy):
    before = contents(run_copy)
    answer = command("train", corpus_file, "-o", run_copy, *tiny)
    assert (answer.code, answer.err) == (0, "")
    assert f"{run_copy} is trained already" in answer.out
    assert contents(run_copy) == before


def test_a_corpus_that_moved_is_still_the_same(command, corpus_file, tiny, run_copy, tmp_path):
    moved = shutil.copy(corpus_file, tmp_path / "elsewhere.conllu")
    assert "is trained already" in command("train", moved, "-o", run_copy, *tiny).out


@pytest.mark.parametrize(
    "flags",
    ["--width 9", "--cell gru", "--no-tied", "--epochs 3", "--seed 1", "--dropout-words 0",
     "--min-count 2", "--no-lowercase", "--split-seed 3"],
)  # fmt: skip
def test_other_flags_for_the_same_folder_are_refused(command, corpus_file, tiny, run_copy, flags):
    before = contents(run_copy)
    answer = command("train", corpus_file, "-o", run_copy, *tiny, *flags.split())
    assert answer.code == 2
    flag = flags.split()[0].replace("--no-", "--")
    assert f"holds another run, made with {flag}" in answer.err
    assert f"not {flags.split()[0]}" in answer.err
    assert contents(run_copy) == before


def test_another_corpus_for_the_same_folder_is_refused(command, tiny, run_copy, tmp_path):
    other, before = tmp_path / "other.conllu", contents(run_copy)
    other.write_text(grammar.conllu(101, seed=1))
    answer = command("train", other, "-o", run_copy, *tiny)
    assert answer.code == 2
    assert "has changed since" in answer.err
    assert contents(run_copy) == before


@pytest.fixture
def left_behind(command, corpus_file, tiny, tmp_path) -> Path:
    """The folder of a training that ended before anything was saved, but for its log."""
    out: Path = tmp_path / "run"
    assert command("train", corpus_file, "-o", out, *tiny, "--learning-rate", "1e30").code == 2
    (out / "training.log").write_text("epoch 1/400\n")
    return out


def test_where_nothing_was_trained_another_corpus_may_be(command, tiny, left_behind):
    other = left_behind.with_name("other.conllu")
    other.write_text(grammar.conllu(101, seed=1))
    answer = command("train", other, "-o", left_behind, *tiny)
    assert (answer.code, answer.err) == (0, "")
    log = (left_behind / "training.log").read_text().splitlines()
    assert [line.split("  ")[0] for line in log] == ["epoch 1/2", "epoch 2/2"]


def test_a_training_that_saves_while_another_reads_its_corpus_is_not_overwritten(
    command, corpus_file, tiny, left_behind, monkeypatch
):
    def read(*given, **options):
        (left_behind / "checkpoint.safetensors").write_bytes(b"of the other")
        return Corpus.read(*given, **options)

    monkeypatch.setattr("rnnlens.work.train_run.Corpus", SimpleNamespace(read=read))
    before = contents(left_behind)
    answer = command("train", corpus_file, "-o", left_behind, *tiny, "--width", 9)
    assert (answer.code, "holds another run, made with" in answer.err) == (2, True)
    assert contents(left_behind) == {**before, "checkpoint.safetensors": b"of the other"}


def test_equal_orders_give_equal_weights(command, corpus_file, tiny, trained_run, tmp_path):
    for name, seed in (("same", 0), ("other", 1)):
        command("train", corpus_file, "-o", tmp_path / name, *tiny, "--seed", seed)
    same, other = (sha256(tmp_path / name / "model.safetensors") for name in ("same", "other"))
    assert same == sha256(trained_run / "model.safetensors")
    assert other != same


@pytest.mark.parametrize(("scores", "last_is_best"), [((9.0, 5.0), True), ((5.0, 9.0), False)])
def test_the_best_epoch_is_the_one_that_is_kept(
    command, corpus_file, tiny, trained_run, tmp_path, monkeypatch, scores, last_is_best
):
    left = iter(scores)
    monkeypatch.setattr(training, "model_perplexity", lambda *_: next(left))
    assert command("train", corpus_file, "-o", tmp_path / "run", *tiny).code == 0
    kept, last = (sha256(path / "model.safetensors") for path in (tmp_path / "run", trained_run))
    assert (kept == last) == last_is_best


@pytest.mark.parametrize(
    ("flags", "kinds"),
    [
        ("--cell gru --layers 1", 7),
        ("--cell rnn --layers 3 --no-tied", 4),
        ("--cell lstm --embedding 5", 17),
    ],
)
def test_every_shape_of_network_trains(command, corpus_file, tiny, tmp_path, flags, kinds):
    answer = command("train", corpus_file, "-o", tmp_path / "run", *tiny, *flags.split())
    assert answer.code == 0
    assert len(Run(tmp_path / "run").model().kinds) == kinds


def test_validation_and_test_corpora_of_their_own(command, tiny, tmp_path):
    paths = [tmp_path / f"{name}.conllu" for name in ("train", "valid", "test")]
    for path, count in zip(paths, (60, 20, 30), strict=True):
        path.write_text(grammar.conllu(count, seed=count))
    train, valid, test = paths
    answer = command(
        "train", train, "--valid", valid, "--test", test, "-o", tmp_path / "run", *tiny
    )
    assert answer.code == 0
    measured = read(tmp_path / "run" / "evaluation.json")["model"]
    assert [row["sentences"] for row in measured.values()] == [60, 20, 30]  # type: ignore[index]


def test_training_ends_early_when_validation_no_longer_improves(
    command, corpus_file, tiny, tmp_path
):
    flags = "--epochs 9 --patience 1 --learning-rate 1e-30 --weight-decay 0".split()
    answer = command("train", corpus_file, "-o", tmp_path / "run", *tiny, *flags)
    assert answer.code == 0
    log = (tmp_path / "run" / "training.log").read_text().splitlines()
    assert [line.split("  ")[0] for line in log[:-1]] == ["epoch 1/9", "epoch 2/9"]
    assert log[-1] == "no better validation for 1 epochs: done"
    assert log[0].split("  ")[1].endswith("*")
    assert not log[1].split("  ")[1].endswith("*")


def test_own_colours_are_taken_over(command, corpus_file, tiny, tmp_path):
    (tmp_path / "own.json").write_text(json.dumps(OWN))
    flags = [*tiny, "--colours", tmp_path / "own.json"]
    answer = command("train", corpus_file, "-o", tmp_path / "run", *flags)
    assert answer.code == 0
    assert "own.json, given by the user" in answer.out
    own = read(tmp_path / "run" / "colours.json")["groupings"]["own"]
    assert isinstance(own, dict)
    assert own["groups"] == OWN["groups"]
    assert OWN["colours"].items() <= own["colours"].items()
    assert set(own["colours"]) == {"PET", "REST", "OTHER"}


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--help"], ["train", "eval"]),
        (["train", "--help"], ["--dropout-words X", "(default: 300)", "torchrun", "--no-tied"]),
        (["eval", "--help"], ["--json", "unigram"]),
        (["--version"], ["rnnlens "]),
    ],
)
def test_help_teaches(command, capsys, words, shown):
    with pytest.raises(SystemExit) as ended:
        command(*words)
    assert ended.value.code == 0
    out = capsys.readouterr().out
    assert all(text in out for text in shown)
