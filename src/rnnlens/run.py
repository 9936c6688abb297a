"""The run folder: a model, its vocabulary and colours, its probes and their evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rnnlens.adapter.adapter import Adapter
from rnnlens.adapter.known import KnownModule, found_again
from rnnlens.adapter.user_model import UserModel, UserRecord
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.errors import RnnlensError
from rnnlens.files import read_json, read_tensors, sha256, write_json, write_tensors
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import Example, TextSide
from rnnlens.model.traceable import Traceable
from rnnlens.probe.probes import Probes
from rnnlens.probe.recipe import FitConfig
from rnnlens.version import __version__

FORMAT = 1
TRAINING, TRAINED, COPYING = "training", "trained", "copying"
FILES = (  # what a finished run may hold, besides run.json
    "vocabulary.json", "colours.json", "evaluation.json", "model.json", "model.safetensors",
    "probes.json", "probes.safetensors", "examples.safetensors",
)  # fmt: skip
_EXACT = (
    "/counts",
    "/mean",
    "/scale",
    "/deviation",
)  # tensors for which half precision is too coarse
BUNDLED = "english-news"  # the name of the run that comes with the package


@dataclass(frozen=True)
class Run:
    """A folder on disk; nothing of it is held in memory."""

    path: Path

    def exists(self) -> bool:
        """Whether the folder holds a run, finished or not."""
        return (self.path / "run.json").exists()

    def create(self) -> None:
        """Make the folder, and refuse one that holds something else."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            foreign = not self.exists() and any(p for p in self.path.iterdir() if p.name[0] != ".")
        except OSError as error:
            raise RnnlensError(
                f"cannot make the folder {self.path}: {error.strerror}; choose another with -o"
            ) from error
        if foreign:
            raise RnnlensError(
                f"{self.path} holds files that are no run; choose an empty or new folder with -o"
            )

    def record(self) -> dict[str, Any]:
        """Read run.json, which says how this run is made."""
        if not self.path.exists():
            raise RnnlensError(
                f"no run at {self.path}; make one with: rnnlens train CORPUS -o {self.path}"
            )
        record = self._read("run.json")
        if record.get("format") != FORMAT:
            raise RnnlensError(
                f"{self.path} was made by rnnlens {record.get('version', '?')} in a format that "
                f"rnnlens {__version__} does not read; train it anew or use that version"
            )
        if "status" not in record or not isinstance(record.get("corpus"), dict):
            raise RnnlensError(
                f"{self.path / 'run.json'} is damaged (parts are missing); "
                "restore it or make the run anew"
            )
        return record

    def _read(self, name: str) -> dict[str, Any]:
        """A JSON object of the run; an empty one if the file holds another value."""
        value = read_json(self.path / name)
        return value if isinstance(value, dict) else {}

    def write_record(self, record: Mapping[str, Any]) -> None:
        """Write run.json."""
        write_json(self.path / "run.json", {"format": FORMAT, "version": __version__, **record})

    def write_vocabulary(self, vocabulary: Vocabulary) -> None:
        """Write vocabulary.json."""
        write_json(self.path / "vocabulary.json", vocabulary.to_json())

    def vocabulary(self) -> Vocabulary:
        """Read vocabulary.json."""
        return Vocabulary.from_json(read_json(self.path / "vocabulary.json"))

    def write_colours(self, colours: Mapping[str, Any]) -> None:
        """Write colours.json."""
        write_json(self.path / "colours.json", colours)

    def colours(self) -> dict[str, Any]:
        """Read colours.json."""
        colours = self._read("colours.json")
        if not isinstance(colours.get("groupings"), dict) or not colours["groupings"]:
            raise RnnlensError(f"{self.path / 'colours.json'} holds no grouping; restore it")
        return colours

    def write_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        """Write evaluation.json."""
        write_json(self.path / "evaluation.json", evaluation)

    @property
    def checkpoint(self) -> Path:
        """Where training saves its state until it ends."""
        return self.path / "checkpoint.safetensors"

    def log(self, line: str) -> None:
        """Add a line to training.log."""
        try:
            with (self.path / "training.log").open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise RnnlensError(
                f"cannot write to {self.path}: {error.strerror}; mend that"
            ) from error

    def write_probes(self, probes: Probes, made: Mapping[str, Any], *, half: bool = False) -> None:
        """Write the probes, then probes.json with their hash, the model's, and how they were made.

        In half precision the file is half as large, and probabilities move in the fourth digit.
        """
        tensors = probes.tensors()
        if half:
            tensors = {
                name: t if name.endswith(_EXACT) else t.half() for name, t in tensors.items()
            }
        sha = write_tensors(self.path / "probes.safetensors", tensors)
        described = {**probes.to_json(), "model": self.model_hash(), "sha256": sha, "made": made}
        write_json(self.path / "probes.json", described)

    def has_probes(self) -> bool:
        """Whether the run has fitted probes."""
        return (self.path / "probes.json").exists()

    def probes(self) -> Probes:
        """The fitted probes, checked against the model they were fitted to."""
        if not self.has_probes():
            raise RnnlensError(
                f"{self.path} has no probes yet; fit them with: rnnlens fit {self.path}"
            )
        described, path = self._read("probes.json"), self.path / "probes.safetensors"
        if described.get("model") != self.model_hash():
            raise RnnlensError(
                f"the probes in {self.path} were fitted to another model; fit them anew: "
                f"rnnlens fit {self.path}"
            )
        tensors, _ = read_tensors(path)
        if sha256(path) != described.get("sha256"):
            raise RnnlensError(f"{path} is damaged; fit anew: rnnlens fit {self.path}")
        return Probes.from_json(described, tensors)

    def fit_config(self) -> FitConfig:
        """How the probes were fitted."""
        try:
            return FitConfig(**self._read("probes.json")["made"])
        except (KeyError, TypeError) as error:
            raise RnnlensError(
                f"{self.path / 'probes.json'} is damaged ({error!r}); fit anew"
            ) from error

    @property
    def fit_checkpoint(self) -> Path:
        """Where fitting saves its state until it ends."""
        return self.path / "fit.safetensors"

    def model_hash(self) -> str:
        """The SHA-256 of the model's weights, as model.json records it."""
        return str(self._read("model.json").get("sha256", ""))

    def write_model(self, model: Traceable) -> None:
        """Write the weights, then model.json with a description of the model and their hash."""
        if isinstance(model, Network):
            weights: Mapping[str, Tensor] = model.state_dict()
            described = {**asdict(model.config), "labels": model.label_count}
        elif isinstance(model, KnownModule):
            weights, described = model.user.weights(), asdict(model.record)
        else:
            raise RnnlensError(f"a {type(model).__name__} cannot be kept as a run")
        sha = write_tensors(self.path / "model.safetensors", weights)
        write_json(self.path / "model.json", {**described, "sha256": sha})

    def check_finished(self) -> None:
        """Refuse a run whose training has not finished."""
        if self.record()["status"] != TRAINED:
            raise RnnlensError(
                f"the training in {self.path} has not finished; "
                "give the same command again to continue it"
            )

    def _weights(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """The description in model.json and the weights, checked to belong together."""
        self.check_finished()
        described, path = self._read("model.json"), self.path / "model.safetensors"
        weights, _ = read_tensors(path)
        if sha256(path) != described.pop("sha256", None):
            raise RnnlensError(f"{path} is damaged or of another model; restore it or train anew")
        return described, weights

    def model(self, code: Any = None) -> Network | KnownModule:
        """The trained model, ready to trace.

        A user's module needs its code when it is first traced: that which the run names, or `code`
        in its place (a module, a UserModel, or its package.module:factory).
        """
        self.check_finished()
        if "kinds" in self._read("model.json"):
            return self.module(code)
        if code is not None:
            raise RnnlensError(f"{self.path} holds its model itself; leave model= out")
        return self.network()

    def module(self, code: Any = None) -> KnownModule:
        """The model of a run that is of a user's module."""
        self.check_finished()
        record = UserRecord.from_json(read_json(self.path / "model.json"), self.path)
        return KnownModule(record, lambda: self._module(record, code))

    def text(self, model: Network | KnownModule) -> TextSide:
        """How texts are given to the model of this run."""
        vocabulary = self.vocabulary()
        if model.label_count != len(vocabulary):
            raise RnnlensError(
                f"the model in {self.path} has {model.label_count} labels and its vocabulary "
                f"{len(vocabulary)}; restore both"
            )
        return model.text(vocabulary)

    def network(self) -> Network:
        """The model of a run that rnnlens has trained."""
        described, weights = self._weights()
        path = self.path / "model.safetensors"
        try:
            label_count = described.pop("labels")
            network = Network(NetworkConfig(**described), label_count)
            network.load_state_dict(weights)
        except (KeyError, TypeError, RuntimeError) as error:
            raise RnnlensError(f"{path} does not fit model.json ({error}); restore both") from error
        if not all(torch.isfinite(w).all() for w in network.state_dict().values()):
            raise RnnlensError(f"{path} holds weights that are not numbers; train anew")
        return network.eval().requires_grad_(False)

    def _module(self, record: UserRecord, code: Any) -> tuple[UserModel, Adapter]:
        """The user's module with the run's weights, checked to read a text as it did."""
        if code is None and not record.factory:
            raise RnnlensError(
                f"{self.path} does not say where its model's code is, so that it cannot read a new "
                "text; in Python, give it: rnnlens.load(run, model=...)"
            )
        user = found_again(record, code or record.factory, self.model_hash(), self._weights()[1])
        adapter = user.adapter()
        known, examples = KnownModule(record, lambda: (user, adapter)), self.examples() or []
        known.check_reading(self.vocabulary(), examples[:1], f"the code of {self.path}")
        return user, adapter

    def write_examples(self, examples: Sequence[Example]) -> None:
        """Write some texts to begin with; those that have states are shown without any code."""
        texts = [(e.text, e.words, e.ids) for e in examples]
        states = {f"{k}/{kind}": v for k, e in enumerate(examples) for kind, v in e.states.items()}
        write_tensors(self.path / "examples.safetensors", states, {"examples": texts})

    def examples(self) -> list[Example] | None:
        """Read what `write_examples` has written; None where the run has no such file."""
        path = self.path / "examples.safetensors"
        if not path.exists():
            return None
        tensors, header = read_tensors(path)
        try:
            return [
                Example(str(text), tuple(words), tuple(ids), {
                    name.partition("/")[2]: t
                    for name, t in tensors.items() if name.startswith(f"{k}/")
                })
                for k, (text, words, ids) in enumerate(header["examples"])
            ]  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise RnnlensError(f"{path} is damaged ({error!r}); delete it") from error


def run_at(name: str) -> Run:
    """The run in a folder; `english-news` is the bundled one, unless a folder has that name."""
    path = Path(name)
    if name == BUNDLED and not path.exists():
        path = Path(__file__).parent / "bundled" / BUNDLED
    return Run(path)
