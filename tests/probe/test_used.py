"""Read beside used: interventions, held to ones made one by one and to planted truths."""

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
from tests.sampling import sampled
from torch import Tensor

from rnnlens.ask.json_types import Use
from rnnlens.base.errors import RnnlensError
from rnnlens.base.intervals import Interval
from rnnlens.base.progress import Progress
from rnnlens.cli.evaluate_command import tables
from rnnlens.corpus.split import Split
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.traceable import StateEdit
from rnnlens.probe.data import Sentences
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.erasure import RANK, Concept
from rnnlens.probe.evaluation import evaluate_probes
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.moments import Spread
from rnnlens.probe.places import places
from rnnlens.probe.probes import Probes
from rnnlens.probe.used import LATER, _Directions, _is_pushed, _Pushes, frequent, used, word_of
from rnnlens.run.scores import Scores

LABELS = tuple(WORDS)
SENTENCES = ["the old dog sees a bird .", "she said , dogs see the bird now", "a dog and a bird in",
             "the dogs see", "she sees very old dogs and a small bird now ."]  # fmt: skip
FREE = (-np.inf, np.inf)


@pytest.fixture(scope="module")
def dataset(formula):
    return formula.subject.session.dataset({"test": SENTENCES})


def moved(push: Tensor, limits: tuple[float, float], value: Tensor) -> Tensor:
    return (value + push).clamp(*limits)


def put(other: Tensor, _: Tensor) -> Tensor:
    return other[None]


def divergence(before: Tensor, after: Tensor) -> float:
    return float((before.exp() * (before - after)).sum() / np.log(2))


def test_every_sentence_is_looked_at_once_at_a_timestep_of_its_own(formula, dataset):
    found = list(places(dataset, 500, 0, LATER))
    steps = [int(step) for place in found for step in place.steps]
    assert sum(map(len, found)) == len(SENTENCES)
    assert min(steps) > 0
    assert len(set(steps)) > 2
    for place in found:
        for k, (step, column) in enumerate(zip(place.steps, place.columns, strict=True)):
            trace = formula.subject.model.trace(place.inputs[:, column : column + 1])
            assert torch.allclose(place.states["c2"][k], trace.states["c2"][step, 0], atol=1e-6)
            window = trace.logits[step : step + 1 + LATER, 0]
            assert torch.allclose(place.logits[: len(window), k], window, atol=1e-5)


def test_a_long_sentence_stays_in_its_group():
    lengths = [4] * 63 + [400]  # which reading them alone would cut in two, for less padding
    data = Sentences(Split.joined([[k % 5 for k in range(length)] for length in lengths]))
    network = Network(NetworkConfig("gru", 3), 5).initialise(0).requires_grad_(False)
    some = Dataset(network, {"test": data}, 5)
    assert len(list(data.batches(np.arange(64), some.device))) == 2
    (place,) = places(some, 64, 0)
    assert len(place) == 64


