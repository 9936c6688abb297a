"""Maps of states, against principal components by another way, and indexes that lie about them."""

import shutil
from dataclasses import asdict, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file, save_file
from tests.search.conftest import corpus_text, texts_of

from rnnlens.ask.corpus_questions import MapQuestion, PlaceQuestion, corpus_map, map_place
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import read_json, sha256, write_json
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search import state_map
from rnnlens.search.find import CorpusPage, find
from rnnlens.search.index_files import Manifest
from rnnlens.search.state_map import Sums, axes_of
from rnnlens.search.store import Index, index_of


@pytest.fixture
def run(indexed, tmp_path) -> Run:
    """A copy of the run with its index, to be harmed."""
    return Run(shutil.copytree(indexed.subject.run.path, tmp_path / "run"))


@pytest.fixture(scope="module")
def states(indexed, grids):
    """All states of two kinds, in the order of the index."""
    read = [indexed.subject.session.read(grid.reading.ids, 0, len(grid))[0] for grid in grids]
    return {kind: torch.cat([one[kind] for one in read]) for kind in ("l2", "x")}


def test_axes_are_the_principal_components(states):
    for chunks in (1, 5):
        parts = zip(*(v.chunk(chunks) for v in states.values()), strict=True)
        some = [dict(zip(states, part, strict=True)) for part in parts]
        axes = axes_of(some, tuple(states))
        for kind, values in states.items():
            exact = values.double() - values.double().mean(0)
            deviation = exact.square().mean(0).sqrt()
            exact /= deviation
            _, s, v = np.linalg.svd(exact.numpy(), full_matrices=False)
            shares = (s**2 / (s**2).sum())[:2]
            assert axes[kind].shares == pytest.approx(shares, rel=1e-6)
            for mine, theirs in zip(axes[kind].directions.double(), v, strict=False):
                unit = mine * deviation
                assert abs(float(unit @ torch.from_numpy(theirs))) == pytest.approx(1, abs=1e-5)
                assert unit[unit.abs().argmax()] > 0  # so that it is always the same


@pytest.mark.parametrize(
    "values", [torch.ones(5, 3), torch.arange(6.0)[:, None], 1e6 + torch.eye(3)]
)
def test_states_that_hardly_differ_have_places(values):
    sums = Sums()
    sums.add(values)
    axes = sums.axes()
    assert torch.isfinite(axes.places(values)).all()
    assert 0 <= sum(axes.shares) <= 1 + 1e-9
    if values.shape[1] == 1:
        assert axes.shares == (1.0, 0.0)


def test_states_beyond_numbers_are_refused():
    sums = Sums()
    sums.add(torch.full((2, 3), float("inf")))
    with pytest.raises(RnnlensError, match="too large to index"):
        sums.axes()


def test_every_state_is_counted_once_on_its_map(indexed, states):
    subjects = Subjects.of(indexed.subject)
    drawn = corpus_map(subjects, MapQuestion(kind="l2"))
    index = index_of(indexed.subject)
    assert sum(words for _, _, words, _, _ in drawn.cells) == index.manifest.rows
    places = index.axes["l2"].places(states["l2"])
    table = index.ask("SELECT l2_map1, l2_map2 FROM words ORDER BY sentence, position")
    stored = np.stack([np.asarray(table[name]) for name in table.column_names], 1)
    assert np.abs(stored - places.numpy()).max() <= index.axes["l2"].step
    (x, y, words, group, share), side = drawn.cells[0], drawn.sides
    assert group in index.names.groups
    assert 0 < share <= 1
    low = drawn.corner[0] + x * side[0], drawn.corner[1] + y * side[1]
    inside = np.all((stored >= low) & (stored < np.add(low, side)), 1)
    assert inside.sum() == words


