"""A module of somebody's own: all that has to be said about it, and how to get it back."""

import copy
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from rnnlens.adapter import Adapter, modules
from rnnlens.adapter.record.capture import Capture
from rnnlens.adapter.settings import FUNCTIONS, Settings
from rnnlens.corpus.sentence import Sentence
from rnnlens.errors import RnnlensError
from rnnlens.model.kinds import Kind

Result = TypeVar("Result")


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
    #: Splits a text into these; `str.split` unless another is given.
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
    #: Targets of this number count as none, as negative ones do.
    ignore_index: int | None = None
    where: str = ""  # package.module:factory, where it came from there

    def __post_init__(self) -> None:
        if not isinstance(self.module, nn.Module):
            raise RnnlensError(f"a {type(self.module).__name__} is no torch module; give one")
        for name in ("kinds", "exclude"):
            given = getattr(self, name)
            names = (given,) if isinstance(given, str) else tuple(given)
            if strange := [one for one in names if not isinstance(one, str)]:
                raise RnnlensError(f"{name}= names {strange[0]!r}; give dotted names of submodules")
            object.__setattr__(self, name, names)  # it may have been one that ends
        for name in ("labels", "inputs"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, names_of(getattr(self, name), f"{name}="))
        if self.batch_first not in (None, True, False):
            raise RnnlensError(f"batch_first= is {self.batch_first!r}; give True or False")
        for name in ("words", "prepare", "feed", "logits", "batches"):
            given = getattr(self, name)
            if not (callable(given) or (given is None and name != "words")):
                raise RnnlensError(f"{name}= is {type(given).__name__}; give a function")

    def adapter(self) -> Adapter:
        """The module with every kind readable."""
        sort = _Guarded if self.where else Adapter
        labels = None if self.labels is None else len(self.labels)
        return sort(
            self.module, self.kinds, self.feed, self.logits, batch_first=self.batch_first,
            labels=labels, exclude=self.exclude,
        )  # fmt: skip

    def settings(self) -> Settings:
        """How it is read, as far as a file can hold that."""
        default = {"words": str.split, "prepare": None, "feed": None, "logits": None}
        given = tuple(name for name in FUNCTIONS if getattr(self, name) is not default[name])
        return Settings(tuple(self.kinds), tuple(self.exclude), self.batch_first, given)

    def read_as(self, before: Settings, labels: int) -> "UserModel":
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
            kinds=self.kinds or before.kinds,
            exclude=self.exclude or before.exclude,
            batch_first=before.batch_first if self.batch_first is None else self.batch_first,
        )

    def weights(self) -> dict[str, Tensor]:
        """Everything its module has learnt, by name; tied tensors are there under each name."""
        state = modules.unwrapped(self.module).state_dict()
        return {name: t.detach().clone() for name, t in state.items() if isinstance(t, Tensor)}

    def put(self, weights: Mapping[str, Tensor]) -> None:
        """Put weights into the module, that must have just these."""
        mine = self.weights()
        missing, extra = sorted(mine.keys() - weights.keys()), sorted(weights.keys() - mine.keys())
        other = [n for n in mine if n in weights and mine[n].shape != weights[n].shape]
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
        """The same with a module that nobody else has."""
        with users_code(f"copying the module of {self.where or 'model='}"):
            return replace(self, module=copy.deepcopy(self.module))

    @property
    def device(self) -> torch.device:
        """Where its module is."""
        return next(iter(modules.devices(self.module)), torch.device("cpu"))


@dataclass(frozen=True)
class UserRecord:
    """What model.json says of somebody's own module: all that can be known without its code."""

    factory: str  # package.module:factory, which gives the module; empty where nobody said
    description: str  # such as LSTM 300 × 2
    follows: bool  # whether its labels are the words that follow
    fed: tuple[int, ...] | None  # the shape of one text's numbers; None: the code prepares them
    kinds: tuple[Kind, ...]
    labels: int
    difference: float  # the largest between recomputed and real outputs, in one batch
    settings: Settings = field(default_factory=Settings)  # how it is read

    @classmethod
    def from_json(cls, value: Any, path: Path) -> "UserRecord":
        """The inverse of `asdict`."""
        try:
            kinds = tuple(map(Kind.from_json, value["kinds"]))
            fed = None if value["fed"] is None else tuple(map(int, value["fed"]))
            factory, described = str(value["factory"]), str(value["description"])
            follows, labels = bool(value["follows"]), int(value["labels"])
            apart = float(value["difference"])
            settings = Settings.from_json(value.get("settings", {}))
            return cls(factory, described, follows, fed, kinds, labels, apart, settings)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise RnnlensError(
                f"{path / 'model.json'} is damaged ({error!r}); restore it or make the run anew"
            ) from error


