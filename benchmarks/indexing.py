"""An index: how fast it is made, how large it is, and how fast it answers.

    python -m benchmarks.indexing                                     sentences of the bundled index
    python -m benchmarks.indexing --corpus news.conllu.gz             a few hundred sentences
    python -m benchmarks.indexing --scale                             1, 2, 4 and 8 times as many
    python -m benchmarks.indexing --index INDEX --copies 10           questions to so many copies
    python -m benchmarks.indexing --corpus news.conllu.gz --sentences 0 --device cuda

Of the bundled run, or of yours with --run. The rate is that of `rnnlens index` over that of plain
tracing and readout: every state through its probe and a softmax, 4,096 states at once as `rnnlens
eval` does it, and 32 at once, as a loop over sentences does it, in blocks that stay in the
processor's cache. The index is the same in both; it is the baseline that differs, and the second is
the harder one wherever the cache is not shared with others: 4,096 states wait for memory most of
the time. Both compute less than an index does, which also finds the most probable labels, groups,
entropies and ranks, how far pairs of states are apart, and the axes of its maps, and writes all of
it. On a CPU rates go by processor time, which others at work still make longer, and that of 32
at once most; so they are to be taken from idle cores.

How time and memory grow is measured with a small network on a corpus that is made for it, each size
in a process of its own.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as the command has it, before torch is there

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from benchmarks.noted import note

from rnnlens.base.files import read_json, sha256, write_json
from rnnlens.base.threads import one_thread
from rnnlens.cli import main as main_of_rnnlens
from rnnlens.corpus.corpus import Corpus, read_tokens
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.lens.lens import Lens
from rnnlens.lens.open import opened
from rnnlens.model.kinds import PREDICTION
from rnnlens.model.train.distributed import Processes, pick_device
from rnnlens.run.folder import BUNDLED, run_at
from rnnlens.search.build import Builder, Plan
from rnnlens.search.corpus_pass import ALL, PART_WORDS, Text, Texts, traced
from rnnlens.search.find import find
from rnnlens.search.index_files import Manifest, Part
from rnnlens.search.similar import StoredStates
from rnnlens.search.store import Index

QUESTIONS = {
    "labels and groups": (0.2, "l2 expects verb > .4 and y expects noun and word = that"),
    "a count": (0.2, "l2 disagrees with s2 count by tag"),
    "neighbours": (0.4, 'y expects "was" > .2 and within 5 before (tag = NOUN and h1 rank < 9)'),
}
SIMILAR = 0.3  # seconds, what is wanted
ROUNDS = 5
SCALES = (1, 2, 4, 8)


def texts_of(lens: Lens, path: str, sentences: int, times: int = 1) -> Texts:
    """The first sentences of a corpus, so many times over."""
    config = ReadingConfig()
    form, tokens = read_tokens(path, config, lowercase=True)
    texts = Texts(
        Corpus(path, form, tokens, tokens.part), [ALL], lens.subject.session.text, config.longest
    )
    count = min(sentences or len(texts), len(texts))
    texts.pieces = np.tile(texts.pieces[:count], times)
    texts.split_of = np.tile(texts.split_of[:count], times)
    texts.divide(PART_WORDS)
    return texts


def clock(device: torch.device) -> float:
    """Seconds: of processors, or by the clock where a GPU computes."""
    return time.process_time() if device.type == "cpu" else time.perf_counter()


@torch.inference_mode()
def plain(lens: Lens, texts: list[Text], device: torch.device, at_once: int) -> float:
    """Seconds of tracing and readout alone; on a CPU by one thread, since several take more time
    of processors for the same, and much more where others are at work.
    """
    assert lens.subject.probes
    probes = lens.subject.probes.to(device)
    begin = clock(device)
    sentences = [text.ids for text in texts]
    with one_thread():
        for some in traced(
            lens.subject.model, lens.subject.session.text, sentences, device, words=4096
        ):
            states = some.states
            for k in range(0, len(states[PREDICTION]), at_once):
                for kind in probes.kinds:
                    probes.logits(kind, states[kind][k : k + at_once]).log_softmax(-1)
                lens.subject.model.predict(states[PREDICTION][k : k + at_once]).log_softmax(-1)
    if device.type == "cuda":
        torch.cuda.synchronize()
    return clock(device) - begin


def build(lens: Lens, texts: Texts, device: torch.device, folder: Path) -> tuple[float, Manifest]:
    """Seconds that an index takes, and its manifest."""
    builder = Builder(folder, Plan(lens.subject, "output"), texts, Processes())
    begin = clock(device)
    builder.begin(anew=True, device=device)
    builder.make(device)
    manifest = builder.finish()
    return clock(device) - begin, manifest


def corpus_of(lens: Lens, folder: Path) -> str:
    """A corpus of the sentences that the index of the run has."""
    assert lens.subject.run
    parts = Index.of(lens.subject.run).words()
    path = folder / "corpus.txt"
    path.write_text("".join(" ".join(words) + "\n" for part in parts for words in part), "utf-8")
    return str(path)


def measure_building(lens: Lens, args: argparse.Namespace, device: torch.device) -> None:
    """Print the rate of making an index and its size."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = args.corpus or corpus_of(lens, Path(folder))
        texts = texts_of(lens, corpus, args.sentences, args.times)
        every = [] if args.alone else [t for k in range(texts.part_count) for t in texts.part(k)]
        seconds, manifest = build(lens, texts, device, Path(folder) / "index")
    size = sum(part.bytes for part in manifest.parts)
    print(
        f"{manifest.rows:>9,} words  {seconds:7.1f} s  {manifest.rows / seconds:8.0f} words/s  "
        f"{size / manifest.rows:5.0f} bytes a word  {peak():6.0f} MB at most",
        flush=True,
    )
    if not args.alone:
        for name, at_once in (("4,096 states at once", 4096), ("32 states at once", 32)):
            alone = plain(lens, every, device, at_once)
            note(f"index, of plain tracing with {name}", alone / seconds, "times as fast", 0.7,
                 more_is_better=True)  # fmt: skip
            print(f"plain tracing and readout, {name}: {alone:.1f} s, rate {alone / seconds:.2f}")


