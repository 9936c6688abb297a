"""A user's module: how it is read, and how to get it from its code."""

import copy
import re
import sysconfig
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from rnnlens.adapter import modules
from rnnlens.adapter.axes.layout import is_whole, tensors
from rnnlens.adapter.axes.shapes import shaped_kinds
from rnnlens.adapter.recurrence import Recurrence, several
from rnnlens.base.errors import RnnlensError
from rnnlens.corpus.pieces.pattern import Pattern, UnknownPartError
from rnnlens.corpus.pieces.piece_text import PieceText
from rnnlens.corpus.read import Sentence

_FUNCTIONS = ("words", "prepare", "feed", "logits", "batches")  # the options that are functions
_LISTED = 6  # things that a module was given, which a message names


@dataclass(frozen=True)
class UserModel:
    """A trained module and how it is read.

    The factory of `rnnlens fit --model` returns one. `rnnlens.fit` and `rnnlens.Adapter` take one,
    or a module with the same options: `rnnlens.fit(module, batches, labels, words=list)`. A
    language model needs `module` and `labels`, the words it predicts.
    """

    #: Trained, on whatever device.
    module: nn.Module
    #: Names of what it predicts, in the order of their numbers.
    labels: Sequence[str] | None = None
    #: Names of what it reads, where these are not the labels.
    inputs: Sequence[str] | None = None
    #: Splits a text into these: a function, `list` for letters, or `re.compile(...)`, whose matches
    #: are the words; `str.split` unless another is given.
    words: "Callable[[str], Iterable[str]] | re.Pattern[str]" = field(
        default_factory=lambda: str.split
    )
    #: Splits a text into pieces of words, which it names: a tokenizer of the libraries `tokenizers`
    #: or `transformers`, or the path of its tokenizer.json.
    tokenizer: Any = None
    #: From the numbers of a text's words to what the module is fed, where that is more than one
    #: tensor of them.
    prepare: Callable[..., Any] | None = None
    #: Further submodules whose outputs are kinds, by their dotted names; `"cell[1]"` is the second
    #: output of several, and `"conv: b c t"` names the axes of one. Of a recurrent part with a
    #: forward of its own only the output is read.
    kinds: Iterable[str] = ()
    #: Gives a batch to the module; without it a tuple gives positional, a dict named arguments.
    feed: Callable[[nn.Module, Any], Any] | None = None
    #: Picks the logits from what the module returns; from a forecaster, the numbers.
    logits: Callable[[Any], Any] | None = None
    #: Whether sequences come before timesteps, where nothing else tells.
    batch_first: bool | None = None
    #: Makes pairs (what the module is fed, its targets) of sentences. Without it, a module whose
    #: labels are its words is asked for the next word, and one whose labels are universal parts of
    #: speech for a word's tag.
    batches: Callable[[list[Sentence]], Iterable[tuple[Any, Tensor]]] | None = None
    #: Recurrent parts that are not read, by their dotted names.
    exclude: Iterable[str] = ()
    #: Targets of this number count as none, as negative labels do.
    ignore_index: float | None = None
    #: How many words it reads each time, where that is always the same number and no batch shows
    #: what fills it up.
    length: int | None = None
    #: What stands in front of a shorter text then, a word or its number; batches may show it.
    pad: str | int | None = None
    #: Layers of its own whose memory is linear, and where their decay, write and read are.
    recurrences: Sequence[Recurrence] = ()
    #: Of an encoder-decoder, the names of what the encoder reads, in the order of their numbers: a
    #: text is then a pair, `source => target`, and `prepare` is given the numbers of both. Where
    #: one tokenizer splits both sides, it is the `tokenizer` once more.
    source: Any = None
    #: The submodule whose weights over the source are its attention, where they are not found.
    attention: str | None = None
    where: str = ""  # package.module:factory, where it came from there

    def __post_init__(self) -> None:
        modules.unwrapped(self.module)  # refuses what is no module
        for name in ("kinds", "exclude"):
            value = getattr(self, name)
            names = (value,) if isinstance(value, str) else tuple(value)
            if strange := [item for item in names if not isinstance(item, str)]:
                raise RnnlensError(f"{name}= names {strange[0]!r}; give dotted names of submodules")
            shaped_kinds(names if name == "kinds" else ())  # refuses what is no shape
            object.__setattr__(self, name, names)  # an iterator could be read only once
        self._take_names()
        object.__setattr__(self, "recurrences", several(self.recurrences))
        if self.batch_first not in (None, True, False):
            raise RnnlensError(f"batch_first= is {self.batch_first!r}; give True or False")
        for name, sorts in (("length", int), ("pad", (int, str))):
            value = getattr(self, name)
            wrong = isinstance(value, bool) or not isinstance(value, sorts)
            wrong = wrong or (isinstance(value, int) and value < (1 if name == "length" else 0))
            if value is not None and wrong:
                wanted = "a number of words" if name == "length" else "a word or its number"
                raise RnnlensError(f"{name}= is {value!r}; give {wanted}")
        if self.tokenizer is not None:
            self._take_tokenizer()
        if isinstance(self.words, re.Pattern):
            object.__setattr__(self, "words", _finder(self.words))
        self._check_attention()
        self._check_functions()

    def _take_names(self) -> None:
        """Have all names in the order of their numbers."""
        if self.tokenizer is not None and self.source is self.tokenizer:
            object.__setattr__(self, "source", PieceText.of(self.tokenizer).names)
        for name in ("labels", "inputs", "source"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, names_of(getattr(self, name), f"{name}="))

    def _take_tokenizer(self) -> None:
        """Have the tokenizer in a form of ours, and its pieces as the names of what is read."""
        if self.words is not str.split:
            raise RnnlensError("words= and tokenizer= both split texts; give one of them")
        known = isinstance(self.tokenizer, PieceText)
        pieces = PieceText.of(self.tokenizer)
        object.__setattr__(self, "tokenizer", pieces)
        if self.inputs is not None and not known:
            raise RnnlensError(
                "inputs= and tokenizer= both name what the module reads; leave inputs= out"
            )
        embedding = modules.embedding(modules.unwrapped(self.module))
        count = len(pieces.tokens) if embedding is None else embedding.num_embeddings
        object.__setattr__(self, "inputs", pieces.named(count, "reads"))

    def _check_functions(self) -> None:
        for name in _FUNCTIONS:
            value = getattr(self, name)
            if not (callable(value) or (value is None and name != "words")):
                raise RnnlensError(f"{name}= is {type(value).__name__}; give a function")

    def _check_attention(self) -> None:
        wanted: Any = self.attention
        if wanted is not None and not isinstance(wanted, str):
            given = type(wanted).__name__
            raise RnnlensError(f"attention= is {given}; give the dotted name of a submodule")
        if self.attention is not None and self.source is None:
            raise RnnlensError(
                "attention= is given and no source; name what the encoder reads: source="
            )

    @classmethod
    def of(cls, module: "nn.Module | UserModel", **options: Any) -> "UserModel":
        """A module with its options, which take the place of those that a UserModel has."""
        return (
            replace(module, **options) if isinstance(module, UserModel) else cls(module, **options)
        )

    def split(self, text: str) -> Iterable[str]:
        """The words of a text."""
        if self.tokenizer is not None:
            return [self.tokenizer.names[number] for number in self.tokenizer.encode(text)]
        assert callable(self.words)  # noqa: S101 - patterns were made functions
        with users_code("words="):
            return self.words(text)

    @property
    def functions(self) -> dict[str, Any]:
        """What was given that no file can hold, functions and recurrences, by the names of their
        options.
        """
        every = {name: getattr(self, name) for name in (*_FUNCTIONS, "recurrences")}
        return {name: value for name, value in every.items() if value not in (None, str.split, ())}

    def mark(self, count: int) -> int | None:
        """The number, such as that of `<s>`, that `prepare` puts in front of a text's words.

        The last word is then left out. `count` is how many words there are. None where `prepare`
        gives the module the words themselves, or something else.
        """
        if self.prepare is None or count < 3 or self.source is not None:
            return None
        ids = [number % count for number in (1, 2, 0, 2, 1)]
        marks = set[int | None]()
        for tried in (ids, ids[1:]):
            try:
                fed = tensors(self.prepare(list(tried)))
                rows = [tensor.flatten().tolist() for _, tensor in fed if is_whole(tensor)]
            except Exception:  # noqa: BLE001 - the user's; it is raised again when a text is read
                return None
            shifted = [numbers for numbers in rows if numbers[1:] == tried[:-1]]
            marks.add(shifted[0][0] if shifted else None)
        return marks.pop() if len(marks) == 1 else None

    def weights(self) -> dict[str, Tensor]:
        """Everything its module has learnt, by name; tied tensors are there under each name."""
        state = modules.unwrapped(self.module).state_dict()
        return {name: t.detach().clone() for name, t in state.items() if isinstance(t, Tensor)}

    def with_weights(self, weights: Mapping[str, Tensor]) -> "UserModel":
        """A copy of the module, which nobody else has, with these in place of its weights."""
        what = self.where or "the module"
        with users_code(f"copying what {what} gives"):
            copied = replace(self, module=copy.deepcopy(self.module))
        old = copied.weights()
        missing, extra = sorted(old.keys() - weights.keys()), sorted(weights.keys() - old.keys())
        other = [n for n in old if n in weights and old[n].shape != weights[n].shape]
        if missing or extra or other:
            name = (missing or extra or other)[0]
            how = "is new" if missing else "is missing" if extra else "has another shape"
            raise RnnlensError(
                f"{what} is not what the run was made with: the weight {name} {how}; restore the "
                "code of that time, or fit anew"
            )
        with users_code(f"putting the run's weights into {what}"):
            modules.unwrapped(copied.module).load_state_dict(dict(weights), strict=False)
        return copied

    @property
    def device(self) -> torch.device:
        """Where its module is; one without weights is read on the CPU."""
        return next(iter(modules.devices(self.module)), torch.device("cpu"))


