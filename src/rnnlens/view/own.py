"""A lens for a module of the user's own: probes fitted to its states, and grids of new text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from rnnlens.corpus.own import OwnVocabulary
from rnnlens.errors import RnnlensError
from rnnlens.model.adapter import Adapter
from rnnlens.model.own import OwnModel, OwnRecord
from rnnlens.probe.fitting import FitConfig, Fitter, run_quietly
from rnnlens.probe.module_states import Batch, ModuleStates, check_batches, words_of
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import parse
from rnnlens.probe.subject import ModuleSubject
from rnnlens.view.colours import checked, colours_of
from rnnlens.view.encoding import Palette
from rnnlens.view.lens import Lens
from rnnlens.view.module_model import Live, ModuleModel, own_logits

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
    colours: Mapping[str, Any] | None = None,
    name: str | None = None,
    **settings: Any,
) -> Lens:
    """Fit probes to every kind of a module of your own, and look through them.

    `batches` are pairs (what the module is fed, its targets); a negative target is none. `labels`
    are the targets' names. `inputs` are the names of what it reads, where these are others than the
    labels; `words` splits a text into them, `prepare` turns their numbers into what the module is
    fed. `kinds`, `feed`, `logits` and `batch_first` are as for `Adapter`. `colours` is
    {"colours": {group: "#rrggbb"}, "groups": {label: group}}. Further settings are those of
    `rnnlens fit`: semantic="output,output+2", probe="shared", epochs=8, ...
    """
    own = OwnModel(module, labels, inputs, words, prepare, tuple(kinds), feed, logits, batch_first)
    train, held = _split(batches, valid)
    config = _config(settings)
    found = study(own, {"train": train, "valid": held})
    probes = Probes(
        config.probe, found.subject.kinds, parse(config.semantic), found.subject.labels,
        _fitted(found.subject, config),
    )  # fmt: skip
    model = found.model()
    model.examples = tuple(_texts(found, held[0]))
    made = checked(colours, Path("colours=")) if colours is not None else None
    groupings = {"own": made} if made else colours_of(model.labels, model.counts)["groupings"]
    palettes = {key: Palette.of(model.labels, value) for key, value in groupings.items()}
    return Lens(
        name or type(found.adapter.module).__name__, model, palettes, probes, made=asdict(config)
    )


@dataclass(frozen=True)
class Found:
    """What a module and its batches tell of themselves."""

    own: OwnModel
    adapter: Adapter
    subject: ModuleSubject
    about: OwnRecord
    vocabulary: OwnVocabulary

    def model(self) -> ModuleModel:
        """For a lens."""
        live = Live(self.own, self.adapter, self.about.fed)
        return ModuleModel(self.about, self.vocabulary, lambda: live)


def study(own: OwnModel, batches: Mapping[str, Sequence[Batch]]) -> Found:
    """Trace a batch, and tell the labels, the kinds, and how a text is fed."""
    adapter = own.adapter()
    inputs, targets = batches["train"][0]
    traced = adapter.trace(inputs)
    labels = _names(own.labels, own_logits(traced).shape[-1])
    whole = ModuleStates(adapter, batches["train"], "output", len(labels), 1)
    follows = whole.follows(inputs, targets, traced)
    read = tuple(map(str, own.inputs)) if own.inputs is not None else labels if follows else ()
    vocabulary = OwnVocabulary(labels, tuple(whole.frequencies().tolist()), read)
    fed = None if own.prepare else whole.fed(inputs, traced)
    about = OwnRecord(
        own.where, described(adapter.module), follows, fed, adapter.kinds, len(labels)
    )
    subject = ModuleSubject(adapter, batches, len(labels), reads_labels=read == labels)
    return Found(own, adapter, subject, about, vocabulary)


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
    config = FitConfig(**settings)
    config.check()
    return config


def _split(
    batches: Iterable[Batch], valid: Iterable[Batch] | None
) -> tuple[list[Batch], list[Batch]]:
    """Batches to learn from, and others that decide when to stop."""
    train, held = list(batches), list(valid or ())
    check_batches([*train, *held])
    if not held:
        held = train[::_HELD_OUT]
        train = [batch for k, batch in enumerate(train) if k % _HELD_OUT]
    if not train or not held:
        raise RnnlensError(
            "there are too few batches to learn from some and stop by others; give two or more, or "
            "give valid="
        )
    return train, held


def _names(labels: Sequence[str] | None, count: int) -> tuple[str, ...]:
    names = tuple(map(str, range(count) if labels is None else labels))
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one"
        )
    if len(set(names)) != count:
        raise RnnlensError("two labels have the same name; give each its own")
    return names


def _fitted(subject: ModuleSubject, config: FitConfig) -> dict[str, Tensor]:
    """The probes of every semantic."""
    tensors: dict[str, Tensor] = {}
    for semantic in parse(config.semantic):
        tensors |= run_quietly(Fitter.of(subject, semantic, config))
    return tensors


def _texts(found: Found, batch: Batch) -> list[str]:
    """Some sequences of a batch as texts, where text is what the module's words come from."""
    inputs, own = found.vocabulary.inputs, found.own
    try:
        read = words_of(*batch)
    except RnnlensError:
        return []
    rows = read if found.about.fed != (-1, 1) else read.T
    made: list[str] = []
    for row in rows.tolist() if rows.dim() == 2 else [rows.tolist()]:
        if all(0 <= number < len(inputs) for number in row):
            names = [inputs[number] for number in row[:LONG]]
            texts = (" ".join(names), "".join(names))
            made += [text for text in texts if [*own.words(text)] == names and text not in made][:1]
        if len(made) == EXAMPLES:
            break
    return made
