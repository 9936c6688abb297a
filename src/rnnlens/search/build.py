"""How an index is made: part by part, so that a crash costs a few parts and memory stays flat."""

import hashlib
import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Sha, is_present, read_json, remove, sha256, write_bytes, write_json
from rnnlens.base.tensors import BYTE, in_bytes, write_tensors
from rnnlens.base.threads import one_thread, pool, threads_of_pool
from rnnlens.labels.sets import LabelSet
from rnnlens.model.cell import States
from rnnlens.model.kinds import PREDICTION, drawn, prediction
from rnnlens.model.network import Network
from rnnlens.model.text import TextSide
from rnnlens.model.train.distributed import Processes
from rnnlens.probe.semantics import OUTPUT, of_model
from rnnlens.reading.encoding import Encodings, Integers, Palette
from rnnlens.reading.subject import Subject
from rnnlens.run.folder import INDEX_MANIFEST, Run
from rnnlens.search.corpus_pass import Text, Texts, Traced, labels_after, labels_right, traced
from rnnlens.search.index_files import (
    AXIS_NUMBERS,
    FORMAT,
    LABELS,
    MAP,
    TOP,
    UNFINISHED,
    Contents,
    Manifest,
    Part,
    Sort,
    arrow,
    groups_hash,
    holds_column,
    in_column,
    label_column,
    map_columns,
    of_kind,
    packed,
    pairs_of,
    probability_column,
)
from rnnlens.search.state_map import LEAST, SHARE, WORDS, Axes, axes_of, packed_axes, read_axes
from rnnlens.search.state_predictions import Predictions, Predictor
from rnnlens.version import __version__

if TYPE_CHECKING:
    import pyarrow as pa

PRECISIONS = ("int8", "fp16")
_ANEW = "give --anew to make it anew"
_FILES = re.compile(
    r"part-\d{5,6}\.(json|parquet)|(states-\d{5,6}|map)\.safetensors|labels\.parquet", re.ASCII
)
# Lists of words that are traced while others are measured; a GPU then always has something to do.
_AHEAD = {"cpu": 4, "cuda": 2}
_LARGE_GPU = 20 * 2**30  # bytes of memory of one that has room for several lists
_MANTISSA = 23  # bits of a float32 after its leading one
_SIGNIFICANT = 6  # of them, in a rounded probability
_CPU = torch.device("cpu")
HALF = 0.5  # from which on a label of a set is taken to hold
STEPS = {"share": 256, "entropy": 32, "differs": 256, "surprisal": 64}  # to 1, of rounded numbers