def test_a_rectangle_of_the_map_is_a_question(indexed, states):
    index = index_of(indexed.subject)
    places = index.axes["l2"].places(states["l2"]).numpy()
    low, high = np.quantile(places, [0.3, 0.8], axis=0)
    question = f"map l2 in {low[0]:.6f}..{high[0]:.6f}, {low[1]:.6f}..{high[1]:.6f}"
    expected = np.all((places >= low.round(6)) & (places <= high.round(6)), 1).sum()
    found = indexed.find(question)
    assert 0 < found.total < index.manifest.rows
    assert abs(found.total - expected) <= 2  # that stand on an edge, to a rounding
    both = indexed.find(f"{question} and not y rank = 1")
    assert both.total <= found.total
    assert CorpusPage(indexed.subject).find(question, 0, 5).groups == ("l2",)
    everywhere = indexed.find("map l2 in -1e9..1e9, -1e9..1e9 count")
    assert everywhere.total == index.manifest.rows


def test_a_state_of_a_text_has_its_place(indexed, grids):
    subjects, index = Subjects.of(indexed.subject), index_of(indexed.subject)
    grid = grids[3]
    place = map_place(subjects, PlaceQuestion(text=grid.text, column="l2", row=1))
    row = index.ask("SELECT l2_map1, l2_map2 FROM words WHERE sentence = 3 AND position = 1")
    step = index.axes["l2"].step
    assert (place.x, place.y) == pytest.approx(tuple(row.to_pylist()[0].values()), abs=1.01 * step)
    with pytest.raises(RnnlensError, match="y has no map"):
        map_place(subjects, PlaceQuestion(text=grid.text, column="y", row=1))
    with pytest.raises(RnnlensError, match="nosuch has no map"):
        corpus_map(subjects, MapQuestion(kind="nosuch"))


def test_an_index_of_before_maps_opens_and_says_how_to_get_one(run):
    folder = run.path / "index"
    manifest = read_json(folder / "manifest.json", Manifest)
    contents, parts = replace(manifest.contents, map_kinds=()), []
    for part in manifest.parts:
        path = folder / part.file
        table = pq.read_table(path)
        table = table.drop_columns([name for name in table.column_names if "_map" in name])
        pq.write_table(table, path, store_schema=False)
        parts.append(replace(part, bytes=path.stat().st_size, sha256=sha256(path)))
    old = asdict(replace(manifest, contents=contents, parts=tuple(parts)))
    del old["map"], old["contents"]["map_kinds"]  # as older versions wrote it
    write_json(folder / "manifest.json", old)
    (folder / "map.safetensors").unlink()
    lens = opened(run)
    assert lens.find("l2 disagrees with s2").total > 0
    drawn = corpus_map(Subjects.of(lens.subject), MapQuestion(kind="l2"))
    assert drawn.cells == ()
    assert "without a map; make it anew: rnnlens index" in drawn.missing
    with pytest.raises(RnnlensError, match="this index has no map"):
        lens.find("map l2 in 0..1, 0..1")


