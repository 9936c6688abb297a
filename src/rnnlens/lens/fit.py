"""A lens for a module of the user's own: probes fitted to its states, and grids of new text."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import modules
from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.axes.axes import is_part, some_sequences
from rnnlens.adapter.batches import (
    NOTHING,
    OUTPUT,
    Batch,
    check_batches,
    check_forms,
    features_of,
    words_of,
)
from rnnlens.adapter.pair_side import PairSide
from rnnlens.adapter.stored import StoredModule
from rnnlens.adapter.user_model import UserModel, names_of
from rnnlens.base.errors import RnnlensError
from rnnlens.base.progress import to_stderr
from rnnlens.base.threads import threads_for
from rnnlens.labels.colours import checked
from rnnlens.labels.sets import LabelSet
from rnnlens.lens.give import give
from rnnlens.lens.lens import Lens
from rnnlens.model.text import written_numbers
from rnnlens.probe.fit_loop import fit_probes
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.inspect import counted, inspect_module
from rnnlens.reading.encoding import Palette, palettes_of
from rnnlens.reading.session import EXAMPLES, LONG, LONG_SERIES, Session
from rnnlens.reading.subject import Subject

_NO_OPTIONS = ("module", "labels", "batches", "where")  # fields of UserModel that fit has itself
_READ_AS = [field.name for field in fields(UserModel) if field.name not in _NO_OPTIONS]
_TYPED = 3  # numbers of a timestep that people would type: steps of more are given from batches
_HELD_OUT = 10  # every tenth batch decides when to stop, where no others are given for that


def fit(
    module: nn.Module | UserModel,
    batches: Iterable[Any],
    labels: Sequence[str] | None = None,
    *,
    valid: Iterable[Any] | None = None,
    targets: Mapping[str, Sequence[str] | None] | None = None,
    colours: Mapping[str, Any] | None = None,
    name: str | None = None,
    **options: Any,
) -> Lens:
    """Fit probes to every kind of a module of your own, and look through them.

    `module` is a trained torch module, or a `UserModel`. `batches` are pairs (what the module is
    fed, its targets); a negative target is none, and so is `ignore_index`. `labels` are the
    targets' names, in the order of their numbers. Targets that are floats are numbers, and a last
    axis of 0 and 1 is a set of labels. `valid` are batches that decide when to stop; without them
    every tenth of `batches` does, or of a single batch every tenth sequence.

    For labels that are not the module's own, the targets of a batch are several by name, such as
    `{"output": y, "tag": tags}`, and `targets={"tag": names}` names their labels; without `output`
    the module need not predict anything.

    `colours` is `{"colours": {group: "#rrggbb"}, "groups": {label: group}}`; `name` heads the page.

    Options that say how the module is read are the fields of `UserModel`:

    - `inputs`: names of what the module reads, where these are others than the labels; `words`
      splits a text into them, and `prepare` turns their numbers into what the module is fed
    - `tokenizer`: splits a text into pieces of words and names them, in place of both: one of the
      libraries `tokenizers` and `transformers`, or the path of its tokenizer.json
    - `kinds`: further submodules to be read; `exclude`: recurrent parts that are not
    - `feed`: how a batch is given to the module; `logits`: picks the logits from what it returns
    - `batch_first`: which axis is time, where nothing tells; `ignore_index`
    - `source`: of an encoder-decoder, the names of what the encoder reads; a text is then a pair,
      `source => target`, and `prepare` is given the numbers of both; `attention`: the submodule
      that computes it, where it is not found
    - `length`, `pad`: how many words are read each time, and what fills a shorter text up, where
      the batches do not show it

    Options that say how probes are fitted are those of `rnnlens fit`: `semantic="output,output+2"`,
    `probe="shared"`, `epochs=8`, ...
    """
    read_as = {key: options.pop(key) for key in _READ_AS if key in options}
    if labels is not None:
        read_as["labels"] = labels
    user = UserModel.of(module, **read_as)
    modules.check(modules.unwrapped(user.module))
    train, held = _split(user, batches, valid, _label_counts(user, targets or {}))
    config = _config({"semantic": _semantics(train[0]), **options})
    chosen = None if colours is None else {"own": checked(colours, Path("colours="))}
    with threads_for(max((p.numel() for p in user.module.parameters()), default=0)):
        splits = {"train": train, "valid": held}
        model, dataset, vocabulary = inspect_module(user, splits, names=targets)
        probes = fit_probes(dataset, config)
    text = model.text(counted(vocabulary, dataset))
    texts = _examples(model, Session(model, text), held[0])
    session = Session(
        model, text, texts or _sequences(Session(model, text), held[0], probes.answers)
    )
    palettes = palettes_of(text.labels, text.vocabulary.counts)
    if chosen:
        palettes = {key: Palette.of(vocabulary.labels, value, text.answers)
                    for key, value in chosen.items()}  # fmt: skip
    name = name or type(model.adapter.module).__name__
    to_stderr(model.verified)
    if model.unprobed:
        to_stderr(_without_probes(model.unprobed))
    return Lens(Subject(name, session, palettes, probes), asdict(config))


def _without_probes(unprobed: Mapping[str, int]) -> str:
    """Which kinds have no probe, in one line."""
    names = ", ".join(list(unprobed)[:8]) + (", ..." if len(unprobed) > 8 else "")
    return (
        f"without a probe, being too large for a linear one ({max(unprobed.values()):,} numbers): "
        f"{names}. They can be looked at, edited and split over words."
    )


def _label_counts(user: UserModel, targets: Mapping[str, Sequence[str] | None]) -> dict[str, int]:
    """How many labels are named, by semantic."""
    named = {OUTPUT: user.labels, **targets}
    return {
        name: len(names_of(names, f"targets={{{name!r}: ...}}"))
        for name, names in named.items()
        if names is not None
    }


def _semantics(batch: Batch) -> str:
    """What there are probes for unless somebody chooses: whatever there are targets for."""
    own = () if batch.sort == NOTHING else (OUTPUT,)
    return ",".join((*own, *batch.others))


def _config(settings: Mapping[str, Any]) -> FitConfig:
    known = [field.name for field in fields(FitConfig)]
    for setting in settings:
        if setting not in known:
            names = ", ".join((*known, *_READ_AS))
            raise RnnlensError(f"fit has no option {setting!r}; it has {names}")
        wanted = type(getattr(FitConfig(), setting))
        allowed = (int, float) if wanted is float else wanted
        if not isinstance(settings[setting], allowed) or isinstance(settings[setting], bool) != (
            wanted is bool
        ):
            given = type(settings[setting]).__name__
            raise RnnlensError(f"{setting}= is {given}; give {wanted.__name__}")
    config = FitConfig(**settings)
    config.check()
    return config


def _split(
    user: UserModel, batches: Iterable[Any], valid: Iterable[Any] | None, counts: Mapping[str, int]
) -> tuple[list[Batch], list[Batch]]:
    """Batches to learn from, and others that decide when to stop; `counts` of labels are known."""
    train = check_batches(batches, "batches", user.ignore_index, counts)
    if valid is not None:
        held = check_batches(valid, "valid=", user.ignore_index, counts)
        if train and held:
            check_forms(held, train[0].forms, "valid=")
            if missing := [name for name in train[0].others if name not in held[0].others]:
                raise RnnlensError(
                    f"valid= has no targets {missing[0]!r}, which batches have; add them"
                )
    elif len(train) == 1:
        train, held = _split_sequences(user, train[0])
    else:
        held = train[::_HELD_OUT]
        train = [batch for k, batch in enumerate(train) if k % _HELD_OUT]
    if not train or not held:
        raise RnnlensError(
            "there are too few batches to learn from some and stop by others; give two or more, or "
            "give valid="
        )
    return train, held


def _split_sequences(user: UserModel, batch: Batch) -> tuple[list[Batch], list[Batch]]:
    """Every tenth sequence of a batch apart, if sequences are read alone as among the others."""
    adapter = Adapter(user, sort=batch.sort)
    axes, trace = adapter.align(batch), adapter.trace(batch.inputs)
    every = torch.arange(trace.states[axes.kinds[-1]].shape[1])
    parts: list[list[Batch]] = []
    for chosen in (every[every % _HELD_OUT != 0], every[::_HELD_OUT]):
        part = some_sequences(batch, chosen, axes, trace) if len(every) > 1 else None
        if part and is_part(trace, adapter.trace(part[0]), chosen, axes.kinds):
            parts.append([part])
    return (parts[0], parts[1]) if len(parts) == 2 else ([], [])


def _joined(names: list[str], session: Session) -> Iterator[str]:
    """The texts that are read as these words; what `words` or `prepare` puts in front is no part
    of them.
    """
    if session.text.mark is not None:
        names = names[1:]
    for typed in (names, names[1:]):
        written = session.text.written(session.text.encode(typed))
        for text in (written, " ".join(typed), "".join(typed)):
            if text and [*session.words(text)] == names:
                yield text


def _examples(model: StoredModule, session: Session, batch: Batch) -> list[str]:
    """Some sequences of a batch as texts, where a text is what its words come from."""
    axes = model.adapter.axes
    if isinstance(session.text, PairSide):
        return _pairs(model, session, session.text, batch)
    reads = features_of if model.record.features else words_of
    words = reads(batch.inputs, batch.targets)
    if words is None or not model.reads_texts(session.vocabulary) or axes is None:
        return []
    if model.record.features > _TYPED:
        return []
    trace = model.trace(batch.inputs)
    there = model.in_time(batch.targets, lambda: trace) >= 0  # (T, B)
    rows = words.transpose(0, 1) if axes.sequences_first is False else words
    texts: list[str] = []
    for row, asked in zip(rows if rows.dim() > 1 else [rows], there.T, strict=True):
        read = row[: int(asked.nonzero().max()) + 1] if asked.any() else row[:0]
        names = _names(model, session.vocabulary.inputs, read)
        text = next(_joined(names, session), None) if names else None
        if text is not None and text not in texts:
            texts.append(text)
        if len(texts) == EXAMPLES:
            break
    return texts


def _pairs(model: StoredModule, session: Session, side: PairSide, batch: Batch) -> list[str]:
    """Some pairs of a batch as texts."""
    if not model.reads_texts(session.vocabulary):
        return []
    texts = (side.typed(*pair) for pair in model.pairs(batch))
    return list(islice(dict.fromkeys(text for text in texts if text), EXAMPLES))


def _sequences(session: Session, batch: Batch, answers: Mapping[str, LabelSet]) -> list[str]:
    """Some sequences of a batch by their numbers, where none of them can be typed."""
    texts = list[str]()
    if isinstance(session.text, PairSide):
        return texts
    with suppress(RnnlensError):  # fewer than are wanted, or not such as can be read alone
        for row in range(EXAMPLES):
            texts.append(give(session, batch, row, None, answers))
    return texts


def _names(model: StoredModule, inputs: Sequence[str], read: Tensor) -> list[str]:
    """What somebody would type for what was read; nothing where that cannot be typed."""
    if model.record.features:
        steps = read if read.dim() == 2 else read[:, None]
        return [written_numbers(values) for values in steps[:LONG_SERIES].tolist()]
    numbers, around = read.tolist(), model.record.padding
    while numbers and numbers[-1] == model.padding:
        numbers.pop()
    while around and numbers and numbers[0] == around.number:
        numbers.pop(0)
    if not all(0 <= number < len(inputs) for number in numbers):
        return []
    return [inputs[number] for number in numbers[:LONG]]
