"""An index that is damaged, half or of something else is refused, and none can be written to. Files
may agree with their hashes and not with each other, or go away.
"""

import errno
import hashlib
import shutil
from collections.abc import Callable
from copy import copy
from dataclasses import asdict, replace
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tests.fixtures import formula_probes
from tests.sampling import sampled
from tests.search.conftest import CPU, builder_of

from rnnlens.ask.corpus_questions import (
    MapQuestion,
    SimilarQuestion,
    corpus_map,
    similar_states,
)
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import read_json, sha256, write_json
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run, run_at
from rnnlens.search import store
from rnnlens.search.answers import PictureName
from rnnlens.search.find import CorpusPage, find
from rnnlens.search.index_files import Manifest
from rnnlens.search.pictures import picture
from rnnlens.search.store import Index


@pytest.fixture
def run(indexed, tmp_path):
    """A copy to be damaged."""
    return Run(shutil.copytree(indexed.subject.run.path, tmp_path / "run"))


def test_a_run_without_an_index_says_how_to_make_one(run):
    shutil.rmtree(run.path / "index")
    with pytest.raises(RnnlensError, match="has no index; make one: rnnlens index"):
        Index.of(run)


def test_what_makes_an_index_elsewhere_is_said(run, tmp_path):
    with pytest.raises(RnnlensError, match=r"make one: rnnlens index \S+ -o \S+my index'"):
        Index.of(run, tmp_path / "my index")
    elsewhere = (run.path / "index").rename(tmp_path / "elsewhere")
    (elsewhere / "labels.parquet").unlink()
    with pytest.raises(RnnlensError, match=r"rnnlens index \S+ -o \S+elsewhere --anew"):
        Index.of(run, elsewhere)


def test_half_an_index_is_none(run):
    (run.path / "index" / "manifest.json").unlink()
    write_json(run.path / "index" / "making.json", {"identity": "0" * 64})
    with pytest.raises(RnnlensError, match="is not finished"):
        Index.of(run)


@pytest.mark.parametrize(
    ("name", "harm", "message"),
    [
        ("part-00001.parquet", lambda data: data[:-50], r"part-00001.parquet is damaged \(it has"),
        ("part-00001.parquet", lambda _: None, r"part-00001.parquet is damaged \(it is missing"),
        ("part-00001.parquet", lambda data: data[:99] + bytes([data[99] ^ 1]) + data[100:],
         "its SHA-256 is not"),
        ("labels.parquet", lambda data: data[:-4], "labels.parquet is damaged"),
        ("manifest.json", lambda data: data.replace(b'"rows": ', b'"rows": 1', 1),
         "manifest.json is damaged"),
        ("manifest.json", lambda data: data[:200], "manifest.json is damaged"),
    ],
)  # fmt: skip
def test_files_that_are_cut_or_changed_are_refused(run, name, harm, message):
    path = run.path / "index" / name
    data = harm(path.read_bytes())
    path.unlink() if data is None else path.write_bytes(data)
    with pytest.raises(RnnlensError, match=message) as error:
        Index.of(run)
    assert "--anew" in str(error.value)


def test_a_cut_part_of_a_large_index_is_seen_by_its_size(run, monkeypatch):
    monkeypatch.setattr(store, "_HASHED", 0)  # beyond that much, parts are not hashed
    Index.of(run)
    labels = run.path / "index" / "labels.parquet"
    data = labels.read_bytes()
    labels.write_bytes(data[:50] + bytes([data[50] ^ 1]) + data[51:])  # always hashed
    with pytest.raises(RnnlensError, match=r"labels\.parquet is damaged"):
        Index.of(run)
    labels.write_bytes(data)
    path = run.path / "index" / "part-00000.parquet"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RnnlensError, match=r"part-00000\.parquet is damaged"):
        Index.of(run)


def test_an_index_of_an_older_fit_is_refused(run):
    network = run.network()
    probes = formula_probes(network, "linear", ("output",))
    run.write_probes(probes, {})
    with pytest.raises(RnnlensError, match="is of another fit of its probes; make it anew"):
        Index.of(run)


