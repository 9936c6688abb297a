"""The server, asked directly."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rnnlens.cli import main
from rnnlens.corpus.grammar import conllu
from rnnlens.errors import RnnlensError
from rnnlens.run import Run
from rnnlens.view.grid import Lens
from rnnlens.view.server import _listen, application


@pytest.fixture(scope="module")
def lens(tmp_path_factory) -> Lens:
    folder: Path = tmp_path_factory.mktemp("served")
    (folder / "corpus.conllu").write_text(conllu(150), encoding="utf-8")
    run = folder / "run"
    flags = ["--width", "8", "--epochs", "1", "--device", "cpu", "--min-count", "1"]
    assert main(["train", str(folder / "corpus.conllu"), "-o", str(run), *flags]) == 0
    return Lens.load(Run(run))


@pytest.fixture
def client(lens):
    return TestClient(application(lens), base_url="http://127.0.0.1")


def test_a_grid_has_a_state_for_every_word(client):
    found = client.get("/api/grid", params={"text": "the dog sees zyzzyva ."}).json()
    assert [word["text"] for word in found["words"]] == ["the", "dog", "sees", "zyzzyva", "."]
    assert [word["unknown"] for word in found["words"]] == [False, False, False, True, False]
    states = found["states"]["y"]
    assert len(states) == 5
    assert "next" not in states[-1]
    for state in states:
        bars = [bar["probability"] for bar in state["bars"]]
        assert bars == sorted(bars, reverse=True)
        assert 0 < state["share"] <= 1


def test_the_rank_of_what_came_agrees_with_the_bars(client):
    found = client.get("/api/grid", params={"text": "the dog sees the cat"}).json()
    for state, came in zip(found["states"]["y"], found["words"][1:], strict=False):
        labels = [bar["label"] for bar in state["bars"]]
        rank = state["next"]["rank"]
        assert (came["label"] in labels) == (rank <= len(labels))


@pytest.mark.parametrize(
    ("text", "reason"),
    [("x" * 20_001, "characters are too many"), ("a " * 1001, "words are too many")],
)
def test_too_much_text_is_a_clear_error(client, text, reason):
    answer = client.get("/api/grid", params={"text": text})
    assert answer.status_code == 400
    assert reason in answer.json()["error"]


@pytest.mark.parametrize("text", ["", " ", "\x00\x07", "😀 \u202eشكرا", "a\tb"])
def test_odd_text_is_answered(client, text):
    assert client.get("/api/grid", params={"text": text}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/main.js", "/grid.js", "/style.css", "/api/grid?text=a"])
def test_answers_carry_a_strict_policy(client, path):
    answer = client.get(path)
    assert answer.status_code == 200
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_other_hosts_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_a_port_in_use_is_a_clear_error():
    taken = _listen(0)
    with pytest.raises(RnnlensError, match="--port"):
        _listen(taken.getsockname()[1])
    taken.close()
