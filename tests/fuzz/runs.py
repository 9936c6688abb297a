"""Mutated run folders: opened, read and measured, or refused in one line, never shown as truth."""

import contextlib
import io
import json
import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from tests import grammar
from tests.asks import grid_json
from tests.fuzz import mutations
from torch import nn

import rnnlens
from rnnlens.ask.runs import summary
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import sha256, write_json
from rnnlens.base.tensors import packed
from rnnlens.cli import main
from rnnlens.lens.open import opened
from rnnlens.probe.probes import Precision
from rnnlens.run.folder import Run

TEXTS = ("the old dog sees", "`` a strange word")
OPTIONAL = ("evaluation.json", "examples.safetensors", "probes.json")  # a run may be without


_NETWORKS: tuple[tuple[str, str, Precision], ...] = (
    ("lstm", "shared", "single"), ("gru", "linear", "half"), ("rnn", "shared", "byte"),
)  # fmt: skip
_TOKENIZER = {  # as the library `tokenizers` writes one
    "added_tokens": [{"id": 0, "content": "<s>", "special": True, "normalized": False}],
    "normalizer": {"type": "NFC"},
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    "decoder": {"type": "ByteLevel"},
    "model": {
        "type": "BPE",
        "vocab": {token: number for number, token in enumerate("<s> a b c d Ġ ab Ġc e".split())},
        "merges": ["a b", "Ġ c"],
    },
}


class _Tagger(nn.Module):
    """A user's module."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.readout = nn.Embedding(9, 4), nn.Linear(5, 9)
        self.recurrence = nn.GRU(4, 5, batch_first=True)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.readout(self.recurrence(self.embedding(words))[0])
        return logits


def command(*words: object) -> tuple[int, str]:
    """`rnnlens` in this process: its exit code, and what it complains of."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        code = main([str(word) for word in words])
    return code, err.getvalue()


def make_runs(folder: Path) -> list[Path]:
    """Runs of all sorts, with everything that a run may hold."""
    corpus = folder / "corpus.conllu"
    corpus.write_text(grammar.conllu(60), encoding="utf-8")
    made = []
    for cell, probe, precision in _NETWORKS:
        path = folder / cell / "run"
        flags = "--width 4 --batch 32 --epochs 1 --min-count 1 --device cpu".split()
        assert command("train", corpus, "-o", path, "--cell", cell, *flags)[0] == 0
        asked = "--rank 3 --epochs 0 --semantic output,input --device cpu".split()
        assert command("fit", path, "--probe", probe, *asked)[0] == 0
        run = Run(path)
        run.write_probes(run.probes(), asdict(run.fit_config()), precision)
        assert command("eval", path, "--device", "cpu")[0] == 0
        made.append(path)
    torch.manual_seed(1)
    words = [torch.randint(1, 9, (3, 6)) for _ in range(6)]
    batches = [(w[:, :-1], w[:, 1:]) for w in words]
    with contextlib.redirect_stderr(io.StringIO()):
        lens = rnnlens.fit(_Tagger(), batches, list("abcdefghi"), epochs=0, name="run")
    lens.evaluate(batches[:2])
    made.append(lens.save(folder / "user" / "run"))
    tokenizer = folder / "tokenizer.json"
    tokenizer.write_text(json.dumps(_TOKENIZER), encoding="utf-8")
    with contextlib.redirect_stderr(io.StringIO()):
        lens = rnnlens.fit(_Tagger(), batches, tokenizer=tokenizer, epochs=0, name="run")
    made.append(lens.save(folder / "user" / "pieces" / "run"))
    return made


