"""Parts of speech in a language model: probes for the tags of its corpus, by the command line."""

import json
from pathlib import Path

import pytest
from tests import grammar

import rnnlens
from rnnlens.cli import main
from rnnlens.labels.parts_of_speech import UNIVERSAL
from rnnlens.run.folder import Run

CPU = ("--device", "cpu")


@pytest.mark.slow
def test_tags_are_a_semantic_with_labels_of_its_own(run_copy, capsys):
    asked = ["--semantic", "output,tag,tag+1", "--epochs", "30"]
    assert main(["fit", str(run_copy), *asked, *CPU]) == 0
    probes = Run(run_copy).probes()
    assert probes.semantics == ("output", "tag", "tag+1")
    assert probes.answers["tag"].names == tuple(UNIVERSAL)
    assert probes.logits("x", probes.stacks["tag"].mean[0, :8][None], "tag").shape == (1, 17)
    capsys.readouterr()
    assert main(["eval", str(run_copy), "--json", *CPU]) == 0
    scores = json.loads(capsys.readouterr().out)["probes"]
    read = {s["kind"]: s for s in scores if s["semantic"] == "tag"}
    assert read["x"]["accuracy"] > 0.5
    assert read["x"]["ratio"] is None
    assert read["x"]["perplexity"] < read["x"]["unigram"]
    lens = rnnlens.load(run_copy)
    grid = lens("the dogs see a bird", "tag", palette="universal")  # another's palette
    assert (grid.kinds[-1], grid.labels) == ("h2", tuple(UNIVERSAL))
    assert grid["x"][1].top(1)[0][0] == "NOUN"
    assert grid["x"][1].wanted is None
    assert [s.semantic for s in lens.evaluate(["the dogs see a bird"])][-1] == "output"
    assert main(["show", str(run_copy), "the dogs see a bird", "--semantic", "tag"]) == 0
    assert "what each state says of the tag" in capsys.readouterr().out


@pytest.mark.slow
def test_a_corpus_without_tags_is_told(tmp_path, tiny, capsys):
    words = [" ".join(sentence.words) for sentence in grammar.sentences(60)]
    (tmp_path / "plain.txt").write_text("\n".join(words))
    run = str(tmp_path / "run")
    assert main(["train", str(tmp_path / "plain.txt"), "-o", run, *tiny]) == 0
    assert main(["fit", run, "--semantic", "tag", *CPU]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert "'tag' is no semantic here; give output" in said[-1]
    assert "tag wants a tagged corpus" in said[-1]
    assert not Path(run, "probes.json").exists()
