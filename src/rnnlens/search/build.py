"""How an index is made: part by part, so that a crash costs one part and memory stays flat."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Sha, is_present, read_json, remove, sha256, write_bytes, write_json
from rnnlens.model.kinds import PREDICTION, drawn, prediction
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import Traceable
from rnnlens.model.train.distributed import Processes
from rnnlens.probe.probes import Probes
from rnnlens.probe.semantics import of_model
from rnnlens.reading.encoding import Palette
from rnnlens.run.folder import Run
from rnnlens.search.layout import FORMAT, TOP, Contents, Manifest, Part, pairs_of
from rnnlens.search.measures import Measuring
from rnnlens.search.part import Kept, Maker, note_of
from rnnlens.search.place import LABELS, MANIFEST
from rnnlens.search.reading import Texts
from rnnlens.search.table import arrow, labels_table, packed
from rnnlens.version import __version__

PRECISIONS = ("int8", "fp16")
_ANEW = "give --anew to make it anew"
MAKING = "making.json"
_OURS = re.compile(
    r"part-\d{5,6}\.(json|parquet)|states-\d{5,6}\.safetensors|labels\.parquet", re.ASCII
)


@dataclass(frozen=True)
class Subject:
    """A model with what is asked of its states."""

    run: Run
    model: Traceable
    side: TextSide
    probes: Probes | None
    palettes: dict[str, Palette]
    semantic: str
    states: str = ""  # int8, fp16, or empty: none are kept
    state_kinds: tuple[str, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the index tells of; the prediction is the last."""
        return (*(self.probes.kinds if self.probes else ()), PREDICTION)

    def check(self) -> None:
        """Refuse what the run cannot give."""
        there = self.probes.semantics if self.probes else ("output",)
        if self.semantic not in there:
            raise RnnlensError(
                f"{self.run.path} has no probes for the semantic {self.semantic!r}; it has "
                f"{', '.join(there)}"
            )
        answers = next(iter(self.palettes.values())).answers
        one_label = not (answers and (answers.several or answers.scale))
        if not (self.model.predicts and of_model(self.semantic) and one_label):
            raise RnnlensError(
                "an index holds what states say of the labels that the model predicts, one for "
                f"each word; {self.run.path} under the semantic {self.semantic} has others"
            )
        if self.states and self.states not in PRECISIONS:
            raise RnnlensError(f"--states {self.states}: choose {' or '.join(PRECISIONS)}")
        probed = self.kinds[:-1]
        for kind in self.state_kinds:
            if kind not in probed:
                raise RnnlensError(
                    f"there is no kind {kind!r} whose states could be kept; there is "
                    f"{', '.join(probed) or 'none, without probes'}"
                )

    def contents(self, texts: Texts) -> Contents:
        """What the index will hold."""
        kinds = drawn(self.model.kinds, self.kinds)
        columns = [kind for kind in (*kinds, prediction(kinds)) if kind.id in self.kinds]
        _check_names(self.kinds)
        return Contents(
            model=self.run.model_hash(),
            probes=self.run.probes_hash(),
            groups=groups_hash(self.run, next(iter(self.palettes))),
            corpus=texts.corpus.hash,
            source=texts.corpus.name,
            splits=texts.splits,
            semantic=self.semantic,
            palette=next(iter(self.palettes)),
            kinds=self.kinds,
            pairs=pairs_of(columns),
            top=TOP,
            sentences=len(texts),
            part_count=texts.part_count,
            states=self.states,
            state_kinds=(self.state_kinds or self.kinds[:-1]) if self.states else (),
            follows=self.side.follows,
        )


def _check_names(kinds: Sequence[str]) -> None:
    """Refuse kinds that a database would take for the same: it does not tell A from a."""
    seen: dict[str, str] = {}
    for kind in kinds:
        if other := seen.get(kind.lower()):
            raise RnnlensError(
                f"the kinds {other} and {kind} differ only in capitals, which an index cannot "
                "tell apart; rename one in the module"
            )
        seen[kind.lower()] = kind


