"""A language whose right behaviour is known: brackets of several sorts that close as they opened.

    python scripts/brackets.py make FOLDER          train.txt of some depth, deep.txt of twice that
    rnnlens train FOLDER/train.txt -o RUN --format text --min-count 1
    python scripts/brackets.py check RUN FOLDER/deep.txt

The check asks after every bracket: is the label that the network finds most probable one that may
come next? And where a bracket closes there, is the right one the most probable of those that close?
"""

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.run.folder import Run

SORTS = ("()", "[]", "{}", "<>")
_CLOSE = 0.6  # how probable it is that a bracket closes, once the word is as deep as it is to be
_OPEN = 0.6  # and that one opens before
_AT_ONCE = 256  # words that are read side by side


def word(chance: random.Random, sorts: Sequence[str], depth: int) -> list[str]:
    """A balanced word that is just so deep, and so begins and ends with what belongs together."""
    open_, made, reached = list[str](), list[str](), False
    while not made or open_:
        room = len(open_) < depth and len(made) < 12 * depth
        opens = not open_ or (room and chance.random() < (1 - _CLOSE if reached else _OPEN))
        if opens:
            sort = chance.choice(sorts)
            open_.append(sort[1])
            made.append(sort[0])
        else:
            made.append(open_.pop())
        reached = reached or len(open_) == depth
        if not open_ and not reached:  # it closed before it was deep enough
            made = []
    return made


def words(count: int, sorts: Sequence[str], depths: range, seed: int) -> Iterator[list[str]]:
    """Words of all these depths alike."""
    chance = random.Random(seed)
    for k in range(count):
        yield word(chance, sorts, depths[k % len(depths)])


def asked_for(made: Sequence[str]) -> list[str]:
    """After each bracket, the one that may close next; empty where nothing is open."""
    closing, open_, wanted = {sort[0]: sort[1] for sort in SORTS}, list[str](), list[str]()
    for bracket in made:
        if bracket in closing:
            open_.append(closing[bracket])
        else:
            open_.pop()
        wanted.append(open_[-1] if open_ else "")
    return wanted


@dataclass
class Tally:
    """How often a network is right at one depth."""

    asked: int = 0
    legal: int = 0
    closings: int = 0
    right: int = 0


@dataclass
class Check:
    """What a network makes of words, by how many brackets are open."""

    depths: dict[int, Tally] = field(default_factory=dict)

    def add(self, made: Sequence[str], labels: Sequence[str], logits: torch.Tensor) -> None:
        """Take in the logits (T, V) after each bracket of a word but the last."""
        opening = {sort[0] for sort in SORTS}
        closing = [k for k, name in enumerate(labels) if name in {sort[1] for sort in SORTS}]
        tops = logits.argmax(-1).tolist()
        closes = logits[:, closing].argmax(-1).tolist()
        depth = 0
        for k, wanted in enumerate(asked_for(made)[:-1]):
            depth += 1 if made[k] in opening else -1
            tally = self.depths.setdefault(depth, Tally())
            tally.asked += 1
            tally.legal += labels[tops[k]] in opening or labels[tops[k]] == (wanted or None)
            if made[k + 1] not in opening:
                tally.closings += 1
                tally.right += labels[closing[closes[k]]] == wanted

    def table(self) -> str:
        """A line for each depth, and one for all."""
        every = Tally()
        lines = [f"{'open':>6}{'asked':>10}{'may follow':>12}{'closings':>10}{'right':>9}"]
        for depth, tally in sorted(self.depths.items()):
            lines.append(_line(str(depth), tally))
            for name in vars(every):
                setattr(every, name, getattr(every, name) + getattr(tally, name))
        return "\n".join([*lines, _line("all", every)])


def _line(name: str, tally: Tally) -> str:
    legal, right = tally.legal / max(1, tally.asked), tally.right / max(1, tally.closings)
    return f"{name:>6}{tally.asked:>10,}{legal:>12.2%}{tally.closings:>10,}{right:>9.2%}"


@torch.no_grad()
def check(run: Run, path: Path) -> Check:
    """Have the network of a run read the words of a file, one a line."""
    network, vocabulary, found = run.network(), run.vocabulary(), Check()
    every = sorted((line.split() for line in path.read_text().splitlines() if line), key=len)
    if not every:
        raise RnnlensError(f"{path} holds no word; make some: python scripts/brackets.py make")
    for first in range(0, len(every), _AT_ONCE):
        some = [vocabulary.encode(one) for one in every[first : first + _AT_ONCE]]
        longest = max(map(len, some))
        inputs = torch.tensor([ids + [0] * (longest - len(ids)) for ids in some]).T
        logits = network.trace(inputs).logits
        if logits is not None:
            for k, ids in enumerate(some):
                found.add(every[first + k], vocabulary.labels, logits[: len(ids), k])
    return found


def main() -> None:
    """Make words, or check a run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="write train.txt and deep.txt")
    make.add_argument("folder", type=Path)
    make.add_argument("--sorts", type=int, default=2, help="of brackets (default: 2)")
    make.add_argument("--depth", type=int, default=5, help="most open in training (default: 5)")
    make.add_argument("--words", type=int, default=20_000, help="to train on (default: 20000)")
    make.add_argument("--seed", type=int, default=0)
    asked = verbs.add_parser("check", help="say how often a network is right")
    asked.add_argument("run", type=Path)
    asked.add_argument("file", type=Path)
    args = parser.parse_args()
    if args.verb == "check":
        print(check(Run(args.run), args.file).table())
        return
    args.folder.mkdir(parents=True, exist_ok=True)
    sorts, n = SORTS[: args.sorts], args.depth
    parts = {
        "train.txt": (args.words, range(1, n + 1)),
        "deep.txt": (max(1, args.words // 10), range(n + 1, 2 * n + 1)),
    }
    for seed, (name, (count, depths)) in enumerate(parts.items(), args.seed):
        lines = (" ".join(one) + "\n" for one in words(count, sorts, depths, seed))
        (args.folder / name).write_text("".join(lines))


if __name__ == "__main__":
    main()
