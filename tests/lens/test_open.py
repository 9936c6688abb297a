"""Lenses kept as run folders, and opened again."""

import json
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path

import pytest
import torch
from starlette.testclient import TestClient
from tests.asks import grid_json
from tests.runfiles import edit, tensors_in
from torch import nn

import rnnlens
from rnnlens import Lens, RnnlensError, UserModel
from rnnlens.base.files import write_bytes
from rnnlens.page.serve.app import application
from rnnlens.run.folder import Run

WORDS = ["<unk>", "a", "b", "c", "d", "e"]
TEXT = "c d e a"


class LanguageModel(nn.Module):
    """Its readout shares the embedding's matrix, as many do."""

    def __init__(self, width=7):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width)
        self.recurrence = nn.LSTM(width, width, batch_first=True)
        self.readout = nn.Linear(width, len(WORDS))
        self.readout.weight = self.embedding.weight
        self.scale = 1.0

    def forward(self, words):
        return self.readout(self.recurrence(self.embedding(words) * self.scale)[0])


def batches(count=8):
    generator = torch.Generator().manual_seed(0)
    starts = [torch.randint(5, (6, 1), generator=generator) for _ in range(count)]
    rows = [1 + (start + torch.arange(9)) % 5 for start in starts]
    return [(words[:, :-1], words[:, 1:]) for words in rows]


@pytest.fixture(scope="module")
def model() -> nn.Module:
    torch.manual_seed(3)
    return LanguageModel()


@pytest.fixture(scope="module")
def lens(model: nn.Module) -> Lens:
    return rnnlens.fit(model, batches(), WORDS, semantic="output,input", epochs=2, name="mine")


@pytest.fixture
def code(tmp_path_factory, monkeypatch) -> Iterator[None]:
    """A module of the user's that can be imported."""
    folder = tmp_path_factory.mktemp("code")
    shutil.copy(Path(__file__).parents[1] / "keptcode.py", folder)
    monkeypatch.syspath_prepend(folder)
    yield
    sys.modules.pop("keptcode", None)


def rows(lens: Lens, text: str = TEXT, semantic: str = "output"):
    return grid_json(lens, text, semantic)["rows"]


def close(a, b):
    """The same grid, but for the half precision of saved probes."""
    for one, other in zip(a, b, strict=True):
        for x, y in zip(one, other, strict=True):
            assert x["top"][0][1] == pytest.approx(y["top"][0][1], abs=2e-3)
            assert x["entropy"] == pytest.approx(y["entropy"], abs=5e-3)


def test_a_lens_comes_back_with_the_code_it_names(code, lens, tmp_path):
    assert lens.save(tmp_path / "run", "keptcode:same") == tmp_path / "run"
    again = rnnlens.load(tmp_path / "run")
    assert again.title == "run · LSTM 7 × 1"
    for semantic in ("output", "input"):
        close(rows(again, semantic=semantic), rows(lens, semantic=semantic))
    a, b = (torch.from_numpy(one("e a b")["y"][2].distribution()) for one in (again, lens))
    torch.testing.assert_close(a, b)  # the module's own prediction is not halved
    assert again.labels == tuple(WORDS)
    assert again.palettes.keys() == lens.palettes.keys()


def test_what_was_not_saved_here_is_not_run_unasked(code, lens, tmp_path, monkeypatch):
    lens.save(tmp_path / "run", "keptcode:same")
    monkeypatch.setattr("rnnlens.run.trusted_code._allowed", set())  # as in another process
    again = rnnlens.load(tmp_path / "run")
    close(rows(again, lens.examples()[0]), rows(lens, lens.examples()[0]))
    assert again.subject.scores == lens.subject.scores
    sys.modules.pop("keptcode", None)
    message = r"it would import keptcode \(from .*keptcode.py\) and call same; .* trust=True"
    with pytest.raises(RnnlensError, match=message):
        again(TEXT)
    assert "keptcode" not in sys.modules
    close(rows(rnnlens.load(tmp_path / "run", model="keptcode:same")), rows(lens))
    close(rows(rnnlens.load(tmp_path / "run", trust=True)), rows(lens))


