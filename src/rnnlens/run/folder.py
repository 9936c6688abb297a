"""The run folder: a model, its vocabulary and colours, its probes and their evaluation; and the
checkpoints that its training keeps, each a run of its own in the folder `kept`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import (
    add_line,
    clear_left,
    damaged,
    is_present,
    is_sha,
    locked,
    read_json,
    remove,
    sha256,
    write_bytes,
    write_json,
    write_pieces,
)
from rnnlens.corpus.vocabulary import Vocabulary, VocabularyFile
from rnnlens.probe.fit_config import FitConfig
from rnnlens.probe.probes_file import Bounds, ProbesFile
from rnnlens.run import record as run_record
from rnnlens.run import trusted_code
from rnnlens.run.record import TRAINED, TRAINING
from rnnlens.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

    from rnnlens.adapter.adapter import Adapter
    from rnnlens.adapter.module_record import ModuleRecord
    from rnnlens.adapter.stored import StoredModule
    from rnnlens.corpus.pieces.piece_text import PieceText
    from rnnlens.model.network import Network
    from rnnlens.model.text import Example, TextSide
    from rnnlens.model.traceable import Traceable
    from rnnlens.probe.probes import Precision, Probes
    from rnnlens.run.run_files import ModelFile
    from rnnlens.run.scores import Scores
    from rnnlens.states.recorded import RecordedStates, StatesRecord

FILES = (  # what a finished run may hold, besides run.json
    "vocabulary.json", "colours.json", "evaluation.json", "model.json", "model.safetensors",
    "probes.json", "probes.safetensors", "examples.safetensors", "tokenizer.json",
)  # fmt: skip
BUNDLED = "english-news"  # the first of the runs that come with the package
SHIPPED = Path(__file__).parents[1] / "bundled"
CHECKPOINTS = "kept"
_SAME_IN_CHECKPOINTS = ("vocabulary.json", "colours.json", "examples.safetensors")
INDEX_MANIFEST = "manifest.json"  # of an index, which is whole where it has one


@dataclass(frozen=True)
class Run:
    """A folder on disk; nothing of it is held in memory.

    What opens a model or its probes imports torch; what only looks at the folder does not.
    """

    path: Path

    def exists(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return (self.path / "run.json").exists()

    def create(self) -> None:
        """Make the folder, and refuse one that holds something else."""
        with self._told():
            self.path.mkdir(parents=True, exist_ok=True)
        self.check_place()

    def check_place(self) -> None:
        """Refuse a place that holds something else than a run, before anything is computed."""
        with self._told():
            others = self.path.iterdir() if is_present(self.path) and not self.exists() else ()
            foreign = any(path.name[0] != "." for path in others)
        if foreign:
            raise RnnlensError(
                f"{self.path} holds files that are no run; choose an empty or new folder with -o"
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Say what to do where the folder cannot be made or looked into."""
        try:
            yield
        except OSError as error:
            raise RnnlensError(
                f"cannot make the folder {self.path}: {error.strerror}; choose another with -o"
            ) from error

    @property
    def is_bundled(self) -> bool:
        """Whether it comes with the package, so that its folder is not written to."""
        return self.path.resolve().parent == SHIPPED.resolve()

    def index_folder(self, elsewhere: Path | None = None) -> Path:
        """The folder of its index, unless that is elsewhere."""
        return elsewhere or self.path / "index"

    def has_index(self, elsewhere: Path | None = None) -> bool:
        """Whether there is an index that is finished."""
        return is_present(self.index_folder(elsewhere) / INDEX_MANIFEST)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Make the folder if need be, and be the only one who writes to it."""
        self.create()
        with locked(self.path):
            for checkpoint in (self.path / CHECKPOINTS).glob("*/"):
                clear_left(checkpoint)
            yield

    def record(self) -> run_record.Record:
        """Read run.json, which says how this run is made."""
        if not self.path.exists():
            raise RnnlensError(
                f"no run at {self.path}; make one with: rnnlens train CORPUS -o {self.path}"
            )
        return run_record.read_record(self.path / "run.json")

    def check_unchanged(self, before: run_record.Record | None) -> None:
        """Refuse to go on where another command has written since the run was looked at."""
        if (self.record() if self.exists() else None) != before:
            raise RnnlensError(
                f"another command has written to {self.path} meanwhile; give this one again to "
                "continue, or choose another folder with -o"
            )

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write run.json; with what the weights are, once they are there."""
        head: dict[str, Any] = {"format": run_record.FORMAT, "version": __version__}
        if record.get("status") == TRAINED and is_present(self.path / "model.json"):
            head["weights"] = self.model_hash()
        write_json(self.path / "run.json", {**head, **record})

    def write_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Write vocabulary.json."""
        write_json(self.path / "vocabulary.json", vocabulary.to_json())

    def vocabulary(self) -> Vocabulary:
        """Read vocabulary.json."""
        return Vocabulary.of_file(read_json(self.path / "vocabulary.json", VocabularyFile))

    def write_colours(self, colours: Mapping[str, Any]) -> None:
        """Write colours.json, with the vocabulary that it is of."""
        words = self.path / "vocabulary.json"
        of = {"vocabulary": sha256(words)} if words.exists() else {}
        write_json(self.path / "colours.json", {**colours, **of})

    def colours(self) -> dict[str, Any]:
        """Read colours.json; an error where it is of another run."""
        from rnnlens.labels.colours import Colours

        colours, words = read_json(self.path / "colours.json", Colours), "vocabulary.json"
        if colours.vocabulary not in (None, sha256(self.path / words)):
            self.vocabulary()  # or say what is wrong with that
            raise RnnlensError(
                f"{self.path / 'colours.json'} is of another run, whose labels are others; restore "
                "the run's own"
            )
        return colours.to_json()

    def write_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        """Write evaluation.json, with the weights that it is of."""
        write_json(self.path / "evaluation.json", {**evaluation, "weights": self.model_hash()})

    def scores(self) -> "Scores":
        """How well each kind predicts, as far as it was measured."""
        from rnnlens.run.scores import Scores

        return Scores.read(self.path, self.probes_hash(), self.model_hash())

    @property
    def checkpoint(self) -> Path:
        """Where training saves its state until it ends."""
        return self.path / "checkpoint.safetensors"

    def has_begun(self, record: run_record.Record) -> bool:
        """Whether anything was trained that another training would throw away: not where the first
        ended before its first checkpoint, for want of memory or by a rate that is too high.
        """
        is_young = record.made_by != "fit" and record.status == TRAINING
        kept = (self.checkpoint, self.path / "model.json", self.path / CHECKPOINTS)
        return not is_young or any(map(is_present, kept))

    def log(self, line: str) -> None:
        """Add a line to training.log."""
        add_line(self._log, line)

    def forget_log(self) -> None:
        """Remove training.log, which tells of a training that left nothing else."""
        remove(self._log)

    @property
    def _log(self) -> Path:
        return self.path / "training.log"

    def write_probes(
        self, probes: "Probes", made: Mapping[str, Any], precision: "Precision" = "single"
    ) -> None:
        """Write the probes, and probes.json with their hash, the model's, and how they were made.

        In half precision the file is half as large, and probabilities move in the fourth digit;
        with bytes that of many labels is a third as large, and they move in the second at most.
        Whatever moment it is killed at, the run has the old probes or the new.
        """
        from rnnlens.base.tensors import packed
        from rnnlens.probe.probes import stored

        data = packed(stored(probes.tensors(), precision))
        described = {**probes.to_json(), "model": self.model_hash(), "made": made}
        others = None
        with suppress(RnnlensError):  # there are none, or damaged ones
            others = asdict(self._probes_file())

        def describe() -> None:
            described["sha256"] = sha.result()
            if others:
                write_json(self.path / "probes.json", {**described, "previous": others})

        with ThreadPoolExecutor(1) as beside:  # hundreds of MB may be hashed while they are written
            sha = beside.submit(lambda: hashlib.sha256(data).hexdigest())
            write_pieces(self.path / "probes.safetensors", [data], describe)
        write_json(self.path / "probes.json", described)

    @property
    def _refit(self) -> str:
        return f"fit anew: rnnlens fit {self.path}"

    def has_probes(self) -> bool:
        """Whether the run has fitted probes."""
        return is_present(self.path / "probes.json")

    def _probes_file(self) -> ProbesFile:
        """Read probes.json; of two descriptions the one whose tensors are in place."""
        file = read_json(self.path / "probes.json", ProbesFile, self._refit)
        previous, path = file.previous, self.path / "probes.safetensors"
        if previous and path.is_file() and sha256(path) == previous.sha256:
            return previous
        return replace(file, previous=None)

    def probes(self) -> "Probes":
        """The fitted probes, checked against the model they were fitted to."""
        from rnnlens.base.tensors import read_tensors
        from rnnlens.probe.probes import Probes, check_layouts, label_counts

        if not self.has_probes():
            raise RnnlensError(
                f"{self.path} has no probes yet; fit them with: rnnlens fit {self.path}"
            )
        file = self._probes_file()
        if file.model != self.model_hash():
            raise RnnlensError(f"the probes in {self.path} are of another model; {self._refit}")
        counts = label_counts(file.semantics, file.labels, file.answers)
        fits = partial(check_layouts, probes=(file.family, file.kinds, counts))
        path, named = self.path / "probes.safetensors", (file.family, file.kinds, file.semantics)
        tensors = read_tensors(path, file.sha256, fits, self._refit)
        probes = Probes.of(*named, file.labels, tensors, file.answers, file.limits)
        return replace(probes, widths=file.widths)

    def write_limits(
        self,
        limits: Mapping[str, Mapping[str, Bounds]],
        widths: Mapping[str, Mapping[str, tuple[float, ...]]] | None = None,
    ) -> None:
        """Give the probes limits that were measured later, and widths of intervals where these are
        given; nothing else changes.
        """
        self.probes()  # or say what is wrong with them
        described = {**asdict(self._probes_file()), "limits": limits}
        described["widths"] = described["widths"] if widths is None else widths
        left_out = ("previous", *(name for name in ("answers", "widths") if not described[name]))
        kept = {name: value for name, value in described.items() if name not in left_out}
        write_json(self.path / "probes.json", kept)

    def fit_config(self) -> FitConfig:
        """How the probes were fitted."""
        try:
            config = FitConfig(**self._probes_file().made)  # type: ignore[arg-type]
            config.check()
        except (TypeError, RnnlensError) as error:
            raise damaged(self.path / "probes.json", error, "fit anew") from error
        return config

    def probes_hash(self) -> str | None:
        """The SHA-256 of the probes' tensors, as probes.json records it; None: there are none."""
        return self._probes_file().sha256 if self.has_probes() else None

    @property
    def fit_checkpoint(self) -> Path:
        """Where fitting saves its state until it ends."""
        return self.path / "fit.safetensors"

    def model_hash(self) -> str:
        """The SHA-256 of the model's weights, as model.json records it."""
        value = read_json(self.path / "model.json", object)
        sha = value.get("sha256") if isinstance(value, dict) else None
        return sha if is_sha(sha) else self._model_file().sha256  # which says what is wrong

    def write_model(self, model: "Traceable") -> None:
        """Write the weights, then model.json with a description of the model and their hash."""
        from rnnlens.model.network import Network

        if isinstance(model, Network):
            counts = {"labels": model.label_count, "words": model.word_count}
            self._write_weights(model.state_dict(), {**asdict(model.config), **counts})
            return
        from rnnlens.adapter.stored import StoredModule
        from rnnlens.states.recorded import RecordedStates

        if isinstance(model, StoredModule):
            described = asdict(model.record)
            if model.pieces:
                write_json(self.path / "tokenizer.json", asdict(model.pieces.to_keep()))
                described["tokenizer"] = sha256(self.path / "tokenizer.json")
            self._write_weights(model.user.weights(), described)
        elif isinstance(model, RecordedStates):  # which stay where they are
            self._write_model_file(asdict(model.record))
        else:
            raise RnnlensError(
                f"a {type(model).__name__} cannot be saved as a run; give a network or a module"
            )

    def _write_weights(self, weights: "Mapping[str, Tensor]", described: dict[str, Any]) -> None:
        """Write weights, and model.json with their hash."""
        from rnnlens.base.tensors import write_tensors

        described["sha256"] = write_tensors(self.path / "model.safetensors", weights)
        self._write_model_file(described)

    @staticmethod
    def check_kept(model: "Traceable") -> None:
        """Refuse a model of which something cannot be kept in a run."""
        from rnnlens.adapter.stored import StoredModule

        if isinstance(model, StoredModule) and model.pieces:
            model.pieces.to_keep()

    def _write_model_file(self, described: dict[str, Any]) -> None:
        """Write model.json."""
        words = self.path / "vocabulary.json"
        described["vocabulary"] = sha256(words) if words.exists() else None
        write_json(self.path / "model.json", described)

    def check_finished(self) -> None:
        """Refuse a run whose training has not finished."""
        record = self.record()
        if record.status != TRAINED:
            begun = record.command[:300] or "rnnlens train"
            raise RnnlensError(f"{self.path} has not finished; give its command again: {begun}")
        if record.weights not in (None, self.model_hash()):
            raise RnnlensError(
                f"{self.path / 'run.json'} is of another run than the model beside it; restore both"
            )

    def _model_file(self) -> "ModelFile":
        """Read model.json."""
        from rnnlens.run import run_files
        from rnnlens.states.recorded import StatesRecord

        path = self.path / "model.json"
        if isinstance(value := read_json(path, object), dict) and "states" in value:
            return read_json(path, StatesRecord)
        if isinstance(value, dict) and "kinds" in value:
            return run_files.read_module_record(path)
        return read_json(path, run_files.NetworkFile)

    def model(self, code: Any = None) -> "Network | StoredModule | RecordedStates":
        """The trained model, ready to trace.

        A user's module needs its code when it is first traced: that which the run names, or `code`
        in its place (a module, a UserModel, or its package.module:factory). Of recorded states,
        `code` is the folder that they are in now.
        """
        from rnnlens.adapter.module_record import ModuleRecord
        from rnnlens.states.recorded import StatesRecord

        self.check_finished()
        file = self._model_file()
        if isinstance(file, StatesRecord):
            return self._recorded(file, code)
        if isinstance(file, ModuleRecord):
            return self.module(code)
        if code is not None:
            raise RnnlensError(f"{self.path} holds its model itself; leave model= out")
        return self.network()

    def module(self, code: Any = None) -> "StoredModule":
        """The model of a run that is of a user's module."""
        from rnnlens.adapter.stored import StoredModule
        from rnnlens.run import run_files

        self.check_finished()
        record = run_files.read_module_record(self.path / "model.json")
        pieces = self._pieces(record)
        return StoredModule(record, lambda: self._module(record, code, pieces), pieces)

    def _pieces(self, record: "ModuleRecord") -> "PieceText | None":
        """The tokenizer of a user's module, where the run keeps one."""
        from rnnlens.corpus.pieces.piece_text import PieceText
        from rnnlens.corpus.pieces.tokenizer import Pieces

        if record.tokenizer is None:
            return None
        path = self.path / "tokenizer.json"
        pieces = read_json(path, Pieces)
        if sha256(path) != record.tokenizer:
            raise RnnlensError(f"the tokenizer in {self.path} is not its model's; restore both")
        return PieceText.of_pieces(pieces)

    def _recorded(self, record: "StatesRecord", folder: Any) -> "RecordedStates":
        """The states that a run is of, opened where they are."""
        from rnnlens.states.kept import opened as opened_states
        from rnnlens.states.recorded import RecordedStates

        place = Path(record.states if folder is None else folder)
        if not place.exists():
            raise RnnlensError(
                f"the states of {self.path} were at {place} and are not there; say where they are "
                "now: rnnlens.load(run, model=folder), or rnnlens fit --recorded FOLDER -o RUN"
            )
        named = dict(record.named or {})
        words = named.pop("words", None)
        model = RecordedStates(
            record, lambda: opened_states(place, words=words, targets=named, end=record.end)
        )
        _ = model.kept  # or say now what is wrong with them
        return model

    def text(self, model: "Network | StoredModule | RecordedStates") -> "TextSide":
        """How texts are given to the model of this run."""
        vocabulary = self.vocabulary()
        if self._model_file().vocabulary not in (None, sha256(self.path / "vocabulary.json")):
            raise RnnlensError(f"the vocabulary in {self.path} is not its model's; restore both")
        if model.label_count != len(vocabulary):
            raise RnnlensError(
                f"the model in {self.path} has {model.label_count} labels and its vocabulary "
                f"{len(vocabulary)}; restore both"
            )
        return model.text(vocabulary)

    def network(self) -> "Network":
        """The model of a run that rnnlens has trained."""
        from rnnlens.run import run_files

        self.check_finished()
        file = read_json(self.path / "model.json", run_files.NetworkFile)
        return run_files.read_network(self.path / "model.safetensors", file)

    def allow_code(self, *, always: bool = False) -> None:
        """Let the code that this run names be imported, as its user trusts who made it."""
        from rnnlens.adapter.module_record import ModuleRecord

        if isinstance(file := self._model_file(), ModuleRecord) and file.factory:
            trusted_code.allow(file.sha256, file.factory, always=always)

    def _module(self, record: "ModuleRecord", code: Any, pieces: "PieceText | None") -> "Adapter":
        """The user's module with the run's weights, checked to read a text as it did."""
        from rnnlens.adapter.stored import restored
        from rnnlens.base.tensors import read_tensors

        if code is None and not record.factory:
            raise RnnlensError(
                f"{self.path} does not say where its model's code is, so that it cannot read a new "
                "text; in Python, give it: rnnlens.load(run, model=...)"
            )
        if code is None and not trusted_code.is_allowed(record.sha256, record.factory):
            raise RnnlensError(trusted_code.question(self.path, record.factory))
        weights = read_tensors(self.path / "model.safetensors", record.sha256)
        texts = self.vocabulary(), (self.examples() or [])[:1]
        what = f"the code of {self.path}"
        return restored(record, code or record.factory, weights, texts, what, pieces)

    def write_examples(self, examples: Sequence["Example"]) -> None:
        """Write some texts to begin with; those that have states are shown without any code."""
        from rnnlens.run import run_files

        model = self.model_hash() if any(example.states for example in examples) else ""
        words = sha256(self.path / "vocabulary.json")
        run_files.write_examples(self.path / "examples.safetensors", examples, model, words)

    def examples(self) -> "list[Example] | None":
        """Read what `write_examples` has written; None where the run has no such file."""
        from rnnlens.run import run_files

        path = self.path / "examples.safetensors"
        if not is_present(path):
            return None
        words = sha256(self.path / "vocabulary.json")
        return run_files.read_examples(path, self._model_file(), self.vocabulary(), words)


