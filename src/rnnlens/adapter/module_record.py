"""What a run keeps of a user's module, and opens before any code is imported: its record."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge, Le, Len, MaxLen, Predicate

from rnnlens.adapter.axes.axes import MOST_FEATURES
from rnnlens.adapter.batches import LABEL, LABELS, NOTHING, NUMBER
from rnnlens.adapter.source import SourceRecord
from rnnlens.adapter.texts import MOST_STEPS, Padding
from rnnlens.adapter.user_model import UserModel
from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Sha, Strict
from rnnlens.corpus.pieces.pattern import LONGEST, Pattern, UnknownPartError
from rnnlens.labels.sets import MOST_LABELS, LabelSet, Scale
from rnnlens.model.cells.classic import completed
from rnnlens.model.kinds import MOST_KINDS, Kind

_Factory = Annotated[str, Predicate(re.compile(r"([\w.]+:[\w.]+)?").fullmatch)]
_Sha = Annotated[str, Predicate(re.compile("([0-9a-f]{64})?").fullmatch)]


@dataclass(frozen=True)
class StoredOptions(Strict):
    """The options of a `UserModel` that a file can hold, and the names of those it cannot."""

    kinds: Annotated[tuple[Name, ...], MaxLen(MOST_KINDS)] = ()
    exclude: Annotated[tuple[Name, ...], MaxLen(MOST_KINDS)] = ()
    batch_first: bool | None = None
    #: The names of the functions that were given.
    functions: Annotated[tuple[Name, ...], MaxLen(100)] = ()
    #: What `prepare` puts in front of a text, in place of its last word.
    mark: Count | None = None
    letters: bool = False  # whether every letter of a text is a word: words=list
    #: What finds the words of a text, where a regular expression does: words=re.compile(...)
    pattern: Annotated[str, MaxLen(LONGEST)] = ""

    def __post_init__(self) -> None:
        if self.pattern:
            try:
                _ = Pattern(self.pattern).plain
            except UnknownPartError as error:
                raise ValueError(f"a pattern with {error}, which is not known") from error

    @classmethod
    def of(cls, user: UserModel, word_count: int) -> "StoredOptions":
        """The options of a module that reads so many words."""
        letters = user.words is list
        pattern = user.words.written if isinstance(user.words, Pattern) else ""
        known = {"batches", "words"} if letters or pattern else {"batches"}
        functions = tuple(name for name in user.functions if name not in known)
        kinds, exclude = tuple(user.kinds), tuple(user.exclude)
        mark = user.mark(word_count)
        return cls(kinds, exclude, user.batch_first, functions, mark, letters, pattern)

    @property
    def splitter(self) -> Callable[[str], list[str]] | None:
        """Splits a text, where no function of the user's does."""
        return Pattern(self.pattern) if self.pattern else list if self.letters else None

    def completed(self, user: UserModel, label_count: int) -> UserModel:
        """A module with these options where it has none; functions have to be given again."""
        missing = [name for name in self.functions if name not in user.functions]
        if missing:
            again = ", ".join(f"{name}=..." for name in missing)
            raise RnnlensError(
                f"the probes were fitted with {', '.join(f'{name}=' for name in missing)}, which a "
                f"run cannot hold; give model=rnnlens.UserModel(module, {again}) with the same"
            )
        return replace(
            user,
            labels=tuple(map(str, range(label_count))) if user.labels is None else user.labels,
            words=self.splitter or user.words,
            kinds=user.kinds or self.kinds,
            exclude=user.exclude or self.exclude,
            batch_first=self.batch_first if user.batch_first is None else user.batch_first,
        )


@dataclass(frozen=True)
class ModuleRecord(Strict):
    """All that is known of a user's module without its code; as a file, a run's model.json."""

    factory: _Factory  # package.module:factory, which gives the module; may be empty
    description: Name  # such as LSTM 300 × 2
    follows: bool  # whether its labels are the words that follow
    #: The shape of one text's numbers, -1 along the words; None: the code prepares them.
    fed: Annotated[tuple[int, ...], Len(1, 8)] | None
    kinds: Annotated[tuple[Kind, ...], Len(1, MOST_KINDS)]
    labels: Annotated[int, Ge(1), Le(MOST_LABELS)]
    difference: Annotated[float, Ge(0)]  # the largest between recomputed and real outputs
    settings: StoredOptions = field(default_factory=StoredOptions)  # how it is read
    #: Numbers that it reads at each timestep; 0: words.
    features: Annotated[int, Ge(0), Le(MOST_FEATURES)] = 0
    several: bool = False  # whether its labels hold or not each by itself
    scale: Scale | None = None  # of the numbers that it predicts; its labels are the bins
    predicts: bool = True  # whether its labels are what it predicts itself
    sha256: _Sha = ""  # of model.safetensors; empty until the module is saved
    padding: Padding | None = None  # that stands around a text
    begin: Count | None = None  # the word that every sequence began with, and every text does
    #: The timestep of a text's first word; negative: that of its last, from the end.
    first: Annotated[int, Ge(-MOST_STEPS), Le(MOST_STEPS)] = 0
    vocabulary: Sha | None = None  # of vocabulary.json; older versions did not keep it
    tokenizer: Sha | None = None  # of tokenizer.json, which splits texts where there is one
    source: SourceRecord | None = None  # of an encoder beside the decoder

    @property
    def sort(self) -> str:
        """What it predicts."""
        if not self.predicts:
            return NOTHING
        return NUMBER if self.scale else LABELS if self.several else LABEL

    def answers(self, names: Sequence[str]) -> LabelSet:
        """Its labels, by their names."""
        return LabelSet(tuple(names), self.several, self.scale)

    def __post_init__(self) -> None:
        ids = [kind.id for kind in self.kinds]
        if len(set(ids)) != len(ids):
            raise ValueError("two kinds have the same id")
        if not all(kind.is_sound for kind in self.kinds):
            raise ValueError("a kind is not such as a module has")
        earlier = {edge.kind for kind in self.kinds for edge in kind.sources if edge.back > 0}
        if not earlier <= set(ids):
            raise ValueError("a kind is computed from one that there is not")
        fed = self.fed or (-1,)
        if self.features and len(fed) == 3 and fed[2] == self.features:
            fed = fed[:2]
        if sorted(fed) != [-1] + [1] * (len(fed) - 1):
            raise ValueError("a text's numbers lie along one axis")
        if self.source and not {*self.source.kinds} < {*ids}:
            raise ValueError("not all kinds of its source are kinds, or none is of its target")
        if self.scale and len(self.scale.middles) != self.labels:
            raise ValueError("there are not as many bins as labels")
        if self.scale and self.predicts and not self.scale.error:
            raise ValueError("how far its numbers are off is not said")
        object.__setattr__(self, "kinds", completed(self.kinds))
