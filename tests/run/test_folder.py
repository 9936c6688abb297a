"""The run folder, and the checkpoints in it."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import runfiles
from tests.asks import grid_json

import rnnlens
from rnnlens.base import files as files_module
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256, write_json
from rnnlens.base.tensors import write_tensors
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.lens.open import opened, opened_with_checkpoints
from rnnlens.model.cells.minimal import MinLSTM
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import Example
from rnnlens.probe.probes import Probes
from rnnlens.reading.subject import Training
from rnnlens.run import run_files
from rnnlens.run.folder import CHECKPOINTS, Keeper, Run, epochs_to_keep, kept_runs, run_at
from rnnlens.run.record import FORMAT, TRAINED, TRAINING

RECORD: dict[str, Any] = {
    "corpus": {}, "network": {}, "training": {}, "status": TRAINED, "made_by": "train",
}  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run with a model, as training leaves it."""
    made = Run(tmp_path / "run")
    made.create()
    made.write_record(RECORD)
    made.write_model(Network(NetworkConfig("gru", width=3, tied=False), 6).initialise(0))
    return made


@pytest.fixture
def change(run: Run) -> Callable[..., None]:
    """Change entries of model.json, or drop them where None is given."""

    def edit(**entries: Any) -> None:
        runfiles.edit(run.path / "model.json", **entries)

    return edit


@pytest.mark.parametrize(
    ("record", "left", "begun"),
    [
        ({"status": TRAINING}, "", False),
        ({"status": TRAINING}, "training.log", False),
        ({"status": TRAINING}, "checkpoint.safetensors", True),
        ({"status": TRAINING}, "model.json", True),  # killed between its model and its record
        ({"status": TRAINING}, CHECKPOINTS, True),
        ({"status": TRAINING, "made_by": "fit"}, "", True),
        ({"status": TRAINED}, "", True),
    ],
)
def test_what_was_trained_is_never_taken_for_nothing(tmp_path, record, left, begun):
    run = Run(tmp_path / "run")
    run.create()
    run.write_record({**RECORD, **record})
    if left:
        (run.path / left).touch()
    assert run.has_begun(run.record()) == begun


def test_a_model_comes_back_ready_to_trace(run):
    wanted = (
        Network(NetworkConfig("gru", width=3, tied=False), 6).initialise(0).requires_grad_(False)
    )
    found = run.model()
    assert found.config == wanted.config
    assert not found.training
    assert not any(p.requires_grad for p in found.parameters())
    inputs = torch.tensor([[0], [5]])
    assert torch.equal(found.trace(inputs).prediction, wanted.trace(inputs).prediction)


def test_model_json_tells_the_shape_and_the_hash_of_the_weights(run):
    told = runfiles.contents(run.path / "model.json")
    assert told.pop("sha256") == sha256(run.path / "model.safetensors")
    shape = {"cell": "gru", "width": 3, "layers": 2, "embedding": 0, "tied": False,
             "heads": 0, "keys": 0}  # fmt: skip
    assert told == {**shape, "bidirectional": False, "labels": 6, "words": None, "vocabulary": None}


def test_the_record_carries_format_and_version(run):
    expected = {**RECORD, "format": FORMAT, "version": rnnlens.__version__}
    assert run.record().to_json() == {**expected, "command": ""}


def test_a_vocabulary_comes_back_as_it_was(run):
    vocabulary = Vocabulary(("the", "UNK", "NUM"), (5, 2, 1), frozenset({"two"}), lowercase=False)
    run.write_vocabulary(vocabulary)
    assert run.vocabulary() == vocabulary


def test_log_lines_are_added(run):
    run.log("one")
    run.log("zwölf")
    assert (run.path / "training.log").read_text(encoding="utf-8") == "one\nzwölf\n"


def test_a_run_exists_once_it_is_recorded(tmp_path):
    made = Run(tmp_path / "deep" / "run")
    assert not made.exists()
    made.create()
    assert not made.exists()
    made.write_record(RECORD)
    assert made.exists()
    made.create()


def test_an_empty_folder_or_one_with_hidden_files_will_do(tmp_path):
    (tmp_path / ".keep").touch()
    Run(tmp_path).create()


def test_a_folder_with_foreign_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RnnlensError, match="holds files that are no run"):
        Run(tmp_path).create()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(RnnlensError, match="cannot make the folder"):
            Run(path).create()