def _finder(pattern: "re.Pattern[str]") -> Callable[[str], list[str]]:
    """The words that a pattern finds: by a form of it that a run can keep, where there is one."""
    try:
        return Pattern.of(pattern)
    except UnknownPartError:
        return lambda text: [found[0] for found in pattern.finditer(text) if found[0]]


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
    functions: dict[str, Any] = {
        name: guarded(function, f"{name}= of {where}", listed=name in ("words", "batches"))
        for name, function in user.functions.items()
        # The adapter reports errors of the forward; what is Python's own has none.
        if name not in ("feed", "recurrences")
        and function is not list
        and not isinstance(function, Pattern)
    }
    return replace(user, where=where, **functions)


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


def guarded(function: Callable[..., Any], what: str, listed: bool = False) -> Callable[..., Any]:
    """A function with its errors reported in one line.

    `listed`: what it returns is made a list, as a generator would raise outside of the guard.
    """

    def call(*arguments: Any) -> Any:
        with users_code(what):
            return list(function(*arguments)) if listed else function(*arguments)

    return call


class UsersCodeError(RnnlensError):
    """A user's own code has failed; its error is the cause."""


@contextmanager
def users_code(
    what: str, but: type[Exception] = RnnlensError, *, given: Any = None
) -> Iterator[None]:
    """Report errors of a user's code in one line, with where and why; `but` passes unchanged.

    `given` is what the code was given, where that helps to find the mistake.
    """
    try:
        yield
    except (RnnlensError, but):
        raise
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split()) or "no reason given"
        fed = f"; it was given {_described(given)}" if given is not None else ""
        raise UsersCodeError(
            f"{what} failed: {type(error).__name__}: {reason} ({_place(error)}){fed}; mend it there"
        ) from error


