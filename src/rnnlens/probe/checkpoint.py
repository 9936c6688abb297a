"""A fit's whole state in one file: finished semantics, and the one that is being fitted."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

from torch import Tensor

from rnnlens.errors import RnnlensError
from rnnlens.files import read_tensors, write_tensors
from rnnlens.flags import as_flag
from rnnlens.probe.fitting import FitProgress, Fitter


def _state(fitter: Fitter) -> dict[str, dict[str, Tensor]]:
    return {
        "weights": fitter.family.weights,
        "first": fitter.first,
        "second": fitter.second,
        "best": fitter.best,
    }


def save_fit(
    path: Path, identity: str, done: dict[str, Tensor], fitter: Fitter | None = None
) -> None:
    """Write the finished probes and the fitter that is at work; `identity` tells fits apart."""
    tensors = {f"done:{name}": t for name, t in done.items()}
    header: dict[str, Any] = {"identity": identity, "semantic": "", "progress": {"seen": 0}}
    if fitter:
        for part, named in _state(fitter).items():
            tensors |= {f"{part}:{name}": t for name, t in named.items()}
        tensors["nll"] = fitter.nll
        header["progress"] = asdict(fitter.progress) | {"seen": fitter.seen}
        header["semantic"] = fitter.semantic
    write_tensors(path, tensors, header)


def _other_fit(path: Path, before: str, now: str) -> str:
    """What to do about the unfinished fit of a run that is not the one asked for."""
    (model, options), (other, asked) = json.loads(before), json.loads(now)
    differs = [name for name in asked if options.get(name) != asked[name]]
    how = "another model"
    if model == other and differs:
        name = differs[0]
        how = f"{as_flag(name, options.get(name))}, not {as_flag(name, asked[name])}"
    return (
        f"{path.parent} holds an unfinished fit, made with {how}; give the same flags to continue "
        "it, or --anew to drop it"
    )


class SavedFit:
    """The contents of a file that `save_fit` has written."""

    def __init__(self, path: Path, identity: str) -> None:
        self.path = path
        self.tensors, header = read_tensors(path)
        try:
            if header["identity"] != identity:
                raise RnnlensError(_other_fit(path, header["identity"], identity))
            self.semantic: str = header["semantic"]
            self.progress = dict(header["progress"])
            self.seen = int(self.progress.pop("seen"))
        except (KeyError, TypeError, ValueError) as error:
            raise RnnlensError(f"{path} is damaged ({error!r}); give --anew to fit anew") from error

    @property
    def done(self) -> dict[str, Tensor]:
        """The probes of the semantics that are finished."""
        return {
            n.removeprefix("done:"): t for n, t in self.tensors.items() if n.startswith("done:")
        }

    def restore(self, fitter: Fitter) -> None:
        """Give a fitter the state that was saved."""
        try:
            for part, named in _state(fitter).items():
                for name, t in named.items():
                    t.copy_(self.tensors[f"{part}:{name}"])
            fitter.nll.copy_(self.tensors["nll"])
            fitter.progress = FitProgress(**self.progress)
        except (KeyError, TypeError, RuntimeError) as error:
            raise RnnlensError(
                f"{self.path} is damaged ({error}); give --anew to fit anew"
            ) from error
        if not all(math.isfinite(nll) for nll in fitter.progress.best):
            raise RnnlensError(f"{self.path} is damaged (best); give --anew to fit anew")
        fitter.seen = self.seen
        fitter.family.refresh()