def test_a_missing_run_says_how_to_make_it(tmp_path):
    with pytest.raises(RnnlensError, match=r"no run at .*; make one with: rnnlens train"):
        Run(tmp_path / "none").record()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is damaged"),
        ("[]", "in a format that"),
        ("{}", r"made by rnnlens \? in a format that"),
        ('{"format": 2, "version": "9.0"}', "made by rnnlens 9.0 in a format that"),
        ('{"format": 1}', r"run\.json is damaged"),
        ('{"format": 1, "status": "trained", "corpus": "x"}', r"run\.json is damaged"),
    ],
)
def test_records_that_cannot_be_read_are_refused(run, text, message):
    (run.path / "run.json").write_text(text)
    with pytest.raises(RnnlensError, match=message):
        run.record()


@pytest.mark.parametrize("command", ["train", "fit"])
def test_a_record_says_which_command_made_the_run(run, command):
    """Runs of older versions do not say it: those that were trained have a network."""
    plain = {"corpus": {"source": "a.txt"}, "status": TRAINED}
    older = {**plain, "network": {}} if command == "train" else plain
    for record in (older, {**plain, "made_by": command}):
        run.write_record(record)
        assert run.record().made_by == command
        assert run.record().to_json()["made_by"] == command
    run.write_record({**plain, "made_by": "hand"})
    with pytest.raises(RnnlensError, match=r"run\.json is damaged \(made_by"):
        run.record()


def test_the_model_of_an_unfinished_run_is_not_handed_out(run):
    run.write_record({**RECORD, "status": "training"})
    with pytest.raises(RnnlensError, match="has not finished; give its command again"):
        run.model()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"sha256": "0" * 64}, "its SHA-256 is not the recorded one"),
        ({"sha256": None}, r"model\.json is damaged \(sha256: Field required"),
        ({"labels": None}, r"model\.json is damaged \(labels: Field required"),
        ({"labels": 7}, r"does not fit model\.json"),
        ({"labels": "six"}, r"model\.json is damaged \(labels: Input should be a valid integer"),
        ({"labels": -6}, r"model\.json is damaged"),
        ({"width": 4}, r"does not fit model\.json"),
        ({"layers": 1}, r"does not fit model\.json"),
        ({"layers": "two"}, r"model\.json is damaged"),
        ({"cell": "lstm"}, r"does not fit model\.json"),
        (
            {"cell": "transformer"},
            "is of the cell 'transformer', which this version of rnnlens does",
        ),
        ({"heads": 8}, r"model\.json is damaged \(--heads 8: --cell \w+ has none"),
        ({"hats": 8}, r"model\.json is damaged \(hats: Unexpected"),
    ],
)
def test_a_model_json_that_does_not_fit_is_refused(run, change, entries, message):
    change(**entries)
    with pytest.raises(RnnlensError, match=message):
        run.model()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_refused(run, change, value):
    weights = runfiles.tensors_in(run.path / "model.safetensors")
    weights["bias"][2] = value
    change(sha256=write_tensors(run.path / "model.safetensors", weights))
    with pytest.raises(RnnlensError, match="weights that are not numbers"):
        run.model()


@pytest.mark.parametrize("name", ["model.json", "model.safetensors", "run.json"])
def test_a_missing_part_is_named(run, name):
    (run.path / name).unlink()
    with pytest.raises(RnnlensError, match=f"{name} is missing"):
        run.model()


@pytest.mark.parametrize("value", [[], {}, {"labels": ["a"]}])
def test_a_damaged_vocabulary_is_refused(run, value):
    (run.path / "vocabulary.json").write_text(json.dumps(value))
    with pytest.raises(RnnlensError, match=r"vocabulary\.json is damaged"):
        run.vocabulary()


@pytest.mark.parametrize("labels", [["a", "b"], ["a", "UNK", "b"], [["a"], "UNK"], ["UNK", "UNK"]])
def test_a_vocabulary_whose_labels_do_not_fit_its_counts_is_refused(run, labels):
    run.write_vocabulary(Vocabulary(("the", "UNK"), (5, 2)))
    path = run.path / "vocabulary.json"
    runfiles.edit(path, labels=labels)
    with pytest.raises(RnnlensError, match=r"vocabulary\.json is damaged"):
        run.vocabulary()


def probes_of(run: Run, value: float) -> Probes:
    """Probes of a single kind, all of whose weights are the same."""
    tensors = {"output/x/weight": torch.full((6, 3), value), "output/x/bias": torch.zeros(6)}
    return Probes.of("linear", ["x"], ["output"], 6, tensors)