def test_an_index_of_another_model_is_refused(run):
    network = run.network()
    with torch.no_grad():
        network.bias.add_(1)
    run.write_model(network)
    with pytest.raises(RnnlensError, match="is of another model; make it anew"):
        Index.of(run)


def test_an_index_with_other_groups_is_refused(run):
    colours = run.colours()
    colours["groupings"]["classes"]["groups"]["dog"] = "VERB"
    run.write_colours(colours)
    with pytest.raises(RnnlensError, match="is of another grouping of its labels; make it anew"):
        Index.of(run)


def test_kinds_that_differ_in_capitals_only_are_refused(run, corpus_file):
    lens: Any = opened(run)
    builder = builder_of(lens, corpus_file)
    lens.subject.probes = replace(lens.subject.probes, kinds=("gate", "Gate"))
    with pytest.raises(RnnlensError, match="the kinds gate and Gate differ only in capitals"):
        builder.plan.contents(builder.texts)


def test_labels_of_the_same_name_keep_their_numbers(run):
    path = run.path / "index" / "labels.parquet"
    table = pq.read_table(path)
    names = table["label"].to_pylist()
    names[2] = names[1]
    pq.write_table(table.set_column(1, "label", [names]), path)
    index = Index(path.parent, read_json(path.with_name("manifest.json"), Manifest))
    assert index.labels == names
    assert index.names.labels[names[1]] == 1
    assert index.names.labels[names[3]] == 3


def test_a_full_disk_is_one_line_and_loses_nothing(run, corpus_file, monkeypatch):
    lens: Any = opened(run)
    builder = builder_of(lens, corpus_file)
    assert builder.begin(anew=True)

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("rnnlens.base.files.os.fsync", full)
    with pytest.raises(RnnlensError, match=r"no space left to write .*part-0000.*run the same"):
        builder.make(CPU)
    monkeypatch.undo()
    builder.make(CPU)
    assert builder.finish().rows == Index.of(run).manifest.rows


def test_a_semantic_without_probes_is_not_indexed(run, corpus_file):
    lens = opened(run)
    plan = builder_of(lens, corpus_file).plan
    bare = copy(lens.subject)
    bare.probes = None
    with pytest.raises(RnnlensError, match="has no probes for the semantic 'tag'"):
        replace(plan, subject=bare, semantic="tag").check()


def test_a_bundled_run_needs_a_corpus_and_a_folder_of_ones_own():
    with pytest.raises(RnnlensError, match="rnnlens index brackets --corpus CORPUS -o FOLDER"):
        Index.of(run_at("brackets"))


FIRST = "part-00000.parquet"


def manifest_of(run: Run) -> Manifest:
    return read_json(run.path / "index" / "manifest.json", Manifest)


def write_manifest(run: Run, manifest: Manifest) -> None:
    write_json(run.path / "index" / "manifest.json", asdict(manifest))


def forge(run: Run, name: str, change) -> None:
    """Write another table in the place of one, with a manifest that has its hash."""
    path, manifest = run.path / "index" / name, manifest_of(run)
    pq.write_table(change(pq.read_table(path)), path, store_schema=False)
    if name == FIRST:
        part = replace(manifest.parts[0], bytes=path.stat().st_size, sha256=sha256(path))
        write_manifest(run, replace(manifest, parts=(part, *manifest.parts[1:])))
    else:
        write_manifest(run, replace(manifest, labels=sha256(path)))