def run_at(name: str) -> Run:
    """The run in a folder, or a bundled one such as `english-news`, if no run has its name. What is
    left of a run that was damaged is still that run.
    """
    place = Path(name)
    is_other = not place.exists() or (
        place.is_dir() and not any((place / part).exists() for part in ("run.json", "model.json"))
    )
    return Run(SHIPPED / name if name in bundled() and is_other else place)


def bundled() -> list[str]:
    """The names of the runs that come with the package; `rnnlens demo` opens the first."""
    names = (path.parent.name for path in SHIPPED.glob("*/run.json"))
    return sorted(names, key=lambda name: (name != BUNDLED, name))


def kept_name(run: str, epoch: int) -> str:
    """What the checkpoint of a run is called beside it."""
    return f"{run}-epoch-{epoch}"


def epochs_to_keep(count: int, epochs: int) -> list[int]:
    """After which of all epochs a checkpoint is kept: close together at first, when most is learnt,
    then ever further apart.
    """
    chosen: list[int] = []
    for k in range(min(count, epochs)):
        wanted = round(epochs ** (k / max(1, count - 1)))
        left = min(count, epochs) - k - 1  # that are still to come after this one
        chosen.append(min(max(wanted, chosen[-1] + 1 if chosen else 1), epochs - left))
    return chosen


