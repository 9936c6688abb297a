"""What two lenses have in common: kinds by their ids, labels by their names."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.labels.marks import NUM, UNK
from rnnlens.labels.sets import LabelSet
from rnnlens.reading.divergence import Difference, Floats, bits_between
from rnnlens.reading.payload import Column
from rnnlens.reading.source import GridSource

REST = "(all labels that only one of them has)"
_NEVER = -1e30  # a logit whose probability is 0
_NAMED = 6  # kinds that a note lists
_HARDLY = 0.02  # of what either was trained on: less in common says nothing of the two


@dataclass(frozen=True)
class Common:
    """Columns that both have, and distributions over labels that both have."""

    columns: tuple[Column, ...]  # as the first has them
    answers: LabelSet  # that distributions are compared over
    notes: tuple[str, ...]  # what is not compared, or not label by label
    shared: tuple[Tensor, Tensor] | None = None  # numbers of the labels; None: all of them
    rest: tuple[Tensor, Tensor] | None = None  # and of those that only one has

    @classmethod
    def of(cls, first: GridSource, second: GridSource, semantic: str) -> "Common":
        """What they share under a semantic; lenses that share nothing are refused."""
        answers = [lens.answers(semantic) for lens in (first, second)]
        every = [lens.columns_for(semantic) for lens in (first, second)]
        if first is second:
            return cls(tuple(every[0]), answers[0], ())
        ids = {column.id for column in every[1]}
        columns = tuple(column for column in every[0] if column.id in ids)
        notes = [
            _only(one.name, [c.id for c in mine if c.id not in {d.id for d in others}])
            for one, mine, others in ((first, every[0], every[1]), (second, every[1], every[0]))
        ]
        if answers[0] == answers[1]:
            return cls(columns, answers[0], tuple(filter(None, notes)))
        names = [one.names for one in answers]
        places = {label: k for k, label in enumerate(names[1])}
        labels = tuple(label for label in names[0] if label in places)
        _check((first, second), semantic, answers, labels)
        known = set(labels)
        numbers = [
            [[k for k, label in enumerate(one) if (label in known) is inside]
             for inside in (True, False)]
            for one in names
        ]  # fmt: skip
        numbers[1][0] = [places[label] for label in labels]
        shared, rest = (
            (
                torch.tensor(numbers[0][k], dtype=torch.long),
                torch.tensor(numbers[1][k], dtype=torch.long),
            )
            for k in (0, 1)
        )
        notes.append(
            f"{len(labels):,} labels are in both; {len(rest[0]):,} only in {first.name} and "
            f"{len(rest[1]):,} only in {second.name} count as one"
        )
        return cls(columns, LabelSet((*labels, REST)), tuple(filter(None, notes)), shared, rest)

    def difference(self, after: Tensor, before: Tensor) -> Difference:
        """How far states of the second with these logits lie from states of the first."""
        return Difference.of(self.logits(1, after), self.logits(0, before), self.answers)

    def bits(self, after: Tensor, before: Tensor) -> Floats:
        """The same without what else is told of a difference."""
        pooled = self.answers.pooled
        return bits_between(pooled(self.logits(1, after)), pooled(self.logits(0, before)))

    def logits(self, side: int, logits: Tensor) -> Tensor:
        """What states of the first (0) or the second (1) say of all answers, (N, answers)."""
        if self.shared is None or self.rest is None:
            return logits
        others = logits[:, self.rest[side]].logsumexp(1).clamp_min(_NEVER)
        return torch.cat([logits[:, self.shared[side]], others[:, None]], 1)


def _check(
    lenses: Sequence[GridSource], semantic: str, answers: Sequence[LabelSet], labels: Sequence[str]
) -> None:
    """Refuse lenses that predict hardly anything of the same; `labels` have the same name."""
    follows = {lens.session.text.follows for lens in lenses}
    share = min(_share(one, semantic, {*labels}) for one in lenses)
    what = ""
    if any(one.several or one.scale for one in answers):
        what = "other numbers or sets of labels"
    elif len(follows) > 1:  # the next word, and something else of this one
        what = "labels of other sorts"
    elif share < _HARDLY:
        what = f"{'hardly a' if share else 'no'} label in common"
    if what:
        first, second = (one.names[0] for one in answers)
        raise RnnlensError(
            f"{lenses[0].name} and {lenses[1].name} have {what}, such as {first!r} and {second!r}; "
            "compare runs that predict the same"
        )


def _share(lens: GridSource, semantic: str, labels: AbstractSet[str]) -> float:
    """How much of what a lens is asked for are some labels, by how often each came in training.

    UNK and NUM stand for any words, and are not counted.
    """
    names = lens.answers(semantic).names
    counts = lens.probes.counts.get(semantic) if lens.probes else None
    often = [1] * len(names) if counts is None else counts.tolist()
    known = {n: often[k] for k, n in enumerate(names) if n not in (UNK, NUM)}
    return sum(known[n] for n in known.keys() & labels) / max(1, sum(known.values()))


def _only(name: str, ids: Sequence[str]) -> str:
    """That only one of two has some kinds."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"only {name} has {', '.join(ids[:_NAMED])}{more}" if ids else ""
