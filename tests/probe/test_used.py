"""Read beside used: pushes along what probes read, held to pushes made one by one."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from tests.ask.test_written import MODULES, user_lens
from tests.fixtures import WORDS
from torch import Tensor

from rnnlens.ask.json_types import Use
from rnnlens.base.errors import RnnlensError
from rnnlens.cli.evaluate_command import _use
from rnnlens.model.traceable import StateEdit
from rnnlens.probe.moments import Spread
from rnnlens.probe.probes import Probes
from rnnlens.probe.used import _Directions, _places, _Pushes, frequent, used
from rnnlens.run.scores import Scores

LABELS = tuple(WORDS)
SENTENCES = ["the old dog sees a bird .", "she said , dogs see the bird now", "a dog and a bird in",
             "the dogs see", "she sees very old dogs and a small bird now ."]  # fmt: skip


@pytest.fixture(scope="module")
def dataset(formula):
    return formula.subject.session.dataset({"test": SENTENCES})


def moved(push: Tensor, limits: tuple[float, float], value: Tensor) -> Tensor:
    return (value + push).clamp(*limits)


def test_effects_are_those_of_pushes_made_one_by_one(formula, dataset):
    found = {use.kind: use for use in used(formula.subject.probes, dataset, labels=4)}
    assert list(found) == [kind.id for kind in formula.subject.model.kinds]
    labels, model = frequent(formula.subject.probes, dataset, 4), formula.subject.model
    places = list(_places(dataset, 500, 0))
    assert sum(len(place.columns) for place in places) >= 3
    for kind, limits in (("c2", (-np.inf, np.inf)), ("i1", (0, 1)), ("x", (-np.inf, np.inf))):
        spread, gains = formula.subject.probes.spreads[kind], []
        for place in places:
            for column in place.columns.tolist():
                text = place.inputs[: place.step + 1, column : column + 1]
                before = model.trace(text).logits[-1, 0].log_softmax(0)
                for label in labels:
                    row = formula.subject.probes.rows(kind, [label])[0][0].float()
                    push = row / row.norm() * spread.size * 0.5
                    edit = StateEdit(kind, place.step, partial(moved, push, limits))
                    after = model.trace(text, edits=[edit]).logits[-1, 0].log_softmax(0)
                    gains.append(float(after[label] - before[label]))
        assert found[kind].read == pytest.approx(np.mean(gains), abs=1e-4)


def test_the_models_own_classifier_reads_what_is_used(formula, dataset):
    readout = formula.subject.model.classifier()
    tensors = {f"output/{kind}/weight": readout.weight for kind in ("c2", "h2")}
    tensors |= {f"output/{kind}/bias": readout.bias for kind in ("c2", "h2")}
    for kind in ("c2", "h2"):
        tensors |= Spread.of(1e-4 * torch.eye(4)).tensors(kind)  # so small that all is straight
    tensors["output/counts"] = torch.arange(len(LABELS), 0, -1)
    probes = Probes.of("linear", ["c2", "h2"], ["output"], len(LABELS), tensors)
    cell, output = used(probes, dataset, labels=23)
    assert 0.5 < output.used <= 1.001  # the row is the gradient but for what other labels gain
    assert output.swap == pytest.approx(1, abs=1e-3)
    assert 0 < cell.used <= 1.001
    assert abs(output.random) < output.most / 4
    assert output.most >= output.read


@pytest.mark.slow
@pytest.mark.parametrize("how", ["both ways", "loop"])
def test_users_modules_are_pushed_too(how):
    lens = user_lens(MODULES[how]().requires_grad_(how == "loop"))  # a frozen module too
    words = torch.randint(0, len(LABELS), (6, 6), generator=torch.Generator().manual_seed(3))
    scores = lens.evaluate([(words[:, :-1], words[:, 1:])], used=True)
    for score in scores:
        assert score.used is not None
        assert score.used.most > 0
        assert -1 <= score.used.swap <= 1
    assert lens.subject.scores.used("output", scores[-1].kind) == pytest.approx(
        scores[-1].used.used
    )
    assert next(lens.subject.model.adapter.module.parameters()).grad is None


@pytest.mark.slow
def test_texts_read_one_by_one_are_pushed_towards_all_labels_and_not_swapped(tmp_path):
    lens = user_lens(MODULES["both ways"]())
    words = torch.randint(0, len(LABELS), (3, 4), generator=torch.Generator().manual_seed(3))
    dataset = lens.subject.session.dataset(
        {"test": [(row[None, :-1], row[None, 1:]) for row in words]}
    )
    asked, first = Counter[int](), lens.subject.model.kinds[0]
    along = _Directions(lens.subject.probes, first, range(9), torch.device("cpu"))
    for read, place in enumerate(_places(dataset, 3, 0)):
        asked.update(_Pushes(along, place, torch.Generator(), read)._targets().flatten().tolist())
    assert asked == {label: 1 + (label < 3) for label in range(9)}  # 3 texts, 4 labels each
    (use,) = used(replace(lens.subject.probes, kinds=(first.id,)), dataset)
    assert use.swap is None
    numbers = dict.fromkeys(("perplexity", "ratio", "accuracy", "divergence", "calibration"), 1.0)
    score = {"semantic": "output", "kind": first.id, "unigram": 2.0, **numbers}
    model = {"test": {"perplexity": 1.0, "unigram": 2.0}}
    evaluation = {"model": model, "probes": [{**score, "used": use.to_json()}]}
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    kept = Scores.read(tmp_path).to_json()["semantics"]["output"][0]["used"]
    assert TypeAdapter(Use).validate_python(kept)["swap"] is None
    assert _use(kept).split()[1] == "-"


def test_probes_that_know_nothing_of_it_are_refused(formula, dataset):
    with pytest.raises(RnnlensError, match="do not know how states vary"):
        used(replace(formula.subject.probes, spreads={}), dataset)
    with pytest.raises(RnnlensError, match="no probes of the semantic output"):
        used(replace(formula.subject.probes, stacks={}), dataset)


@pytest.mark.slow
def test_eval_adds_its_columns_and_keeps_them(command, run_copy):
    assert command("fit", run_copy, "--epochs", 0, "--device", "cpu").code == 0
    code, out, _ = command("eval", run_copy, "--used", "--device", "cpu")
    assert code == 0
    head = next(line for line in out.splitlines() if line.startswith("kind"))
    assert head.split()[-3:] == ["used", "swap", "random"]
    kept = json.loads((run_copy / "evaluation.json").read_text())["probes"]
    assert all(
        {"used", "read", "most", "random", "shaped", "swap"} == row["used"].keys() for row in kept
    )