def test_without_a_factory_the_module_is_handed_over(model, lens, tmp_path):
    lens.save(tmp_path / "run")
    alone = rnnlens.load(tmp_path / "run")
    assert alone.examples() == lens.examples()
    close(rows(alone, lens.examples()[0]), rows(lens, lens.examples()[0]))
    with pytest.raises(RnnlensError, match=r"does not say where .* rnnlens.load\(run, model="):
        alone(TEXT)
    for given in (model, (model, WORDS), UserModel(model, WORDS), lambda: (model, WORDS)):
        close(rows(rnnlens.load(tmp_path / "run", model=given)), rows(lens))


def test_a_module_with_other_weights_is_refused_and_left_alone(lens, tmp_path):
    lens.save(tmp_path / "run")
    other = LanguageModel()
    before = {name: t.clone() for name, t in other.state_dict().items()}
    with pytest.raises(RnnlensError, match="its weights differ"):
        rnnlens.load(tmp_path / "run", model=other)(TEXT)
    assert all(torch.equal(t, before[name]) for name, t in other.state_dict().items())


@pytest.mark.parametrize(
    ("factory", "message"),
    [
        ("keptcode:larger", "the weight embedding.weight has another shape"),
        ("keptcode:shy", "reads .* otherwise than .* its x differs"),
        ("keptcode:doubled", "reads .* otherwise"),
        ("keptcode:gone", r"keptcode.py\) has no gone"),
        ("nowhere:model", "cannot import nowhere"),
    ],
)
def test_a_factory_that_gives_another_model_is_refused_at_once(
    code, lens, tmp_path, factory, message
):
    with pytest.raises(RnnlensError, match=message):
        lens.save(tmp_path / "run", factory)
    assert not (tmp_path / "run").exists()


def test_a_module_that_was_trained_on_is_not_saved_with_old_probes(tmp_path):
    model = LanguageModel()
    lens = rnnlens.fit(model, batches(), WORDS, epochs=1)
    with torch.no_grad():
        model.readout.bias.add_(1)
    with pytest.raises(RnnlensError, match="has changed since its probes were fitted"):
        lens.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_factory_of_one_module_for_all_is_left_alone(code, lens, tmp_path):
    """Its weights are others than the run's: the run has a copy of its own."""
    lens.save(tmp_path / "run", "keptcode:shared")
    keptcode = import_module("keptcode")

    before = {name: t.clone() for name, t in keptcode.MODEL.state_dict().items()}
    close(rows(rnnlens.load(tmp_path / "run")), rows(lens))
    assert all(torch.equal(t, before[name]) for name, t in keptcode.MODEL.state_dict().items())


def test_code_that_has_changed_is_noticed(code, lens, tmp_path, monkeypatch):
    lens.save(tmp_path / "run", "keptcode:same")
    keptcode = import_module("keptcode")
    for change, message in (
        ({"scale": 3.0}, "its .* differs"),
        ({"words": lambda text: text.upper().split()}, "for its words"),
        ({"kinds": []}, None),
    ):
        monkeypatch.setattr(keptcode, "same", lambda change=change: keptcode.changed(**change))
        again = rnnlens.load(tmp_path / "run")
        if message is None:
            close(rows(again), rows(lens))
            continue
        with pytest.raises(RnnlensError, match=message):
            again(TEXT)


def test_what_was_measured_is_kept(model, tmp_path):
    measured = rnnlens.fit(model, batches(), WORDS, epochs=1)
    found = {score.kind: score for score in measured.evaluate(batches(3))}
    measured.save(tmp_path / "run")
    again = rnnlens.load(tmp_path / "run")
    columns = {
        column["id"]: column for column in grid_json(again, measured.examples()[0])["columns"]
    }
    assert columns["h1"]["perplexity"] == pytest.approx(found["h1"].perplexity)
    assert found["h1"].ratio
    own = found["h1"].perplexity / found["h1"].ratio
    assert columns["y"]["perplexity"] == pytest.approx(own)
    assert again.subject.scores == measured.subject.scores


