"""What the two rules that colours fade by tell of the bundled news model's states.

    python scripts/colour_rules.py

Over all kinds after every word of sixty sentences of the shipped index: how the share of the
leading group goes with how far a state is from the labels' frequencies, how often the next word is
of that group, and what the frequencies and equally probable labels are painted.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rnnlens.lens.open import opened
from rnnlens.reading.encoding import encode
from rnnlens.reading.reading import Reading
from rnnlens.reading.rows import labels_that_came, logits_of, places_of
from rnnlens.run.folder import BUNDLED, run_at
from rnnlens.search.store import index_of

SENTENCES = 60


def ranks(values: NDArray[Any]) -> NDArray[np.float64]:
    """The place of each among all."""
    return np.argsort(np.argsort(values)).astype(np.float64)


def main() -> None:
    """Print a line for each rule."""
    subject = opened(run_at(BUNDLED)).subject
    probes, index = subject.probes, index_of(subject)
    if probes is None:
        raise SystemExit("the bundled run has no probes")
    numbers = range(0, 2 * SENTENCES, 2)
    texts = [text for _, text in index.sentences(numbers).values()]
    prior = (probes.counts["output"].double() + 1).log()
    prior -= prior.logsumexp(0)
    every, came = [], []
    with torch.inference_mode():
        for text in texts:
            reading = Reading.of(subject, text)
            every.append(logits_of(reading, 0, len(reading.ids)))
            came.append(labels_that_came(reading, places_of(reading, 0, len(reading.ids))))
        logits, labels = torch.cat(every), np.concatenate(came)
        log_p = logits.double().log_softmax(1)
        apart = ((log_p.exp() * (log_p - prior)).sum(1) / np.log(2)).numpy()
    there = labels >= 0
    print(f"{len(labels):,} states of {len(texts)} sentences")
    for name in ("classes", "classes/paper"):
        palette = subject.palettes_for("output")[name]
        made = encode(logits, palette, labels)
        nothing = encode(torch.stack([prior.float(), torch.zeros(len(prior))]), palette,
                         np.full(2, -1)).share  # fmt: skip
        right = made.group == palette.group_of[labels]
        sure = there & (made.share > 0.5)
        corner = (made.rivals() >= 0).mean()
        print(f"{name}: rank correlation with bits from the frequencies "
              f"{np.corrcoef(ranks(made.share), ranks(apart))[0, 1]:.2f}; right group "
              f"{right[there].mean():.1%}, where the share is above .5 {right[sure].mean():.1%}; "
              f"frequencies {nothing[0]:.3f}, even {nothing[1]:.3f}; two groups within .05 in "
              f"{corner:.1%}")  # fmt: skip


if __name__ == "__main__":
    main()
