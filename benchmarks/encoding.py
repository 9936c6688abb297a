"""The grid of a sentence, beside the naive way: one state at a time, sorted, added up in Python.

Of the bundled run, or of yours with --run.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from rnnlens.ask.answer import answer
from rnnlens.ask.grids import GridQuestion
from rnnlens.ask.questions import Subjects
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.probe.semantics import offset
from rnnlens.reading.encoding import Palette, faded
from rnnlens.reading.reading import Reading
from rnnlens.run.folder import BUNDLED, run_at

WORDS = 20
WHOLE, MORE = 60, 10  # ms, what is wanted


@torch.inference_mode()
def grid_json(lens: Lens, text: str, previous: str = "", have: int = 0) -> Any:
    """What the page is answered with, for who has the first rows of the grid of `previous`."""
    question = GridQuestion(text=text, previous=previous, have=have, limit=None)
    return answer(Subjects.of(lens.subject), question)


def naive(lens: Lens, text: str) -> list[list[dict[str, Any]]]:
    """The same rows by the definitions."""
    asked = Reading.of(lens.subject, text)
    palette = asked.palette
    trace = lens.subject.model.trace(lens.subject.session.text.batch(asked.ids))
    own = lens.subject.model.predict(trace.prediction)
    before = {name: torch.zeros(300) for name in trace.states}
    rows = []
    for t in range(len(asked.ids)):
        row = []
        for column in lens.subject.columns:
            kind, at = column.kind.id, t - column.back
            if kind == "y":
                logits = own[t, 0]
            else:
                assert lens.subject.probes
                state = trace.states[kind][at, 0] if at >= 0 else before[kind]
                logits = lens.subject.probes.logits(kind, state, asked.semantic)
            when = at + (1 if kind == "y" else offset(asked.semantic))
            wanted = asked.ids[when] if 0 <= when < len(asked.ids) else None
            row.append(naive_state(logits, palette, lens.labels, wanted))
        rows.append(row)
    return rows


def naive_state(
    logits: torch.Tensor, palette: Palette, labels: Sequence[str], wanted: int | None
) -> dict[str, Any]:
    """One encoding: sort everything, then add up."""
    p = logits.softmax(0)
    order = p.argsort(descending=True, stable=True).tolist()
    sums = dict.fromkeys(palette.groups, 0.0)
    for label in order[: palette.taking_part]:
        sums[palette.groups[palette.group_of[label]]] += float(p[label])
    group = max(sums, key=lambda name: sums[name])
    share = sums[group] / sum(sums.values())
    channels = palette.channels[[palette.groups.index(group)]]
    return {
        "colour": faded(channels, np.array([share]))[0],
        "group": group,
        "share": share,
        "entropy": float(torch.special.entr(p).sum()) / np.log(2),
        "top": [(labels[label], float(p[label])) for label in order[:20]],
        "wanted": wanted
        if wanted is None
        else (labels[wanted], float(p[wanted]), order.index(wanted) + 1),
    }


def same(fast: list[list[dict[str, Any]]], slow: list[list[dict[str, Any]]]) -> None:
    """Refuse to compare the speed of two ways that differ; near ties may change places."""
    for ours, theirs in zip(fast, slow, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a["group"] == b["group"] or abs(a["share"] - b["share"]) < 1e-4
            for key in ("share", "entropy"):
                assert abs(a[key] - b[key]) < 1e-3 * max(1, b[key]), (key, a[key], b[key])
            for (_, p), (_, q) in zip(a["top"], b["top"], strict=True):
                assert abs(p - q) < 1e-4 * q + 1e-8, (p, q)
            assert (a["wanted"] is None) == (b["wanted"] is None)
            if a["wanted"]:
                assert abs(a["wanted"][2] - b["wanted"][2]) <= 1 + 1e-3 * b["wanted"][2]


def milliseconds(function: Callable[[], object], rounds: int) -> float:
    """The median of several timings, after one to warm up."""
    function()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return 1000 * float(np.median(times))


def measure(lens: Lens, text: str, more: str, rounds: int) -> None:
    """Print what a whole grid and one more word take."""
    began = time.perf_counter()
    slow = naive(lens, text)
    naively = 1000 * (time.perf_counter() - began)
    same(grid_json(lens, text)["rows"], slow)

    def whole() -> None:
        lens.subject.forget()
        grid_json(lens, text)

    held = len(slow) - 1
    kinds, labels = len(lens.subject.columns), len(lens.labels)
    grid = milliseconds(whole, rounds)
    grid_json(lens, text)
    word = milliseconds(lambda: grid_json(lens, more, previous=text, have=held), rounds)
    print(f"{len(slow)} words, {kinds} columns, {labels:,} labels; both ways give the same grid")
    print(f"  one state at a time {naively:8.1f} ms")
    times = naively / grid
    print(f"  a whole grid        {grid:8.1f} ms ({times:.0f} times as fast; {WHOLE} is wanted)")
    print(
        f"  one more word       {word:8.1f} ms ({grid / word:.1f} times a whole; {MORE} is wanted)"
    )


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--run", default=BUNDLED, help="a run folder (default: the bundled one)")
    args = parser.parse_args()
    opened(run_at(args.run))  # once, so that the disk's own speed does not count
    began = time.perf_counter()
    lens = opened(run_at(args.run))
    print(f"loading, after torch: {time.perf_counter() - began:.2f} s")
    known = [label for label in lens.labels if label.isalnum()]
    words = [known[k * 37 % len(known)] for k in range(WORDS + 1)]
    measure(lens, " ".join(words[:-1]), " ".join(words), args.rounds)


if __name__ == "__main__":
    main()
