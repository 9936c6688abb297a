"""Tasks whose right answers are known: brackets, parities, products of permutations, recall."""

import random
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import write_bytes

Steps = list[tuple[str, str]]  # what is read, and what is right after it
UNASKED = "-"


def write_text(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    write_bytes(path, text.encode())


# `size` is how deep, how long or how many pairs.


def brackets(chance: random.Random, size: int) -> Steps:
    """Brackets of two sorts to a depth; right is what closes next."""
    open_, steps = list[str](), Steps()
    for left in range(6 * size, 0, -1):
        opens = len(open_) < min(size, left - 1) and (not open_ or chance.random() < 0.55)
        if not opens and not open_:
            break
        if opens:
            open_.append(chance.choice(")]"))
            steps.append(("(" if open_[-1] == ")" else "[", open_[-1]))
        else:
            read = open_.pop()
            steps.append((read, open_[-1] if open_ else "none"))
    return steps


def parity(chance: random.Random, size: int) -> Steps:
    """Whether an odd number of ones was read."""
    bits = [chance.randrange(2) for _ in range(5 * size)]
    odd = np.cumsum(bits) % 2
    return [
        ("one" if bit else "zero", "odd" if o else "even") for bit, o in zip(bits, odd, strict=True)
    ]


def products(chance: random.Random, size: int) -> Steps:
    """The product of the permutations of three things that were read."""
    every = list(permutations(range(3)))
    state, steps = every[0], Steps()
    for _ in range(5 * size):
        by = chance.choice(every)
        state = tuple(state[k] for k in by)
        steps.append(("s" + "".join(map(str, by)), "p" + "".join(map(str, state))))
    return steps


def recall(chance: random.Random, size: int) -> Steps:
    """Pairs of keys and values, of which one key comes again: right is its value."""
    keys = chance.sample([f"k{n}" for n in range(32)], 2 * size)
    pairs = {key: f"v{chance.randrange(8)}" for key in keys}
    steps = [(word, UNASKED) for pair in pairs.items() for word in pair]
    again = chance.sample(keys, size)
    return steps + [(key, pairs[key]) for key in again]


TASKS: dict[str, Callable[[random.Random, int], Steps]] = {
    "brackets": brackets, "parity": parity, "products": products, "recall": recall,
}  # fmt: skip
FEWEST = 8  # sequences of a part
_LEARNT, _BEYOND = 4, 8  # sizes that are trained on, at most, and that are asked beyond


def make_task(folder: Path, task: str, count: int) -> Path:
    """Files of a task: train, valid (within) and test (beyond); of another count they stay."""
    if (folder / "test.txt").exists():
        if (was := len(read_task(folder / "train.txt"))) != count:
            raise RnnlensError(
                f"{folder} has {was} sequences, not {count}; give --count {was}, or another folder"
            )
        return folder / "train.txt"
    folder.mkdir(parents=True, exist_ok=True)
    parts = {"train": (count, 1, _LEARNT), "valid": (count // 10, _LEARNT, _LEARNT),
             "test": (count // 10, _BEYOND, _BEYOND)}  # fmt: skip
    for name, (number, least, most) in parts.items():
        chance = random.Random(f"{task} {name}")
        every = [
            TASKS[task](chance, chance.randint(least, most)) for _ in range(max(FEWEST, number))
        ]
        rows = ("".join(f"{word} {right}\n" for word, right in steps) for steps in every)
        write_text(folder / f"{name}.txt", "\n".join(rows))
    return folder / "train.txt"


def read_task(path: Path) -> list[Steps]:
    """The sequences of a file of a task."""
    blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
    return [[(row.split()[0], row.split()[1]) for row in block.splitlines()] for block in blocks]
