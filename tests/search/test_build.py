"""An index says of every word what the grid of its sentence shows."""

import json
import math
import threading
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from tests.fixtures import formula_run
from tests.search.conftest import CPU, build, builder_of, corpus_text, texts_of
from tests.search.naive import jensen_shannon
from torch import nn

import rnnlens
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256, write_bytes
from rnnlens.lens.open import opened
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.train.distributed import Processes
from rnnlens.run.folder import Run
from rnnlens.search import build as build_module
from rnnlens.search.build import Builder, _PartMaker, rounded
from rnnlens.search.index_files import TOP
from rnnlens.search.store import Index


def rows_of(index):
    files = [index.folder / part.file for part in index.manifest.parts]
    return [row for file in files for row in pq.read_table(file).to_pylist()]


def near(value, expected, steps):
    """Rounded to steps; what lies on the border between two may go either way."""
    return abs(value - expected) <= 0.5 / steps + 1e-4


def check_row(row, grid, t, labels, index):
    assert (row["word"], row["position"], row["length"]) == (grid.words[t], t, len(grid))
    assert row["text"] == (grid.text if t == 0 else None)
    for kind in index.contents.kinds:
        drawn = grid.json["rows"][t][grid.kinds.index(kind)]
        chances = dict(drawn["top"])
        for k, (label, p) in enumerate(drawn["top"][:TOP], 1):
            assert row[f"{kind}_p{k}"] == pytest.approx(p, rel=0.008, abs=1e-6)
            named = labels[row[f"{kind}_label{k}"]]
            assert named == label or math.isclose(chances[named], p, rel_tol=1e-4)
        assert row[f"{kind}_group"] == drawn["group"]
        assert near(row[f"{kind}_share"], drawn["share"], 256)
        assert near(row[f"{kind}_entropy"], drawn["entropy"], 32)
        if drawn["wanted"] is None:
            assert row[f"{kind}_rank"] is row[f"{kind}_came"] is None
        else:
            assert row[f"{kind}_rank"] == drawn["wanted"][2]
            assert row[f"{kind}_came"] == pytest.approx(drawn["wanted"][1], rel=0.008)
    own = grid.json["rows"][t][-1]["wanted"]
    assert row["next"] == (own and own[0])
    assert (row["surprisal"] is None) == (own is None)
    if own:
        assert near(row["surprisal"], -math.log2(own[1]), 64)


def check_divergences(rows, grid, index):
    p = {
        kind: [torch.from_numpy(state.distribution()) for state in grid[kind]]
        for kind in index.contents.kinds
    }
    for pair in index.contents.pairs:
        for t, row in enumerate(rows):
            at = t - pair.back
            if 0 <= at < len(grid):
                bits = jensen_shannon(p[pair.kind][t], p[pair.other][at])
                assert near(row[pair.column], bits, 256), (pair, t)
            else:
                assert row[pair.column] is None


def check_all(lens, grids):
    index = Index.of(lens.subject.run)
    rows = rows_of(index)
    assert len(rows) == index.manifest.rows == sum(map(len, grids))
    at = 0
    for number, grid in enumerate(grids):
        own = rows[at : at + len(grid)]
        assert {row["sentence"] for row in own} == {number}
        for t, row in enumerate(own):
            check_row(row, grid, t, list(lens.labels), index)
        if number < 2:
            check_divergences(own, grid, index)
        at += len(grid)


@pytest.mark.slow
def test_every_word_is_as_its_grid_shows_it(indexed, grids):
    assert len(Index.of(indexed.subject.run).manifest.parts) > 3
    check_all(indexed, grids)


@pytest.mark.slow
@pytest.mark.parametrize("sort", [("gru", "linear", "output"), ("rnn", "shared", "output-1"),
                                  ("lstm", "", "")])  # fmt: skip
def test_other_cells_families_and_semantics(tmp_path, sort):
    cell, family, semantics = sort
    lens: Any = opened(Run(formula_run(tmp_path / "run", cell, family, semantics)))
    path = tmp_path / "words.conllu"
    path.write_text(corpus_text(4, seed=3))
    build(lens, path)
    texts = texts_of(lens, path)
    check_all(lens, [lens(t.text) for n in range(texts.part_count) for t in texts.part(n)])


