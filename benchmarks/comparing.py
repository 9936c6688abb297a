"""Two side by side: aligning words, and comparing two runs over a corpus, against plain ways."""

import argparse
import random
import time
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

import torch

import rnnlens
from rnnlens.ask.state_pairs import between
from rnnlens.lens.lens import Lens
from rnnlens.reading.reading import Reading
from rnnlens.reading.two_texts import aligned
from rnnlens.search.disagreement import End, disagreement

WORDS, LABELS = 200, 60  # of texts that are aligned, and how many different ones
CORPUS = 100_000  # words of the corpus that the figure wanted is about


def fastest(function: Callable[[], object], rounds: int) -> float:
    """The shortest of several timings: whatever else runs makes others longer."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return min(times)


def align(rounds: int) -> None:
    """Two random texts of few words, which match in many ways."""
    draw = random.Random(0)
    a, b = ([f"w{draw.randrange(LABELS)}" for _ in range(WORDS)] for _ in range(2))
    ours = fastest(lambda: aligned(a, b), rounds)
    theirs = fastest(lambda: SequenceMatcher(None, a, b, autojunk=False).get_opcodes(), rounds)
    print(
        f"aligning two texts of {WORDS} words: {ours * 1e3:.1f} ms (at most 30 are wanted), "
        f"{ours / theirs:.2f} times difflib, which does not find the best way"
    )


def corpus(lens: Lens, words: int) -> None:
    """The prediction beside the output of the first layer, in one lens: both over all labels."""
    names = [label for label in lens.labels if label.isalpha()][:3000]
    draw = random.Random(0)
    sentences = [[draw.choice(names) for _ in range(20)] for _ in range(words // 20)]
    ends = End(lens.subject, "y"), End(lens.subject, "h1")
    times: list[tuple[float, float]] = []
    seen = 0

    def advance(count: int) -> None:
        nonlocal seen
        seen += count
        if seen >= 2 * words:  # both are traced
            times.append((time.perf_counter(), time.process_time()))

    disagreement(*ends, sentences, advance=advance)
    (began, cpu), (ended, cpu_ended) = times[0], times[-1]
    took, busy = ended - began, cpu_ended - cpu
    plain = plainly(lens, sentences[: max(1, words // 4000)])
    each = took / words
    print(
        f"comparing {words:,} words over {len(lens.labels):,} labels after tracing: {took:.1f} s, "
        f"{busy:.1f} s of processor time; {CORPUS:,} words: about {each * CORPUS:.1f} s (at most "
        f"20 are wanted; two idle cores have the processor time in "
        f"{busy / words * CORPUS / 2:.1f} s), "
        f"{each / plain:.2f} times a loop over states"
    )


@torch.inference_mode()
def plainly(lens: Lens, sentences: Sequence[Sequence[str]]) -> float:
    """Seconds for each word, by asking the lens for each state."""
    requests = [Reading.of(lens.subject, " ".join(words)) for words in sentences]
    for asked in requests:
        lens.subject.session.read(asked.ids, 0, len(asked.ids))  # traced before it is timed
    began, count = time.perf_counter(), 0
    for asked in requests:
        states, _ = lens.subject.session.read(asked.ids, 0, len(asked.ids))
        for step in range(len(asked.ids)):
            y = lens.subject.model.predict(states["y"][step][None])[0]
            probe = (
                lens.subject.probes.logits("h1", states["h1"][step], "output")
                if lens.subject.probes
                else y
            )
            between(y.double(), probe.double())
            count += 1
    return (time.perf_counter() - began) / count


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--words", type=int, default=20_000)
    args = parser.parse_args()
    align(args.rounds)
    corpus(rnnlens.load("english-news"), args.words)


if __name__ == "__main__":
    main()
