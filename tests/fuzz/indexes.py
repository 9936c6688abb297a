"""Mutated indexes: opened and asked in every way, or refused in one line."""

import json
import random
import re
import shutil
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.parquet as pq
from tests import grammar
from tests.fuzz import mutations, tables
from tests.fuzz.harness import Different
from tests.fuzz.runs import command

from rnnlens.ask.corpus_questions import (
    CorpusQuestion,
    FindQuestion,
    MapQuestion,
    PictureQuestion,
    PlaceQuestion,
    SimilarQuestion,
    TableQuestion,
    corpus,
    corpus_map,
    corpus_picture,
    find,
    map_place,
    similar_states,
    table,
)
from rnnlens.ask.questions import Subjects
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import read_json, sha256, write_json
from rnnlens.base.tensors import packed
from rnnlens.lens.open import opened
from rnnlens.run.folder import Run
from rnnlens.search.answers import PictureName
from rnnlens.search.index_files import Manifest

QUESTIONS = (
    "", "l2 expects noun", "l2 disagrees with s2 count by tag", "y rank = 1 count by word",
    "l2 differs from s2 > .1 sort by surprisal desc", "within 3 before word is unknown",
    "y entropy < 9 and l2 surprisal > 0 sort by l2 share", "map l2 in -9..9, -9..9",
    "count by l2 label", 'word like "a%"', 'y expects "the" > .001',
)  # fmt: skip
FEW = 6  # questions of a case
STATE: dict[str, Any] = {"text": "the old dog sees", "column": "l2", "row": 2}
ENGINE = re.compile(r"(?i)duckdb|temp_directory|candidate binding|\bbinder\b|Invalid Input")


def answers(path: Path, chance: random.Random | None = None) -> dict[str, str]:
    """What an index tells, question by question: the answer, or in what words it was refused. Of
    all questions, or of a few at random.
    """
    lens = opened(Run(path))
    subjects = Subjects.of(lens.subject)
    asked: dict[str, Any] = {
        "corpus": lambda: corpus(subjects, CorpusQuestion()),
        **{f"find {q}": lambda q=q: find(subjects, FindQuestion(question=q)) for q in QUESTIONS},
        "table": lambda: table(subjects, TableQuestion(question="l2 expects noun")),
        **{f"picture {name}": lambda n=name: corpus_picture(subjects, PictureQuestion(name=n))
           for name in get_args(PictureName)},
        "map": lambda: corpus_map(subjects, MapQuestion(kind="l2")),
        "place": lambda: map_place(subjects, PlaceQuestion(**STATE)),
        "cosine": lambda: similar_states(subjects, SimilarQuestion(**STATE, by="cosine")),
        "divergence": lambda: similar_states(subjects, SimilarQuestion(**STATE, by="divergence")),
    }  # fmt: skip
    told, names = {}, [*asked, "command"]
    for name in chance.sample(names, FEW) if chance else names:
        if name == "command":
            code, complaint = command("find", path, "l2 expects noun")
            told[name] = f"refused: {complaint}" if code else ""
            _check_words(complaint.strip().rpartition("\n")[2])  # it points at what is wrong
            continue
        try:
            answer = json.dumps(asdict(asked[name]()), allow_nan=False)
            told[name] = answer.replace(str(path), "RUN")
        except RnnlensError as error:
            told[name] = f"refused: {error}"
            _check_words(str(error))
    return told


def _check_words(refusal: str) -> None:
    """A refusal is one line, and none of the database's."""
    if len(refusal.splitlines()) > 1 or ENGINE.search(refusal):
        raise Different(refusal)


