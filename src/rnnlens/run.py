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
from rnnlens.probe.fitting import FitConfig
from rnnlens.probe.probes import Probes
from rnnlens.version import __version__

FORMAT = 1
TRAINING, TRAINED, COPYING = "training", "trained", "copying"
FILES = (  # that a finished run may hold, besides run.json
    "vocabulary.json", "colours.json", "evaluation.json", "model.json", "model.safetensors",
    "probes.json", "probes.safetensors", "examples.safetensors",
)  # fmt: skip
_EXACT = ("/counts", "/mean", "/scale")  # what half precision would spoil
BUNDLED = "english-news"  # the run that comes with the package, and the name it goes by


@dataclass(frozen=True)
class Run:
    """A folder on disk; nothing of it is held in memory."""

    path: Path

    def exists(self) -> bool:
        """Whether anything was ever recorded here."""
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
        """run.json: what made this run."""
        if not self.path.exists():
            raise RnnlensError(
                f"no run at {self.path}; make one with: rnnlens train CORPUS -o {self.path}"
            )
        found = read_json(self.path / "run.json")
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            made_by = found.get("version", "?") if isinstance(found, dict) else "?"
            raise RnnlensError(
                f"{self.path} was made by rnnlens {made_by} in a format that rnnlens "
                f"{__version__} does not read; train it anew or use that version"
            )
        if "status" not in found or not isinstance(found.get("corpus"), dict):
            raise RnnlensError(
                f"{self.path / 'run.json'} is damaged (parts are missing); "
                "restore it or make the run anew"
            )
        return found

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
        found = read_json(self.path / "colours.json")
        if isinstance(found, dict):
            groupings = found.get("groupings")
            if isinstance(groupings, dict) and groupings:
                return found
        raise RnnlensError(f"{self.path / 'colours.json'} holds no grouping; restore it")

    def write_evaluation(self, evaluation: Mapping[str, Any]) -> None:
        """Write evaluation.json."""
        write_json(self.path / "evaluation.json", evaluation)

    @property
    def checkpoint(self) -> Path:
        """Where training under way saves its state."""
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
        """Write the probes, then probes.json with their hash and the model's.

        In half precision they are half as large; what they say then moves in the fourth digit.
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
        """Whether probes were fitted."""
        return (self.path / "probes.json").exists()

    def probes(self) -> Probes:
        """The fitted probes, checked against the model they were fitted to."""
        if not self.has_probes():
            raise RnnlensError(
                f"{self.path} has no probes yet; fit them with: rnnlens fit {self.path}"
            )
        described, path = read_json(self.path / "probes.json"), self.path / "probes.safetensors"
        if not isinstance(described, dict) or described.get("model") != self.model_hash():
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
            return FitConfig(**read_json(self.path / "probes.json")["made"])
        except (KeyError, TypeError) as error:
            raise RnnlensError(
                f"{self.path / 'probes.json'} is damaged ({error!r}); fit anew"
            ) from error

    @property
    def fit_checkpoint(self) -> Path:
        """Where a fit under way saves its state."""
        return self.path / "fit.safetensors"

    def model_hash(self) -> str:
        """The SHA-256 of the model's weights, as model.json records it."""
        described = read_json(self.path / "model.json")
        return str(described.get("sha256")) if isinstance(described, dict) else ""

    def write_model(self, model: Traceable) -> None:
        """Write the weights, then model.json with what is known of them and their hash."""
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
        """Refuse a run whose model is still to come."""
        if self.record()["status"] != TRAINED:
            raise RnnlensError(
                f"the training in {self.path} has not finished; "
                "give the same command again to continue it"
            )

    def _weights(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """What model.json says, and the weights it says it of."""
        self.check_finished()
        described = read_json(self.path / "model.json")
        path = self.path / "model.safetensors"
        weights, _ = read_tensors(path)
        if not isinstance(described, dict) or sha256(path) != described.pop("sha256", None):
            raise RnnlensError(f"{path} is damaged or of another model; restore it or train anew")
        return described, weights

    def model(self, given: Any = None) -> Network | KnownModule:
        """The trained model, ready to trace.

        Of a user's module the code is needed when it is first traced: what the run names, or what
        is `given` in its place (a module, a UserModel, or where to find one).
        """
        self.check_finished()
        described = read_json(self.path / "model.json")
        if isinstance(described, dict) and "kinds" in described:
            return self.module(given)
        if given is not None:
            raise RnnlensError(f"{self.path} holds its model itself; leave model= out")
        return self.network()

    def module(self, given: Any = None) -> KnownModule:
        """The model of a run that is a user's module."""
        self.check_finished()
        record = UserRecord.from_json(read_json(self.path / "model.json"), self.path)
        return KnownModule(record, lambda: self._module(record, given))

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
        """The model of a run that was trained here."""
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

    def _module(self, record: UserRecord, given: Any) -> tuple[UserModel, Adapter]:
        """The user's module with the run's weights, seen to read as it did."""
        if given is None and not record.factory:
            raise RnnlensError(
                f"{self.path} does not say where its model's code is, so that it cannot read a new "
                "text; in Python, give it: rnnlens.load(run, model=...)"
            )
        user = found_again(record, given or record.factory, self.model_hash(), self._weights()[1])
        adapter = user.adapter()
        known, examples = KnownModule(record, lambda: (user, adapter)), self.examples() or []
        known.check_reading(self.vocabulary(), examples[:1], f"the code of {self.path}")
        return user, adapter

    def write_examples(self, examples: Sequence[Example]) -> None:
        """Write the states of some texts, which can then be shown without the module's code."""
        told = [(e.text, e.words, e.ids) for e in examples]
        states = {f"{k}/{kind}": v for k, e in enumerate(examples) for kind, v in e.states.items()}
        write_tensors(self.path / "examples.safetensors", states, {"examples": told})

    def examples(self) -> list[Example] | None:
        """What `write_examples` wrote; None: the run has no examples of its own."""
        path = self.path / "examples.safetensors"
        if not path.exists():
            return None
        tensors, told = read_tensors(path)
        try:
            return [
                Example(str(text), tuple(words), tuple(ids), {
                    name.partition("/")[2]: t
                    for name, t in tensors.items() if name.startswith(f"{k}/")
                })
                for k, (text, words, ids) in enumerate(told["examples"])
            ]  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise RnnlensError(f"{path} is damaged ({error!r}); delete it") from error


def run_at(name: str) -> Run:
    """The run in a folder; where there is none of that name, the bundled one has it."""
    path = Path(name)
    if name == BUNDLED and not path.exists():
        path = Path(__file__).parent / "bundled" / BUNDLED
    return Run(path)
