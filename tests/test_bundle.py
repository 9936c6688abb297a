"""The script that makes bundled networks."""

import json
import shutil
import sys
from pathlib import Path

import pytest
from scripts import bundle
from tests import grammar

from rnnlens.run.folder import Run

FLAGS = "--width 6 --batch 32 --epochs 1 --device cpu"


@pytest.mark.release
def test_what_is_built_is_stored_anew_to_the_bit_and_measured_so(tmp_path, monkeypatch):
    corpus = tmp_path / "corpus.conllu"
    corpus.write_text(grammar.conllu(60), encoding="utf-8")
    recipe = bundle.Recipe(
        f"--cell mingru --min-count 2 {FLAGS}",
        "--probe shared --rank 3 --epochs 0 --device cpu",
        "--device cpu",
        probes="byte",
    )
    monkeypatch.setattr(bundle, "RECIPES", {"small": recipe})
    monkeypatch.setattr(bundle, "SHIPPED", tmp_path / "shipped")

    def files(to: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in to.iterdir()}

    def made(to: str, *flags: str) -> dict[str, bytes]:
        where = ("--work", str(tmp_path / to / "work"), "--to", str(tmp_path / to))
        monkeypatch.setattr(sys, "argv", ["bundle.py", "small", str(corpus), *where, *flags])
        with pytest.raises(SystemExit) as end:
            bundle.main()
        assert not end.value.code
        return files(tmp_path / to / "small")

    built = made("shipped")
    shutil.rmtree(tmp_path / "shipped" / "work")
    assert made("again", "--probes-only") == built

    run = Run(tmp_path / "shipped" / "small")
    assert run.network().config.cell == "mingru"
    assert json.loads(built["evaluation.json"])["of"] == run.probes_hash()
    assert run.probes().stacks["output"].rank == 3
    run.write_probes(run.probes(), json.loads(built["probes.json"])["made"])
    plain = files(run.path)
    assert len(plain["probes.safetensors"]) > len(built["probes.safetensors"])
    assert made("third", "--probes-only") == built