def groups_hash(run: Run, palette: str) -> str:
    """The SHA-256 of a grouping of labels of a run."""
    groups = run.colours()["groupings"].get(palette, {}).get("groups", {})
    return hashlib.sha256(json.dumps(groups, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class _Note(Part):
    """What is noted of a part until the index is whole."""

    identity: Sha = ""


class Builder:
    """The making of one index, in one process or several."""

    def __init__(self, folder: Path, subject: Subject, texts: Texts, group: Processes) -> None:
        self.folder, self.subject, self.texts, self.group = folder, subject, texts, group
        self.contents = subject.contents(texts)
        plain = json.dumps(asdict(self.contents), sort_keys=True)
        self.identity = hashlib.sha256(plain.encode()).hexdigest()

    def begin(self, *, anew: bool) -> bool:
        """Make the folder ready; False where the index is there already.

        To be called by one process alone, before any other writes.
        """
        check_ours(self.folder)
        if anew and self.folder.is_dir():
            write_json(self.folder / MAKING, {"identity": self.identity})  # it stays ours
            clear(self.folder)
        manifest = self.folder / MANIFEST
        if is_present(manifest):
            if read_json(manifest, Manifest, _ANEW).contents != self.contents:
                raise RnnlensError(
                    f"{self.folder} holds an index of something else: another fit, corpus, split "
                    f"or choice of states; {_ANEW}"
                )
            return False
        noted = self.folder / MAKING
        if is_present(noted) and read_json(noted, dict, _ANEW).get("identity") != self.identity:
            raise RnnlensError(
                f"{self.folder} holds the beginning of an index of something else; {_ANEW}"
            )
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise RnnlensError(
                f"cannot make the folder {self.folder}: {error.strerror}; mend that"
            ) from error
        write_json(noted, {"identity": self.identity})
        return True

    def make(self, device: torch.device, advance: Callable[[int], object] = int) -> None:
        """Make the parts of this process that are not there yet.

        `advance` is told the number of words after each part.
        """
        arrow()
        subject = self.subject
        palette = next(iter(subject.palettes.values()))
        measuring = Measuring(
            subject.model, subject.probes, subject.semantic, palette, self.contents.pairs, device
        )
        maker = Maker(
            self.folder, subject.model, subject.side, palette, subject.semantic, measuring,
            Kept(self.contents.states, self.contents.state_kinds),
        )  # fmt: skip
        writing: Future[Part] | None = None
        for number in range(self.group.rank, self.texts.part_count, self.group.count):
            if self.part(number) is None:
                work = maker.make(number, self.texts.part(number), self.identity)
                if writing:
                    writing.result()
                writing = work
            advance(self.texts.part_words(number))
        if writing:
            writing.result()

    def part(self, number: int) -> Part | None:
        """A part that is there and whole; None where it is still to be made."""
        path = note_of(self.folder, number)
        if not is_present(path):
            return None
        try:
            note = asdict(read_json(path, _Note))
        except RnnlensError:
            return None
        if note.pop("identity") != self.identity:
            return None
        part = Part(**note)
        whole = _is(self.folder / part.file, part.sha256) and (
            part.states is None or _is(self.folder / part.states_file, part.states)
        )
        return part if whole else None

    def finish(self) -> Manifest:
        """Write the manifest, once every process has made its parts; by one process alone."""
        parts = [self.part(number) for number in range(self.texts.part_count)]
        if missing := [number for number, part in enumerate(parts) if part is None]:
            raise RnnlensError(
                f"part {missing[0]} of the index in {self.folder} is missing or damaged; give the "
                "same command again"
            )
        palette = next(iter(self.subject.palettes.values()))
        labels = packed(labels_table(self.subject.side.vocabulary.labels, palette))
        write_bytes(self.folder / LABELS, labels)
        whole = tuple(part for part in parts if part)
        manifest = Manifest(
            FORMAT, __version__, self.contents, hashlib.sha256(labels).hexdigest(),
            sum(part.rows for part in whole), whole,
        )  # fmt: skip
        write_json(self.folder / MANIFEST, asdict(manifest))
        for number in range(len(parts)):
            remove(note_of(self.folder, number))
        remove(self.folder / MAKING)
        return manifest


def _is(path: Path, sha: str) -> bool:
    return path.is_file() and sha256(path) == sha


def check_ours(folder: Path) -> None:
    """Refuse a folder that holds files and no index, begun or whole: they are somebody else's."""
    try:
        names = {path.name for path in folder.iterdir() if path.name[0] != "."}
    except FileNotFoundError:
        return
    except OSError as error:
        raise RnnlensError(
            f"cannot read the folder {folder}: {error.strerror}; choose another with -o"
        ) from error
    if names and not names & {MANIFEST, MAKING}:
        raise RnnlensError(
            f"{folder} holds files that are no index; choose an empty or new folder with -o"
        )


def clear(folder: Path) -> None:
    """Remove an index, and nothing else: first what makes it whole, last what makes it ours."""
    if not folder.is_dir():
        return
    remove(folder / MANIFEST)
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name):
            remove(path)
    remove(folder / MAKING)
