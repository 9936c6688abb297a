"""A lens as one file: what is in it, what it says of itself, and what is refused."""

import gzip
import hashlib
import json
import re
from pathlib import Path

import pytest
from tests.asks import grid_json
from tests.page.publish.engine import answered

from rnnlens.base.errors import RnnlensError, RnnlensWarning
from rnnlens.page.publish import live_page
from rnnlens.page.publish.live_page import Published, Words, published, seven_bits


def element(page: str, name: str) -> str:
    found = re.search(rf'<script [^>]*id="{name}">(.*?)</script>', page, flags=re.DOTALL)
    assert found
    return found[1]


def test_the_file_holds_the_lens_and_asks_for_nothing(formula):
    words = Words("a <title>", "a </p> note", "the dog")
    page = published(formula.subject, ["input", "input"], "fp16", words).page.decode()
    head = json.loads(element(page, "head"))
    assert (head["note"], head["run"]["title"], head["grid"]["title"]) == (
        "a </p> note", "a <title>", "a <title>",
    )  # fmt: skip
    assert head["run"]["examples"][0] == head["grid"]["text"] == "the dog"
    assert head["grid"]["semantics"] == head["run"]["semantics"] == ["input"]
    rows = grid_json(formula, "the dog", "input")["rows"]
    assert head["grid"]["rows"] == json.loads(json.dumps(rows))
    assert "<title>rnnlens · a &lt;title&gt;</title>" in page
    assert not re.search(r'(src|href)="|https?://(?!www\.w3\.org)|@import|url\(', page)
    assert "/(?<" not in page  # older browsers could not even read the script
    assert re.search(r"default-src 'none'; script-src 'sha256-\S+' 'wasm-unsafe-eval'; ", page)


def test_the_same_lens_gives_the_same_file(formula):
    assert published(formula.subject).page == published(formula.subject).page


def test_one_semantic_needs_no_list_and_a_title_of_blanks_is_none(formula, tmp_path):
    page = formula.publish(tmp_path / "lens.html", "input", title=" ", note="\n").read_text("utf-8")
    head = json.loads(element(page, "head"))
    assert head["run"]["semantics"] == ["input"]
    assert (head["run"]["title"], head["note"]) == (formula.title, "")


def test_a_lens_without_probes_has_its_prediction(formulas):
    page = published(formulas["bare"].subject, words=Words(text="the dog")).page.decode()
    grid = json.loads(element(page, "head"))["grid"]
    assert [column["id"] for column in grid["columns"]] == ["y"]


@pytest.mark.slow
def test_what_is_zipped_is_read_again():
    """HTML keeps every character of it, and the engine finds every byte."""
    datas = [b"", b"\0\r<", bytes(range(256)) * 30, *(bytes([k]) * k for k in range(20))]
    texts = [seven_bits(gzip.compress(data, mtime=0)) for data in datas]
    assert not set("".join(texts)) & {"\0", "\r", "<"}
    sums = [hashlib.sha256(data).hexdigest() for data in datas]
    held = [(text, len(data), s) for text, data, s in zip(texts, datas, sums, strict=True)]
    assert [bytes(map(int, found)) for found in answered("unzip.mjs", held)] == datas
    text, size, s = held[2]
    broken = [(text[:-9], size, s), (text[:50] + "!" + text[51:], size, s), ("?", 1, s)]
    broken += [("\u4e2d", 1, s), (text, size - 1, s), (text, size + 1, s), (text, size, sums[3])]
    assert all("damaged" in found for found in answered("unzip.mjs", broken))


@pytest.mark.parametrize(
    ("name", "more", "told"),
    [
        ("lens.pdf", {}, "ending in .html"),
        ("nowhere/lens.html", {}, "there is no folder"),
        ("folder.html", {}, "is a folder"),
        ("lens.html", {"semantics": ["output+7"]}, "has no probes for the semantic 'output+7'"),
        ("lens.html", {"precision": "int4"}, "'int4' is no precision; choose int8 or fp16"),
        ("lens.html", {"title": "t" * 201}, "a title of 201 characters is too long"),
        ("lens.html", {"note": "n" * 5001}, "a note of 5,001 characters is too long"),
        ("lens.html", {"title": None}, "a text is wanted as title, and NoneType given; give a str"),
        ("lens.html", {"note": 3}, "a text is wanted as note, and int given; give a str"),
        ("lens.html", {"text": 5}, "a text is wanted, and int given; give a str"),
    ],
)
def test_what_cannot_be_published_is_refused(formula, tmp_path, name, more, told):
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(RnnlensError, match=re.escape(told)):
        formula.publish(tmp_path / name, **more)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.html"]


def test_a_large_file_is_warned_of_with_what_makes_it_smaller(tmp_path, monkeypatch):
    monkeypatch.setattr(live_page, "LARGE", 10)
    page = Published(b"0123456789ab", {"network": 7_000_000, "probes of output": 1_234_000})
    assert str(page) == "0.0 MB; before packing: network 7.0 MB, probes of output 1.2 MB"
    with pytest.warns(RnnlensWarning, match="--semantic, with --precision int8.*--probe shared"):
        page.write(tmp_path / "lens.html")
    assert Path(tmp_path / "lens.html").read_bytes() == page.page