def test_a_run_of_ours_is_copied(probed_run, tmp_path):
    lens = rnnlens.load(probed_run)
    lens.save(tmp_path / "copy")
    again = rnnlens.load(tmp_path / "copy")
    text = lens.examples()[0]
    assert rows(again, text) == rows(lens, text)
    kept = {path.name for path in Path(probed_run).iterdir() if path.suffix != ".log"} - {"index"}
    assert {path.name for path in (tmp_path / "copy").iterdir()} == kept


def test_nothing_is_written_over(lens, tmp_path):
    lens.save(tmp_path / "run")
    with pytest.raises(RnnlensError, match="holds a run already"):
        lens.save(tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(RnnlensError, match="holds files that are no run"):
        lens.save(tmp_path / "mine")
    with pytest.raises(RnnlensError, match="this one is of a run"):
        rnnlens.load("english-news").save(tmp_path / "copy", "keptcode:same")


def test_a_save_that_was_cut_off_is_no_run(lens, tmp_path, monkeypatch):
    def full(*_):
        raise RnnlensError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(Run, "write_probes", full)
        with pytest.raises(RnnlensError, match="no space left"):
            lens.save(tmp_path / "run")
    with pytest.raises(RnnlensError, match="has not finished"):
        rnnlens.load(tmp_path / "run")
    lens.save(tmp_path / "run")
    close(rows(rnnlens.load(tmp_path / "run"), lens.examples()[0]), rows(lens, lens.examples()[0]))


def test_a_copy_that_was_cut_off_can_be_made_again(probed_run, tmp_path, monkeypatch):
    lens = rnnlens.load(probed_run)
    real, calls = write_bytes, iter(range(100))

    def full(path, data):
        if next(calls) == 3:
            raise RnnlensError("no space left")
        real(path, data)

    with monkeypatch.context() as patched:
        patched.setattr("rnnlens.lens.save.write_bytes", full)
        with pytest.raises(RnnlensError, match="no space left"):
            lens.save(tmp_path / "copy")
    with pytest.raises(RnnlensError, match="has not finished"):
        rnnlens.load(tmp_path / "copy")
    lens.save(tmp_path / "copy")
    assert rows(rnnlens.load(tmp_path / "copy"), "a bird") == rows(lens, "a bird")


def test_weights_that_are_shared_are_kept_once_and_for_all(lens, tmp_path):
    lens.save(tmp_path / "run")
    kept = tensors_in(tmp_path / "run" / "model.safetensors")
    assert torch.equal(kept["embedding.weight"], kept["readout.weight"])
    assert json.loads((tmp_path / "run" / "model.json").read_text())["factory"] == ""


def served(lens: Lens) -> TestClient:
    app = application({"mine": lens.subject})
    return TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)


def test_a_run_of_a_module_is_served(code, lens, tmp_path):
    lens.save(tmp_path / "run", "keptcode:same")
    client = served(rnnlens.load(tmp_path / "run"))
    assert client.get("/api/runs").json()["runs"][0]["examples"] == lens.examples()
    asked = client.post("/api/grid", json={"text": TEXT}).json()
    close(asked["rows"], rows(lens))


@pytest.mark.slow
def test_a_module_is_read_by_several_threads_at_once(code, lens, tmp_path):
    lens.save(tmp_path / "run", "keptcode:same")
    again = rnnlens.load(tmp_path / "run")
    texts = [" ".join(WORDS[1 + (k + j) % 5] for j in range(3 + k % 4)) for k in range(40)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda text: rows(again, text), texts))
    for text, answer in zip(texts, answers, strict=True):
        close(answer, rows(lens, text))


def test_without_the_code_a_server_tells_what_is_missing(lens, tmp_path, code):
    lens.save(tmp_path / "run", "keptcode:same")
    edit(tmp_path / "run" / "model.json", factory="gonecode:same")
    for trust, message in (
        (False, "it would import gonecode (not found: say where it is with --path FOLDER)"),
        (True, "cannot import gonecode"),
    ):
        client = served(rnnlens.load(tmp_path / "run", trust=trust))
        known, new = (
            client.post("/api/grid", json={"text": t}) for t in (lens.examples()[0], TEXT)
        )
        assert known.status_code == 200
        assert new.status_code == 400
        assert message in new.json()["error"]