@pytest.mark.parametrize("files", range(4))
def test_probes_that_replace_others_may_be_killed_at_any_file(run, monkeypatch, files):
    """Whatever has been written by then, the old probes or the new are there."""
    run.write_probes(probes_of(run, 1.0), {"seed": 1})
    real, written = files_module.write_pieces, iter(range(files))

    def killed(path: Path, pieces: list[bytes], before_move: Callable[[], object] = bool) -> None:
        before_move()
        if next(written, None) is None:
            raise KeyboardInterrupt
        real(path, pieces)

    with monkeypatch.context() as patched, suppress(KeyboardInterrupt):
        patched.setattr("rnnlens.base.files.write_pieces", killed)
        patched.setattr("rnnlens.run.folder.write_pieces", killed)
        run.write_probes(probes_of(run, 2.0), {"seed": 2})
    state = torch.ones(3)
    value = float(run.probes().logits("x", state)[0]) / 3
    assert (value, run.fit_config().seed) == ((1.0, 1) if files < 2 else (2.0, 2))
    run.write_probes(probes_of(run, 3.0), {"seed": 3})
    assert float(run.probes().logits("x", state)[0]) == 9
    assert "previous" not in runfiles.contents(run.path / "probes.json")


def test_a_vocabulary_of_another_run_is_noticed(run):
    labels = tuple("abcde")
    run.write_vocabulary(Vocabulary((*labels, "UNK"), (1,) * 6))
    run.write_model(Network(NetworkConfig("gru", width=3), 6).initialise(0))
    run.text(run.model())
    run.write_vocabulary(Vocabulary((*labels[::-1], "UNK"), (1,) * 6))
    with pytest.raises(RnnlensError, match="is not its model's; restore both"):
        run.text(run.model())