def peak() -> float:
    """MB that this process has had in use at most.

    What `getrusage` says begins with what the process had that started this one.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM"))


def measure_growth() -> None:
    """Index 1, 2, 4 and 8 times two parts of words with a small network."""
    random = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        corpus, run = Path(folder) / "corpus.txt", Path(folder) / "run"
        words = random.zipf(1.3, (2 * PART_WORDS // 16, 16)) % 1000
        corpus.write_text("".join(" ".join(f"w{k}" for k in row) + "\n" for row in words))
        given = "--format text --width 16 --epochs 1 --min-count 1".split()
        for command in (["train", corpus, "-o", run, *given], ["fit", run, "--epochs", "0"]):
            if main_of_rnnlens([*map(str, command), "--device", "cpu"]):
                raise SystemExit(1)
        for times in SCALES:
            alone = ["-m", "benchmarks.indexing", "--run", run, "--corpus", corpus,
                     "--sentences", 0, "--alone"]  # fmt: skip
            subprocess.run([sys.executable, *map(str, [*alone, "--times", times])], check=True)


def copied(index: Index, copies: int, folder: Path) -> None:
    """An index with the same rows several times over."""
    parts, shift = [], index.contents.sentences
    for number in range(copies * len(index.manifest.parts)):
        copy, which = divmod(number, len(index.manifest.parts))
        table = pq.read_table(index.folder / index.manifest.parts[which].file)
        moved = pc.add(table["sentence"], pa.scalar(copy * shift, pa.int32()))
        table = table.set_column(0, "sentence", moved)
        part = Part(number, len(table), 0, "0" * 64)
        path = folder / part.file
        pq.write_table(table, path, compression="zstd")
        parts.append(replace(part, bytes=path.stat().st_size, sha256=sha256(path)))
    shutil.copy(index.folder / "labels.parquet", folder)
    contents = replace(index.contents, part_count=len(parts), states="", state_kinds=())
    manifest = Manifest(
        index.manifest.format, index.manifest.version, contents, index.manifest.labels,
        sum(part.rows for part in parts), tuple(parts),
    )  # fmt: skip
    write_json(folder / "manifest.json", asdict(manifest))


def best(work: Callable[[], object]) -> float:
    """The least of several times, in seconds."""
    times = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure_answers(lens: Lens, args: argparse.Namespace) -> None:
    """Print how long questions take, and nearest states where the index keeps any."""
    assert lens.subject.run
    own = Index(args.index, read_json(args.index / "manifest.json", Manifest))
    with tempfile.TemporaryDirectory() as folder:
        copied(own, args.copies, Path(folder))
        index = Index.of(lens.subject.run, Path(folder))
        print(f"{index.manifest.rows:,} words")
        for name, (wanted, question) in QUESTIONS.items():
            seconds = best(lambda question=question: find(index, question, 100).table)  # type: ignore[misc]
            print(f"{name:<20}{seconds * 1000:6.0f} ms, wanted {wanted * 1000:.0f}")
        index.close()
    if own.contents.state_kinds:
        kind = own.contents.state_kinds[0]
        state = lens("the man who said that")[kind][4]
        seconds = best(lambda: state.similar(10, index=args.index))
        stored = StoredStates(own, kind, len(state.vector()))
        stored.parts *= args.copies
        scan = best(lambda: stored.cosine(torch.from_numpy(state.vector())))
        print(f"{'nearest states':<20}{seconds * 1000:6.0f} ms for {own.manifest.rows:,} words; "
              f"the scan of all takes {scan * 1000:.0f} ms, wanted {SIMILAR * 1000:.0f}"
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=run_at, default=BUNDLED)
    parser.add_argument("--corpus")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--times", type=int, default=1, help="so many times over")
    parser.add_argument("--alone", action="store_true", help="do not measure plain tracing")
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--index", type=Path)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    if args.scale:
        measure_growth()
        return
    device = pick_device(args.device)
    lens = opened(args.run)
    lens.subject.model.on(device)
    if args.index:
        measure_answers(lens, args)
    if args.corpus or not args.index:
        measure_building(lens, args, device)


if __name__ == "__main__":
    main()
