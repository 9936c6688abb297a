"""Suites and interchange against plain loops, in processor time of one run.

    python benchmarks/laboratory.py                     templates that come along
    python benchmarks/laboratory.py blimp.jsonl.gz      a suite of your own, as far as known

The plain loop reads one sentence after the other and takes the softmax at every word; of a long
suite it is timed on a sample. Both must agree to 1e-4 bits. Interchange is timed on 1,000
contrasts, all kinds at all words from which on contexts differ, with its control; the plain loop
reads a whole context anew for each of them.
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

import rnnlens
from rnnlens.lab.contrasts import Contrast, contrasts
from rnnlens.lab.interchange import drawn
from rnnlens.lab.suite import BAD, GOOD
from rnnlens.model.traceable import StateEdit

SAMPLE, CONTRASTS, FEW = 200, 1_000, 3


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Processor seconds, and what was computed."""
    begin = time.process_time()
    found = work()
    return time.process_time() - begin, found


@torch.no_grad()
def bits(lens: rnnlens.Lens, ids: Sequence[int]) -> float:
    """What a sentence costs, by a plain loop's step."""
    logits = lens.subject.model.trace(torch.tensor(ids)[:, None]).logits
    if logits is None:
        raise SystemExit("the model has no logits")
    log_p = logits[:-1, 0].log_softmax(-1)
    return float(-log_p[range(len(ids) - 1), list(ids[1:])].double().sum() / np.log(2))


@torch.no_grad()
def plainly(lens: rnnlens.Lens, some: Sequence[Contrast]) -> None:
    """Interchange by reading each context whole, once for every kind and word and side."""
    model = lens.subject.model
    for one in some:
        words = [torch.tensor(ids)[:, None] for ids in (one.first, one.second)]
        traces = [model.trace(there) for there in words]
        for kind in model.kinds:
            for step in range(one.begin, len(one.first)):
                for side in (0, 1):
                    other = traces[1 - side].states[kind.id][step]

                    def put(_: torch.Tensor, other: torch.Tensor = other) -> torch.Tensor:
                        return other

                    edited = model.trace(words[side], edits=[StateEdit(kind.id, step, put)])
                    model.predict(edited.prediction[-1]).log_softmax(-1)


def main() -> None:
    """Time both ways."""
    torch.set_num_threads(1)
    lens = rnnlens.load("english-news")
    lab = lens.lab(sys.argv[1] if len(sys.argv) > 1 else "agreement")
    seconds, found = timed(lambda: lab.scored)
    items = lab.items.items
    step = max(1, len(items) // SAMPLE)
    pairs = [k for k in range(0, len(items), step) if set(items[k].sentences) == {GOOD, BAD}]
    plain, margins = timed(lambda: [
        bits(lens, items[k].sentences[BAD].ids) - bits(lens, items[k].sentences[GOOD].ids)
        for k in pairs
    ])  # fmt: skip
    whole = plain * len(items) / max(1, len(pairs))
    apart = max((abs(found.margins[k] - m) for k, m in zip(pairs, margins, strict=True)), default=0)
    print(f"{len(items):,} items: {seconds:.1f} s of processor time, a plain loop {whole:.1f} s "
          f"({whole / seconds:.1f} times); largest difference {apart:.1e} bits")  # fmt: skip
    for one in lab.result.published:
        print(f"beside {one.model}: {one.accuracy:.1%}, here {one.ours:.1%}, correlation "
              f"{one.correlation or 0:.3f} over {one.paradigms} paradigms")  # fmt: skip
    some = drawn(contrasts(lens.lab("agreement").items.items), CONTRASTS)
    asked = lens.lab("agreement")
    seconds, _ = timed(lambda: asked.interchange(most=CONTRASTS))
    few = some[:: max(1, len(some) // FEW)][:FEW]
    plain, _ = timed(lambda: plainly(lens, few))
    whole = plain * len(some) / len(few)
    print(f"interchange, {len(some):,} contrasts: {seconds:.1f} s with its control, a plain loop "
          f"without {whole:.1f} s ({whole / seconds:.1f} times)")  # fmt: skip


if __name__ == "__main__":
    main()