@dataclass(frozen=True)
class Plan:
    """What an index is to tell of a subject: under which semantic, and with which states."""

    subject: Subject
    semantic: str
    states: str = ""  # int8, fp16, or empty: none are stored
    state_kinds: tuple[str, ...] = ()  # empty: all that have probes

    @property
    def run(self) -> Run:
        """The run of the subject."""
        if self.subject.run is None:
            raise RnnlensError(f"{self.subject.name} is of no run yet; save it, and index that")
        return self.subject.run

    @property
    def side(self) -> TextSide:
        """How the model is given texts."""
        return self.subject.session.text

    @property
    def palette(self) -> Palette:
        """The groups that the index knows."""
        return next(iter(self.subject.palettes_for(self.semantic).values()))

    @property
    def answers(self) -> LabelSet:
        """What the states are asked for."""
        return self.subject.answers(self.semantic)

    @property
    def sort(self) -> Sort:
        """What sort of thing that is."""
        return "number" if self.answers.scale else "set" if self.answers.several else "label"

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds that the index tells of; the prediction is the last."""
        own = self.subject.model.predicts and of_model(self.semantic)
        probed = self.subject.probes.kinds if self.subject.probes else ()
        return (*probed, *((PREDICTION,) if own else ()))

    @property
    def probed(self) -> tuple[str, ...]:
        """The kinds that have probes."""
        return tuple(kind for kind in self.kinds if kind != PREDICTION)

    def check(self) -> None:
        """Refuse what the run cannot give."""
        if self.subject.model.source_kinds:
            raise RnnlensError(
                f"{self.subject.name} reads a source beside its target, and an index is made of "
                'single texts; look at pairs one by one, lens("source => target"), or measure on '
                "batches: lens.evaluate(batches)"
            )
        probes = self.subject.probes
        there = probes.semantics if probes else ("output",)
        if self.semantic not in there:
            raise RnnlensError(
                f"{self.run.path} has no probes for the semantic {self.semantic!r}; it has "
                f"{', '.join(there)}"
            )
        if self.states and self.states not in PRECISIONS:
            raise RnnlensError(f"--states {self.states}: choose {' or '.join(PRECISIONS)}")
        for kind in self.state_kinds:
            if kind not in self.probed:
                raise RnnlensError(
                    f"there is no kind {kind!r} whose states could be kept; there is "
                    f"{', '.join(self.probed) or 'none, without probes'}"
                )

    def contents(self, texts: Texts) -> Contents:
        """What the index will hold."""
        kinds = drawn(self.subject.model.kinds, self.kinds)
        columns = [kind for kind in (*kinds, prediction(kinds)) if kind.id in self.kinds]
        _check_names(self.kinds)
        palette = next(iter(self.subject.palettes_for(self.semantic)))
        own = of_model(self.semantic)
        return Contents(
            model=self.run.model_hash(),
            probes=self.run.probes_hash(),
            groups=groups_hash(self.run, palette),
            corpus=texts.corpus.hash,
            source=texts.corpus.name,
            splits=texts.splits,
            semantic=self.semantic,
            palette=palette,
            kinds=self.kinds,
            pairs=pairs_of(columns),
            top=TOP,
            sentences=len(texts),
            part_count=texts.part_count,
            states=self.states,
            state_kinds=(self.state_kinds or self.probed) if self.states else (),
            follows=self.side.follows and own,
            map_kinds=self.probed,
            sort=self.sort,
            rule=self.palette.rule,
        )


def _check_names(kinds: Sequence[str]) -> None:
    """Refuse kinds that a database would take for the same: it does not tell A from a."""
    seen: dict[str, str] = {}
    for kind in kinds:
        if other := seen.get(in_column(kind).lower()):
            raise RnnlensError(
                f"the kinds {other} and {kind} differ only in capitals, which an index cannot "
                "tell apart; rename one in the module"
            )
        seen[in_column(kind).lower()] = kind


@dataclass(frozen=True)
class _Note(Part):
    """What is noted of a part until the index is whole."""

    identity: Sha = ""


class Builder:
    """The making of one index, in one process or several."""

    def __init__(self, folder: Path, plan: Plan, texts: Texts, group: Processes) -> None:
        self.folder, self.plan, self.texts, self.group = folder, plan, texts, group
        self.contents = plan.contents(texts)
        plain = json.dumps(asdict(self.contents), sort_keys=True)
        self.identity = hashlib.sha256(plain.encode()).hexdigest()

    def begin(self, *, anew: bool, device: torch.device = _CPU) -> bool:
        """Make the folder ready, with the axes of the maps; False where the index is there already.

        To be called by one process alone, before any other writes.
        """
        check_ours(self.folder)
        if anew and self.folder.is_dir():
            write_json(self.folder / UNFINISHED, {"identity": self.identity})  # it stays ours
            clear(self.folder)
        manifest = self.folder / INDEX_MANIFEST
        if is_present(manifest):
            if read_json(manifest, Manifest, _ANEW).contents != self.contents:
                raise RnnlensError(
                    f"{self.folder} holds an index of something else: another fit, corpus, split "
                    f"or choice of states; {_ANEW}"
                )
            return False
        noted = self.folder / UNFINISHED
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
        arrow()
        self._lay_out(device)
        return True

    def make(self, device: torch.device, advance: Callable[[int], object] = int) -> None:
        """Make the parts of this process that are not there yet.

        `advance` is told the number of words after each part.
        """
        arrow()
        maker = _PartMaker(self.folder, self.plan, self.contents, self.identity, device)
        maker.axes = {kind: axes.on(device) for kind, axes in self._axes().items()}
        writing = deque[Future[Part]]()
        try:
            for part in maker.parts(self._missing(advance)):
                writing.append(part)
                if len(writing) > _writers():
                    writing.popleft().result()
        finally:  # whatever happened, nothing is written any more after this
            wait(writing)
        for part in writing:
            part.result()

    def _missing(self, advance: Callable[[int], object]) -> Iterator[tuple[int, list[Text]]]:
        """The parts of this process that are still to be made, with their texts."""
        for number in range(self.group.rank, self.texts.part_count, self.group.count):
            if self.part(number) is None:
                yield number, self.texts.part(number)
            advance(self.texts.part_words(number))

    def _axes(self) -> dict[str, Axes]:
        """The axes of the map, which an index that is begun has."""
        path, kinds = self.folder / MAP, self.contents.map_kinds
        return read_axes(path, sha256(path), kinds, _ANEW) if kinds else {}

    def _lay_out(self, device: torch.device) -> None:
        """Find the axes of the map, unless an index that was stopped has them."""
        kinds, path, side = self.contents.map_kinds, self.folder / MAP, self.plan.side
        if kinds and not is_present(path):
            words = min(WORDS, max(LEAST, round(SHARE * self.texts.words)))
            ids = [text.ids for text in self.texts.spread(words)]
            chunks = traced(self.plan.subject.model, side, ids, device, kinds)
            with one_thread():  # others wait long for each other where the machine is busy
                axes = axes_of((one.states for one in chunks), kinds)
            write_bytes(path, packed_axes(axes))

    def part(self, number: int) -> Part | None:
        """A part that is there and whole; None where it is still to be made."""
        path = self.folder / Part.note_file(number)
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
        labels = packed(labels_table(self.plan.answers.names, self.plan.palette))
        write_bytes(self.folder / LABELS, labels)
        whole = tuple(part for part in parts if part)
        manifest = Manifest(
            FORMAT, __version__, self.contents, hashlib.sha256(labels).hexdigest(),
            sum(part.rows for part in whole), whole,
            sha256(self.folder / MAP) if self.contents.map_kinds else None,
        )  # fmt: skip
        write_json(self.folder / INDEX_MANIFEST, asdict(manifest))
        for number in range(len(parts)):
            remove(self.folder / Part.note_file(number))
        remove(self.folder / UNFINISHED)
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
    if names and not names & {INDEX_MANIFEST, UNFINISHED}:
        raise RnnlensError(
            f"{folder} holds files that are no index; choose an empty or new folder with -o"
        )


def clear(folder: Path) -> None:
    """Remove an index, and nothing else: first what makes it whole, last what makes it ours."""
    if not folder.is_dir():
        return
    remove(folder / INDEX_MANIFEST)
    for path in folder.iterdir():
        if _FILES.fullmatch(path.name):
            remove(path)
    remove(folder / UNFINISHED)


class _PartMaker:
    """Everything that is needed to make a part of its texts: they are traced, what their states
    predict is computed, and both are written.
    """

    def __init__(
        self, folder: Path, plan: Plan, contents: Contents, identity: str, device: torch.device
    ) -> None:
        self.folder, self.plan, self.contents, self.identity = folder, plan, contents, identity
        subject = plan.subject
        self.model, self.side = subject.model, plan.side
        self.axes: dict[str, Axes] = {}
        self.predictor = Predictor(
            subject.model, subject.probes, plan.semantic, plan.palette, contents.pairs, device
        )

    def parts(self, wanted: Iterable[tuple[int, Sequence[Text]]]) -> Iterator["Future[Part]"]:
        """Each part while it is being written, which begins once its words are measured; those of
        the next are traced meanwhile, and few lists of words wait to be measured.
        """
        begun, waiting = deque[_Begun](), deque[Future[_Measured]]()
        most = self._ahead
        ahead = most if self.predictor.on_cpu else 0  # one thread alone compiles for a GPU
        for number, texts in wanted:
            part = _Begun(number, texts)
            for some in self._traced([text.ids for text in texts], waiting):
                part.rows.append(some.rows)
                part.work.append(pool().submit(self._measured, some))
                waiting.append(part.work[-1])
                if len(waiting) > ahead:
                    waiting.popleft().result()
                ahead = most
                while begun and begun[0].is_measured:
                    yield pool().submit(self._write, begun.popleft())
            begun.append(part)
        for part in begun:
            for work in part.work:
                work.result()
            yield pool().submit(self._write, part)

    @property
    def _ahead(self) -> int:
        """How many lists of words may wait to be measured. A user's module sets the precision of
        all products of the process while it runs, and on a small GPU there is room for one list.
        """
        device = self.predictor.device
        if device.type == "cuda":
            room = torch.cuda.get_device_properties(device).total_memory
            if room < _LARGE_GPU or not isinstance(self.model, Network):
                return 0
        return _AHEAD[device.type]

    def _traced(
        self, sentences: Sequence[Sequence[int]], waiting: Sequence["Future[_Measured]"]
    ) -> Iterator[Traced]:
        """The states of all sentences, traced while others are measured.

        Torch's threads would spin beside the pool's, unless these wait for what is traced.
        """
        chunks = traced(self.model, self.side, sentences, self.predictor.device)
        while True:
            idle = len(waiting) > 1 and all(one.done() for one in list(waiting)[:-1])
            with nullcontext() if idle else one_thread():
                some = next(chunks, None)
            if some is None:
                return
            yield some

    def _measured(self, some: Traced) -> "_Measured":
        with one_thread():
            predictions = self._predictions(some.states, some.sentences)
            return _Measured(predictions, self._stored(some.states), self._places(some.states))

    def _places(self, states: States) -> dict[str, Tensor]:
        """Where states are on the maps of their kinds, on the CPU."""
        return {kind: axes.places(states[kind]).cpu() for kind, axes in self.axes.items()}

    def _predictions(self, states: States, sentences: Sequence[Sequence[int]]) -> Predictions:
        lengths = np.array([len(ids) for ids in sentences])
        answers = self.plan.answers
        came = labels_right(self.side, sentences, self.plan.semantic, answers)
        wanted = dict.fromkeys(self.predictor.kinds, came)
        if PREDICTION in wanted:
            wanted[PREDICTION] = labels_right(self.side, sentences, OUTPUT, answers)
        return self.predictor.of(states, wanted, np.cumsum(lengths) - lengths)

    def _stored(self, states: States) -> dict[str, Tensor]:
        """The states that the index keeps, standardised, on the CPU."""
        stack, stored = self.predictor.stack, dict[str, Tensor]()
        if stack is None:
            return {}
        for kind in self.contents.state_kinds:
            k = stack.kinds.index(kind)
            z = stack.prepare(k, states[kind])[:, : stack.widths[k]]
            tensors = narrowed(kind, z, self.contents.states)
            stored |= {name: tensor.cpu() for name, tensor in tensors.items()}
        return stored

    @one_thread()  # torch's threads would wait for each other at each of hundreds of columns
    def _write(self, begun: "_Begun") -> Part:
        """Write the rows, the states beside them, and last a note that both are there."""
        predictions, states, places = begun.joined()
        texts = begun.texts
        following = labels_after(self.side, [text.ids for text in texts], 1)
        table = rows_table(
            texts, predictions, following, self.side.vocabulary.labels, self.plan.palette,
            self.side.is_unknown,
        )  # fmt: skip
        for kind, some in places.items():
            for name, along in zip(map_columns(kind), some.T.contiguous().numpy(), strict=True):
                table = table.append_column(name, arrow().array(along))
        data, rows = packed(table), len(table)
        part = Part(begun.number, rows, len(data), hashlib.sha256(data).hexdigest())
        write_bytes(self.folder / part.file, data)
        if states:
            part = replace(part, states=write_tensors(self.folder / part.states_file, states))
        note = {"identity": self.identity, **asdict(part)}
        write_json(self.folder / Part.note_file(part.number), note)
        return part


class _Measured(NamedTuple):
    """What is computed of words that were traced together."""

    predictions: Predictions
    stored: dict[str, Tensor]  # the states that are kept
    places: dict[str, Tensor]  # where each is on its map


@dataclass(frozen=True)
class _Begun:
    """A part whose words are traced, and measured one list after the other."""

    number: int
    texts: Sequence[Text]
    rows: list[Integers] = field(default_factory=list)  # where the words of each list stand
    work: "list[Future[_Measured]]" = field(default_factory=list)

    @property
    def is_measured(self) -> bool:
        """Whether nothing is computed of it any more."""
        return all(one.done() for one in self.work)

    def joined(self) -> _Measured:
        """All of it, in the order of the words; it is held no longer list by list."""
        some = [one.result() for one in self.work]
        self.work.clear()
        order = torch.from_numpy(np.argsort(np.concatenate(self.rows), kind="stable"))
        stored, places = (
            {name: torch.cat([one[name] for one in every])[order] for name in every[0]}
            for every in ([one.stored for one in some], [one.places for one in some])
        )
        predictions = Predictions.join([one.predictions for one in some], self.rows)
        return _Measured(predictions, stored, places)


def _writers() -> int:
    """How many parts may be written while others are computed: each is held until then."""
    return max(1, threads_of_pool() // 3)


def narrowed(kind: str, z: Tensor, precision: str) -> dict[str, Tensor]:
    """States (N, H) in 16 bits, or in 8: then each is divided by what makes its largest number
    127, and that is kept as KIND/scale.
    """
    if precision == "fp16":
        return {kind: z.clamp(-60_000, 60_000).half()}
    scale = z.abs().amax(1).clamp_min(1e-12) / BYTE
    return {kind: in_bytes(z, scale[:, None]), f"{kind}/scale": scale}


def labels_table(labels: Sequence[str], palette: Palette) -> "pa.Table":
    """What the numbers of labels mean."""
    pa = arrow()
    groups = [palette.groups[k] for k in palette.group_of]
    return pa.table(
        {
            "number": pa.array(range(len(labels)), pa.int32()),
            "label": pa.array([_plain(label) for label in labels]),
            "group": pa.array(groups),
        }
    )


def rows_table(
    texts: Sequence[Text], predictions: Predictions, following: Integers, labels: Sequence[str],
    palette: Palette, is_unknown: Callable[[int], bool],
) -> "pa.Table":  # fmt: skip
    """A row for each word of the texts; `following` are the labels that the prediction is for."""
    columns = word_columns(texts, is_unknown)
    pa = arrow()
    none = following < 0
    columns["next"] = _names(np.where(none, 0, following), labels, none)
    own = predictions.encodings.get(PREDICTION)
    came = torch.ones(len(none)) if own is None else torch.from_numpy(own.came)
    unsaid = np.ones_like(none) if own is None else own.rank == 0
    columns["surprisal"] = _numbers(-came.clamp_min(1e-38).log2(), "surprisal", unsaid)
    for kind, encodings in predictions.encodings.items():
        columns |= _kind(kind, encodings, palette)
    for pair, bits in predictions.divergences.items():
        values = torch.from_numpy(bits)
        columns[pair.column] = _numbers(values.nan_to_num(), "differs", np.isnan(bits))
    return pa.table(columns)


def word_columns(texts: Sequence[Text], is_unknown: Callable[[int], bool]) -> dict[str, Any]:
    """Where each word stands, and what it is."""
    pa = arrow()
    lengths = [len(text.ids) for text in texts]

    def each(values: Sequence[Any], kind: Any) -> Any:
        return pa.array(np.repeat(np.array(values), lengths), kind)

    position = np.concatenate([np.arange(length) for length in lengths])
    tags = [tag for text in texts for tag in (text.tags or [None] * len(text.ids))]
    begins = [k for text in texts for k in [_plain(text.text)] + [None] * (len(text.ids) - 1)]
    return {
        "sentence": each([text.number for text in texts], pa.int32()),
        "position": pa.array(position, pa.int32()),
        "length": each(lengths, pa.int32()),
        "split": pa.array([t.split for t in texts for _ in t.ids]).dictionary_encode(),
        "text": pa.array(begins, pa.string()),
        "word": pa.array([_plain(word) for t in texts for word in t.words]).dictionary_encode(),
        "unknown": pa.array([is_unknown(number) for t in texts for number in t.ids], pa.bool_()),
        "tag": pa.array(tags, pa.string()).dictionary_encode(),
    }


def _kind(kind: str, encodings: Encodings, palette: Palette) -> dict[str, Any]:
    """The columns of a kind; labels beyond those that there are have no number."""
    pa = arrow()
    columns: dict[str, Any] = {}
    count = min(TOP, encodings.labels.shape[1])
    none = np.ones(len(encodings.group), bool)
    for k in range(TOP):
        there = k < count
        numbers = encodings.labels[:, k] if there else np.zeros(len(none))
        p = torch.from_numpy(
            encodings.probabilities[:, k] if there else np.zeros(len(none), np.float32)
        )
        mask = None if there else none
        columns[label_column(kind, k + 1)] = pa.array(numbers.astype(np.int32), mask=mask)
        columns[probability_column(kind, k + 1)] = _numbers(p, "p", mask)
    columns[of_kind(kind, "group")] = _names(encodings.group, palette.groups, None)
    columns[of_kind(kind, "share")] = _numbers(torch.from_numpy(encodings.share), "share", None)
    columns[of_kind(kind, "lead")] = _numbers(torch.from_numpy(encodings.lead), "share", None)
    columns[of_kind(kind, "entropy")] = _numbers(
        torch.from_numpy(encodings.entropy), "entropy", None
    )
    unasked = encodings.rank == 0
    columns[of_kind(kind, "came")] = _numbers(torch.from_numpy(encodings.came), "p", unasked)
    columns[of_kind(kind, "rank")] = pa.array(encodings.rank.astype(np.int32), mask=unasked)
    answers = palette.answers
    if answers and answers.scale:
        for name, values in zip(AXIS_NUMBERS, encodings.numbers.T, strict=True):
            columns[of_kind(kind, name)] = pa.array(values.astype(np.float32))
    if answers and answers.several:
        columns[holds_column(kind)] = pa.array(_sets(encodings)).dictionary_encode()
    return columns


def _sets(encodings: Encodings) -> list[str]:
    """The numbers of the labels that hold, with a probability of a half or more."""
    rows = zip(encodings.labels, encodings.probabilities >= HALF, strict=True)
    return ["," + "".join(f"{k}," for k in sorted(labels[holds])) for labels, holds in rows]


def _numbers(values: torch.Tensor, what: str, none: NDArray[np.bool_] | None) -> Any:
    return arrow().array(rounded(values.float(), what).numpy(), mask=none)


def _names(numbers: Integers, names: Sequence[str], none: NDArray[np.bool_] | None) -> Any:
    pa = arrow()
    indices = pa.array(numbers.astype(np.int32), mask=none)
    return pa.DictionaryArray.from_arrays(indices, pa.array([_plain(name) for name in names]))


def _plain(text: str) -> str:
    """Text that Parquet can hold: half of a character that was cut stands as a question mark."""
    return text.encode("utf-8", "replace").decode("utf-8")


def rounded(values: Tensor, what: str) -> Tensor:
    """To the nearest of so many steps to 1 as `STEPS` says; probabilities to 7 significant bits,
    so that small ones keep their order of magnitude.
    """
    if what in STEPS:
        return (values * STEPS[what]).round_().div_(STEPS[what])
    drop = _MANTISSA - _SIGNIFICANT
    bits = values.float().contiguous().view(torch.int32)
    return (bits + (1 << (drop - 1))).bitwise_and_(-1 << drop).view(torch.float32)
