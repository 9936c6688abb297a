"""A user's module: how it is read, and how to get it from its code."""

import copy
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter, modules
from rnnlens.adapter.axes.targets import LABEL, NUMBER
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.settings import Settings
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.sentence import Sentence


@dataclass(frozen=True)
class UserModel:
    """A trained module and how it is read: what the factory of `rnnlens fit --model` returns.

    A language model needs `module` and `labels`, the words it predicts.
    """

    #: Trained, on whatever device.
    module: nn.Module
    #: Names of what it predicts, in the order of their numbers.
    labels: Sequence[str] | None = None
    #: Names of what it reads, where these are not the labels.
    inputs: Sequence[str] | None = None
    #: Splits a text into these; `str.split` unless another function is given.
    words: Callable[[str], Iterable[str]] = field(default_factory=lambda: str.split)
    #: From the numbers of a text's words to what the module is fed, where that is more than one
    #: tensor of them.
    prepare: Callable[[list[int]], Any] | None = None
    #: As for `Adapter`.
    kinds: Iterable[str] = ()
    #: As for `Adapter`.
    feed: Callable[[nn.Module, Any], Any] | None = None
    #: As for `Adapter`.
    logits: Callable[[Any], Any] | None = None
    #: As for `Adapter`.
    batch_first: bool | None = None
    #: Makes pairs (what the module is fed, its targets) of sentences. Without it, a module whose
    #: labels are its words is asked for the next word, and one whose labels are universal parts of
    #: speech for a word's tag.
    batches: Callable[[list[Sentence]], Iterable[tuple[Any, Tensor]]] | None = None
    #: As for `Adapter`.
    exclude: Iterable[str] = ()
    #: Targets of this number count as none, as negative labels do.
    ignore_index: float | None = None
    where: str = ""  # package.module:factory, where it came from there
    sort: str = LABEL  # what it predicts, which its targets tell

    def __post_init__(self) -> None:
        if not isinstance(self.module, nn.Module):
            raise RnnlensError(f"a {type(self.module).__name__} is no torch module; give one")
        for name in ("kinds", "exclude"):
            value = getattr(self, name)
            names = (value,) if isinstance(value, str) else tuple(value)
            if strange := [item for item in names if not isinstance(item, str)]:
                raise RnnlensError(f"{name}= names {strange[0]!r}; give dotted names of submodules")
            object.__setattr__(self, name, names)  # an iterator could be read only once
        for name in ("labels", "inputs"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, names_of(getattr(self, name), f"{name}="))
        if self.batch_first not in (None, True, False):
            raise RnnlensError(f"batch_first= is {self.batch_first!r}; give True or False")
        for name in ("words", "prepare", "feed", "logits", "batches"):
            value = getattr(self, name)
            if not (callable(value) or (value is None and name != "words")):
                raise RnnlensError(f"{name}= is {type(value).__name__}; give a function")

    def adapter(self) -> Adapter:
        """The module with every kind readable."""
        sort = _Guarded if self.where else Adapter
        labels = None if self.labels is None or self.sort == NUMBER else len(self.labels)
        return sort(
            self.module, self.kinds, self.feed, self.logits, batch_first=self.batch_first,
            labels=labels, exclude=self.exclude, sort=self.sort,
        )  # fmt: skip

    def settings(self) -> Settings:
        """How it is read, as far as a file can hold that."""
        default = {"words": str.split, "prepare": None, "feed": None, "logits": None}
        names = tuple(name for name in default if getattr(self, name) is not default[name])
        return Settings(tuple(self.kinds), tuple(self.exclude), self.batch_first, names)

    def read_as(self, before: Settings, labels: int, sort: str) -> "UserModel":
        """The same, read as it was when probes were fitted; functions have to be given again."""
        missing = [name for name in before.functions if name not in self.settings().functions]
        if missing:
            again = ", ".join(f"{name}=..." for name in missing)
            raise RnnlensError(
                f"the probes were fitted with {', '.join(f'{name}=' for name in missing)}, which a "
                f"run cannot hold; give model=rnnlens.UserModel(module, {again}) with the same"
            )
        return replace(
            self,
            labels=tuple(map(str, range(labels))) if self.labels is None else self.labels,
            sort=sort,
            kinds=self.kinds or before.kinds,
            exclude=self.exclude or before.exclude,
            batch_first=before.batch_first if self.batch_first is None else self.batch_first,
        )

    def weights(self) -> dict[str, Tensor]:
        """Everything its module has learnt, by name; tied tensors are there under each name."""
        state = modules.unwrapped(self.module).state_dict()
        return {name: t.detach().clone() for name, t in state.items() if isinstance(t, Tensor)}

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Put weights into the module, which must have weights of just these names and shapes."""
        old = self.weights()
        missing, extra = sorted(old.keys() - weights.keys()), sorted(weights.keys() - old.keys())
        other = [n for n in old if n in weights and old[n].shape != weights[n].shape]
        if missing or extra or other:
            name = (missing or extra or other)[0]
            how = "is new" if missing else "is missing" if extra else "has another shape"
            raise RnnlensError(
                f"{self.where or 'the module'} is not what the run was made with: the weight "
                f"{name} {how}; restore the code of that time, or fit anew"
            )
        with users_code(f"putting the run's weights into {self.where or 'the module'}"):
            modules.unwrapped(self.module).load_state_dict(dict(weights), strict=False)

    def copied(self) -> "UserModel":
        """The same with a copy of the module, which nobody else has."""
        with users_code(f"copying the module of {self.where or 'model='}"):
            return replace(self, module=copy.deepcopy(self.module))

    @property
    def device(self) -> torch.device:
        """Where its module is."""
        return next(iter(modules.devices(self.module)), torch.device("cpu"))


class _Guarded(Adapter):
    """An adapter that reports errors of the module's code in one line, for the command line."""

    def _run(self, capture: Capture, batch: Any) -> Any:
        with users_code(f"the forward of {type(self.module).__name__}"):
            return super()._run(capture, batch)


