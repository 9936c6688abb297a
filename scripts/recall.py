r"""A language whose right behaviour is known: keys are given values, and asked for.

    python scripts/recall.py make FOLDER       train.txt, long.txt of twice as many moves, colours
    rnnlens train FOLDER/train.txt -o RUN --colours FOLDER/colours.json --format text \
      --min-count 1 --no-lowercase --no-numbers
    python scripts/recall.py check RUN FOLDER/long.txt

`b 3` gives b the value 3, and takes away the one that it had; `? b 3` asks for it and has the
answer. So after `? b` there is one right word, the value that b was given last, and where it was
given is known. The check counts how often it is the most probable one, where b was given once, and
where it was given anew: then the value before must have been erased.
"""

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.run.folder import Run

KEYS, VALUES, ASKED = "abcdefgh", "0123456789", "?"
MOVES = 10  # of a text
COLOURS = {"KEY": "#0072b2", "VALUE": "#009e73", "QUESTION": "#cc79a7"}


def text(chance: random.Random, moves: int) -> list[str]:
    """Keys that are given values or asked for, the last one asked for."""
    words, now = list[str](), dict[str, str]()
    for left in range(moves, 0, -1):
        if now and (left == 1 or chance.random() < 0.5):
            key = chance.choice(sorted(now))
            words += [ASKED, key, now[key]]
        else:
            key, value = chance.choice(KEYS), chance.choice(VALUES)
            words += [key, value]
            now[key] = value
    return words


def texts(count: int, moves: int, seed: int) -> Iterator[list[str]]:
    """Texts of so many moves, and of fewer."""
    chance = random.Random(seed)
    for _ in range(count):
        yield text(chance, chance.randint(moves // 2, moves))


def questions(words: Sequence[str]) -> Iterator[tuple[int, bool]]:
    """The rows of keys that are asked for, and whether each had been given more than one value."""
    given = dict[str, int]()
    for row, word in enumerate(words):
        asked = row > 0 and words[row - 1] == ASKED
        if word in KEYS and not asked:
            given[word] = given.get(word, 0) + 1
        elif word in KEYS:
            yield row, given[word] > 1


@torch.no_grad()
def check(run: Run, every: Sequence[Sequence[str]]) -> dict[bool, tuple[int, int]]:
    """How often the right value is the most probable label, and of how many, by whether the key had
    been given another value before.
    """
    network, vocabulary = run.network(), run.vocabulary()
    if missing := {*KEYS, *VALUES, ASKED} - {*vocabulary.labels}:
        raise RnnlensError(
            f"{run.path} does not know {', '.join(sorted(missing))}; train it with --min-count 1 "
            "--no-lowercase --no-numbers"
        )
    found = dict.fromkeys((False, True), (0, 0))
    for words in every:
        ids = torch.tensor(vocabulary.encode(words))[:, None]
        trace = network.trace(ids)
        said = network.predict(trace.prediction[:, 0]).argmax(-1)
        for row, again in questions(words):
            right, asked = found[again]
            found[again] = (right + int(said[row] == ids[row + 1, 0]), asked + 1)
    return found


def main() -> None:
    """Make texts, or check a run on some."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    make = verbs.add_parser("make", help="write train.txt and long.txt")
    make.add_argument("folder", type=Path)
    make.add_argument("--texts", type=int, default=30_000)
    checking = verbs.add_parser("check", help="how often a run answers right")
    checking.add_argument("run", type=Path)
    checking.add_argument("texts", type=Path)
    args = parser.parse_args()
    if args.verb == "make":
        args.folder.mkdir(parents=True, exist_ok=True)
        for name, count, moves in (("train", args.texts, MOVES), ("long", 1000, 2 * MOVES)):
            lines = (" ".join(words) + "\n" for words in texts(count, moves, seed=moves))
            (args.folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
        groups = dict.fromkeys(KEYS, "KEY") | dict.fromkeys(VALUES, "VALUE") | {ASKED: "QUESTION"}
        colours = json.dumps({"colours": COLOURS, "groups": groups}, indent=1)
        (args.folder / "colours.json").write_text(colours, encoding="utf-8")
        return
    every = [line.split() for line in args.texts.read_text(encoding="utf-8").splitlines()]
    for again, (right, asked) in check(Run(args.run), every).items():
        print(f"{'given anew' if again else 'given once'}: {right} of {asked} right")


if __name__ == "__main__":
    try:
        main()
    except (RnnlensError, OSError) as error:
        raise SystemExit(f"recall: {error}") from error
