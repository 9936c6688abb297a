"""Lenses of modules that read and predict numbers, sets of labels, or nothing that is asked."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.letters import WORDS, LanguageModel, batches
from torch import Tensor, nn

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.waves import Forecaster
from rnnlens.waves import batches as series

TEXT = "0.1 0.3 -0.2 0.5"
READ = torch.tensor([[0.1, 0.3, -0.2, 0.5]])


class Regressor(nn.Module):
    """One number for a whole sequence of features."""

    def __init__(self) -> None:
        super().__init__()
        self.part, self.head = nn.GRU(2, 6, batch_first=True), nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Any:
        return self.head(self.part(x)[0][:, -1])[:, 0]


class Column(Forecaster):
    """Its numbers have an axis of their own."""

    def forward(self, numbers: Tensor) -> Tensor:
        return super().forward(numbers)[..., None]


class Encoder(LanguageModel):
    """Returns its states, and predicts nothing."""

    def forward(self, words: Tensor) -> Any:
        return self.recurrence(self.embedding(words))[0]


@pytest.fixture(scope="module")
def forecaster():
    """A forecaster that has learnt a little, and its lens."""
    torch.manual_seed(0)
    module, data = Forecaster(), series(96, 1)
    optimiser = torch.optim.Adam(module.parameters(), 2e-2)
    for numbers, following in data * 12:
        loss = (module(numbers) - following).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module, rnnlens.fit(module, data, epochs=2, semantic="output,output+2")


def test_a_forecasters_states_are_asked_for_the_next_number(forecaster):
    module, lens = forecaster
    grid = lens(TEXT)
    assert (lens.subject.session.text.follows, len(grid.labels)) == (True, 16)
    assert [word["value"] for word in grid.json["words"]] == pytest.approx(READ[0].tolist())
    scale = lens.subject.model.record.scale
    own = module(READ)[0, 2].detach()
    expected = scale.logits(own[None, None]).softmax(-1)[0]
    torch.testing.assert_close(
        torch.from_numpy(grid["y"][2].distribution()).float(), expected, rtol=1e-4, atol=1e-6
    )
    came = grid.labels[int(scale.bins(READ[0, 3:])[0])]
    assert grid["h2"][2].wanted[0] == came
    mean, low, high = grid["h2"][2].number
    assert low < mean < high


def test_the_last_output_says_what_the_forecaster_does(forecaster):
    _, lens = forecaster
    scores = {s.kind: s for s in lens.evaluate(series(64, 5)) if s.semantic == "output"}
    last = scores["h2"]
    assert last.ratio < 1.03
    assert last.error.probe < 1.05 * last.error.model < last.error.constant
    assert scores["x"].perplexity < last.unigram
    assert lens.evaluate(["0.1 0.3 0.2 0.4 0.1"])[0].pairs == 4


def test_the_rectangle_is_that_of_the_median_and_fades_with_entropy(forecaster):
    _, lens = forecaster
    state = lens(TEXT)["c1"][1]
    p = state.distribution()
    median = int((p.cumsum() < 0.5).sum())
    assert state.group == state.grid.labels[median]
    assert state.share == pytest.approx(1 - state.entropy() / 4, abs=1e-4)


def test_a_figure_shows_means_and_bins(forecaster, tmp_path):
    _, lens = forecaster
    grid = lens(TEXT)
    path = grid.save(tmp_path / "figure.svg", kinds=["h2"], key=False)
    means = [f"{round(state.number[0], 2):g}".replace("-", "\u2212") for state in grid["h2"]]
    assert all(f"<!-- {mean} -->" in path.read_text(encoding="utf-8") for mean in means)
    colours = {colour for group, colour in grid.json["groups"].items() if group != "OTHER"}
    assert all(colour in path.read_text(encoding="utf-8") for colour in colours)


def test_a_saved_forecaster_is_the_same(forecaster, tmp_path):
    module, lens = forecaster
    lens.save(tmp_path / "run")
    text = lens.examples()[0]
    without_code = rnnlens.load(tmp_path / "run")
    assert without_code(text)["h1"][3].number == lens(text)["h1"][3].number
    again = rnnlens.load(tmp_path / "run", model=module)
    assert again(TEXT).json["rows"] == lens(TEXT).json["rows"]
    for given_, said in (
        ("0.1 x", "'x' is not what the model reads; give numbers"),
        ("nan", "nan"),
    ):
        with pytest.raises(RnnlensError, match=said):
            again(given_)


def test_a_regressor_reads_features_and_says_one_number(tmp_path):
    torch.manual_seed(0)
    data = [(x, x[..., 0].sum(1)) for x in torch.randn(12, 8, 5, 2)]
    module = Regressor()
    lens: Any = rnnlens.fit(module, data, epochs=1)
    assert (lens.subject.model.record.features, lens.subject.session.text.follows) == (2, False)
    grid = lens("1,0.5 -1,2")
    own = module(torch.tensor([[[1, 0.5], [-1, 2.0]]])).detach()
    wanted = lens.subject.model.record.scale.logits(own[:, None]).softmax(-1)[0]
    torch.testing.assert_close(
        torch.from_numpy(grid["y"][0].distribution()).float(), wanted, rtol=1e-4, atol=1e-6
    )
    lens.save(tmp_path / "run")
    assert rnnlens.load(tmp_path / "run", model=module)("1,0.5 -1,2").json == grid.json | {
        "run": "run", "title": "run · GRU 6 × 1"
    }  # fmt: skip


@pytest.mark.release
def test_several_labels_have_a_probability_each(tmp_path):
    torch.manual_seed(0)
    data = [(x, torch.stack([x > 2, x % 2 == 0], -1).float()) for x, _ in batches()]
    module = LanguageModel(labels=2)
    with pytest.warns(UserWarning, match="worse"):
        lens = rnnlens.fit(module, data, ["large", "even"], inputs=WORDS, epochs=40)
    grid = lens("c d e a")
    own = module(torch.tensor([[3, 4, 5, 1]])).sigmoid()[0]
    for step, p in enumerate(own.tolist()):
        assert grid["y"][step].distribution() == pytest.approx(p, rel=1e-4)
    said = [state.distribution().round() for state in grid["x"]]
    assert [s.tolist() for s in said] == [[1, 0], [1, 1], [1, 0], [0, 0]]  # c is 3, d 4, e 5, a 1
    state = grid["x"][1]
    assert state.share == pytest.approx(state.top(1)[0][1], rel=1e-4)
    score: Any = next(s for s in lens.evaluate(data) if s.kind == "x")
    assert (score.accuracy, score.precision.probe) == pytest.approx((1, 1), abs=0.01)
    assert score.perplexity < 1.2 < score.unigram < 2.1
    lens.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run", model=module)
    assert again("c d e a").json["rows"] == grid.json["rows"]
    assert again.evaluate(data)[0].precision is not None
    with pytest.raises(RnnlensError, match="here several hold at once"):
        again.evaluate(data, used=True)
    assert 0 <= grid["h1"][0].divergence(grid["h1"][2]) <= 1
    assert grid.follow("large", "even")["x"] == pytest.approx([1, 1, 1, 0], abs=0.3)


@pytest.mark.slow
def test_targets_that_are_not_the_modules_need_no_logits(tmp_path):
    torch.manual_seed(0)
    data = [(x, {"odd": x % 2, "size": x.float()}) for x, _ in batches()]
    lens = rnnlens.fit(Encoder(), data, inputs=WORDS, targets={"odd": ["even", "odd"]}, epochs=30)
    assert lens.semantics == ("odd", "size")
    grid = lens("c d e a")
    assert grid.kinds[-1] == "h1"
    assert [s.top(1)[0][0] for s in grid["x"]] == ["odd", "even", "odd", "odd"]
    numbers = [(state.number or (0,))[0] for state in lens("c d e a", "size")["x"]]
    assert numbers == pytest.approx([3, 4, 5, 1], abs=0.8)
    kept = {(s.semantic, s.ratio) for s in lens.evaluate(data[:2])}
    assert kept == {("odd", None), ("size", None)}
    lens.save(tmp_path / "run")
    text = lens.examples()[0]
    assert (
        rnnlens.load(tmp_path / "run")(text, "size").json["rows"] == lens(text, "size").json["rows"]
    )


@pytest.mark.slow
def test_one_batch_of_targets_that_are_not_the_modules(tmp_path):
    torch.manual_seed(0)
    x = torch.cat([x for x, _ in batches()])
    lens = rnnlens.fit(Encoder(), [(x, {"odd": x % 2})], inputs=WORDS, targets={"odd": None})
    assert lens.semantics == ("odd",)


@pytest.mark.slow
def test_other_targets_stand_beside_the_modules_own():
    torch.manual_seed(0)
    data = [(x, {"output": t, "odd": x % 2}) for x, t in batches()]
    with pytest.warns(UserWarning, match="worse"):
        lens = rnnlens.fit(LanguageModel(), data, WORDS, targets={"odd": None}, epochs=20)
    assert lens.semantics == ("output", "odd")
    assert (lens("c d").kinds[-1], lens("c d", "odd").kinds[-1]) == ("y", "h1")
    assert lens("c d", "odd").labels == ("0", "1")
    assert [s.semantic for s in lens.evaluate(["c d e a"])][-1] == "output"  # it has no targets


LETTERS = batches()


def traits(x: Tensor) -> Tensor:
    """Sets of two labels, for each step."""
    return torch.stack([x % 2, x > 3], -1).float()


FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "labels": lambda x: x % 2,
    "numbers": lambda x: x / 2,
    "sets of 2 labels": traits,
    "sets of 3 labels": lambda x: torch.stack([x > 1, x > 2, x > 3], -1),
}


@pytest.mark.slow
def test_targets_of_another_form_than_in_fitting_are_refused():
    torch.manual_seed(0)
    data = {form: [(x, {"own": make(x)}) for x, _ in LETTERS[:4]] for form, make in FORMS.items()}
    for form, some in data.items():
        lens = rnnlens.fit(Encoder(), some, inputs=WORDS, epochs=0)
        assert {score.semantic for score in lens.evaluate(some)} == {"own"}
        for other in FORMS.keys() - {form}:
            where = f"{form} where probes are fitted"
            with pytest.raises(RnnlensError, match=f"own are {other} in these .* and {where}"):
                lens.evaluate(data[other])
            with pytest.raises(RnnlensError, match=f"own are {other} in valid=, and {where}"):
                rnnlens.fit(Encoder(), some, inputs=WORDS, epochs=0, valid=data[other])


@pytest.mark.slow
@pytest.mark.parametrize("sort", [torch.float, torch.bool])
def test_sets_of_whole_sequences_need_not_be_the_modules(sort):
    torch.manual_seed(0)
    again = [x[:, :1].expand(x.shape).contiguous() for x, _ in batches()]  # the same word
    data = [(x, {"has": traits(x)[:, 0].to(sort)}) for x in again]
    names = {"has": ["odd", "large"]}
    lens = rnnlens.fit(Encoder(), data, inputs=WORDS, targets=names, epochs=20)
    last = lens("d d d")["x"][2]  # 4
    assert last.probability("odd") < 0.4 < 0.5 < last.probability("large")
    assert {score.semantic for score in lens.evaluate(data[:2])} == {"has"}


@pytest.mark.parametrize(
    ("targets", "options", "said"),
    [
        (lambda x: x.float(), {}, r"whole numbers, 1 to 5, kept as floats.*targets.long\(\)"),
        (lambda x: x + 0.5, {}, "targets are numbers, of which the module must predict one"),
        (lambda x: x + 0.5, {"labels": WORDS}, "labels= names 6"),
        (lambda x: torch.stack([x, x], -1) % 2, {}, "predicts 6 labels and targets have an axis"),
        (lambda x: {"output": x, "tag": x * 0}, {}, "the targets of tag have a single label"),
        (lambda x: {"output": x, "tag": x}, {"targets": {"tag": "a"}}, "give the names as a list"),
        (lambda x: {"output": x, "tag": x}, {"targets": {"tag": ["a"]}}, "and 1 are named"),
        (lambda x: x, {"targets": {"tag": ["a"]}}, "targets= names 'tag', and the batches have"),
        (lambda x: {"output": x, "tag": x[:, :-1]}, {}, "do not fit states of"),
        (lambda x: x, {"semantic": "tag"}, "'tag' is no semantic here"),
        (lambda x: {"output": x, "tag": traits(x)}, {"targets": {"tag": [*"abc"]}}, "and 3 are na"),
        (lambda x: {"output": x, "tag": x / 2}, {"targets": {"tag": [*"ab"]}}, "names 2 labels of"),
        (lambda x: {"output": x, "tag": traits(x)[:, 0]}, {}, r"or name all .* targets={'tag'"),
        (lambda x: {"output": x, "tag": traits(x)[:, 0] > 0}, {}, "floats and the names of all"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:the module predicts its targets worse")
def test_bad_targets_are_told(targets, options, said):
    torch.manual_seed(0)
    with pytest.raises(RnnlensError, match=said):
        rnnlens.fit(LanguageModel(), [(x, targets(x)) for x, _ in LETTERS], epochs=0, **options)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (lambda y: (y > 0).float(), "every target is 0 or 1, which are labels and no numbers"),
        (lambda y: y * 0 + 2.5, "every target is 2.5, so that there is nothing to ask for"),
        (lambda y: (y > 0).long(), "predicts one number, and targets are whole numbers"),
    ],
)
def test_what_are_no_numbers_is_told(targets, said):
    with pytest.raises(RnnlensError, match=said):
        rnnlens.fit(Column(), [(x, targets(y)) for x, y in series(64, 1)], epochs=0)
