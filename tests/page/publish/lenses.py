"""Small lenses whose states are asked for other things than one of the model's labels."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.fixtures import formula_probes, formula_run, wave

from rnnlens.labels.sets import LabelSet
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.network import Network
from rnnlens.model.network_config import CELL_NAMES, HEADED, KEYED
from rnnlens.probe.memory_questions import Questions
from rnnlens.probe.probes import Probes
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import Run

TAGS = LabelSet(("noun", "verb", "other"))
LINEAR = CELL_NAMES[CELL_NAMES.index("mingru") :]  # recurrences with a linear memory
# A vector, a matrix that decays, one that is erased, and one with exponents: the others are tried
# before a release.
SOME = ("rglru", "mamba2", "gla", "deltanet", "slstm")
of_cells = pytest.mark.parametrize(
    "cells", [SOME, pytest.param(LINEAR, marks=pytest.mark.release)], ids=["some", "all"]
)
TOPICS = LabelSet(("sport", "news", "art", "law"), several=True)


def of_linear(folder: Path, cell: str, semantics: str = "output input output+1") -> Lens:
    """A lens of a recurrence with a linear memory, each number by formula."""
    parts: dict[str, Any] = {"semantics": semantics}
    parts |= {"heads": 2} if cell in HEADED else {}
    parts |= {"keys": 3} if cell in KEYED else {}
    return opened(Run(formula_run(folder / cell, cell, **parts)))


def of_questions(lens: Lens, count: int = 2) -> Lens:
    """The same with probes of its matrices that read their answers to some questions a head."""
    probes, model = lens.subject.probes, lens.subject.model
    assert probes is not None
    lens("the")  # the shapes of memories are known then
    tensors = probes.tensors()
    for kind, matrix in model.matrices.items():
        questions = wave((matrix.heads, matrix.keys, count), 1.0, 0.3)
        asked = Questions(matrix, questions)
        for semantic in probes.semantics:
            for name in ("weight", "mean", "scale"):
                at = f"{semantic}/{kind}/{name}"
                tensors[at] = tensors[at][..., : asked.width]
            tensors |= asked.named(f"{semantic}/{kind}")
        tensors = {k: v for k, v in tensors.items() if f"spread/{kind}/" not in k}
    asking = Probes.of(probes.family, probes.kinds, probes.semantics, probes.label_count, tensors)
    session = Session(model, lens.subject.session.text)
    return Lens(Subject("questions", session, lens.palettes, asking))


def of_sets(lens: Lens) -> Lens:
    """The same network, whose labels hold or not each by itself, with probes for them."""
    answers = LabelSet(tuple(lens.labels), several=True)
    side = replace(lens.subject.session.text, follows=False, answers=answers)
    palettes = {name: replace(one, answers=answers) for name, one in lens.palettes.items()}
    session = Session(lens.subject.model, side)
    return Lens(Subject("sets", session, palettes, lens.subject.probes))


def of_others(lens: Lens) -> Lens:
    """The same with probes for one tag of each word, and for several topics."""
    others = {"tag": TAGS, "topic": TOPICS}
    assert isinstance(lens.subject.model, Network)
    tensors = formula_probes(
        lens.subject.model, "linear", ("output", "output+1", "output+2")
    ).tensors()
    for place, (name, answers) in zip(("output+1", "output+2"), others.items(), strict=True):
        for key in [key for key in tensors if key.startswith(f"{place}/")]:
            values, new = tensors.pop(key), key.replace(place, name)
            tensors[new] = values if key.endswith(("/mean", "/scale")) else values[: len(answers)]
        tensors[f"{name}/counts"] = answers.no_counts() + 1
    kinds = tuple(kind.id for kind in lens.subject.model.kinds)
    probes = Probes.of("linear", kinds, ("output", *others), len(lens.labels), tensors, others)
    session = Session(lens.subject.model, lens.subject.session.text)
    return Lens(Subject("others", session, lens.palettes, probes))
