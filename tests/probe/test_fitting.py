import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.probe.conftest import dataset_of

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.sets import LabelSet
from rnnlens.probe import fitting
from rnnlens.probe.dataset import Stream
from rnnlens.probe.fit_loop import SavedFit, save_fit
from rnnlens.probe.fitting import FitConfig, Fitter, Recipe
from rnnlens.probe.probes import Probes


def never() -> bool:
    return False


def nothing() -> None:
    pass


def dataset(network, train, valid):
    return dataset_of(network, train=train, valid=valid)


def fitted(network, train, valid, semantic="output", **options):
    fitter = Fitter(dataset(network, train, valid), semantic, FitConfig(**options))
    assert fitter.run(never, nothing)
    return fitter


def best(fitter):
    return {k: math.exp(nll) for k, nll in zip(fitter.kinds, fitter.progress.best, strict=True)}


@pytest.mark.release
def test_a_long_fit_reaches_the_optimum_of_softmax_regression(network, train):
    # The reference: float64, L-BFGS to the optimum, on the very same states.
    fitter = Fitter(
        dataset(network, train, train), "output",
        FitConfig(epochs=100, patience=100, learning_rate=0.1),
    )  # fmt: skip
    fitter.run(never, nothing)
    chunks = list(fitter.train.chunks())
    labels = torch.cat([c.labels for c in chunks])
    for kind in ("x", "l2"):
        k = fitter.kinds.index(kind)
        x = torch.cat([fitter.family.stack.prepare(k, c.states[kind]) for c in chunks]).double()
        weight = torch.zeros(
            network.label_count, x.shape[1], dtype=torch.float64, requires_grad=True
        )
        optimiser = torch.optim.LBFGS([weight], max_iter=300, line_search_fn="strong_wolfe")

        def closure(x=x, weight=weight, optimiser=optimiser):
            optimiser.zero_grad()
            loss = F.cross_entropy(x @ weight.T, labels)
            loss.backward()
            return loss

        optimiser.step(closure)
        optimum = math.exp(closure().item())
        assert optimum <= best(fitter)[kind] * 1.0001
        assert best(fitter)[kind] < optimum * 1.03


@pytest.mark.slow
@pytest.mark.parametrize("probe", ["linear", "shared"])
def test_fitting_betters_the_start_and_every_kind_beats_the_unigram(network, train, valid, probe):
    start = best(fitted(network, train, valid, probe=probe, epochs=0))
    end = best(fitted(network, train, valid, probe=probe, epochs=4, rank=8))
    assert np.mean(list(end.values())) < np.mean(list(start.values()))
    counts = torch.bincount(torch.from_numpy(train.targets()), minlength=network.label_count)
    unigram = math.exp(
        -LabelSet.numbered(len(counts)).prior(counts)[torch.from_numpy(valid.targets())].mean()
    )
    assert max(end.values()) < unigram


@pytest.mark.slow
def test_the_embedding_knows_its_own_word_and_nothing_far_ahead(network, train, valid):
    now = best(fitted(network, train, valid, "input", epochs=10, learning_rate=0.05))
    far = best(fitted(network, train, valid, "output+4", epochs=4))
    assert now["x"] < 1.1
    assert far["x"] > 10


def test_kinds_in_threads_of_our_own_come_to_the_same_probes(network, train, valid, monkeypatch):
    one = fitted(network, train, valid, epochs=2)
    monkeypatch.setattr("rnnlens.probe.fitting._WORTH", 0)
    other = fitted(network, train, valid, epochs=2)
    assert (one.in_threads, other.in_threads) == (False, True)
    assert not fitted(network, train, valid, epochs=0, probe="shared").in_threads
    for name, tensor in one.result().tensors("").items():
        torch.testing.assert_close(other.result().tensors("")[name], tensor, rtol=1e-4, atol=1e-5)


def test_a_shorter_fit_is_known(network, train, valid):
    fitter = fitted(network, train, valid, epochs=0)
    assert fitter.shorter("--{} {}") == (f"--states {fitter.pairs // 4}", 1 / 4)
    fitter.epochs = 8
    assert fitter.shorter("{}={}") == ("epochs=3", 3 / 8)  # in one, some kinds learn nothing


def test_every_epoch_has_the_same_chunks_in_another_order_and_traces_none_again(
    network, train, valid, monkeypatch
):
    traced, real = [], Stream._read

    def noted(stream, chosen):
        traced.append(chosen.tobytes())
        return real(stream, chosen)

    monkeypatch.setattr(Stream, "_read", noted)
    monkeypatch.setattr(fitting, "CHUNK", 200)
    fitter = Fitter(dataset_of(network, train=train, valid=valid), "output", FitConfig(epochs=3))
    first = [chosen.tobytes() for chosen in fitter._plan()]
    fitter.run(lambda: False, lambda: None)
    assert len(traced) == len(set(traced)) == len(first) + len(fitter.valid.plan(None))
    fitter.progress.epoch = 1
    second = [chosen.tobytes() for chosen in fitter._plan()]
    assert first != second
    assert sorted(first) == sorted(second)


def test_the_same_seed_gives_the_same_probes(network, train, valid):
    one, same = (fitted(network, train, valid, epochs=2).result().tensors("") for _ in range(2))
    other = fitted(network, train, valid, epochs=2, seed=1).result().tensors("")
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