class Indexes:
    """The cases, over an index that is made once."""

    longest = 60.0  # seconds: some twenty questions

    def __init__(self, folder: Path) -> None:
        text = folder / "corpus.conllu"
        text.write_text(grammar.conllu(60), encoding="utf-8")
        self.run = folder / "run"
        flags = "--width 4 --batch 32 --epochs 1 --min-count 1 --device cpu".split()
        assert command("train", text, "-o", self.run, *flags)[0] == 0
        rest = "--probe shared --rank 3 --epochs 0 --device cpu".split()
        assert command("fit", self.run, *rest)[0] == 0
        make = "--split train,valid,test --states int8 --device cpu".split()
        assert command("index", self.run, *make)[0] == 0
        self.wanted = answers(self.run)
        strange = [told for told in self.wanted.values() if told.startswith("refused")]
        assert not strange, strange[0]

    def __call__(self, chance: random.Random, folder: Path) -> str:
        path = Path(shutil.copytree(self.run, folder / "run"))
        signed = spoil(path / "index", chance)
        try:
            told = answers(path, chance)
        except RnnlensError as error:
            return "refused" if len(str(error).splitlines()) == 1 else "different"
        changed = [now for name, now in told.items() if now != self.wanted[name]]
        if not changed:
            return "same"
        if all(now.startswith("refused") for now in changed):
            return "refused"
        return "other" if signed else "different"


def spoil(index: Path, chance: random.Random) -> bool:
    """Spoil an index; whether with hashes that are right, so that it may tell something else."""
    chosen = chance.choice(sorted(index.iterdir()))
    how = chance.randrange(10)
    if how <= 1:
        mutations.spoil_bytes(chosen, chance)
        return False
    if how == 2:
        mutations.replace_file(chosen, chance)
        return False
    if how == 3:
        mutations.spoil_json(index / "manifest.json", chance, sealed=True)
        return True
    if chosen.suffix == ".safetensors":
        tensors, _ = mutations.tensors_of(chosen)
        mutations.spoil_tensors(tensors, chance)
        chosen.write_bytes(packed(tensors))
    else:
        _spoil_table(chance.choice(sorted(index.glob("*.parquet"))), chance)
    _sign(index)
    return True


def _spoil_table(path: Path, chance: random.Random) -> None:
    """Spoil a file of rows by what it holds, or by how it is laid out."""
    held = pq.read_table(path)
    if chance.random() < 0.5:
        with suppress(*tables.ODD_TABLES):
            held = (tables.spoil_table if chance.random() < 0.4 else _odd_value)(held, chance)
            # In hundreds of columns, small groups of rows would be a footer of megabytes.
            rows = chance.choice([100, 1000])
            path.write_bytes(tables.parquet(held, chance, store_schema=False, row_group_size=rows))
            return
    path.write_bytes(tables.spoil_layout(path.read_bytes(), chance))


def _odd_value(table: pa.Table, chance: random.Random) -> pa.Table:
    """A value that no row has, in one row or in all."""
    name = chance.choice(table.column_names)
    sort, values = table.schema.field(name).type, table[name].to_pylist()
    odd: list[Any] = [None, None]
    if pa.types.is_floating(sort):
        odd += [float("nan"), float("inf"), -1.0, 2.0, 1e38, -0.0]
    elif pa.types.is_integer(sort):
        odd += [-1, 2**31 - 1, -(2**31), 10**6, 0]
    elif pa.types.is_string(sort):
        odd += ["", "none", "a" * 100_000, "\0", "\u202e'\"--"]
    value = chance.choice(odd)
    some = range(len(values)) if chance.random() < 0.3 else [chance.randrange(len(values))]
    for k in some:
        values[k] = value
    return table.set_column(table.column_names.index(name), name, pa.array(values, sort))


def _sign(index: Path) -> None:
    """Have the manifest know the files as they are."""
    path = index / "manifest.json"
    manifest, parts = read_json(path, Manifest), []
    for part in manifest.parts:
        file, rows = index / part.file, part.rows
        with suppress(pa.ArrowException, OSError, ValueError):
            rows = pq.ParquetFile(file).metadata.num_rows
        signed: dict[str, Any] = {"bytes": file.stat().st_size, "sha256": sha256(file)}
        signed["states"] = sha256(index / part.states_file) if part.states else None
        parts.append(replace(part, rows=min(1 << 20, max(0, rows)), **signed))
    about = {
        "parts": [asdict(part) for part in parts],
        "rows": sum(part.rows for part in parts),
        "labels": sha256(index / "labels.parquet"),
        "map": sha256(index / "map.safetensors"),
    }
    write_json(path, asdict(manifest) | about)
