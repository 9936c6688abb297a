"""A lens for a module of the user's own: probes fitted to its states, and grids of new text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from rnnlens.corpus.lexicon import by_suffix, coverage, load_lexicon
from rnnlens.errors import RnnlensError
from rnnlens.model.adapter import Adapter, Traced, readout
from rnnlens.model.cells import States
from rnnlens.model.kinds import output
from rnnlens.probe.families import Readout
from rnnlens.probe.fitting import FitConfig, Fitter, chunk_size
from rnnlens.probe.module_states import Batch, ModuleStates
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import parse
from rnnlens.probe.stream import OWN, Source
from rnnlens.view.colours import OTHER, UNIVERSAL_COLOURS, checked, default_colours
from rnnlens.view.encoding import Palette
from rnnlens.view.lens import Lens
from rnnlens.view.models import Model

_UNKNOWN = ("<unk>", "<UNK>", "[UNK]", "UNK", "unk")
_HELD_OUT = 10  # every so manieth batch decides when to stop, where no others are given
_ENOUGH, _MOST_EPOCHS = 400_000, 60  # states in all, passes over them
_FEW = 16  # labels that can each have a colour of their own
_ENGLISH = 0.6  # share of the labels that an English lexicon must know


class ModuleModel(Model):
    """A user's module behind its adapter."""

    causal = False  # nothing is known of what it does between its parts

    def __init__(
        self,
        adapter: Adapter,
        labels: Sequence[str],
        counts: Sequence[int],
        inputs: Sequence[str],
        words: Callable[[str], Iterable[str]],
        prepare: Callable[[list[int]], Any],
        *,
        follows: bool,
    ) -> None:
        self.adapter, self.kinds = adapter, adapter.kinds
        self.prediction = output(self.kinds[-1].id)
        self.labels, self.counts = tuple(labels), tuple(counts)
        self.description, self.follows = described(adapter.module), follows
        self._inputs, self._words, self._prepare = tuple(inputs), words, prepare
        self._numbers = {word: k for k, word in enumerate(inputs)}
        self._unknown = next((self._numbers[u] for u in _UNKNOWN if u in self._numbers), None)
        self._last: tuple[tuple[int, ...], Traced] | None = None

    def words(self, text: str) -> tuple[str, ...]:
        return tuple(self._words(text))

    def encode(self, words: Iterable[str]) -> list[int]:
        found = []
        for word in words:
            number = self._numbers.get(word, self._unknown)
            if number is None:
                raise RnnlensError(
                    f"the module has no word {word!r} and none for unknown words "
                    f"({', '.join(_UNKNOWN)}); use words it knows"
                )
            found.append(number)
        return found

    def is_unknown(self, number: int) -> bool:
        return number == self._unknown

    def taken_for(self, number: int) -> str:
        return self._inputs[number]

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        traced = self._traced(tuple(ids))
        states = {kind: v[:, 0].float().cpu() for kind, v in traced.states.items()}  # (T, H)
        before = {
            kind: v[first - 1] if first else torch.zeros_like(v[0]) for kind, v in states.items()
        }
        logits = own_logits(traced)[:, 0].float().cpu()
        states[OWN] = logits.expand(len(next(iter(states.values()))), -1)
        return {kind: v[first:last] for kind, v in states.items()}, before

    def own(self, y: Tensor) -> Tensor:
        return y.contiguous()  # they are the module's logits already

    def source(self, data: list[Any]) -> Callable[[str], Source]:
        check_batches(data)
        size = chunk_size(torch.device("cpu"))
        return lambda semantic: ModuleStates(
            self.adapter, data, semantic, len(self.labels), size, with_own=True
        )

    def forget(self) -> None:
        self._last = None

    def _traced(self, ids: tuple[int, ...]) -> Traced:
        last = self._last
        if last is None or last[0] != ids:
            last = self._last = ids, self.adapter.trace(self._prepare(list(ids)))
        return last[1]


def described(module: nn.Module) -> str:
    """Its recurrent parts, such as GRU 300 × 2; without any, its class."""
    parts = [m for m in module.modules() if isinstance(m, nn.RNNBase | nn.RNNCellBase)]
    said = [f"{type(m).__name__} {m.hidden_size} × {getattr(m, 'num_layers', 1)}" for m in parts]
    return ", ".join(said) or type(module).__name__