def with_column(table: pa.Table, name: str, values) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, values)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table.slice(1), r"it has \d+ rows and not \d+"),
        (lambda table: table.drop_columns(["l2_rank"]), "its column l2_rank is None and not int32"),
        (lambda table: table.append_column("more", table["word"]), "its column more is string"),
        (lambda table: with_column(table, "y_p1", table["y_p1"].cast("float64")),
         "its column y_p1 is double and not float"),
    ],
)  # fmt: skip
def test_parts_have_the_rows_and_columns_of_the_manifest(run, change, message):
    forge(run, FIRST, change)
    with pytest.raises(RnnlensError, match=rf"{FIRST} is damaged \({message}.*--anew"):
        Index.of(run)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({"semantic": "nothing"}, "its semantic 'nothing' is none"),
        ({"semantic": "tag"}, "its semantic 'tag' is none"),
        ({"kinds": ("y", "x")}, "y is not its last kind"),
        ({"kinds": ("gate", "Gate", "y")}, "two columns have the same name"),
        ({"top": 4}, "its column"),
    ],
)
def test_a_manifest_of_something_else_is_refused(run, contents, message):
    manifest = manifest_of(run)
    write_manifest(run, replace(manifest, contents=replace(manifest.contents, **contents)))
    with pytest.raises(RnnlensError, match=rf"is damaged \({message}"):
        Index.of(run)


def test_colours_that_there_are_not(run):
    manifest = manifest_of(run)
    colours = run.colours()
    run.write_colours({**colours, "groupings": {"other": colours["groupings"]["coarse"]}})
    bare = replace(manifest.contents, palette="none", groups=sha_of_nothing())
    write_manifest(run, replace(manifest, contents=bare))
    with pytest.raises(RnnlensError, match="the colours called none have other groups"):
        CorpusPage(opened(run).subject)


def sha_of_nothing() -> str:
    return hashlib.sha256(b"{}").hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(0, 5),
        lambda table: with_column(table, "number", pa.array([7] * len(table), pa.int32())),
        lambda table: with_column(table, "group", pa.array([None] * len(table), pa.string())),
        lambda table: table.drop_columns(["label"]),
    ],
)
def test_labels_are_those_of_the_run(run, change):
    forge(run, "labels.parquet", change)
    with pytest.raises(RnnlensError, match=r"labels\.parquet is damaged"):
        find(Index.of(run), "y expects noun")


@pytest.mark.slow
def test_a_row_of_what_there_is_not_is_one_line(run):
    good = pq.read_table(run.path / "index" / FIRST)
    lens = opened(run)
    forge(run, FIRST, lambda _: with_column(good, "text", pa.nulls(len(good), pa.string())))
    with pytest.raises(RnnlensError, match=r"a row has a sentence that there is not"):
        CorpusPage(lens.subject).find("", 0, 5)
    late = pa.array([999] * len(good), pa.int32())
    forge(run, FIRST, lambda _: with_column(good, "position", late))
    with pytest.raises(RnnlensError, match=r"a row has a word that there is not"):
        CorpusPage(lens.subject).find("", 0, 5)


NONE_CAN_HAVE = {
    "sentence": -1, "position": None, "word": None, "split": None, "unknown": None,
    "surprisal": -1.0, "l2_label1": 10**6, "l2_label3": None, "l2_label2": -1,
    "l2_p1": float("nan"), "l2_group": "none", "l2_share": None, "l2_entropy": float("inf"),
    "l2_came": 1.5, "l2_rank": 0, "l2_differs_s2": 2.0, "l2_map1": 1e37,
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(NONE_CAN_HAVE, "l2_share", "word"))
def test_values_that_a_column_cannot_have_are_one_line_for_whoever_uses_it(run, name):
    """One value, somewhere, and any of the ways to ask for it."""
    good = pq.read_table(run.path / "index" / FIRST)
    values = good[name].to_pylist()
    values[7] = NONE_CAN_HAVE[name]
    column = pa.array(values, good.schema.field(name).type)
    forge(run, FIRST, lambda _: with_column(good, name, column))
    lens = opened(run)
    subjects, subject = Subjects.of(lens.subject), lens.subject
    state: dict[str, Any] = {"text": "the dog", "column": "l2", "row": 1}
    asks: list[Callable[[], object]] = [
        lambda: list(find(Index.of(run), "l2 expects noun")),
        lambda: find(Index.of(run), "l2 surprisal > 3 and l2 entropy > 0 count by l2").table,
        lambda: list(find(Index.of(run), "word is unknown sort by l2 differs from s2")),
        lambda: CorpusPage(subject).find("l2 rank = 1", 0, 5),
        lambda: CorpusPage(subject).table("l2 entropy >= 0"),
        *(lambda n=n: picture(subject, n) for n in get_args(PictureName)),
        lambda: corpus_map(subjects, MapQuestion(kind="l2")),
        lambda: similar_states(subjects, SimilarQuestion(**state, by="cosine")),
        lambda: similar_states(subjects, SimilarQuestion(**state, by="divergence")),
    ]
    refusals = []
    for ask in asks:
        try:
            ask()
        except RnnlensError as error:
            refusals.append(str(error))
    assert f"its column {name} has values that none can have" in " ".join(refusals)
    assert all(len(line.splitlines()) == 1 for line in refusals)