class _Guarded(Adapter):
    """Tells what goes wrong in a module's own code in one line: there is no notebook to show it."""

    def _run(self, capture: Capture, batch: Any) -> Any:
        with users_code(f"the forward of {type(self.module).__name__}"):
            return super()._run(capture, batch)


def names_of(given: Any, what: str) -> tuple[str, ...]:
    """Names in the order of their numbers, from a list or from a mapping either way round."""
    if isinstance(given, Mapping):
        for names, numbers in ((given.keys(), given.values()), (given.values(), given.keys())):
            if set(numbers) == set(range(len(given))):
                given = [name for _, name in sorted(zip(numbers, names, strict=True))]
                break
    if isinstance(given, str | Mapping | AbstractSet) or not isinstance(given, Iterable):
        raise RnnlensError(
            f"{what} is {type(given).__name__}; give the names as a list, in the order of their "
            "numbers"
        )
    found = tuple(map(str, given))
    twice = next((name for name, count in Counter(found).items() if count > 1), None)
    if twice is not None:
        raise RnnlensError(f"two names of {what} are {twice!r}; give each its own")
    return found


def user_model(given: Any, what: str) -> UserModel:
    """Of what somebody gives: a UserModel, a pair (module, labels), a module, or a factory."""
    if callable(given) and not isinstance(given, nn.Module):
        given = given()
    if isinstance(given, nn.Module):
        return UserModel(given)
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], nn.Module):
        return UserModel(*given)
    if not isinstance(given, UserModel):
        raise RnnlensError(
            f"{what} gave {type(given).__name__}; give a module, a pair (module, labels) or "
            "rnnlens.UserModel, or a function that returns one"
        )
    return given


def user_model_at(where: str) -> UserModel:
    """What `package.module:factory` gives; errors in its code are told in one line."""
    found = _found(where)
    with users_code(where):
        made = user_model(found, where)
    return replace(
        made,
        where=where,
        words=_guarded(_listed(made.words), f"words= of {where}"),
        prepare=made.prepare and _guarded(made.prepare, f"prepare= of {where}"),
        logits=made.logits and _guarded(made.logits, f"logits= of {where}"),
        batches=made.batches and _guarded(_listed(made.batches), f"batches= of {where}"),
    )


def _found(where: str) -> Any:
    package, _, name = where.partition(":")
    if not package or not name:
        raise RnnlensError(f"{where!r} names no model; write package.module:factory")
    try:
        with users_code(package, ImportError):
            found = import_module(package)
    except ImportError as error:
        raise RnnlensError(
            f"cannot import {package} ({error}); run this where it is, or put its folder on "
            "PYTHONPATH"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            at = getattr(found, "__file__", None) or "built in"
            raise RnnlensError(f"{package} ({at}) has no {name}; name a function that is there")
        found = getattr(found, part)
    return found


def _listed(function: Callable[..., Iterable[Result]]) -> Callable[..., list[Result]]:
    """The same at once: a generator would raise later, outside of any guard."""
    return lambda given: list(function(given))


def _guarded(function: Callable[..., Result], what: str) -> Callable[..., Result]:
    """The same function; whatever it raises is told in one line."""

    def called(*given: Any) -> Result:
        with users_code(what):
            return function(*given)

    return called


@contextmanager
def users_code(what: str, but: type[Exception] = RnnlensError) -> Iterator[None]:
    """Tell what goes wrong in somebody's code in one line: what, where and why."""
    try:
        yield
    except (RnnlensError, but):
        raise
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        theirs = [frame for frame in frames if "site-packages" not in frame.filename]
        last = (theirs or frames)[-1]
        said = " ".join(str(error).split()) or "no reason given"
        raise RnnlensError(
            f"{what} failed: {type(error).__name__}: {said} ({last.filename}, line {last.lineno}); "
            "mend it there"
        ) from error
