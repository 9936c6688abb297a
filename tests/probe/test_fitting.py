import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from tests.probe.conftest import LABELS, dataset_of, make_split
from tests.sampling import sampled

from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.split import Split
from rnnlens.labels.sets import LabelSet
from rnnlens.model.network import Network
from rnnlens.model.train.distributed import Processes
from rnnlens.probe import fitting, frames
from rnnlens.probe.dataset import Stream
from rnnlens.probe.fit_loop import SavedFit, save_fit
from rnnlens.probe.fitting import FitConfig, Fitter, Recipe
from rnnlens.probe.kernels import adamw_, sigmoid_gradient_
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


@pytest.fixture
def many(monkeypatch):
    """As if labels were many: steps in the coordinates of the units, and patience."""
    monkeypatch.setattr(FitConfig, "to_the_end", lambda *_: False)


@pytest.fixture(params=["few", "many"])
def either(request):
    """With few labels, and as if they were many."""
    if request.param == "many":
        request.getfixturevalue("many")


def regression(x, labels, held, wanted, label_count):
    """The perplexity on held-out states of a logistic regression: float64, L-BFGS to the optimum,
    in coordinates in which that is near.
    """
    values, vectors = torch.linalg.eigh(x.double().T @ x.double() / len(x))
    turned = vectors / (values + 1e-9).sqrt()
    x, held = x.double() @ turned, held.double() @ turned
    weight = torch.zeros(label_count, x.shape[1], dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [weight], max_iter=400, history_size=20, line_search_fn="strong_wolfe"
    )

    def closure():
        optimiser.zero_grad()
        loss = F.cross_entropy(x @ weight.T, labels)
        loss.backward()
        return loss

    optimiser.step(closure)
    return math.exp(F.cross_entropy(held @ weight.T, wanted).item())


def regressions(fitter, kinds):
    """By kind the perplexity of validation data by a logistic regression on prepared states."""
    train, valid = (list(stream.chunks()) for stream in (fitter.train, fitter.valid))
    found = {}
    for kind in kinds:
        k = fitter.kinds.index(kind)
        width = 1 + fitter.family.stack.widths[k]
        x, held = (
            torch.cat([fitter.family.stack.prepare(k, c.states[kind])[:, :width] for c in chunks])
            for chunks in (train, valid)
        )
        labels, wanted = (torch.cat([c.labels for c in chunks]) for chunks in (train, valid))
        found[kind] = regression(x, labels, held, wanted, len(fitter.answers))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("semantic", sampled(["output", "output-2"], "output"))
def test_few_labels_are_fitted_to_where_a_converged_regression_comes(network, semantic):
    data = dataset(network, make_split(2000, 2), make_split(400, 3))
    data.kinds = ("g1", "l1")  # of all kinds the last to come there, and one that is quick
    fitter = Fitter(data, semantic, FitConfig())
    fitter.run(never, nothing)
    ours, converged = best(fitter), regressions(fitter, fitter.kinds)
    assert {k: ours[k] / converged[k] for k in ours if ours[k] > 1.01 * converged[k]} == {}


@pytest.mark.release
def test_a_long_fit_reaches_the_optimum_of_softmax_regression(network, train, many):
    fitter = Fitter(
        dataset(network, train, train), "output",
        FitConfig(epochs=100, patience=100, learning_rate=0.1),
    )  # fmt: skip
    fitter.run(never, nothing)
    for kind, optimum in regressions(fitter, ("x", "l2")).items():
        assert optimum <= best(fitter)[kind] * 1.0001
        assert best(fitter)[kind] < optimum * 1.03


def test_in_their_frames_units_are_uncorrelated(network, train, valid):
    fitter = fitted(network, train, valid, epochs=0)
    states = torch.cat([chunk.states["c1"] for chunk in fitter.train.chunks()])
    k = fitter.kinds.index("c1")
    frame = fitter.frames.matrices[k]
    x = fitter.family.stack.prepare(k, states)[:, : len(frame)]
    inside = x @ frame / frame[-1, -1]
    near = torch.eye(len(frame))
    torch.testing.assert_close(inside.T @ inside / len(x), near, atol=5e-3, rtol=0)
    rows = torch.randn(len(fitter.kinds), 3, fitter.family.columns)
    whole = fitter.frames.turned(rows, slice(None))
    torch.testing.assert_close(whole[k], fitter.frames.turned(rows[k], k))
    torch.testing.assert_close(whole[k, :, : len(frame)], rows[k, :, : len(frame)] @ frame)