def test_effects_are_those_of_pushes_made_one_by_one(formula, dataset):
    found = {use.kind: use for use in used(formula.subject.probes, dataset, labels=4)}
    assert list(found) == [kind.id for kind in formula.subject.model.kinds]
    labels, model = frequent(formula.subject.probes, dataset, 4), formula.subject.model
    for kind, limits in (("c2", FREE), ("i1", (0, 1)), ("x", FREE)):
        covariance = formula.subject.probes.spreads[kind].covariance.double()
        gains, later, swaps, moves = [], [], [], []
        for place in places(dataset, 500, 0, LATER):
            for k, (step, column) in enumerate(
                zip(place.steps.tolist(), place.columns.tolist(), strict=True)
            ):
                text = place.inputs[:, column : column + 1]
                before = model.trace(text).logits[:, 0].log_softmax(-1)
                there = place.counts[:, k].tolist()
                behind = [step + j for j in range(1, 1 + LATER) if there[j]]
                for place_of, label in enumerate(labels):
                    row = formula.subject.probes.rows(kind, [label])[0][0]
                    push = 2 * covariance @ row / (row @ covariance @ row).sqrt()
                    # Two deviations long, in the states' own covariance.
                    assert float(push @ torch.linalg.pinv(covariance) @ push) ** 0.5 < 2.001
                    edit = StateEdit(kind, step, partial(moved, push.float(), limits))
                    after = model.trace(text, edits=[edit]).logits[:, 0].log_softmax(-1)
                    gains.append(float(after[step, label] - before[step, label]))
                    if place_of < 2:  # of so many labels the predictions after that are looked at
                        later += [divergence(before[t], after[t]) for t in behind]
                other = place.states[kind].roll(1, 0)[k]
                edit = StateEdit(kind, step, partial(put, other))
                after = model.trace(text, edits=[edit]).logits[:, 0]
                moves.append(divergence(before[step], after[step].log_softmax(-1)))
                said = formula.subject.probes.logits(
                    kind, torch.stack([other, place.states[kind][k]])
                )
                change = (after - model.trace(text).logits[:, 0])[step]
                swaps.append(np.corrcoef(change.numpy(), (said[0] - said[1]).numpy())[0, 1])
        assert found[kind].read == pytest.approx(np.mean(gains), abs=1e-4)
        assert found[kind].later == pytest.approx(np.mean(later), abs=1e-4)
        assert found[kind].interchange == pytest.approx(np.mean(swaps), abs=1e-4)
        assert found[kind].moved == pytest.approx(np.mean(moves), abs=1e-4)


def test_two_labels_are_used_as_many_are(formula, dataset):
    two = used(formula.subject.probes, dataset, labels=2)
    assert [one.kind for one in two] == [kind.id for kind in formula.subject.model.kinds]
    assert all(np.isfinite(one.read) for one in two)


def test_what_erasing_costs_is_what_texts_read_anew_lose(formula, dataset):
    use = next(one for one in used(formula.subject.probes, dataset) if one.kind == "c2")
    model = formula.subject.model
    stream = dataset.stream("test", "output", kinds=("c2",))
    counts = formula.subject.probes.counts["output"]
    eraser = Concept(("c2",), counts).of(stream.chunks((0,)), 10**6).eraser("c2", RANK)
    lost, pairs = 0.0, 0
    split = dataset.splits["test"].split
    for a, b in zip(split.starts, split.starts[1:], strict=False):
        words = torch.from_numpy(split.ids[a:b])
        losses = []
        for edits in ([], eraser.edits("c2", len(words) - 1)):
            log_p = model.trace(words[:-1, None], edits=edits).logits[:, 0].log_softmax(-1)
            losses.append(-float(log_p[torch.arange(len(words) - 1), words[1:]].sum()))
        lost, pairs = lost + losses[1] - losses[0], pairs + len(words) - 1
    assert use.erased == pytest.approx(lost / pairs, abs=1e-4)
    assert use.rank == eraser.rank


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
    assert output.interchange == pytest.approx(1, abs=1e-3)
    assert output.interchange_shuffled is not None
    assert output.interchange_shuffled < 0.9
    assert 0 < cell.used <= 1.001
    assert abs(output.random) < output.gradient / 4
    assert output.shuffled < output.read <= output.gradient
    assert (output.sentences, output.intervals, output.called) == (len(SENTENCES), {}, "")


@pytest.mark.slow
@pytest.mark.parametrize("how", sampled(["both ways", "loop"], "loop"))
def test_users_modules_are_pushed_too(how, monkeypatch):
    lens = user_lens(MODULES[how]().requires_grad_(how == "loop"))  # a frozen module too
    words = torch.randint(0, len(LABELS), (6, 6), generator=torch.Generator().manual_seed(3))
    left = list[int]()

    class Told(Progress):
        def __exit__(self, *error: object) -> None:
            left.append(self.total - self.done)
            super().__exit__(*error)

    monkeypatch.setattr("rnnlens.probe.evaluation.Progress", Told)
    scores = lens.evaluate([(words[:, :-1], words[:, 1:])], used=True)
    assert left[-1] == 0  # as much work was told as there was
    for score in scores:
        assert score.used is not None
        assert score.used.gradient > 0
        assert -1 <= score.used.interchange <= 1
        assert score.used.later is not None
        assert score.used.erased is not None
    kept = lens.subject.scores.used("output", scores[-1].kind)
    assert kept["used"] == pytest.approx(scores[-1].used.used)
    assert next(lens.subject.model.adapter.module.parameters()).grad is None