def test_a_column_that_occurs_twice_is_refused(run):
    forge(run, FIRST, lambda table: table.append_column("l2_share", table["l2_share"]))
    with pytest.raises(RnnlensError, match=r"of its \d+ columns some have the same name"):
        Index.of(run)


def test_more_rows_than_any_part_has_are_refused(run):
    manifest = manifest_of(run)
    more = replace(manifest.parts[0], rows=30_000_000)
    rows = manifest.rows - manifest.parts[0].rows + more.rows
    write_manifest(run, replace(manifest, rows=rows, parts=(more, *manifest.parts[1:])))
    with pytest.raises(RnnlensError, match=r"manifest.json is damaged \(parts.0.rows"):
        Index.of(run)


def test_a_word_that_unfolds_to_gigabytes_is_refused(run):
    good = pq.read_table(run.path / "index" / FIRST)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * len(good), pa.int32()), ["a" * 2_000_000])
    forge(run, FIRST, lambda _: with_column(good, "word", long))
    with pytest.raises(RnnlensError, match="its column word has values that none can have"):
        list(find(Index.of(run), ""))


@pytest.mark.parametrize("harm", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_a_part_that_goes_behind_an_open_index_is_one_line(run, harm):
    index = Index.of(run)
    index.ask("SELECT 1")
    harm(index.folder / index.manifest.parts[1].file)
    with pytest.raises(RnnlensError, match=r"part-00001\.parquet is damaged"):
        list(index.scan(["position"]))
    for by_user in (True, False):
        with pytest.raises(RnnlensError, match=r"part-00001\.parquet is damaged") as error:
            index.ask("SELECT sum(l2_entropy) FROM words", by_user=by_user)
        assert "mend the SQL" not in str(error.value)
    with pytest.raises(RnnlensError, match=r"part-00001\.parquet is damaged"):
        replace(index).ask("SELECT sum(l2_entropy) FROM words")


def test_an_index_of_an_older_version_still_answers_and_says_what_it_lacks(run):
    manifest = asdict(manifest_of(run))
    del manifest["contents"]["rule"]  # with which the leads of groups came
    for part in manifest["parts"]:
        path = run.path / "index" / f"part-{part['number']:05d}.parquet"
        table = pq.read_table(path)
        pq.write_table(table.drop([n for n in table.column_names if n.endswith("_lead")]), path)
        part |= {"bytes": path.stat().st_size, "sha256": sha256(path)}
    write_json(run.path / "index" / "manifest.json", manifest)
    page = CorpusPage(opened(run).subject)
    assert page.about().rule == "paper"
    found = page.find("l2 disagrees with s2", 0, 3)
    assert found.total > 0
    assert all("palette=classes/paper" in hit.link for hit in found.hits)  # whose colours it has
    wrong = page.find("l2 lead > .1", 0, 3).wrong
    assert wrong is not None
    assert "made before it told by how much groups lead; make it anew: rnnlens index" in wrong.error
    shown: Any = picture(page.subject, "disagreement").disagreement
    assert all(pair.clear is None and not pair.clear_question for pair in shown.pairs)
