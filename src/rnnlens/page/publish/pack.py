"""A lens as numbers and a description of them, from which a browser can compute its grids."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch

from rnnlens.ask.grids import described_columns, edge_names
from rnnlens.ask.questions import Subjects
from rnnlens.ask.runs import accuracy_of, summary
from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, message, text
from rnnlens.corpus.pieces.pattern import Pattern
from rnnlens.labels.sets import LabelSet
from rnnlens.model.block import Block
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import Affine, Anatomy, RecurrentLayer, Traceable
from rnnlens.page.publish.anatomy import checked_anatomy
from rnnlens.page.publish.precisions import Precision
from rnnlens.page.publish.quantised import Tensors
from rnnlens.page.publish.recorded_part import RecordedPart
from rnnlens.probe.memory_questions import Questions
from rnnlens.probe.probes import Probes, Stack
from rnnlens.probe.semantics import base, of_model, offset, shift
from rnnlens.reading.encoding import Palette
from rnnlens.reading.subject import PAPER, Subject

FORMAT, VERSION = text("lens_format"), count("lens_version")
_ALONE = {"corpus": False, "training": None}  # what a file has not: a corpus and other runs
# Measured by benchmarks/publishing.py; docs/results.md has the figures.
ROUNDING: dict[Precision, str] = {
    "int8": "The scores are of the exact weights. This file keeps a byte of each, so that a few of "
    "its states say something else: of 76,518 states of the bundled news model, another label is "
    "the most probable in 0.76% (next word) and 0.13% (current word).",
    "fp16": "The scores are of the exact weights. This file keeps two bytes of each, which has "
    "changed no most probable label in any grid that was compared.",
}
_OWN = ""  # the palettes of what the model itself predicts


@dataclass(frozen=True)
class Packed:
    """What a published file holds of a subject."""

    manifest: dict[str, Any]  #: What JSON can say of it; tensors are named by their numbers.
    blob: bytes  #: All tensors back to back.
    sizes: dict[str, int]  #: Bytes of the blob by part.


@torch.no_grad()
def packed(
    subject: Subject,
    semantics: Sequence[str],
    precision: Precision = "int8",
    recorded: RecordedPart | None = None,
) -> Packed:
    """A lens with its probes for some semantics; an error where the model is not known in full.

    `recorded`: what is kept of recorded states; None: as much of them as is usual.
    """
    for semantic in semantics:
        if semantic not in subject.semantics:
            known = ", ".join(subject.semantics) or "none"
            raise RnnlensError(
                message("no_semantic", run=subject.name, semantic=repr(semantic), known=known)
            )
    recorded = recorded or RecordedPart.of(subject)
    tensors = Tensors(precision)
    model, probes = subject.model, subject.probes
    large = frozenset[str]() if recorded else _large(model)  # a recording may have no network
    shown = tuple(semantics) or ("output",)
    palettes = {_key(semantic): subject.palettes_for(semantic) for semantic in shown}
    others = {base(s): subject.answers(s) for s in shown if not of_model(s)}
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "precision": precision,
        "name": subject.name,
        "title": subject.title,
        "run": {
            **summary(subject),
            **_ALONE,
            "semantics": list(semantics),
            "reads": recorded is None,
        },
        "accuracy": _accuracy(subject, semantics, precision),
        "text": _text(subject, semantics, recorded),
        "answer": subject.session.answer,
        "predicts": model.predicts,
        "kinds": [asdict(kind) for kind in model.kinds],
        "network": recorded.states(tensors) if recorded else _network(subject, tensors),
        "probes": None if probes is None else _probes(probes, semantics, large, tensors),
        "semantics": {semantic: _semantic(subject, semantic) for semantic in shown},
        "palettes": {key: _palettes(some, tensors) for key, some in palettes.items()},
        "answers": {name: answers_json(one) for name, one in others.items()},
    }
    return Packed({**manifest, "tensors": tensors.layouts}, tensors.blob, tensors.sizes)


def _accuracy(
    subject: Subject, semantics: Sequence[str], precision: Precision
) -> dict[str, Any] | None:
    """How well each kind predicts what the file has probes for."""
    found = accuracy_of(subject, Subjects.of(subject))
    if found is None:
        return None
    some = {name: rows for name, rows in found["semantics"].items() if name in semantics}
    unigrams = {name: p for name, p in found["unigrams"].items() if name in semantics}
    shown: dict[str, Any] = _short({**found, "semantics": some, "unigrams": unigrams})
    return {**shown, "rounding": ROUNDING[precision]}


def _short(found: Any) -> Any:
    """Scores with five digits: the page shows fewer, and with all a file is 30 kB larger."""
    if isinstance(found, float):
        return float(f"{found:.5g}")
    if isinstance(found, Mapping):
        return {name: _short(one) for name, one in found.items()}
    return [_short(one) for one in found] if isinstance(found, list | tuple) else found


def _key(semantic: str) -> str:
    return _OWN if of_model(semantic) else base(semantic)


def _semantic(subject: Subject, semantic: str) -> dict[str, Any]:
    """What a grid says of its columns, and what its states are asked for."""
    return {
        "of_model": of_model(semantic),
        "asks": base(semantic),
        "shift": shift(semantic),
        "offset": offset(semantic),
        "palettes": _key(semantic),
        "columns": described_columns(subject, semantic),
        "edges": edge_names(subject.columns_for(semantic)),
    }


def _palettes(palettes: Mapping[str, Palette], tensors: Tensors) -> dict[str, Any]:
    return {
        name: {
            "groups": list(palette.groups),
            "colours": list(palette.colours),
            "group_of": tensors.numbers("colours", palette.group_of),
            "base": palette.base
            and {"frequent": palette.base.frequent[:, 0].tolist(), "bits": palette.base.bits},
        }
        for name, palette in palettes.items()
        if not name.endswith(PAPER)  # which the engine makes of the others
    }


def _text(
    subject: Subject, semantics: Sequence[str], recorded: RecordedPart | None
) -> dict[str, Any]:
    side = subject.session.text
    if recorded is None:
        return text_json(side)
    plain = replace(side, splitting="blanks", pieces=None, mark=None, begin=None, features=0)
    return {**text_json(plain), "recorded": recorded.texts(semantics)}


def _network(subject: Subject, tensors: Tensors) -> dict[str, Any]:
    anatomy: Anatomy = checked_anatomy(subject)
    words = anatomy.embedding
    return {
        "causal": subject.model.causal,
        "embedding": None if words is None else tensors.rows("network", words),
        "layers": [_layer(layer, tensors) for layer in anatomy.layers],
        "tops": anatomy.tops,
        "maps": [_map(one, tensors) for one in anatomy.maps],
        "whole": anatomy.whole,
    }


def _layer(layer: RecurrentLayer, tensors: Tensors) -> dict[str, Any]:
    cell = layer.cell
    return {
        "cell": cell.name,
        "ids": layer.ids,
        "carried": cell.carried,
        "output": cell.output.id,
        "read": cell.read_kind,
        "memories": {letter: asdict(memory) for letter, memory in cell.memories.items()},
        "below": layer.below,
        **({"sizes": dict(cell.sizes)} if isinstance(cell, Block) else {}),
        "reverse": layer.reverse,
        "weights": {
            # Few numbers that much hangs on, as those of decays, are not rounded.
            name: tensors.exact("network", w)
            if w.dim() == 1 or name in cell.undecayed
            else tensors.rows("network", w.flatten(0, -2))
            for name, w in layer.weights.items()
        },
    }


def _map(one: Affine, tensors: Tensors) -> dict[str, Any]:
    return {
        "weight": tensors.rows("network", one.weight),
        "bias": None if one.bias is None else tensors.exact("network", one.bias),
    }


def _widths(probes: Probes, semantic: str) -> list[list[float]] | None:
    """What the intervals of every kind, and then of y, are widened by."""
    known = probes.widths.get(semantic)
    if known is None:
        return None
    return [list(known[kind]) for kind in (*probes.kinds, PREDICTION) if kind in known]


def _large(model: Traceable) -> frozenset[str]:
    """The kinds that are matrices: how their numbers vary would be more than all else in a file."""
    return frozenset(layer.ids[letter] for layer in model.recurrence for letter in layer.cell.large)


def _probes(
    probes: Probes, semantics: Sequence[str], large: frozenset[str], tensors: Tensors
) -> dict[str, Any]:
    return {
        "family": probes.family,
        "kinds": list(probes.kinds),
        "stacks": {
            semantic: {
                **_stack(probes.stacks[semantic], f"probes of {semantic}", tensors),
                "limits": [list(probes.limits[semantic][kind]) for kind in probes.kinds]
                if semantic in probes.limits
                else None,
                "widths": _widths(probes, semantic),
            }
            for semantic in semantics
        },
        "spreads": {
            kind: None
            if kind in large
            else {
                "deviation": tensors.exact("spreads", spread.deviation),
                "packed": tensors.rows("spreads", spread.packed[None]),
            }
            for kind, spread in probes.spreads.items()
        },
    }


def _stack(stack: Stack, part: str, tensors: Tensors) -> dict[str, Any]:
    """Maps that are small beside the labels are held in half precision: all that a kind says goes
    through its map, so that an error there is in every label. Of what each kind has for a label,
    what all have in common is held in half precision, and the rest, which is small, as the labels.
    """
    rows, shared = slice(stack.rank or None), stack.labels is not None
    biases = None if stack.labels is None else stack.labels[:, stack.rank :].T  # (K, V)
    common = None if biases is None else biases.mean(0).half().float()
    return {
        "labels": None if stack.labels is None else tensors.rows(part, stack.labels[:, rows]),
        "common": None if common is None else tensors.half(part, common),
        "kinds": [
            {
                "mean": tensors.exact(part, stack.mean[k, :width]),
                "scale": tensors.exact(part, stack.scale[k, :width]),
                "map": (tensors.half if shared else tensors.rows)(part, stack.map[k, rows, :width]),
                "bias": tensors.exact(part, stack.map[k, rows, width]),
                "label_bias": None
                if biases is None or common is None
                else tensors.rows(part, (biases[k] - common)[None]),
                **_questions(stack.questions.get(stack.kinds[k]), part, tensors),
            }
            for k, width in enumerate(stack.widths)
        ],
    }


def _questions(asked: Questions | None, part: str, tensors: Tensors) -> dict[str, Any]:
    """What a memory that is a matrix is asked before its probe reads it, if it is."""
    if asked is None:
        return {}
    weight = tensors.half(part, asked.weight.flatten(0, 1))  # (heads * keys, questions)
    return {"questions": {**asked.matrix._asdict(), "weight": weight}}


def text_json(side: TextSide) -> dict[str, Any]:
    """All that `Text` of engine/text.js needs to do what a text side does."""
    if side.splitting is None:
        raise RnnlensError(
            "its texts are split by a function of its user's (words=), which a page cannot run; "
            'save grids instead: lens("a text").save("grid.html")'
        )
    words = side.vocabulary
    return {
        "labels": answers_json(side.labels),
        "inputs": words.words,
        "counts": words.counts if words.words is None else None,
        "numerals": sorted(words.numerals),
        "lowercase": words.lowercase,
        "numbers": words.numbers,
        "splitting": side.splitting,
        "pattern": Pattern(side.pattern).plain,
        "pieces": side.pieces and side.pieces.to_page(),
        "follows": side.follows,
        "mark": side.mark,
        "begin": side.begin,
        "features": side.features,
    }


def answers_json(answers: LabelSet) -> dict[str, Any]:
    """What a state can be asked for, as `Answers` of engine/text.js has it."""
    scale = answers.scale
    return {
        "names": answers.names,
        "several": answers.several,
        "scale": scale and {
            "edges": scale.edges,
            "middles": scale.middles,
            "names": scale.names,
            "error": scale.error,
        },
    }  # fmt: skip