@pytest.mark.release
def test_texts_read_one_by_one_are_pushed_towards_all_labels_and_not_interchanged(tmp_path):
    lens = user_lens(MODULES["both ways"]())
    words = torch.randint(0, len(LABELS), (3, 4), generator=torch.Generator().manual_seed(3))
    dataset = lens.subject.session.dataset(
        {"test": [(row[None, :-1], row[None, 1:]) for row in words]}
    )
    asked, first = Counter[int](), lens.subject.model.kinds[0]
    along = _Directions(lens.subject.probes, first, range(9), torch.device("cpu"))
    for read, place in enumerate(places(dataset, 3, 0)):
        asked.update(_Pushes(along, place, torch.Generator(), read)._targets().flatten().tolist())
    assert asked == {label: 1 + (label < 3) for label in range(9)}  # 3 texts, 4 labels each
    (use,) = used(replace(lens.subject.probes, kinds=(first.id,)), dataset)
    assert use.interchange is None
    numbers = dict.fromkeys(("perplexity", "ratio", "accuracy", "divergence", "calibration"), 1.0)
    score = {"semantic": "output", "kind": first.id, "unigram": 2.0, **numbers}
    model = {"test": {"perplexity": 1.0, "unigram": 2.0}}
    evaluation = {"model": model, "probes": [{**score, "used": use.to_json()}]}
    (tmp_path / "evaluation.json").write_text(json.dumps(evaluation))
    kept = Scores.read(tmp_path).to_json()["semantics"]["output"][0]["used"]
    assert TypeAdapter(Use).validate_python(kept)["interchange"] is None


def test_what_older_versions_measured_is_shown_without_a_word(tmp_path):
    use = {"used": 0.3, "read": 1.0, "most": 3.0, "random": 0.1, "shaped": 0.2, "swap": 0.5}
    numbers = dict.fromkeys(("perplexity", "ratio", "accuracy", "divergence", "calibration"), 1.0)
    score = {"semantic": "output", "kind": "x", "unigram": 2.0, **numbers, "used": use}
    model = {"test": {"perplexity": 1.0, "unigram": 2.0}}
    (tmp_path / "evaluation.json").write_text(json.dumps({"model": model, "probes": [score]}))
    kept = Scores.read(tmp_path).to_json()["semantics"]["output"][0]["used"]
    shown = TypeAdapter(Use).validate_python(kept)
    assert (shown["used"], shown["gradient"], shown["interchange"]) == (0.3, 3.0, 0.5)
    assert (shown["called"], shown["deviations"]) == ("", None)


def test_a_word_is_said_where_both_ends_say_it():
    assert word_of(0.01, 0.14) == "hardly used"
    assert word_of(-0.2, 0.1) == "hardly used"
    assert word_of(0.12, 0.18) == ""
    assert word_of(0.75, 1.2) == "used"


def test_no_share_is_told_of_a_push_that_gains_nothing(formula, dataset):
    (one, *_) = used(formula.subject.probes, dataset)
    sure = {"gradient": Interval(-0.1, 0.2)}
    assert _is_pushed(one)
    assert not _is_pushed(replace(one, gradient=1.4e-8, intervals={}))  # rounding
    assert not _is_pushed(replace(one, gradient=-0.149, intervals={}))
    assert not _is_pushed(replace(one, intervals=sure))  # perhaps nothing