@pytest.mark.parametrize("semantic", ["output", "input"])
def test_kinds_together_come_to_the_same_probes(network, train, valid, semantic, monkeypatch):
    one = fitted(network, train, valid, semantic, epochs=1)
    monkeypatch.setattr(frames, "NARROW", 0)
    other = fitted(network, train, valid, semantic, epochs=1)
    assert (one.frames.together is None, other.frames.together is None) == (False, True)
    for name, tensor in one.result().tensors("").items():
        torch.testing.assert_close(other.result().tensors("")[name], tensor, rtol=1e-2, atol=1e-3)


def test_where_nothing_varies_weights_stay_as_they_are(network, train, valid):
    # Of five words there are five embeddings: in eight of twelve directions there is but rounding.
    five, held = (Split(split.ids % 5, split.starts) for split in (train, valid))
    start, end = (fitted(network, five, held, **more) for more in ({"epochs": 0}, {"epochs": 6}))
    k = end.kinds.index("x")
    moved = (end.best["map"][k] - start.best["map"][k]).double()
    x = torch.cat([end.family.stack.prepare(k, c.states["x"]) for c in end.train.chunks()])
    _, sizes, directions = torch.linalg.svd(x.double(), full_matrices=False)
    still = directions[sizes < 1e-4 * sizes[0]]
    assert len(still) >= 8
    assert (moved @ still.T).abs().max() < 1e-3 * moved.abs().max()


def test_weights_with_few_states_have_shorter_steps(network, train, valid):
    fitter = fitted(network, train, valid, epochs=0)
    weights = network.label_count * 13
    assert fitter.frames.matrices[0][-1, -1] == pytest.approx((fitter.pairs / 50 / weights) ** 0.5)
    asked = fitted(network, train, valid, epochs=0, learning_rate=0.01)
    assert (asked.rate, float(asked.frames.matrices[0][-1, -1])) == (0.01, 1.0)


def test_validation_data_decides_however_long_the_steps_are(network, train, valid):
    start = best(fitted(network, train, valid, epochs=0))
    far = fitted(network, train, valid, epochs=4, learning_rate=50.0)
    assert far.progress.epoch == 4  # to the end, though nothing has got better
    assert all(best(far)[kind] <= start[kind] * (1 + 1e-6) for kind in start)
    prior = far._frequencies()
    stack, chunk = far.result(), next(far.valid.chunks())
    for k, kind in enumerate(far.kinds):
        logits = stack.logits(k, stack.prepare(k, chunk.states[kind]))[:, : network.label_count]
        assert F.cross_entropy(logits, chunk.labels).item() < prior * 1.02


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


@pytest.mark.parametrize("rank", [0, 1])
def test_chunks_that_are_shuffled_as_a_whole_come_to_the_same_probes(
    network, train, valid, monkeypatch, either, rank
):
    monkeypatch.setattr(Processes, "sum", lambda *_: None)

    def weights() -> torch.Tensor:
        fitter = Fitter(dataset(network, train, valid), "output", FitConfig(batch=128, epochs=2))
        fitter.processes, fitter.at_once = Processes(rank, 2), 24
        fitter.run(never, nothing)
        return fitter.family.weights["map"]

    gathered = weights()
    monkeypatch.setattr(Fitter, "shuffles", True)
    torch.testing.assert_close(weights(), gathered)


def test_a_shorter_fit_is_known(network, train, valid):
    fitter = fitted(network, train, valid, epochs=0)
    assert fitter.shorter == (f"states={fitter.pairs // 4}", 1 / 4)
    fitter.epochs, fitter.style = 8, "--{} {}"
    assert fitter.shorter == ("--epochs 3", 3 / 8)  # in one, some kinds learn nothing


def test_every_epoch_has_the_same_chunks_in_another_order_and_traces_none_again(
    network, train, valid, monkeypatch
):
    traced, real = [], Stream._read

    def noted(stream, chosen):
        traced.append(chosen.tobytes())
        return real(stream, chosen)

    monkeypatch.setattr(Stream, "_read", noted)
    monkeypatch.setattr("rnnlens.probe.dataset.CHUNK", 200)
    fitter = Fitter(dataset_of(network, train=train, valid=valid), "output", FitConfig(epochs=3))
    first = [chosen.tobytes() for chosen in fitter._plan()]
    fitter.run(lambda: False, lambda: None)
    assert len(traced) == len(set(traced)) == len(first) + len(fitter.valid.plan(None))
    fitter.progress.epoch = 1
    second = [chosen.tobytes() for chosen in fitter._plan()]
    assert first != second
    assert sorted(first) == sorted(second)