class Tagger(nn.Module):
    """Reads in both directions, so that states are fed by the step after them."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 4)
        self.rnn = nn.GRU(4, 3, bidirectional=True, batch_first=True)
        self.readout = nn.Linear(6, 12)

    def forward(self, words):
        return self.readout(self.rnn(self.embedding(words))[0])


@pytest.mark.slow
def test_a_module_of_a_user_that_reads_both_ways(tmp_path):
    torch.manual_seed(0)
    words = [f"w{k}" for k in range(11)] + ["<unk>"]
    data = [(torch.randint(0, 12, (6, 7)), torch.randint(0, 12, (6, 7))) for _ in range(4)]
    module = Tagger().eval()
    fitted = rnnlens.fit(module, data, labels=words, inputs=words, epochs=1)
    fitted.save(tmp_path / "run")
    lens: Any = rnnlens.load(tmp_path / "run", model=module)
    path = tmp_path / "words.txt"
    path.write_text("w1 w2 w3 nobody w4\nw5 w6\nw7 w8 w9 .\n")
    build(lens, path)
    index = Index.of(lens.subject.run)
    assert any(pair.back < 0 for pair in index.contents.pairs)
    assert {pair.name for pair in index.contents.pairs if pair.kind == pair.other} >= {
        "h1@-1", "h1<@+1", "y@-1"}  # fmt: skip
    texts = texts_of(lens, path)
    check_all(lens, [lens(t.text) for n in range(texts.part_count) for t in texts.part(n)])


def test_probabilities_are_rounded_to_seven_bits():
    p = torch.logspace(-8, 0, 100_000)
    near_p = rounded(p, "p")
    assert ((near_p - p).abs() / p).max() < 2**-7
    assert len(near_p.unique()) < 64 * 28
    assert rounded(torch.tensor([0.0, 1.0]), "p").tolist() == [0, 1]


class Killed(BaseException):
    """As sudden as a signal."""


def test_a_killed_build_goes_on_and_ends_the_same(tmp_path, corpus_file, monkeypatch, indexed):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    builder = builder_of(lens, corpus_file, "fp16")
    assert builder.begin(anew=False)
    wrote = write_bytes

    def failing(path, data):
        if path.name == "part-00002.parquet":
            raise Killed
        wrote(path, data)

    monkeypatch.setattr(build_module, "write_bytes", failing)
    with pytest.raises(Killed):
        builder.make(CPU)
    monkeypatch.setattr(build_module, "write_bytes", wrote)
    with pytest.raises(RnnlensError, match="is not finished; give the same rnnlens index command"):
        Index.of(lens.subject.run)
    with pytest.raises(RnnlensError, match=r"part 2 of the index in .* is missing"):
        builder.finish()
    kept = lens.subject.run.path / "index" / "part-00000.parquet"
    before = kept.stat().st_mtime_ns
    cut = lens.subject.run.path / "index" / "part-00001.parquet"
    cut.write_bytes(cut.read_bytes()[:-100])  # what is damaged meanwhile is made again
    builder = builder_of(lens, corpus_file, "fp16")
    assert builder.begin(anew=False)
    builder.make(CPU)
    builder.finish()
    assert kept.stat().st_mtime_ns == before
    whole = indexed.subject.run.path / "index"
    names = sorted(path.name for path in whole.iterdir())
    assert names == sorted(path.name for path in kept.parent.iterdir())
    for name in names:
        if not name.endswith("json"):
            assert sha256(whole / name) == sha256(kept.parent / name), name


def test_many_parts_written_at_once_are_the_same(tmp_path, corpus_file, monkeypatch, indexed):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    monkeypatch.setattr(build_module, "_writers", lambda: 100)
    builder = builder_of(lens, corpus_file, "fp16")
    assert builder.begin(anew=False)
    told: list[int] = []
    builder.make(CPU, told.append)
    assert builder.finish().parts == Index.of(indexed.subject.run).manifest.parts
    assert sum(told) == builder.texts.words


def test_what_fails_to_be_written_is_told_when_nothing_is_written_any_more(
    tmp_path, corpus_file, monkeypatch
):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    monkeypatch.setattr(build_module, "_writers", lambda: 1)
    wrote, slow = write_bytes, threading.Event()

    def failing(path, data):
        if path.name == "part-00000.parquet":
            raise OSError(28, "No space left on device")
        slow.wait(0.5)
        wrote(path, data)

    monkeypatch.setattr(build_module, "write_bytes", failing)
    builder = builder_of(lens, corpus_file)
    assert builder.begin(anew=False)
    with pytest.raises(OSError, match="No space left"):
        builder.make(CPU)
    assert (builder.folder / "part-00001.json").is_file()


def test_several_processes_write_the_parts_among_them(tmp_path, corpus_file, indexed):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    first = builder_of(lens, corpus_file, "fp16")
    assert first.begin(anew=False)
    for rank in (1, 0):
        process = Processes(rank, 2)
        Builder(first.folder, first.plan, first.texts, process).make(CPU)
        made = {path.name for path in first.folder.glob("part-*.parquet")}
        assert all(rank == 0 or int(name[5:10]) % 2 == rank for name in made)
    manifest = first.finish()
    assert manifest.parts == Index.of(indexed.subject.run).manifest.parts


def test_an_index_of_something_else_is_not_continued(tmp_path, corpus_file):
    lens: Any = opened(Run(formula_run(tmp_path / "run")))
    begun = builder_of(lens, corpus_file)
    begun.begin(anew=False)
    other = tmp_path / "other.conllu"
    other.write_text(corpus_text(5, seed=9))
    with pytest.raises(RnnlensError, match="beginning of an index of something else; give --anew"):
        builder_of(lens, other).begin(anew=False)
    begun.make(CPU)
    begun.finish()
    assert not begun.begin(anew=False)
    with pytest.raises(RnnlensError, match=r"holds an index of something else.*; give --anew"):
        builder_of(lens, other).begin(anew=False)
    again = builder_of(lens, other)
    assert again.begin(anew=True)
    assert sorted(path.name for path in again.folder.iterdir()) == [
        "making.json",
        "map.safetensors",
    ]


def test_the_schema_is_plain(indexed):
    index = Index.of(indexed.subject.run)
    schema = pq.read_schema(index.folder / index.manifest.parts[0].file)
    assert {str(kind) for kind in schema.types} == {"int32", "float", "string", "bool"}
    assert json.loads((index.folder / "manifest.json").read_text())["contents"]["top"] == TOP


@pytest.mark.parametrize(("ours", "room", "lists"), [(True, 80, 2), (True, 8, 0), (False, 80, 0)])
def test_a_gpu_measures_beside_tracing_where_there_is_room_and_nobody_changes_precision(
    monkeypatch, ours, room, lists
):
    of_gpu = SimpleNamespace(total_memory=room * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: of_gpu)
    maker = object.__new__(_PartMaker)
    maker.predictor = SimpleNamespace(device=torch.device("cuda"))  # type: ignore[assignment]
    maker.model = Network(NetworkConfig(width=2), 3) if ours else SimpleNamespace()  # type: ignore[assignment]
    assert maker._ahead == lists