def test_probes_that_know_nothing_of_it_are_refused(formula, dataset):
    with pytest.raises(RnnlensError, match="do not know how states vary"):
        used(replace(formula.subject.probes, spreads={}), dataset)
    with pytest.raises(RnnlensError, match="no probes of the semantic output"):
        used(replace(formula.subject.probes, stacks={}), dataset)


TYPES, TAGS, PART = 800, 4, 5


def planted(seed: int, *, is_used: bool) -> Dataset:
    """A network that tags words: half of an embedding carries the tag, and half is noise; the
    network reads the first, or only the second, and answers by what it reads.
    """
    rng = torch.Generator().manual_seed(seed)
    network = Network(
        NetworkConfig("rnn", TAGS + PART, layers=1, tied=False), TAGS, TYPES
    ).initialise(seed)
    tags = torch.randint(0, TAGS, (TYPES,), generator=rng)
    with torch.no_grad():
        carried = torch.nn.functional.one_hot(tags, TAGS).float()
        noise = torch.randn(TYPES, PART, generator=rng)
        for tag in range(TAGS):
            noise[tags == tag] -= noise[tags == tag].mean(0)  # it does not go with the tag
        network.embedding.copy_(torch.cat([carried, noise], 1))
        layer = network.recurrence[0]
        for tensor in layer.weights.values():
            tensor.zero_()
        into = layer.weights["w_x"]
        into.copy_(torch.eye(TAGS + PART))
        if is_used:
            into[:, TAGS:] = 0
        else:
            into[:, :TAGS] = 0
        network.readout.zero_()
        reads = torch.randn(TAGS, PART, generator=rng)
        if is_used:
            network.readout[:, :TAGS] = 3 * torch.eye(TAGS)
        else:
            network.readout[:, TAGS:] = reads
    network.requires_grad_(False)
    splits = {}
    for name, size in (("train", 600), ("valid", 60), ("test", 80)):
        draw = np.random.default_rng((seed, size))
        starts = np.concatenate([[0], np.cumsum(draw.integers(3, 9, size))])
        ids = draw.integers(0, TYPES, starts[-1])
        splits[name] = Sentences(Split(ids, starts, tags.numpy()[ids]))
    return Dataset(network, splits, TAGS, reads_labels=False, follows=False)


@pytest.mark.release
def test_what_is_carried_and_not_read_is_called_unused_and_what_is_read_used():
    called: Counter[tuple[bool, bool, str]] = Counter()
    for seed in range(20):
        for is_used in (False, True):
            dataset = planted(seed, is_used=is_used)
            probes = fit_probes(dataset, FitConfig(epochs=12, closed_form=False))
            score = next(s for s in evaluate_probes(probes, dataset, used=True) if s.kind == "x")
            assert score.used is not None
            assert score.used.erased is not None
            readable = score.intervals["perplexity"].high < 0.5 * score.unigram
            called[is_used, readable, score.used.called] += 1
            if is_used:
                assert (
                    score.used.intervals["erased"].low > score.used.intervals["erased_random"].high
                )
            else:
                # It may even help, since answers are wrong anyway; what is read costs 1.1.
                assert score.used.erased < 0.1
    assert called == {(False, True, "hardly used"): 20, (True, True, "used"): 20}


@pytest.mark.slow
def test_eval_adds_its_table_and_keeps_it(command, run_copy):
    assert command("fit", run_copy, "--epochs", 0, "--device", "cpu").code == 0
    code, out, told = command("eval", run_copy, "--all", "--device", "cpu")
    assert code == 0
    assert "everything that was asked for: about" in told
    assert "selectivity" in out
    evaluation = json.loads((run_copy / "evaluation.json").read_text())
    for row in evaluation["probes"]:
        assert {"used", "read", "gradient", "erased", "interchange"} <= row["used"].keys()
        assert row["selectivity"] == row["control"]["selectivity"]
        assert row["temperature"]["value"] > 0
        assert row["sentences"] == 10
        assert row["intervals"] == row["below"] == {}
    assert "10 sentences are too few to say how sure a number is" in out
    assert any("used, on" in text for text in tables(evaluation))