def reading(path: Path, *, measure: bool) -> dict[str, Any]:
    """All that a run shows of itself."""
    lens = opened(Run(path))
    texts = [*(TEXTS if lens.subject.model.causal else ()), *lens.examples()[:2]]
    grids = {
        f"{semantic} {palette} {text}": grid_json(lens, text, semantic, palette)
        for semantic in lens.semantics or (None,)
        for palette in lens.palettes
        for text in texts
    }
    shown: dict[str, Any] = {
        "summary": summary(lens.subject),
        "scores": lens.subject.scores.to_json(),
        **grids,
    }
    if measure:
        code, err = command("eval", path, "--device", "cpu", "--states", "50")
        if code:
            raise RnnlensError(err)
        measured = json.loads((path / "evaluation.json").read_bytes())
        measured.pop("checksum")
        shown["eval"] = measured
    return json.loads(json.dumps(shown, allow_nan=False))  # type: ignore[no-any-return]


def _swap(path: Path, other: Path, chance: random.Random) -> str:
    """Put a file of another run in the place of one."""
    names = {p.name for p in path.iterdir()} & {p.name for p in other.iterdir()}
    name = chance.choice(sorted(name for name in names if not name.endswith(".log")))
    shutil.copyfile(other / name, path / name)
    # The texts to begin with may be anybody's.
    return "missing" if name == "examples.safetensors" else "damage"


def spoil(path: Path, chance: random.Random, others: Sequence[Path] = ()) -> str:
    """Spoil a run; what may come of it: `damage` is to be noticed, the rest need not be."""
    files = sorted(p for p in path.iterdir() if p.suffix != ".log")
    how = chance.randrange(10)
    chosen = chance.choice(files)
    if how <= 3:
        mutations.spoil_bytes(chosen, chance)
        return "damage"
    if how == 4:
        mutations.replace_file(chosen, chance)
        return "damage"
    if how == 5 and others and chance.random() < 0.5:
        return _swap(path, chance.choice(others), chance)
    if how == 5:
        chosen.unlink()
        return "missing" if chosen.name in OPTIONAL else "damage"
    if how == 9:
        _spoil_tensors(path, chance)
        return "signed"
    chosen = chance.choice([p for p in files if p.suffix == ".json"])
    mutations.spoil_json(chosen, chance, sealed=how >= 7)
    if how >= 7 and chosen.name in ("vocabulary.json", "tokenizer.json"):
        described = json.loads((path / "model.json").read_bytes())
        described.pop("checksum")
        write_json(path / "model.json", described | {chosen.stem: sha256(chosen)})
    return "signed" if how >= 7 else "damage"


def _spoil_tensors(path: Path, chance: random.Random) -> None:
    """Spoil a file of tensors, and record its hash."""
    chosen = chance.choice(sorted(path.glob("*.safetensors")))
    tensors, header = mutations.tensors_of(chosen)
    mutations.spoil_tensors(tensors, chance)
    if header is not None:
        if chance.random() < 0.5:
            mutations.spoil_value(header, chance)
        mutations.write_sealed(chosen, tensors, header)
        return
    chosen.write_bytes(packed(tensors))
    described = json.loads(chosen.with_suffix(".json").read_bytes())
    described.pop("checksum")
    write_json(chosen.with_suffix(".json"), described | {"sha256": sha256(chosen)})


class Runs:
    """The cases, over runs that are made once."""

    def __init__(self, folder: Path) -> None:
        self.runs = make_runs(folder)
        self.wanted = {path: reading(path, measure="user" not in path.parts) for path in self.runs}

    def __call__(self, chance: random.Random, folder: Path) -> str:
        base = chance.choice(self.runs)
        path = Path(shutil.copytree(base, folder / "run"))
        kind = spoil(path, chance, [run for run in self.runs if run != base])
        measure = "user" not in base.parts and chance.random() < 0.2
        try:
            found = reading(path, measure=measure)
        except RnnlensError as error:
            lines = str(error).strip().splitlines()
            return "refused" if len(lines) == 1 else "different"
        wanted = {k: v for k, v in self.wanted[base].items() if measure or k != "eval"}
        if found == wanted:
            return "same"
        return "different" if kind == "damage" else "other"


if __name__ == "__main__":
    sys.exit("run: python -m tests.fuzz runs")
