"""run.json: how a run is made, and how far; read without torch."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import MaxLen

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Name, Settings, Sha, Strict, read_json
from rnnlens.version import __version__

FORMAT = 1
TRAINING, TRAINED, COPYING = "training", "trained", "copying"


@dataclass(frozen=True)
class Record(Strict):
    """run.json: how a run is made."""

    format: Literal[1]
    version: Name
    status: Literal["training", "trained", "copying"]
    corpus: Settings  # where it is and how it is read; empty where there is none
    command: Annotated[str, MaxLen(1_000_000)] = ""
    network: Settings | None = None  # of a run that rnnlens has trained
    training: Settings | None = None
    metrics: dict[Name, Any] | None = None  # for people to read
    epoch: Count | None = None  # of a checkpoint that a training has kept
    weights: Sha | None = None  # of the model, once there is one; older versions did not keep it
    #: The command: `train` of a network of ours, `fit` of a user's module.
    made_by: Literal["train", "fit"] | None = None

    def __post_init__(self) -> None:
        if self.made_by is None:  # older versions did not say; only trained runs have a network
            object.__setattr__(self, "made_by", "fit" if self.network is None else "train")

    def to_json(self) -> dict[str, Any]:
        """What `Run.write_record` takes."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {name: value for name, value in values.items() if value is not None}


def read_record(path: Path) -> Record:
    """Read run.json; an error that names the version where it is of another format."""
    value: Any = read_json(path, object)
    value = value if isinstance(value, dict) else {}
    if value.get("format") != FORMAT:
        raise RnnlensError(
            f"{path.parent} was made by rnnlens {str(value.get('version', '?'))[:40]} in a format "
            f"that rnnlens {__version__} does not read; train it anew or use that version"
        )
    return read_json(path, Record)
