"""What the files of a run hold, and how they are checked; of its vocabulary and probes it is said
beside those.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import torch
from annotated_types import Ge, Le, MaxLen
from torch import Tensor

from rnnlens.adapter import pair_side
from rnnlens.adapter.module_record import ModuleRecord
from rnnlens.adapter.sequences import check_kept, is_sequence
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import REMEDY, Count, Name, Sha, Strict, damaged, read_json
from rnnlens.base.tensors import (
    LARGEST,
    Layouts,
    check_types,
    in_range,
    read_sealed,
    read_tensors,
    write_tensors,
)
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.sets import MOST_LABELS
from rnnlens.model.cells import CELLS
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.network_config import CELL_NAMES
from rnnlens.model.text import Example, encode_numbers
from rnnlens.states.recorded import StatesRecord

_BESIDE = "beside/"  # before the names of what an example has besides states
LONGEST_KEPT = 2_000  # words of a text that a run keeps


@dataclass(frozen=True, kw_only=True)
class NetworkFile(NetworkConfig, Strict):
    """model.json of a network that rnnlens has trained."""

    sha256: Sha  # of model.safetensors
    vocabulary: Sha | None = None  # of vocabulary.json; older versions did not keep it
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    words: Annotated[int, Ge(1), Le(MOST_LABELS)] | None = None  # that it reads; None: its labels


ModelFile = NetworkFile | ModuleRecord | StatesRecord


def read_module_record(path: Path) -> ModuleRecord:
    """Read model.json of a user's module."""
    record = read_json(path, ModuleRecord)
    if not record.sha256:
        raise damaged(path, "sha256: Field required", REMEDY)
    return record


@dataclass(frozen=True)
class ExamplesHeader(Strict):
    """What examples.safetensors says of its texts, beside the states that some have."""

    examples: Annotated[
        tuple[
            tuple[Annotated[str, MaxLen(20_000)], Annotated[tuple[Name, ...], MaxLen(LONGEST_KEPT)],
                  Annotated[tuple[Count, ...], MaxLen(LONGEST_KEPT)]], ...
        ], MaxLen(100),
    ]  # fmt: skip
    model: Annotated[str, MaxLen(64)] = ""  # the hash of the weights, where texts have states
    vocabulary: Sha | None = None  # of vocabulary.json; older versions did not keep it


def read_network(path: Path, file: NetworkFile) -> Network:
    """A network that rnnlens has trained, with its weights, which are checked to be those."""
    config = NetworkConfig(**{one.name: getattr(file, one.name) for one in fields(NetworkConfig)})
    if config.cell not in CELLS:
        raise RnnlensError(
            f"{path.parent} is of the cell {config.cell!r}, which this version of rnnlens does not "
            f"know ({', '.join(CELL_NAMES)}); open it with the version that made it, or train anew"
        )
    try:
        config.check()
    except RnnlensError as error:
        reason = str(error).partition(";")[0]  # its advice is about flags
        raise damaged(path.with_name("model.json"), reason, REMEDY) from error
    with torch.device("meta"):  # shapes only
        empty = Network(config, file.labels, file.words)
    wanted = {name: tuple(p.shape) for name, p in empty.named_parameters()}

    def fits(layouts: Layouts) -> None:
        check_types(layouts)
        shapes = {name: layout.shape for name, layout in layouts.items()}
        strange = (n for n in sorted(shapes | wanted) if shapes.get(n) != wanted.get(n))
        if (name := next(strange, None)) is not None:
            raise ValueError(f"its {name} does not fit model.json")

    weights = read_tensors(path, file.sha256, fits, "restore it and model.json, or train anew")
    if not in_range(weights):
        raise RnnlensError(f"{path} holds weights that are not numbers; train anew")
    network = Network(config, file.labels, file.words)
    network.load_state_dict(weights)
    return network.eval().requires_grad_(False)


def write_examples(
    path: Path, examples: Sequence[Example], model: str, vocabulary: str | None
) -> None:
    """Write some texts; `model` is the hash of the weights that gave them states, if any did, and
    `vocabulary` that of the file which their words are in.
    """
    texts = tuple((e.text, e.words, tuple(min(n, MOST_LABELS) for n in e.ids)) for e in examples)
    states = {f"{k}/{kind}": v for k, e in enumerate(examples) for kind, v in e.states.items()}
    states |= {f"{k}/{_BESIDE}{n}": v for k, e in enumerate(examples) for n, v in e.beside.items()}
    write_tensors(path, states, ExamplesHeader(texts, model, vocabulary))


