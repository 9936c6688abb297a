"""The record of a user's module: a file that is checked, and all that is known without the code."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch
from tests import runfiles
from tests.letters import WORDS, LanguageModel, batches

import rnnlens
from rnnlens.adapter import Adapter
from rnnlens.adapter.module_record import ModuleRecord
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import parsed


def test_a_record_is_read_back_and_damage_is_told():
    adapter = Adapter(LanguageModel(bidirectional=True))
    adapter.trace(torch.randint(6, (2, 3)))
    for fed in (None, (1, -1)):
        record = ModuleRecord("a.b:c", "LSTM 9 × 1", True, fed, adapter.kinds, 6, 1e-7)
        value = json.loads(json.dumps(asdict(record)))
        assert parsed(json.dumps(value), ModuleRecord, Path("run/model.json")) == record
    damage: list[dict[str, Any]] = [{"kinds": 3}, {"kinds": [{}]}, {"fed": "x"}, {"labels": None}]
    for change in damage:
        with pytest.raises(RnnlensError, match=r"run/model.json is damaged .*restore it"):
            parsed(json.dumps({**value, **change}), ModuleRecord, Path("run/model.json"))


def test_a_record_says_which_weights_it_is_of(tmp_path):
    lens: Any = rnnlens.fit(LanguageModel(), batches(), WORDS, epochs=0)
    assert lens.subject.model.record.sha256 == ""
    lens.save(tmp_path / "run")
    loaded: Any = rnnlens.load(tmp_path / "run")
    assert loaded.subject.model.record.sha256 == loaded.subject.run.model_hash()
    runfiles.edit(tmp_path / "run" / "model.json", sha256=None)
    with pytest.raises(RnnlensError, match=r"model\.json is damaged \(sha256: Field required"):
        rnnlens.load(tmp_path / "run")
