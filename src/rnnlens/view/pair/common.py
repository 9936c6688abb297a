"""What two lenses have in common: kinds by their ids, labels by their names."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rnnlens.corpus.vocabulary import NUM, UNK
from rnnlens.errors import RnnlensError
from rnnlens.view.payload import Column
from rnnlens.view.source import GridSource

REST = "(all labels that only one of them has)"
_NEVER = -1e30  # a logit whose probability is 0
_NAMED = 6  # kinds that a note lists


@dataclass(frozen=True)
class Common:
    """Columns that both have, and distributions over labels that both have."""

    columns: tuple[Column, ...]  # as the first has them
    labels: tuple[str, ...]  # that distributions are compared over
    notes: tuple[str, ...]  # what is not compared, or not label by label
    shared: tuple[Tensor, Tensor] | None = None  # numbers of the labels; None: all of them
    rest: tuple[Tensor, Tensor] | None = None  # and of those that only one has

    @classmethod
    def of(cls, first: GridSource, second: GridSource) -> "Common":
        """Refuse lenses that have nothing to say to each other."""
        if first is second:
            return cls(tuple(first.columns), tuple(first.labels), ())
        ids = {column.id for column in second.columns}
        columns = tuple(column for column in first.columns if column.id in ids)
        notes = [
            _only(
                one.name, [c.id for c in one.columns if c.id not in {d.id for d in other.columns}]
            )
            for one, other in ((first, second), (second, first))
        ]
        if first.labels == second.labels:
            return cls(columns, tuple(first.labels), tuple(filter(None, notes)))
        places = {label: k for k, label in enumerate(second.labels)}
        labels = tuple(label for label in first.labels if label in places)
        if not {*labels} - {UNK, NUM}:  # which stand for any words
            raise RnnlensError(
                f"{first.name} and {second.name} have no label in common, such as "
                f"{first.labels[0]!r} and {second.labels[0]!r}; compare runs that predict the same"
            )
        known = set(labels)
        numbers = [
            [[k for k, label in enumerate(one.labels) if (label in known) is inside]
             for inside in (True, False)]
            for one in (first, second)
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
        return cls(columns, (*labels, REST), tuple(filter(None, notes)), shared, rest)

    def logits(self, side: int, logits: Tensor) -> Tensor:
        """What states of the first (0) or the second (1) say of `labels`, (N, labels)."""
        if self.shared is None or self.rest is None:
            return logits
        others = logits[:, self.rest[side]].logsumexp(1).clamp_min(_NEVER)
        return torch.cat([logits[:, self.shared[side]], others[:, None]], 1)


def _only(name: str, ids: Sequence[str]) -> str:
    """That only one of two has some kinds."""
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    return f"only {name} has {', '.join(ids[:_NAMED])}{more}" if ids else ""
