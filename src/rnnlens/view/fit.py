"""A lens for a module of the user's own: probes fitted to its states, and grids of new text."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter, modules
from rnnlens.adapter.axes.parting import is_part, some_sequences
from rnnlens.adapter.axes.targets import Batch, check_batches, most_telling, words_of
from rnnlens.adapter.sanity import warn_if_worse_than_unigram
from rnnlens.adapter.settings import mark_of
from rnnlens.adapter.user_model import UserModel, UserRecord
from rnnlens.corpus.own import OwnVocabulary
from rnnlens.errors import RnnlensError, RnnlensWarning
from rnnlens.files import digest
from rnnlens.probe.fitting import FitConfig, Fitter, run_quietly
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import parse
from rnnlens.probe.subject import ModuleSubject
from rnnlens.view.encoding import Palette
from rnnlens.view.lens import Lens
from rnnlens.view.module_model import Live, ModuleModel, own_logits
from rnnlens.view.palette import checked, colours_of

_HELD_OUT = 10  # every so manieth batch decides when to stop, where no others are given
EXAMPLES, SHORT, LONG = 3, 4, 12  # texts that are kept, and their words


def fit(
    module: nn.Module,
    batches: Iterable[Batch],
    labels: Sequence[str] | None = None,
    *,
    valid: Iterable[Batch] | None = None,
    inputs: Sequence[str] | None = None,
    words: Callable[[str], Iterable[str]] = str.split,
    prepare: Callable[[list[int]], Any] | None = None,
    kinds: Iterable[str] = (),
    feed: Callable[[nn.Module, Any], Any] | None = None,
    logits: Callable[[Any], Any] | None = None,
    batch_first: bool | None = None,
    exclude: Iterable[str] = (),
    ignore_index: int | None = None,
    colours: Mapping[str, Any] | None = None,
    name: str | None = None,
    **settings: Any,
) -> Lens:
    """Fit probes to every kind of a module of your own, and look through them.

    `batches` are pairs (what the module is fed, its targets); a negative target is none, and so is
    `ignore_index`. `labels` are the targets' names, in the order of their numbers. `valid` are
    batches that decide when to stop; without them every tenth of `batches` does, or of a single
    batch every tenth sequence.

    `inputs` are the names of what the module reads, where these are others than the labels; `words`
    splits a text into them, and `prepare` turns their numbers into what the module is fed.
    `kinds`, `exclude`, `feed`, `logits` and `batch_first` are as for `Adapter`.

    `colours` is `{"colours": {group: "#rrggbb"}, "groups": {label: group}}`; `name` heads the page.
    Further settings are those of `rnnlens fit`: `semantic="output,output+2"`, `probe="shared"`,
    `epochs=8`, ...
    """
    own = UserModel(
        module, labels, inputs, words, prepare, kinds, feed, logits, batch_first, exclude=exclude,
        ignore_index=ignore_index,
    )  # fmt: skip
    train, held = _split(own, batches, valid)
    config = _config(settings)
    chosen = None if colours is None else {"own": checked(colours, Path("colours="))}
    found = study(own, {"train": train, "valid": held})
    probes = Probes(
        config.probe, found.subject.kinds, parse(config.semantic), found.subject.labels,
        _fitted(found.subject, config),
    )  # fmt: skip
    model = found.model()
    model.examples = tuple(_texts(model, found, held[0]))
    groupings = chosen or colours_of(model.labels, model.counts)["groupings"]
    palettes = {key: Palette.of(model.labels, value) for key, value in groupings.items()}
    name = name or type(found.subject.adapter.module).__name__
    return Lens(name, model, palettes, probes, made=asdict(config))


@dataclass(frozen=True)
class Found:
    """What a module and its batches tell of themselves."""

    own: UserModel
    subject: ModuleSubject
    about: UserRecord
    labels: tuple[str, ...]
    inputs: tuple[str, ...]
    digest: str  # of the weights

    @property
    def padding(self) -> int | None:
        """The number that its embedding has for padding."""
        embedding = modules.embedding(self.subject.adapter.module)
        return None if embedding is None else embedding.padding_idx

    def model(self) -> ModuleModel:
        """For a lens; counts the labels."""
        live = replace(Live.of(self.own, self.about, self.subject.adapter), digest=self.digest)
        counts = tuple(self.subject.frequencies().tolist())
        vocabulary = OwnVocabulary(self.labels, counts, self.inputs)
        return ModuleModel(self.about, vocabulary, lambda: live)


def study(
    own: UserModel, batches: Mapping[str, Sequence[Batch]], *, follows: bool = False
) -> Found:
    """Trace a batch, and tell the labels, the kinds, and how a text is fed.

    `follows`: it is known that targets are the next words, though sentences of two do not show it.
    """
    adapter = own.adapter()
    telling, *others = most_telling(batches["train"])
    told = adapter.align(telling, *others)
    told = replace(told, follows=told.follows or follows)
    traced = adapter.trace(telling[0])
    labels = _labels(own, own_logits(traced).shape[-1])
    inputs = labels if told.follows else ()
    if own.inputs is not None:
        inputs = tuple(own.inputs)
    _check_embedding(adapter, inputs)
    kinds = adapter.kinds
    fed = None if own.prepare else told.fed
    name, apart = described(adapter.module), adapter.difference
    settings = replace(own.settings(), mark=mark_of(own.prepare, len(inputs)))
    about = UserRecord(own.where, name, told.follows, fed, kinds, len(labels), apart, settings)
    subject = ModuleSubject(adapter, told, batches, len(labels), reads_labels=inputs == labels)
    found = Found(own, subject, about, labels, inputs, digest(own.weights()))
    _warn_of_padding(found, telling)
    warn_if_worse_than_unigram(adapter, batches["train"], len(labels))
    return found


def _warn_of_padding(found: Found, batch: Batch) -> None:
    words = words_of(*batch)
    if words is None or found.padding is None:
        return
    traced, told = found.subject.adapter.trace(batch[0]), found.subject.arrangement
    try:
        read, asked = told.in_time(words, traced), told.in_time(batch[1], traced)
    except RnnlensError:  # told when states are asked for
        return
    if bool(((read == found.padding) & (asked >= 0)).any()):
        warnings.warn(
            f"padding (number {found.padding}) has targets, so that its states are fitted and "
            "measured too; give it negative targets",
            RnnlensWarning,
            stacklevel=2,
        )


def _check_embedding(adapter: Adapter, inputs: Sequence[str]) -> None:
    embedding = modules.embedding(adapter.module)
    if embedding is not None and len(inputs) > embedding.num_embeddings:
        raise RnnlensError(
            f"inputs= names {len(inputs)} words and the module's embedding has "
            f"{embedding.num_embeddings}; name what it has"
        )


def described(module: nn.Module) -> str:
    """Its recurrent parts, such as GRU 300 × 2; without any, its class."""
    parts = [m for m in module.modules() if isinstance(m, nn.RNNBase | nn.RNNCellBase)]
    said = [f"{type(m).__name__} {m.hidden_size} × {getattr(m, 'num_layers', 1)}" for m in parts]
    return ", ".join(said) or type(module).__name__


def _config(settings: Mapping[str, Any]) -> FitConfig:
    known = [field.name for field in fields(FitConfig)]
    for setting in settings:
        if setting not in known:
            raise RnnlensError(f"fit has no setting {setting!r}; it has {', '.join(known)}")
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
    own: UserModel, batches: Iterable[Batch], valid: Iterable[Batch] | None
) -> tuple[list[Batch], list[Batch]]:
    """Batches to learn from, and others that decide when to stop."""
    train = check_batches(batches, "batches", own.ignore_index)
    if valid is not None:
        held = check_batches(valid, "valid=", own.ignore_index)
    elif len(train) == 1:
        train, held = _split_sequences(own, train[0])
    else:
        held = train[::_HELD_OUT]
        train = [batch for k, batch in enumerate(train) if k % _HELD_OUT]
    if not train or not held:
        raise RnnlensError(
            "there are too few batches to learn from some and stop by others; give two or more, or "
            "give valid="
        )
    return train, held


def _split_sequences(own: UserModel, batch: Batch) -> tuple[list[Batch], list[Batch]]:
    """Every tenth sequence of a batch apart, if sequences are read alone as among the others."""
    adapter = own.adapter()
    axes, trace = adapter.align(batch), adapter.trace(batch[0])
    every = torch.arange(trace.states[axes.kinds[-1]].shape[1])
    found: list[list[Batch]] = []
    for chosen in (every[every % _HELD_OUT != 0], every[::_HELD_OUT]):
        part = some_sequences(batch, chosen, axes, trace) if len(every) > 1 else None
        if part and is_part(trace, adapter.trace(part[0]), chosen, axes.kinds):
            found.append([part])
    return (found[0], found[1]) if len(found) == 2 else ([], [])


def _labels(own: UserModel, count: int) -> tuple[str, ...]:
    names = tuple(map(str, range(count) if own.labels is None else own.labels))
    if count == 1:
        raise RnnlensError(
            "the module predicts one number; name its labels and make logits of it, of yes and no "
            "logits=lambda z: torch.cat([0 * z, z], -1), of bins, by their middles and width, "
            "logits=lambda z: -(((z - torch.tensor(middles)) / width) ** 2)"
        )
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one, or "
            "give logits= a function that picks the logits"
        )
    return names


def _fitted(subject: ModuleSubject, config: FitConfig) -> dict[str, Tensor]:
    """The probes of every semantic."""
    tensors: dict[str, Tensor] = {}
    for semantic in parse(config.semantic):
        tensors |= run_quietly(Fitter.of(subject, semantic, config))
    return tensors


def _joined(names: list[str], model: ModuleModel, found: Found) -> Iterator[str]:
    """The texts that are read as these words; what `words` or `prepare` puts in front is no part
    of them.
    """
    if found.about.settings.mark is not None:
        names = names[1:]
    for typed in (names, names[1:]):
        for text in (" ".join(typed), "".join(typed)):
            if text and [*model.words(text)] == names:
                yield text


def _texts(model: ModuleModel, found: Found, batch: Batch) -> list[str]:
    """Some sequences of a batch as texts, where a text is what its words come from."""
    words = words_of(*batch)
    readable = found.inputs and (found.about.fed or found.own.prepare)
    if words is None or not readable:
        return []
    told = found.subject.arrangement
    rows = words.T if told.sequences_first is False else words
    there = told.in_time(batch[1], found.subject.adapter.trace(batch[0])) >= 0  # (T, B)
    made: list[str] = []
    for row, asked in zip(
        rows.tolist() if rows.dim() == 2 else [rows.tolist()], there.T, strict=True
    ):
        read = row[: int(asked.nonzero().max()) + 1] if asked.any() else []
        while read and read[-1] == found.padding:
            read.pop()
        if read and all(0 <= number < len(found.inputs) for number in read):
            names = [found.inputs[number] for number in read[:LONG]]
            made += [text for text in _joined(names, model, found) if text not in made][:1]
        if len(made) == EXAMPLES:
            break
    return made