def own_logits(traced: Traced) -> Tensor:
    """The module's own prediction, (T, B, V) or (1, B, V)."""
    if traced.logits is None:
        raise RnnlensError(
            "the module's logits were not found in what it returns; give logits= a function that "
            "picks them"
        )
    return traced.logits


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
    train, held = _split(batches, valid)
    config = _config({"epochs": _epochs(train), **settings})
    adapter = Adapter(module, kinds, feed, logits, batch_first=batch_first)
    traced = adapter.trace(train[0][0])
    names = _names(labels, own_logits(traced).shape[-1])
    found = readout(adapter, train[0][0])
    tensors: dict[str, Tensor] = {}
    for semantic in parse(config.semantic):
        tensors |= _fitted(adapter, train, held, semantic, config, len(names), found)
    ids = tuple(kind.id for kind in adapter.kinds)
    probes = Probes(config.probe, ids, parse(config.semantic), len(names), tensors)
    whole = ModuleStates(adapter, train, "output", len(names), 1)
    follows = whole.follows(*train[0], traced)
    counts = whole.frequencies().tolist()
    model = ModuleModel(
        adapter, names, counts, _read_names(inputs, names, follows=follows), words,
        prepare or whole.preparer(train[0][0], traced), follows=follows,
    )  # fmt: skip
    return Lens(name or type(module).__name__, model, _palettes(names, counts, colours), probes)


def _epochs(train: Sequence[Batch]) -> int:
    """Passes over the states: little data needs more for the same number of steps."""
    pairs = sum(int((targets >= 0).sum()) for _, targets in train)
    return min(_MOST_EPOCHS, max(FitConfig.epochs, round(_ENOUGH / max(1, pairs))))


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


def check_batches(batches: Sequence[Any]) -> None:
    """Refuse what is no batch."""
    for batch in batches:
        if not (isinstance(batch, tuple | list) and len(batch) == 2 and _are_targets(batch[1])):
            raise RnnlensError(
                "every batch must be a pair: what the module is fed, and a tensor of targets as "
                f"whole numbers; one is {type(batch).__name__}"
            )


def _are_targets(value: Any) -> bool:
    return isinstance(value, Tensor) and not value.is_floating_point() and value.dim() in (1, 2)


def _names(labels: Sequence[str] | None, count: int) -> tuple[str, ...]:
    names = tuple(map(str, range(count) if labels is None else labels))
    if len(names) != count:
        raise RnnlensError(
            f"the module predicts {count} labels and {len(names)} are named; name every one"
        )
    if len(set(names)) != count:
        raise RnnlensError("two labels have the same name; give each its own")
    return names


def _read_names(
    inputs: Sequence[str] | None, labels: tuple[str, ...], *, follows: bool
) -> tuple[str, ...]:
    if inputs is not None:
        return tuple(map(str, inputs))
    return labels if follows else ()


def _fitted(
    adapter: Adapter,
    train: list[Batch],
    held: list[Batch],
    semantic: str,
    config: FitConfig,
    labels: int,
    found: tuple[str, Tensor, Tensor] | None,
) -> dict[str, Tensor]:
    """The probes of one semantic."""
    device = next(iter(adapter.trace(train[0][0]).states.values())).device
    size = chunk_size(device)
    sources = [ModuleStates(adapter, part, semantic, labels, size) for part in (train, held)]
    start = None
    if found and config.closed_form and semantic == "output":
        start = found[0], Readout(found[1].float(), found[2].float())
    fitter = Fitter(sources[0], sources[1], semantic, config, device, readout=start)
    chunks = config.epochs * len(sources[0].plan(None))
    with tqdm(total=chunks, unit="chunk", desc=semantic, disable=None, leave=False) as bar:
        fitter.run(lambda: bool(bar.update()) and False, lambda: None)
    return {name: t.cpu() for name, t in fitter.result().items()}


def _palettes(
    labels: tuple[str, ...], counts: Sequence[int], colours: Mapping[str, Any] | None
) -> dict[str, Palette]:
    """The user's own grouping; else few labels have a colour each, English words go by their
    part of speech, and anything else is one group.
    """
    if colours is not None:
        return {"own": Palette.of(labels, checked(colours, Path("colours=")))}
    if len(labels) <= _FEW:
        shades = [shade for group, shade in UNIVERSAL_COLOURS.items() if group != OTHER]
        each = dict(zip(labels, shades, strict=False)) | {OTHER: UNIVERSAL_COLOURS[OTHER]}
        groups = {label: label for label in labels}
        return {"labels": Palette.of(labels, {"colours": each, "groups": groups})}
    lexicon = load_lexicon()
    known = coverage(list(zip(labels, counts, strict=True)), lexicon)
    parts = [lexicon.get(label.lower()) or by_suffix(label.lower()) for label in labels]
    found = default_colours(labels, parts if known >= _ENGLISH else None, "an English lexicon")
    return {key: Palette.of(labels, value) for key, value in found["groupings"].items()}