def _place(error: BaseException) -> str:
    """The last line of somebody's own code on the way to an error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours, pythons = str(Path(__file__).parents[1]), sysconfig.get_path("stdlib")
    libraries = ("site-packages", "dist-packages", ours, pythons, "<frozen ")
    users = [f for f in frames if not any(part in f.filename for part in libraries)]
    last = (users or frames)[-1]
    return f"{last.filename}, line {last.lineno}"


def _described(given: Any) -> str:
    """What a module was given, in few words: of tensors their types, shapes and ranges."""
    if isinstance(given, PackedSequence):
        return f"packed sequences of {_described(given.data)}"
    if isinstance(given, Tensor):
        sort = f"{str(given.dtype).removeprefix('torch.')} {tuple(given.shape)}"
        whole = is_whole(given) and given.numel() and given.device.type != "meta"
        return f"{sort} of {int(given.min())} to {int(given.max())}" if whole else sort
    if isinstance(given, Mapping):
        some = [f"{key}: {_described(value)}" for key, value in islice(given.items(), _LISTED)]
    elif isinstance(given, tuple | list):
        some = [_described(value) for value in given[:_LISTED]]
    else:
        return type(given).__name__
    more = ", ..." if len(given) > _LISTED else ""
    return f"({', '.join(some)}{more})"