def read_examples(
    path: Path, model: ModelFile, vocabulary: Vocabulary, sha256: str
) -> list[Example]:
    """Read what `write_examples` has written; `sha256` is that of the run's vocabulary.json."""
    remedy = "delete it"
    tensors, header = read_sealed(path, ExamplesHeader, remedy, older=True)
    if header.model not in ("", model.sha256) or header.vocabulary not in (None, sha256):
        raise RnnlensError(
            f"{path} is of another run, whose words or weights are others; restore the run's own, "
            "or delete it"
        )
    features = model.features if isinstance(model, ModuleRecord) else 0
    try:
        _check_examples(header, tensors, model, vocabulary)
    except ValueError as error:
        raise damaged(path, error, remedy) from error
    examples = list[Example]()
    for k, (text, words, ids) in enumerate(header.examples):
        own = _under(tensors, f"{k}/")
        beside = _under(own, _BESIDE)
        states = {name: t for name, t in own.items() if not name.startswith(_BESIDE)}
        typed = not is_sequence(text, vocabulary.inputs)
        numbers = _numbered(words, features) if typed else ()
        examples.append(Example(text, words, numbers or ids, states, beside))
    return examples


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Those whose names begin so, by what follows."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def _numbered(words: Sequence[str], features: int) -> tuple[int, ...]:
    """The numbers of steps that read so many numbers each, which files do not keep."""
    return tuple(encode_numbers(word, features) for word in words) if features else ()


def _check_examples(
    header: ExamplesHeader,
    tensors: Mapping[str, Tensor],
    model: ModelFile,
    vocabulary: Vocabulary,
) -> None:
    """Raise ValueError where kept texts and their states are not of this model."""
    user = model if isinstance(model, ModuleRecord) else None
    kinds = [kind.id for kind in user.kinds] if user else []
    kinds += [PREDICTION] if user and user.predicts else []
    widths = {PREDICTION: 1 if user and user.scale else model.labels}
    read = [k for k in range(len(header.examples)) if kinds and f"{k}/{kinds[-1]}" in tensors]
    firsts = tuple(f"{k}/{_BESIDE}" for k in range(len(header.examples)))
    beside = {name for name in tensors if name.startswith(firsts)}
    if strange := sorted({f"{k}/{kind}" for k in read for kind in kinds} ^ tensors.keys() - beside):
        raise ValueError(f"the tensor {strange[0]} is missing or too many")
    unnamed = isinstance(model, StatesRecord) or (user is not None and user.features > 0)
    of_source = len(user.source.names) if user and user.source else 0
    known = None if unnamed else len(vocabulary.inputs) + of_source
    for k, (text, words, ids) in enumerate(header.examples):
        typed = not is_sequence(text, vocabulary.inputs)
        strange_ids = typed and known is not None and any(n >= known for n in ids)
        if len(words) != len(ids) or strange_ids:
            raise ValueError("its words do not fit their numbers")
        source = sum(n >= len(vocabulary.inputs) for n in ids) if of_source else 0
        _check_beside(_under(tensors, f"{k}/{_BESIDE}"), typed, (source, len(ids)), model)
        for kind in kinds if k in read else []:
            states = tensors[f"{k}/{kind}"]
            width = widths.setdefault(kind, states.shape[-1] if states.dim() == 2 else -1)
            if states.dtype != torch.float32 or tuple(states.shape) != (len(ids), width):
                raise ValueError(f"the states of {kind} have another shape or type")
            logits = states.clamp_min(-LARGEST) if kind == PREDICTION else states  # -inf: never
            if not in_range({kind: logits}):
                raise ValueError(f"the states of {kind} are no numbers")


def _check_beside(
    kept: Mapping[str, Tensor], typed: bool, words: tuple[int, int], model: ModelFile
) -> None:
    """Raise ValueError where more is kept of a text than there is; `words`: those of its source,
    and all.
    """
    source, steps = words
    if isinstance(model, ModuleRecord) and model.source:
        pair_side.check_kept(kept, source, steps - source)
        return
    if typed and kept:
        raise ValueError("it keeps more of a text than its states")
    check_kept(kept, steps, model.labels)