@pytest.mark.usefixtures("either")
def test_the_same_seed_gives_the_same_probes(network, train, valid):
    one, same = (fitted(network, train, valid, epochs=2).result().tensors("") for _ in range(2))
    other = fitted(network, train, valid, epochs=2, seed=1).result().tensors("")
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert any(not torch.equal(one[name], other[name]) for name in one)


@pytest.mark.usefixtures("either")
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
    recipe = Recipe.of(FitConfig(), pairs, width, labels=257, from_prior=from_prior)
    assert (recipe.epochs, recipe.batch) == (epochs, batch)
    assert recipe.rate == pytest.approx(rate)
    assert not recipe.to_the_end


@pytest.mark.parametrize(
    ("pairs", "epochs", "batch"), [(4_000_000, 4, 1024), (501_464, 16, 1024), (29_000, 60, 448),
                                   (1_000, 60, 64)],
)  # fmt: skip
def test_few_labels_have_a_recipe_of_their_own(pairs, epochs, batch):
    for width, from_prior in ((24, True), (128, False)):
        recipe = Recipe.of(FitConfig(), pairs, width, labels=256, from_prior=from_prior)
        assert recipe == Recipe(pairs, batch, epochs, 0.3, to_the_end=True)
    for options in ({"probe": "shared"}, {"standardise": False}):
        assert not Recipe.of(
            FitConfig(**options), pairs, 24, labels=5, from_prior=True
        ).to_the_end  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "width", "to_the_end"),
    [(12_000, 300, False), (40_000, 300, True), (12_000, 128, True), (10**7, 513, False)],
)
def test_wide_kinds_with_few_states_are_not_fitted_to_the_end(pairs, width, to_the_end):
    recipe = Recipe.of(FitConfig(), pairs, width, labels=10, from_prior=True)
    assert recipe.to_the_end == to_the_end


def test_what_is_asked_for_is_taken_as_it_is():
    config = FitConfig(epochs=7, batch=128, learning_rate=0.02, states=5000)
    for labels in (20, 2000):
        recipe = Recipe.of(config, 29_000, 24, labels=labels, from_prior=False)
        assert recipe == Recipe(5000, 128, 7, 0.02, to_the_end=labels == 20)
        assert recipe.steps == 7 * 5000 // 128
        assert Recipe.of(config, 29_000, 24, labels=labels, from_prior=True).rate == 0.02


def test_the_rate_rises_and_falls():
    recipe = Recipe(states=1000, batch=10, epochs=1, rate=0.5)
    rates = [recipe.rate_at(step) for step in range(1, 101)]
    assert max(rates) == pytest.approx(0.5, rel=0.05)
    assert rates.index(max(rates)) == 9
    assert rates[0] < 0.06
    assert rates[-1] == pytest.approx(0)


@pytest.mark.parametrize("probe", ["linear", "shared"])
def test_kept_weights_are_looked_at_again_where_steps_round_them(network, train, valid, probe):
    fitter = fitted(network, train, valid, probe=probe, epochs=1)
    before, k = fitter._settled(), fitter.kinds.index("h1")
    assert before[k]
    fitter.best["map"][k] *= -50.0 if probe == "linear" else torch.nan  # of what is kept alone
    assert fitter._settled() == before  # by the weights of the steps
    fitter.family.stack = replace(fitter.family.stack, map=fitter.family.stack.map.bfloat16())
    assert fitter._settled() == [one and n != k for n, one in enumerate(before)]


def test_a_kind_that_tells_something_rounded_alone_is_kept_so(network, train, valid, monkeypatch):
    fitter = fitted(network, train, valid, epochs=1)
    k = fitter.kinds.index("h1")
    good = fitter.best["map"][k].clone()
    fitter.best["map"][k] *= -50.0
    fitter.family.stack = replace(fitter.family.stack, map=fitter.family.stack.map.bfloat16())

    def rounded(number, weights):
        if number == k:
            weights["map"][k] = good

    monkeypatch.setattr(fitter.family, "round_", rounded)
    assert all(fitter._settled())
    assert torch.equal(fitter.best["map"][k], good)


