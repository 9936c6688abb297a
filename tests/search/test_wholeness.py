"""Indexes whose files agree with their hashes and not with each other, and files that go away."""

import shutil
from dataclasses import asdict, replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import read_json, sha256, write_json
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search.corpus import CorpusView
from rnnlens.search.index import Index
from rnnlens.search.layout import Manifest
from rnnlens.search.nearest import Kept

FIRST = "part-00000.parquet"


@pytest.fixture
def run(indexed, tmp_path):
    """A copy to be forged."""
    return Run(shutil.copytree(indexed.run.path, tmp_path / "run"))


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
        ({"kinds": ("y", "x")}, "its last kind is not y"),
        ({"kinds": ("l2", "L2", "y")}, "two columns have the same name"),
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
        CorpusView(opened(run))


def sha_of_nothing() -> str:
    import hashlib

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
        Index.of(run).parsed("y expects noun")


def test_a_row_of_what_there_is_not_is_one_line(run):
    names = {"l2_label1": 10**6, "l2_label2": -1, "l2_label3": None, "l2_group": "none",
             "l2_share": None, "position": 999}  # fmt: skip
    good = pq.read_table(run.path / "index" / FIRST)
    lens = opened(run)
    for name, value in names.items():
        column = pa.array([value] * len(good), good.schema.field(name).type)
        forge(run, FIRST, lambda _, n=name, c=column: with_column(good, n, c))
        if name in ("l2_label2", "l2_label3"):
            kept = Kept(Index.of(run), "l2", 4)
            if value is None:
                kept.tops()
                continue
            with pytest.raises(RnnlensError, match=r"is damaged \(a row has a label that there is"):
                kept.tops()
            continue
        with pytest.raises(RnnlensError, match=r"is damaged \(a row has a .* that there is not"):
            CorpusView(lens).find("l2 entropy >= 0", 0, 5)
    forge(run, FIRST, lambda _: with_column(good, "text", pa.nulls(len(good), pa.string())))
    with pytest.raises(RnnlensError, match=r"a row has a sentence that there is not"):
        CorpusView(lens).find("", 0, 5)


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


def test_only_whose_sql_it_is_can_mend_it(run):
    index = Index.of(run)
    with pytest.raises(RnnlensError, match="mend the SQL"):
        index.ask("SELECT nothing FROM words", by_user=True)
    with pytest.raises(RnnlensError, match="; ask for less, or make it anew: rnnlens index"):
        index.ask("SELECT nothing FROM words")
