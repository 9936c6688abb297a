"""`rnnlens train --task`, and everything that is done with such a run afterwards."""

import contextlib
import io
import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.runfiles import contents, edit

import rnnlens
from rnnlens.base.files import sha256
from rnnlens.cli import main, parser
from rnnlens.corpus.corpus import CorpusConfig
from rnnlens.draw.columns import chosen_columns
from rnnlens.model.network import NetworkConfig
from rnnlens.model.text import text_states
from rnnlens.model.train.training import TrainingConfig
from rnnlens.run.folder import Run
from rnnlens.search.corpus_pass import traced
from rnnlens.work.recipes import RECIPES
from rnnlens.work.train_options import TrainOptions, plain_identity

TINY = "--width 6 --layers 1 --batch 16 --epochs 2 --min-count 1 --device cpu".split()
GOOD, BAD = "good fine great".split(), "bad poor dull".split()


def trained(path: Path, *words: str) -> Path:
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["train", *words, "-o", str(path), *TINY]) == 0
    return path


@pytest.fixture(scope="module")
def tagger(corpus_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tagger that reads both ways, with probes."""
    words = [str(corpus_file), "--task", "tag", "--bidirectional"]
    path = trained(tmp_path_factory.mktemp("tag") / "run", *words)
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["fit", str(path), "--device", "cpu", "--epochs", "1"]) == 0
    return path


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    lines = []
    for _ in range(120):
        label = int(random.integers(2))
        said = [str(random.choice(GOOD if label else BAD)) for _ in range(2)]
        lines.append(f"{'pos' if label else 'neg'}\ta film so {' and '.join(said)}\n")
    path = tmp_path_factory.mktemp("texts") / "texts.tsv"
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def classifier(texts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    more = ["--epochs", "8", "--learning-rate", "0.05"]
    path = tmp_path_factory.mktemp("classify") / "run"
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(["train", str(texts), "--task", "classify", "-o", str(path), *TINY, *more]) == 0
        assert main(["fit", str(path), "--device", "cpu", "--epochs", "1"]) == 0
    return path


@pytest.mark.slow
def test_what_is_read_both_ways_is_used_or_not(command, tagger, tmp_path):
    copy = Path(shutil.copytree(tagger, tmp_path / "copy"))
    answer = command("eval", copy, "--used")
    assert answer.code == 0
    assert answer.err.startswith("everything that was asked for: about")
    scores = json.loads((copy / "evaluation.json").read_text())["probes"]
    # Probes of so little data say nothing; how far a prediction can be pushed shows all the same.
    gained = {score["kind"]: score["used"]["gradient"] for score in scores}
    assert gained["h1<"] > gained["f1<"]  # the readout takes the one as it is


@pytest.mark.slow
def test_a_tagger_is_a_run_like_any_other(command, tagger, tmp_path):
    copy = Path(shutil.copytree(tagger, tmp_path / "copy"))
    figure, confusion = tmp_path / "a.svg", tmp_path / "c.svg"
    answer = command("eval", copy, "--figure", figure, "--confusion", confusion)
    assert (answer.code, answer.err) == (0, "")
    assert "accuracy    macro F1" in answer.out.splitlines()[0]
    assert "h1<" in answer.out
    assert figure.read_text()
    assert "NOUN" in confusion.read_text()
    evaluation = json.loads((copy / "evaluation.json").read_text())
    assert set(evaluation["confusion"]["labels"]) == set(Run(copy).vocabulary().labels)
    perplexities = {score["kind"]: score["perplexity"] for score in evaluation["probes"]}
    own = evaluation["model"]["test"]["perplexity"]
    assert perplexities["j1"] <= 1.03 * own  # it is what the readout reads
    total = sum(map(sum, evaluation["confusion"]["counts"]))
    assert total == evaluation["model"]["test"]["pairs"]
    lens = rnnlens.load(copy)
    grid = lens("the old dog sees a zyzzyva")
    assert not grid.json["follows"]
    assert grid.json["answer"] is None
    assert {"h1", "h1<", "y"} <= set(grid.kinds)
    assert grid["y"][2].top(1)[0][0] in lens.labels
    assert rnnlens.load(lens.save(tmp_path / "again"))("the old dog").json["rows"]
    assert command("show", copy, "the old dog").code == 0
    outputs = chosen_columns(lens("the").json["columns"], "outputs")
    assert [grid.kinds[k] for k in outputs] == ["x", "j1", "y"]
    old = [column for column in grid.json["columns"] if column["id"] != "j1"]
    assert [old[k]["id"] for k in chosen_columns(old, "outputs")] == ["x", "h1", "h1<", "y"]


def test_the_same_order_gives_the_same_tagger(corpus_file, tagger, tmp_path):
    again = trained(tmp_path / "run", str(corpus_file), "--task", "tag", "--bidirectional")
    assert sha256(again / "model.safetensors") == sha256(tagger / "model.safetensors")


def test_an_option_at_its_default_does_not_tell_trainings_apart():
    options = TrainOptions(CorpusConfig(), NetworkConfig(), TrainingConfig())
    assert json.loads(options.identity("sha")) == ["sha", json.loads(json.dumps(asdict(options)))]
    plain = plain_identity(options.identity("sha"))
    assert json.loads(plain) == ["sha", {"corpus": {}, "network": {}, "training": {}}]
    older = asdict(options)
    del older["corpus"]["task"], older["network"]["bidirectional"]
    assert plain_identity(json.dumps(["sha", older])) == plain_identity(plain) == plain
    older["training"]["epochs"] += 1  # what was the default of an older version
    assert plain_identity(json.dumps(["sha", older])) != plain
    other = replace(options, network=NetworkConfig(bidirectional=True))
    assert other.identity("sha") != options.identity("sha") != options.identity("other")
    assert plain_identity("[1]") == "[1]"


def test_colours_are_the_labels_own(tagger, classifier):
    assert rnnlens.load(tagger).palettes["labels"].colours
    groups = rnnlens.load(classifier).palettes["labels"].groups
    assert {"pos", "neg"} <= set(groups)


def test_a_classifier_tells_when_it_makes_up_its_mind(command, classifier):
    lens = rnnlens.load(classifier)
    grid = lens("a film so dull and poor")
    assert grid.json["answer"] == "last"
    decision = grid.decision()
    assert decision.label == "neg"
    for kind in ("y", "h1", "x"):
        tops = [state[0][0] for state in grid[kind].top(1)]
        stays = [set(tops[step:]) == {"neg"} for step in range(6)]
        assert decision.turned[kind] == (stays.index(True) if any(stays) else None)
    np.testing.assert_allclose(decision["y"], grid.follow("neg")["y"])
    assert decision.values.shape == (6, len(grid.kinds))
    assert f"{decision['y'][-1]:.0%}" in repr(decision)
    assert decision.to_pandas().query("kind == 'y' and turned").step.tolist() == [
        decision.turned["y"]
    ]
    shown = command("show", classifier, "a film so dull and poor").out
    assert "the answer is neg" in shown
    other = grid.decision("pos")
    assert other.turned["y"] is None
    np.testing.assert_allclose(decision.values + other.values, 1)


def test_a_tagger_is_measured_on_batches_whatever_their_padding(tagger):
    lens = rnnlens.load(tagger)
    ids = lens.subject.session.vocabulary.encode("the old dog sees".split())
    words, targets = torch.tensor([ids, ids]).T, torch.tensor([[1, 2, 0, 3], [1, 2, 0, 3]]).T
    padded = torch.cat([words, words[:2]]), torch.cat([targets, torch.full((2, 2), -1)])
    plain, other = lens.evaluate([(words, targets)]), lens.evaluate([padded])
    assert plain[-1].perplexity == pytest.approx(other[-1].perplexity)
    assert plain[-1].pairs == other[-1].pairs == 8
    with pytest.raises(rnnlens.RnnlensError, match="sentences do not tell the labels"):
        lens.evaluate(["the old dog sees"])


def test_sentences_of_a_corpus_are_searched_side_by_side_as_alone(tagger):
    session = rnnlens.load(tagger).subject.session
    model, side = session.model, session.text
    some = [side.vocabulary.encode(text.split()) for text in ("she", "the old dog sees")]
    (together,) = traced(model, side, some, torch.device("cpu"))
    alone = [text_states(model, side, ids) for ids in some]
    for kind, states in together.states.items():
        torch.testing.assert_close(
            states, torch.cat([one[kind] for one in alone]), rtol=0, atol=1e-5
        )


def test_a_tagger_has_no_answer_for_a_text(tagger):
    grid = rnnlens.load(tagger)("the old dog")
    with pytest.raises(rnnlens.RnnlensError, match="there is no answer for a text"):
        grid.decision()
    with pytest.raises(rnnlens.RnnlensError, match="no label"):
        grid.decision("nothing")
    assert grid.decision("NOUN").label == "NOUN"


def test_a_classifier_can_be_measured_on_given_parts(command, texts, classifier, tmp_path):
    parts = ["--valid", str(texts), "--test", str(texts)]
    path = trained(tmp_path / "run", str(texts), "--task", "classify", *parts)
    test = json.loads((path / "evaluation.json").read_text())["model"]["test"]
    assert test["sentences"] == 120
    asked = command("eval", classifier, "--json")
    assert json.loads(asked.out)["model"]["test"]["accuracy"] > 0.9


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ("--bidirectional", "--bidirectional: a network that reads backwards has read the next"),
        ("--task tag --tied", "--tied: the labels of --task tag are no words"),
        ("--task guess", "no task is called 'guess'"),
        ("--task tag --format text", "--format text is not for --task tag"),
        ("--label-column upos", "give --task tag or classify"),
        ("--task tag --label-column ner", "there is no column 'ner' for --label-column; there is"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(
    command, corpus_file, tmp_path, flags, said
):
    answer = command("train", corpus_file, "-o", tmp_path / "run", *flags.split())
    assert answer.code == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_the_word_that_was_read_is_no_label(command, tagger, tmp_path):
    copy = shutil.copytree(tagger, tmp_path / "copy")
    answer = command("fit", copy, "--semantic", "input", "--device", "cpu")
    assert answer.code == 2
    assert "labels are not the words" in answer.err


def test_a_vocabulary_of_other_words_is_refused(tagger, tmp_path):
    copy = Path(shutil.copytree(tagger, tmp_path / "copy"))
    path = copy / "model.json"
    edit(path, words=contents(path)["words"] + 1)
    with pytest.raises(rnnlens.RnnlensError, match=r"does not fit model\.json"):
        rnnlens.load(copy)


@pytest.mark.parametrize("task", RECIPES)
def test_a_recipe_is_flags_that_can_be_changed(task):
    flags = ["train", "corpus", "-o", "run", "--task", task]
    options = TrainOptions.of(vars(parser().parse_args(flags)))
    settings = asdict(options.corpus) | asdict(options.network) | asdict(options.training)
    assert RECIPES[task].items() <= settings.items()
    assert (
        TrainOptions.of(vars(parser().parse_args([*flags, "--epochs", "3"]))).training.epochs == 3
    )
