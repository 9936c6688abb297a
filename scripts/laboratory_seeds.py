"""What the laboratory shows of runs that differ in nothing but their seed, as one table.

    python scripts/laboratory_seeds.py runs/news0 runs/news1 runs/news2 \
        --corpus news.conllu.gz --blimp blimp.jsonl.gz --kept laboratory

Asked is whatever docs/laboratory.md says of the bundled model. A column for each run, and one that
says whether all of them show it: of what is said there, whether it holds; of a number that is only
told, whether the runs are near each other. What was found of a run is kept in a file of the folder
that --kept names, part by part, and not computed again: whoever is interrupted goes on where he
was. A run without probes (`rnnlens fit RUN` makes them) is not asked what its kinds say.

It needs torch, numpy, safetensors and tqdm, and NLTK to take words apart. Where that is not
installed, --pieces names a file with the pieces of the suites taken apart, which a machine writes
that has it:

    python scripts/laboratory_seeds.py --blimp blimp.jsonl.gz --pieces pieces.json
"""

import argparse
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from safetensors.torch import load_file

from rnnlens.base.files import write_bytes
from rnnlens.corpus.corpus import Corpus
from rnnlens.corpus.corpus_config import SPLITS, ReadingConfig
from rnnlens.corpus.read import Sentence
from rnnlens.corpus.vocabulary import Vocabulary, VocabularyFile
from rnnlens.lab.laboratory import Lab, lab
from rnnlens.lab.suite import built_in, read_suite
from rnnlens.model.text import TextSide
from rnnlens.model.train.distributed import pick_device
from rnnlens.probe.probes import Probes
from rnnlens.reading.encoding import Palette
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import run_at
from rnnlens.run.run_files import NetworkFile, read_network

ONE = "one attractor"
MEMORIES, SILENT = ("l1", "c1", "l2", "c2"), ("f2", "i2", "o2", "h2")
NEAR, NEAR_WORDS = 0.05, 0.5  # within which shares, or words, of all runs are said to be near
CONTRASTS, CONCEPT, TEXTS = 1_000, "NOUN", 3_000


@dataclass(frozen=True)
class Row:
    """One thing that a run shows."""

    title: str
    value: float | str | None
    sort: str = "share"  # or words, number: how it is written
    holds: bool | None = None  # what is said of the bundled model; None: it is a number alone


Pieces = dict[str, list[str]]  # what stands between blanks, and its words as in Penn


def taken_apart(blimp: Path | None) -> Pieces:
    """The pieces of all suites."""
    from nltk.tokenize import NLTKWordTokenizer

    every = [read_suite(name) for name in built_in()] + ([read_suite(blimp)] if blimp else [])
    texts = {text for suite in every for item in suite.items
             for regions in item.sentences.values() for text in regions}  # fmt: skip
    split = NLTKWordTokenizer().tokenize
    return {piece: split(piece) for piece in sorted({p for text in texts for p in text.split()})}


def side_of(vocabulary: Vocabulary, pieces: Pieces | None) -> TextSide:
    """How texts are taken apart: as ever, or as a file has it."""
    side = TextSide.of_words(vocabulary)
    if pieces is None:
        return side

    def words(text: str) -> tuple[str, ...]:
        known = ([p] if vocabulary.encode([p]) != [vocabulary.unknown] else pieces[p]
                 for p in text.split())  # fmt: skip
        return tuple(word for some in known for word in some)

    return replace(side, split=words)


def subject_of(path: Path, device: str, pieces: Pieces | None) -> Subject:
    """Whom one asks, of the files of a run that `rnnlens train` has made, and `rnnlens fit`.

    They are read as they are: what checks them needs packages that a machine with a GPU may not
    have. Of weights it is checked that they are those of model.json.
    """

    def read(name: str) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((path / name).read_text(encoding="utf-8"))
        told.pop("checksum", None)
        return {key: tuple(one) if isinstance(one, list) else one for key, one in told.items()}

    network = read_network(path / "model.safetensors", NetworkFile(**read("model.json")))
    vocabulary = Vocabulary.of_file(VocabularyFile(**read("vocabulary.json")))
    probes = None
    if (path / "probes.json").exists():
        said = read("probes.json")
        tensors = load_file(path / "probes.safetensors")
        probes = Probes.of(
            said["family"], said["kinds"], said["semantics"], said["labels"], tensors
        )
    colours = {name: Palette.of(vocabulary.labels, one)
               for name, one in read("colours.json")["groupings"].items()}  # fmt: skip
    session = Session(network.to(pick_device(device)), side_of(vocabulary, pieces), ())
    return Subject(path.resolve().name, session, colours, probes)