def forged(run: Run, change) -> None:
    """Write another first part, with a manifest that has its hash."""
    folder = run.path / "index"
    manifest = read_json(folder / "manifest.json", Manifest)
    path = folder / manifest.parts[0].file
    pq.write_table(change(pq.read_table(path)), path, store_schema=False)
    part = replace(manifest.parts[0], bytes=path.stat().st_size, sha256=sha256(path))
    write_json(
        folder / "manifest.json", asdict(replace(manifest, parts=(part, *manifest.parts[1:])))
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e37, None])
def test_a_map_with_states_that_are_nowhere_is_refused(run, value):
    def change(table):
        values = table["l2_map1"].to_pylist()
        values[1] = value
        column = pa.array(values, pa.float32())
        return table.set_column(table.column_names.index("l2_map1"), "l2_map1", column)

    forged(run, change)
    lens = opened(run)
    for ask in (
        lambda: corpus_map(Subjects.of(lens.subject), MapQuestion(kind="l2")),
        lambda: list(lens.find("map l2 in 0..1, 0..1")),
    ):
        with pytest.raises(RnnlensError, match="its column l2_map1 has values that none can have"):
            ask()
    assert lens.find("l2 disagrees with s2").total > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.drop_columns(["l2_map1"]), "its column l2_map1 is None and not float"),
        (lambda table: table.append_column("y_map1", table["l2_map1"]), "its column y_map1 is"),
    ],
)
def test_missing_and_foreign_columns_of_a_map_are_refused(run, change, message):
    forged(run, change)
    with pytest.raises(RnnlensError, match=rf"is damaged \({message}.*--anew"):
        Index.of(run)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda axes: {**axes, "l2/mean": axes["l2/mean"] * float("nan")}, "numbers that none can"),
        (lambda axes: {**axes, "l2/scale": -axes["l2/scale"]}, "numbers that none can have"),
        (lambda axes: {**axes, "l2/mean": axes["l2/mean"][1:]}, "shapes that do not belong"),
        (lambda axes: {**axes, "q/mean": axes["l2/mean"]}, "of other kinds than the index"),
    ],
)
def test_axes_that_lie_are_refused(run, change, message):
    folder = run.path / "index"
    path = folder / "map.safetensors"
    save_file({name: t.clone().contiguous() for name, t in change(load_file(path)).items()}, path)
    manifest = read_json(folder / "manifest.json", Manifest)
    write_json(folder / "manifest.json", asdict(replace(manifest, map=sha256(path))))
    with pytest.raises(RnnlensError, match=message):
        corpus_map(Subjects.of(opened(run).subject), MapQuestion(kind="l2"))
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(RnnlensError, match=r"map.safetensors is damaged"):
        corpus_map(Subjects.of(opened(run).subject), MapQuestion(kind="l2"))


def test_a_manifest_whose_map_is_of_other_kinds_is_refused(run):
    path = run.path / "index" / "manifest.json"
    manifest = read_json(path, Manifest)
    for other in (
        replace(manifest, contents=replace(manifest.contents, map_kinds=("q",))),
        replace(manifest, map=None),
    ):
        write_json(path, asdict(other))
        with pytest.raises(RnnlensError, match="its map is not of kinds that it has"):
            find(Index.of(run), "count")


def test_a_sample_is_spread_over_the_corpus(indexed, tmp_path):
    (tmp_path / "some.conllu").write_text(corpus_text(40, seed=3))
    texts = texts_of(indexed, tmp_path / "some.conllu")
    assert len(texts.spread(10**6)) == 40
    some = [text.number for text in texts.spread(texts.words // 4)]
    assert len(some) == 10
    assert (some[0], some[-1]) == (0, 39)
    words = texts.words
    texts.keep(words // 2)
    assert len(texts) < 40
    assert words // 2 - 12 <= texts.words <= words // 2
    assert sum(len(texts.part(k)) for k in range(texts.part_count)) == len(texts)


@pytest.mark.parametrize("states", [40, 1500])
def test_the_first_components_of_wide_states_are_those_of_all(states, monkeypatch):
    generator = torch.Generator().manual_seed(0)
    numbers, shared = (torch.randn(states, n, generator=generator) for n in (1100, 2))
    wide = numbers + 2 * shared[:, :1] @ torch.randn(1, 1100, generator=generator)
    wide += shared[:, 1:] @ torch.randn(1, 1100, generator=generator)
    sums = state_map.Sums()
    sums.add(wide)
    with monkeypatch.context() as patched:
        patched.setattr(torch.linalg, "eigh", _small_only(torch.linalg.eigh))
        found = sums.axes()
    monkeypatch.setattr(state_map, "_WIDE", 10_000)
    exact = sums.axes()
    assert found.shares == pytest.approx(exact.shares, rel=1e-9)
    torch.testing.assert_close(found.directions, exact.directions, rtol=1e-4, atol=1e-7)
    assert found.step == exact.step


def _small_only(eigh):
    def checked(matrix):
        assert len(matrix) < 100
        return eigh(matrix)

    return checked