def test_a_fit_goes_on_where_it_was_saved(network, train, valid, tmp_path):
    whole = fitted(network, train, valid, epochs=3).result().tensors("")
    config, path = FitConfig(epochs=3), tmp_path / "fit.safetensors"
    first = Fitter(dataset(network, train, valid), "output", config)
    calls = iter([False, True])
    assert not first.run(lambda: next(calls), nothing)
    save_fit(path, "me", {}, first)
    second = Fitter(dataset(network, train, valid), "output", config)
    SavedFit(path, "me").restore(second)
    assert second.run(never, nothing)
    assert all(torch.equal(whole[name], t) for name, t in second.result().tensors("").items())


def test_a_saved_fit_of_another_is_refused(network, train, valid, tmp_path):
    path = tmp_path / "fit.safetensors"
    save_fit(path, '["me", {"epochs": 4}]', {}, fitted(network, train, valid, epochs=0))
    with pytest.raises(RnnlensError, match="unfinished fit, made with --epochs 4, not --epochs 2"):
        SavedFit(path, '["me", {"epochs": 2}]')
    with pytest.raises(RnnlensError, match="made with another model"):
        SavedFit(path, '["you", {"epochs": 4}]')
    SavedFit(path, '["me", {"epochs": 4, "questions": 0}]')  # as if begun before there were any
    with pytest.raises(RnnlensError, match="made with --questions 0, not --questions 2"):
        SavedFit(path, '["me", {"epochs": 4, "questions": 2}]')


def test_half_precision_costs_next_to_nothing(network, train, valid):
    fitter = fitted(network, train, valid, epochs=2)
    kinds = fitter.kinds
    full = Probes("linear", kinds, network.label_count, {"output": fitter.result()})
    tensors = {name: t.half() for name, t in full.tensors().items()}
    half = Probes.of("linear", kinds, ["output"], network.label_count, tensors)
    chunk = next(fitter.valid.chunks())
    for kind in kinds:
        a, b = (
            F.cross_entropy(p.logits(kind, chunk.states[kind]), chunk.labels).item()
            for p in (full, half)
        )
        assert abs(a - b) < 1e-3


@pytest.mark.parametrize(
    "options",
    [{"probe": "mlp"}, {"rank": 0}, {"batch": -1}, {"epochs": -2}, {"learning_rate": math.nan},
     {"semantic": "output+"}, {"weight_decay": -1.0}],
)  # fmt: skip
def test_settings_that_cannot_work_are_refused(options):
    with pytest.raises(RnnlensError):
        FitConfig(**options).check()


def test_a_semantic_no_sentence_reaches_is_refused(network, train, valid):
    with pytest.raises(RnnlensError, match="long enough"):
        Fitter(dataset(network, train, valid), "output+90", FitConfig())


def test_a_semantic_starts_from_its_own_frequencies(network, train, valid):
    fitter = Fitter(dataset(network, train, valid), "input", FitConfig(epochs=0))
    first = np.bincount(train.ids[train.starts[:-1]], minlength=network.label_count)
    last = np.bincount(train.ids[train.starts[1:] - 1], minlength=network.label_count)
    every = np.bincount(train.ids, minlength=network.label_count)
    read = every - last
    assert fitter.counts.tolist() == read.tolist()
    asked = Fitter(dataset(network, train, valid), "output", FitConfig(epochs=0)).counts
    assert (
        asked.tolist() == (np.bincount(train.ids, minlength=network.label_count) - first).tolist()
    )
    stack = fitter.family.stack
    bias = stack.logits(0, torch.eye(stack.map.shape[2])[stack.widths[0]][None])[0]
    wanted = LabelSet.numbered(len(fitter.counts)).prior(fitter.counts).float()
    torch.testing.assert_close(bias[: network.label_count], wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("pairs", "width", "from_prior", "epochs", "batch", "rate"),
    [
        (800_000, 300, False, 4, 8192, 1e-3),  # a corpus of a million words
        (800_000, 600, False, 4, 8192, 1e-3),
        (160_000, 128, False, 4, 2496, 2.34375e-3),
        (29_000, 24, False, 3, 448, 1.25e-2),  # a small run
        (29_000, 24, True, 14, 448, 5e-3),  # the way from the labels' frequencies is longer
        (1_000, 24, False, 60, 64, 1.25e-2),
        (160_000, 128, True, 4, 2496, 5e-3),
    ],
)
def test_few_states_and_narrow_kinds_have_a_recipe_of_their_own(
    pairs, width, from_prior, epochs, batch, rate
):
    recipe = Recipe.of(FitConfig(), pairs, width, from_prior=from_prior)
    assert (recipe.epochs, recipe.batch) == (epochs, batch)
    assert recipe.rate == pytest.approx(rate)


def test_what_is_asked_for_is_taken_as_it_is():
    config = FitConfig(epochs=7, batch=128, learning_rate=0.02, states=5000)
    recipe = Recipe.of(config, 29_000, 24, from_prior=False)
    assert recipe == Recipe(states=5000, batch=128, epochs=7, rate=0.02)
    assert recipe.steps == 7 * 5000 // 128
    assert Recipe.of(config, 29_000, 24, from_prior=True).rate == 0.02


def test_the_rate_rises_and_falls():
    recipe = Recipe(states=1000, batch=10, epochs=1, rate=0.5)
    rates = [recipe.rate_at(step) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.5, rel=0.05)
    assert rates.index(max(rates)) == 9
    assert rates[0] < 0.06
    assert rates[-1] == pytest.approx(0)