def in_half(fitter, monkeypatch):
    """Let steps take rounded weights, as on a GPU; a CPU's update wants gradients in float32."""
    family = fitter.family
    family.working = {name: weight.bfloat16() for name, weight in family.weights.items()}
    family.gradients = {name: torch.zeros_like(w) for name, w in family.working.items()}
    family.stack = replace(
        family.stack, map=family.working["map"], labels=family.working.get("labels")
    )

    def updated(weight, first, second, gradient, *rest):
        adamw_(weight, first, second, gradient.float(), *rest)
        gradient.zero_()

    monkeypatch.setattr(fitting, "adamw_", updated)


def cancelled_out(x, rows):
    """Large weights (rows, units) that are nearly nothing together on all of some states."""
    values, vectors = torch.linalg.eigh(x.double().T @ x.double())
    still = vectors[:, values < 1e-6 * values.max()]
    by = torch.randn(rows, still.shape[1], generator=torch.Generator().manual_seed(1)).double()
    return (30 * by @ still.T).float()


@pytest.mark.parametrize(("probe", "inner"), [("linear", LABELS), ("shared", 16)])
def test_weights_that_cancel_out_are_kept_as_steps_rounded_them(
    network, train, valid, many, monkeypatch, probe, inner
):
    mix = torch.randn(12, 240, generator=torch.Generator().manual_seed(0))
    trace = Network.trace

    def mixed(self, *args, **options):
        found = trace(self, *args, **options)
        found.states["h1"] = found.states["h1"] @ mix  # 240 units that 12 numbers move
        return found

    monkeypatch.setattr(Network, "trace", mixed)
    config = FitConfig(probe=probe, rank=16, epochs=4)
    fitter = Fitter(dataset(network, train, valid), "output", config)
    k, stack = fitter.kinds.index("h1"), fitter.family.stack
    states = torch.cat([chunk.states["h1"] for chunk in fitter.train.chunks()])
    weight = fitter.family.weights["map"][k]
    weight[:inner, :240] += cancelled_out(stack.prepare(k, states)[:, :240], inner)
    in_half(fitter, monkeypatch)
    assert fitter.run(never, nothing)

    chunk = next(iter(fitter.valid.chunks()))
    of_chunk = chunk.states["h1"], chunk.labels
    exact = {name: weight.clone() for name, weight in fitter.best.items()}
    as_learnt = fitter._nll_of_kept(fitter.family.result(exact), k, *of_chunk)
    kept = fitter.result()
    rounded = fitter._nll_of_kept(kept, k, *of_chunk)
    assert rounded < as_learnt - 0.1 * len(chunk.labels)
    assert torch.equal(fitter.best["map"][k], exact["map"][k].bfloat16().float())
    others = [number for number in range(len(fitter.kinds)) if number != k]
    assert torch.equal(fitter.best["map"][others], exact["map"][others])
    assert "h1" not in kept.silent()


@pytest.mark.parametrize("in_frames", [False, True])
def test_a_step_leaves_its_weights_rounded_for_products(network, train, valid, in_frames):
    """As on a GPU, where products take a copy of the weights in half precision."""
    fitter = Fitter(dataset(network, train, valid), "output", FitConfig())
    assert fitter.frames  # of few labels
    fitter.frames = fitter.frames if in_frames else None
    family = fitter.family
    before = {name: weight.clone() for name, weight in family.weights.items()}
    family.working = {name: weight.bfloat16() for name, weight in family.weights.items()}
    family.gradients = {name: torch.ones_like(weight) for name, weight in family.weights.items()}
    fitter._update()
    for name, weight in family.weights.items():
        assert not torch.equal(weight, before[name])
        assert torch.equal(family.working[name], weight.bfloat16())
        assert not family.gradients[name].any()


def test_frequencies_of_sets_of_labels_are_counted_as_steps_count_them():
    generator = torch.Generator().manual_seed(0)
    labels = torch.rand(50, 10, generator=generator) < 0.3
    answers = LabelSet.numbered(10)
    answers = replace(answers, several=True)
    prior = answers.prior(answers.counts(labels))
    fitter = SimpleNamespace(answers=answers, log_prior=prior)
    told = Fitter._by_frequencies(fitter, labels)  # type: ignore[arg-type]
    logits = prior.float().expand(len(labels), -1).clone()
    assert told == pytest.approx(
        float(sigmoid_gradient_(logits, labels.float(), 10, 1.0).sum()), rel=1e-5
    )