class Asked:
    """A run, and what is asked of it."""

    def __init__(self, run: str, args: argparse.Namespace, pieces: Pieces | None) -> None:
        self.run, self.device, self.pieces = run, args.device, pieces
        self.corpus: Path | None = args.corpus
        self.blimp: Path | None = args.blimp

    @cached_property
    def subject(self) -> Subject:
        """Where it computes."""
        return subject_of(run_at(self.run).path, self.device, self.pieces)

    @cached_property
    def lab(self) -> Lab:
        """With all draws of the suite of agreement."""
        return lab(self.subject, "agreement")

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Of the corpus, with their tags."""
        if self.corpus is None:
            return []
        # Read anew: what an earlier command has kept is checked by packages that may be missing.
        os.environ["XDG_CACHE_HOME"] = os.devnull
        corpus = Corpus.read(str(self.corpus), ReadingConfig())
        return [one for part in SPLITS for one in corpus.sentences(part)]


def suites(asked: Asked) -> Iterator[Row]:
    """How often it is right about the suites that come along."""
    for name in built_in():
        one = asked.lab if name == "agreement" else lab(asked.subject, name)
        yield Row(f"{name}: right, the mean over paradigms", one.accuracy)


def blimp(asked: Asked) -> Iterator[Row]:
    """How often it is right about BLiMP, and whether about the same as the published LSTM."""
    if asked.blimp is None:
        return
    result = lab(asked.subject, asked.blimp).result
    yield Row("BLiMP: right, the mean over paradigms", result.accuracy)
    for one in result.published:
        if "lstm" in one.model.lower():
            together = one.correlation
            holds = together is not None and together > 0.5
            yield Row("BLiMP: correlation with the published LSTM", together, "number", holds)


def agreement(asked: Asked) -> Iterator[Row]:
    """It agrees with the last noun."""
    right = {row.condition: row.accuracy for row in asked.lab.conditions if row.paradigm == ONE}
    for condition, share in right.items():
        is_near = share > 0.95 if condition.startswith("congruent") else share < 0.5
        yield Row(f"{ONE}: right, {condition} (it agrees with the last noun)", share, holds=is_near)


def kinds(asked: Asked) -> Iterator[Row]:
    """What can be read: where a pair separates, and where it is lost."""
    if asked.subject.probes is None:
        return
    read = asked.lab.preferences(ONE)

    def share(kind: str, before: int = 1) -> float:
        return read.at(ONE, kind, before).value or 0.0

    others = [share(kind, 4) for kind in read.kinds if kind not in ("l1", "l2")]
    yield Row("read after the subject, least of all kinds but l1, l2", min(others),
              holds=min(others) > 0.95)  # fmt: skip
    yield Row("read after the attractor: l2", share("l2"))
    yield Row("read after the attractor: the model itself", share("y"))
    better = share("l2") - share("y")
    yield Row("l2 knows better than the model says", better, holds=better > 0.1)
    yield Row("read after the attractor: f2", share("f2"))


def interchange(asked: Asked) -> Iterator[Row]:
    """What is used: the memories carry it, and no gate."""
    used = asked.lab.interchange(paradigm=ONE, most=CONTRASTS)
    chance = asked.lab.interchange(paradigm=ONE, most=CONTRASTS, untrained=True)

    def moved(kinds: Sequence[str], before: int) -> list[float]:
        """Shares; none where contexts do not separate, so that nothing is shown there."""
        every = [used.at(ONE, kind, before).value for kind in kinds]
        there = [value for value in every if value is not None]
        return there if len(there) == len(every) else []

    for before, word in ((3, "near"), (2, "near the")):
        least = min(moved(MEMORIES, before), default=None)
        most = max(moved(SILENT, before), default=None)
        holds = least is not None and most is not None and least > most
        yield Row(f"moves after {word}: least of {', '.join(MEMORIES)}", least, "number", holds)
        yield Row(f"moves after {word}: most of {', '.join(SILENT)}", most, "number", holds)
    gate = used.at(ONE, "f2", 1).value
    yield Row("moves after the attractor: f2", gate, "number", gate is not None and abs(gate) < 0.1)
    for kind in MEMORIES:
        one = chance.at(ONE, kind, 2).value
        yield Row(f"moves after near the, weights in another order: {kind}", one, "number")


def units(asked: Asked) -> Iterator[Row]:
    """One unit of the memory of layer 2, without which it is right less."""
    found = asked.lab.units(["c2"], paradigm=ONE)
    first = found.units[0]
    yield Row("the unit of c2 that leads", f"{first.unit}", "name")
    yield Row("its effect in nats, held out", first.held_out, "number",
              first.low is not None and first.low > 0)  # fmt: skip
    yield Row("incongruent items right, with all units", found.accuracy)
    yield Row("and without it", first.accuracy, holds=first.accuracy < found.accuracy)
    yield Row("congruent items right without it", first.others,
              holds=first.others is not None and first.others > 0.95)  # fmt: skip


def directions(asked: Asked) -> Iterator[Row]:
    """One dimension of the memory of layer 2 carries nearly all of the difference in the end."""
    found = {row.way: row.moved for row in asked.lab.directions("c2", paradigm=ONE).rows}
    means, placebo, random = (found[way] for way in ("difference of means", "placebo", "random"))
    is_most = means is not None and means > 0.8
    yield Row("moves along c2's difference of means", means, "number", is_most)
    yield Row("moves along its learned direction", found["learned"], "number")
    is_less = means is not None and placebo is not None and placebo < 0.5 < means
    yield Row("moves along its placebo", placebo, "number", is_less)
    is_none = random is not None and abs(random) < 0.05
    yield Row("moves along a random one", random, "number", is_none)


def erasure(asked: Asked) -> Iterator[Row]:
    """The number of the subject taken out: congruent items need the last noun alone."""
    for one in asked.lab.erase(paradigm=ONE).kinds:
        yield Row(f"number erased from {one.kind}: a fresh probe reads", one.read_after)
        yield Row(f"number erased from {one.kind}: congruent items right", one.others_after,
                  holds=one.others_after is not None and one.others_after > 0.9)  # fmt: skip


def concept(asked: Asked) -> Iterator[Row]:
    """A tag of the corpus taken out: nothing is read of it, words cost more, agreement stays."""
    if not asked.sentences:
        return
    found = asked.lab.erase_concept(asked.sentences, CONCEPT, ["c2", "h2"], TEXTS, paradigm=ONE)
    for one in found.kinds:
        about = f"{CONCEPT} erased from {one.kind}"
        over = one.read_after - found.majority
        yield Row(f"{about}: probe over the majority", over, holds=over <= 0.01)
        yield Row(f"{about}: balanced share", one.balanced_after)
        yield Row(f"{about}: balanced share of a concept of chance", one.balanced_control)
        costs, chance = one.loss_after - one.loss, one.loss_control - one.loss
        yield Row(f"{about}: nats that a word costs more", costs, "number", costs > chance)
        yield Row(f"{about}: with a concept of chance", chance, "number")


def half_lives(asked: Asked) -> Iterator[Row]:
    """How long memory lasts."""
    if not asked.sentences:
        return
    found = asked.lab.half_lives(asked.sentences)
    kinds = {one.kind: one for one in found.kinds}
    lives = {kind: kinds[kind].half_life for kind in ("x", "c1", "c2", "l2")}
    for kind, life in lives.items():
        yield Row(f"half-life of what {kind} tells", life, "words")
    known = [life for life in lives.values() if life is not None]
    if len(known) == len(lives):
        longest = known == sorted(known)
        yield Row("in that order, l2 longest", "yes" if longest else "no", "name", longest)
    for memory in found.memories:
        yield Row(f"half-life of half of the units of {memory.kind}", memory.median, "words")
    layer = {one.kind: one for one in found.memories}
    yield Row("a tenth of layer 2's units keep longer than", layer["c2"].high, "words")
    for kind in ("c2", "l2"):
        yield Row(f"the word itself is told by {kind}", kinds[kind].told[0], "number")
        yield Row(f"the word eight before is told by {kind}", kinds[kind].told[-1], "number")
    first = {kind: one.first or 0.0 for kind, one in kinds.items()}
    best = max(first, key=lambda kind: first[kind])
    yield Row("the first word is told best, at the end, by", best, "name", best == "l2")
    yield Row("so well", first[best], "number")


PARTS: dict[str, Callable[[Asked], Iterator[Row]]] = {
    one.__name__: one for one in (suites, blimp, agreement, kinds, interchange, units, directions,
                                  erasure, concept, half_lives)
}  # fmt: skip


def found(asked: Asked, kept: Path) -> list[Row]:
    """What a run shows; what was found before is read, and what is found is kept at once."""
    path = run_at(asked.run).path
    weights = hashlib.sha256((path / "model.safetensors").read_bytes()).hexdigest()
    place = kept / f"{path.resolve().name}-{weights[:12]}.json"  # another network, another file
    parts = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    for name, ask in PARTS.items():
        if not parts.get(name):  # not asked, or without what it needs, which may be there now
            parts[name] = [asdict(row) for row in ask(asked)]
            write_bytes(place, json.dumps(parts, indent=1).encode())
    return [Row(**row) for some in parts.values() for row in some]


def agree(rows: Sequence[Row | None]) -> str:
    """Whether all runs show the same."""
    there = [row for row in rows if row is not None]
    if len(there) < len(rows) or any(row.value is None for row in there):
        return "not all have it"
    if all(row.holds is not None for row in there):
        held = sum(bool(row.holds) for row in there)
        return "yes" if held == len(there) else f"did not replicate: {held} of {len(there)}"
    numbers = [row.value for row in there if isinstance(row.value, float)]
    if not numbers:  # names of units, which mean nothing from one network to another
        return ""
    near = NEAR_WORDS if there[0].sort == "words" else NEAR
    apart = max(numbers) - min(numbers)
    return f"within {near:g}" if apart <= near else f"{apart:.2f} apart"


def shown(row: Row | None) -> str:
    """A cell of the table."""
    if row is None or row.value is None:
        return "-"
    if isinstance(row.value, str):
        return row.value
    return f"{row.value:.1%}" if row.sort == "share" else f"{row.value:.2f}"


def main() -> None:
    """Ask the runs and print the table, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("runs", nargs="*")
    parser.add_argument("--corpus", type=Path, help="with tags, for concepts and half-lives")
    parser.add_argument("--blimp", type=Path, help="BLiMP, its models_summary.jsonl beside it")
    parser.add_argument("--pieces", type=Path, help="a file, where there is no NLTK")
    parser.add_argument("--kept", type=Path, default=Path("laboratory"), help="a folder")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    args = parser.parse_args()
    pieces = None
    if args.pieces and args.pieces.exists():
        pieces = json.loads(args.pieces.read_text(encoding="utf-8"))
    elif args.pieces:
        write_bytes(args.pieces, json.dumps(taken_apart(args.blimp)).encode())
    if not args.runs:
        return
    args.kept.mkdir(parents=True, exist_ok=True)
    every = [found(Asked(run, args, pieces), args.kept) for run in args.runs]
    columns = [{row.title: row for row in rows} for rows in every]
    print("|", " | ".join(["", *(run_at(run).path.resolve().name for run in args.runs), "in all"]),
          "|")  # fmt: skip
    print("|---" * (len(args.runs) + 2) + "|")
    for title in dict.fromkeys(title for one in columns for title in one):
        rows = [one.get(title) for one in columns]
        print("|", " | ".join([title, *map(shown, rows), agree(rows)]), "|")


if __name__ == "__main__":
    main()