def test_a_network_from_before_its_cell_had_a_gate_is_refused(run, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(MinLSTM, "rows", 3)
        run.write_model(Network(NetworkConfig("minlstm", width=3), 6).initialise(0))
    with pytest.raises(RnnlensError, match="does not fit model") as problem:
        run.network()
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("name", ["vocabulary.json", "colours.json", "model.json", "run.json"])
def test_one_flipped_bit_is_noticed(run_copy, name):
    path = run_copy / name
    data = bytearray(path.read_bytes())
    place = data.index(b"a", len(data) // 3)
    data[place] ^= 1  # a letter for another
    path.write_bytes(data)
    run = Run(run_copy)
    with pytest.raises(RnnlensError, match=f"{name} is damaged .its checksum differs"):
        (run.record(), run.colours(), run.text(run.model()))


def test_two_commands_do_not_write_to_one_run(command, corpus_file, tiny, run_copy, tmp_path):
    mine = tmp_path / "mine.json"
    mine.write_text('{"colours": {}, "groups": {}}')
    train = ["train", corpus_file, "-o", run_copy, *tiny, "--colours", mine]
    with Run(run_copy).writing():
        for words in (["fit", run_copy, "--epochs", "0"], train):
            told = command(*words)
            assert told.code == 2
            assert "is being written by process" in told.err
        told = command("eval", run_copy, "--device", "cpu")
        assert told.code == 0
        assert told.err.startswith("rnnlens: not saved: ")


@pytest.mark.parametrize(
    ("count", "epochs", "kept"),
    [
        (0, 30, []), (1, 30, [1]), (2, 30, [1, 30]), (4, 27, [1, 3, 9, 27]), (3, 3, [1, 2, 3]),
        (9, 3, [1, 2, 3]), (8, 30, [1, 2, 3, 4, 7, 11, 18, 30]),
    ],
)  # fmt: skip
def test_epochs_are_spread_over_training_and_closer_together_at_first(count, epochs, kept):
    assert epochs_to_keep(count, epochs) == kept


def test_a_checkpoint_is_a_run_of_its_own(run_copy):
    run = Run(run_copy)
    record = {**run.record().to_json(), "metrics": None}
    keeper = Keeper(run, {k: v for k, v in record.items() if v is not None}, (2, 5))
    for epoch in (1, 2, 5):
        keeper.after_epoch(epoch, run.network())
    kept = kept_runs(run)
    assert list(kept) == [2, 5]
    assert (kept[2].record().epoch, kept[2].record().status) == (2, TRAINED)
    text = "the dog"
    assert grid_json(opened(kept[2]), text)["rows"] == grid_json(opened(run), text)["rows"]
    lenses = opened_with_checkpoints(run, None, "news")
    best = run.record().metrics["best_epoch"]  # type: ignore[index]
    assert best == 2  # so that the checkpoint of that epoch is the run itself
    assert {key: lens.subject.training for key, lens in lenses.items()} == {
        "news": Training("news", 2), "news-epoch-5": Training("news", 5)
    }  # fmt: skip


def test_one_that_was_not_written_to_its_end_is_left_out(run_copy):
    run = Run(run_copy)
    record = {k: v for k, v in run.record().to_json().items() if k != "metrics"}
    Keeper(run, record, (3,)).after_epoch(3, run.network())
    kept = kept_runs(run)[3]
    kept.write_record({**record, "epoch": 3, "status": TRAINING})
    assert kept_runs(run) == {}


def test_runs_of_other_corpora_are_refused(run_copy):
    run = Run(run_copy)
    record = {k: v for k, v in run.record().to_json().items() if k != "metrics"}
    Keeper(run, record, (3,)).after_epoch(3, run.network())
    kept = kept_runs(run)[3]
    kept.write_record({**record, "epoch": 3, "status": TRAINED, "corpus": {"hash": "other"}})
    with pytest.raises(RnnlensError, match="is no checkpoint of the training of"):
        kept_runs(run)
    kept.write_record({**record, "status": TRAINED})
    with pytest.raises(RnnlensError, match="move it elsewhere"):
        opened_with_checkpoints(run, None, "news")


@pytest.fixture
def others(run_copy, formula):
    """A run, and the folder of one with other labels and weights."""
    return run_copy, formula.subject.run.path


@pytest.mark.parametrize("name", ["colours.json", "evaluation.json", "run.json"])
def test_a_file_of_another_run_is_noticed(others, name):
    path, other = others
    mine, theirs = Run(path), runfiles.contents(other / name)
    mine.write_colours(mine.colours())  # as versions before did not say whose they are
    mine.write_evaluation(runfiles.contents(other / "evaluation.json"))
    record = mine.record().to_json()
    mine.write_record({key: value for key, value in record.items() if key != "weights"})
    opened(mine)
    write_json(path / name, theirs)
    with pytest.raises(
        RnnlensError, match=f"{name} is of another (run|model)[^\n]*; (re|me)[^\n]*$"
    ):
        opened(mine)


def test_texts_of_another_run_are_noticed(others):
    path, other = others
    mine, texts = Run(path), [Example("the dog", ("the", "dog"), (1, 2), {})]
    mine.write_examples(texts)
    assert opened(mine).examples() == ["the dog"]
    words = sha256(other / "vocabulary.json")
    run_files.write_examples(path / "examples.safetensors", texts, "", words)
    with pytest.raises(RnnlensError, match=r"examples\.safetensors is of another run[^\n]* delete"):
        opened(mine)


@pytest.mark.parametrize("name", ["colours.json", "evaluation.json", "run.json"])
def test_files_of_older_versions_do_not_say_whose_they_are(others, name):
    path, other = others
    run = Run(path)
    run.write_evaluation(runfiles.contents(other / "evaluation.json"))
    run.write_colours(run.colours())
    run.write_record(run.record().to_json())
    before = opened(run)
    runfiles.edit(path / name, weights=None, vocabulary=None)
    after = opened(run)
    assert grid_json(after, "the dog") == grid_json(before, "the dog")
    assert after.subject.scores == before.subject.scores


def test_colours_of_one_s_own_need_not_say_whose_they_are(run_copy):
    run = Run(run_copy)
    plain = json.dumps({"source": "me", "groupings": run.colours()["groupings"]})
    (run_copy / "colours.json").write_text(plain)
    assert list(opened(run).palettes)


def test_whoever_writes_next_puts_away_what_a_kill_has_left_in_checkpoints(run):
    left, held = (run.path / "kept" / name for name in ("0001", "0002"))
    for folder in (left, held):
        folder.mkdir(parents=True)
    (left / files_module.LOCK).write_text("{}")
    (left / ".probes.json.rnnlens-ab12").touch()
    with files_module.locked(held):
        with run.writing():
            assert sorted(path.name for path in run.path.rglob(".*")) == [files_module.LOCK] * 2
        assert list(run.path.rglob(".*")) == [held / files_module.LOCK]
    assert list(run.path.rglob(".*")) == []


def test_a_folder_that_is_no_run_does_not_hide_a_bundled_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recall").mkdir()
    (tmp_path / "recall/train.txt").write_text("b 3 ? b 3\n")
    assert run_at("recall").exists()
    (tmp_path / "recall/model.json").write_text("{}")  # what is left of a run of that name
    assert run_at("recall").path == Path("recall")
    assert run_at("elsewhere").path == Path("elsewhere")