def names_of(value: Any, what: str) -> tuple[str, ...]:
    """Names in the order of their numbers, from a list or from a mapping either way round."""
    if isinstance(value, Mapping):
        for names, numbers in ((value.keys(), value.values()), (value.values(), value.keys())):
            if set(numbers) == set(range(len(value))):
                value = [name for _, name in sorted(zip(numbers, names, strict=True))]
                break
    if isinstance(value, str | Mapping | AbstractSet) or not isinstance(value, Iterable):
        raise RnnlensError(
            f"{what} is {type(value).__name__}; give the names as a list, in the order of their "
            "numbers"
        )
    ordered = tuple(map(str, value))
    twice = next((name for name, count in Counter(ordered).items() if count > 1), None)
    if twice is not None:
        raise RnnlensError(f"two names of {what} are {twice!r}; give each its own")
    return ordered


def user_model(value: Any, what: str) -> UserModel:
    """A UserModel from any form of one: itself, a module, a pair (module, labels), a factory."""
    if callable(value) and not isinstance(value, nn.Module):
        value = value()
    if isinstance(value, nn.Module):
        return UserModel(value)
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], nn.Module):
        return UserModel(*value)
    if not isinstance(value, UserModel):
        raise RnnlensError(
            f"{what} gave {type(value).__name__}; give a module, a pair (module, labels) or "
            "rnnlens.UserModel, or a function that returns one"
        )
    return value


def user_model_at(where: str) -> UserModel:
    """What `package.module:factory` gives; errors in its code are reported in one line."""
    factory = _imported(where)
    with users_code(where):
        user = user_model(factory, where)
    functions = {name: getattr(user, name) for name in ("words", "prepare", "logits", "batches")}
    guarded: dict[str, Any] = {
        name: _guarded(function, f"{name}= of {where}", listed=name in ("words", "batches"))
        for name, function in functions.items()
        if function not in (None, str.split)
    }
    return replace(user, where=where, **guarded)


def _imported(where: str) -> Any:
    """The function, or whatever else, that `package.module:name` names."""
    package, _, name = where.partition(":")
    if not package or not name:
        raise RnnlensError(f"{where!r} names no model; write package.module:factory")
    try:
        with users_code(package, ImportError):
            value: Any = import_module(package)
    except ImportError as error:
        raise RnnlensError(
            f"cannot import {package} ({error}); install it, or say where it is: --path FOLDER "
            "for a command, sys.path in Python"
        ) from error
    for part in name.split("."):
        if not hasattr(value, part):
            at = getattr(value, "__file__", None) or "built in"
            raise RnnlensError(f"{package} ({at}) has no {name}; name a function that is there")
        value = getattr(value, part)
    return value


def _guarded(function: Callable[[Any], Any], what: str, listed: bool) -> Callable[[Any], Any]:
    """The same function, with its errors reported in one line.

    `listed`: what it returns is made a list, as a generator would raise outside of the guard.
    """

    def call(argument: Any) -> Any:
        with users_code(what):
            return list(function(argument)) if listed else function(argument)

    return call


@contextmanager
def users_code(what: str, but: type[Exception] = RnnlensError) -> Iterator[None]:
    """Report errors of a user's code in one line, with where and why; `but` passes unchanged."""
    try:
        yield
    except (RnnlensError, but):
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        users = [frame for frame in frames if "site-packages" not in frame.filename]
        last = (users or frames)[-1]
        reason = " ".join(str(error).split()) or "no reason given"
        raise RnnlensError(
            f"{what} failed: {type(error).__name__}: {reason} "
            f"({last.filename}, line {last.lineno}); mend it there"
        ) from error