@dataclass(frozen=True)
class Keeper:
    """Keeps the weights of some epochs of a training beside the run that it ends with."""

    run: Run
    record: Mapping[str, Any]  # of the run
    epochs: tuple[int, ...]

    def after_epoch(self, epoch: int, model: "Traceable") -> None:
        """Keep a checkpoint, if one is wanted after this epoch."""
        if epoch not in self.epochs:
            return
        checkpoint = Run(self.run.path / CHECKPOINTS / f"{epoch:04}")
        record = {**self.record, "epoch": epoch}
        checkpoint.create()
        checkpoint.write_record(
            {**record, "status": TRAINING}
        )  # first: it marks the folder as a run
        for name in _SAME_IN_CHECKPOINTS:
            if is_present(self.run.path / name):
                write_bytes(checkpoint.path / name, (self.run.path / name).read_bytes())
        checkpoint.write_model(model)
        checkpoint.write_record({**record, "status": TRAINED})


def kept_runs(run: Run) -> dict[int, Run]:
    """The checkpoints of a run's training by the epochs they are of, the earliest first.

    Other runs in their folder are refused: what is drawn over a training must be one training.
    """
    folder = run.path / CHECKPOINTS
    if not folder.is_dir():
        return {}
    corpus, checkpoints = run.record().corpus, {}
    for path in sorted(path for path in folder.iterdir() if (path / "run.json").exists()):
        one = Run(path)
        record = one.record()
        if record.epoch is None or record.corpus.get("hash") != corpus.get("hash"):
            raise RnnlensError(
                f"{path} is no checkpoint of the training of {run.path}, but a run of another "
                "corpus; move it elsewhere"
            )
        if record.status == TRAINED:
            checkpoints[record.epoch] = one
    return dict(sorted(checkpoints.items()))
