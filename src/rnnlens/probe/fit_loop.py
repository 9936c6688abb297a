"""Fitting probes for every semantic in turn, and the file that an unfinished fit leaves."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import Count, Strict, damaged
from rnnlens.base.flags import as_flag
from rnnlens.base.progress import Progress
from rnnlens.base.tensors import check_same, in_range, read_sealed, write_tensors
from rnnlens.model.train.distributed import Processes
from rnnlens.probe import semantics
from rnnlens.probe.coverage import widths_of
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fitting import IN_PYTHON, FitConfig, FitProgress, Fitter
from rnnlens.probe.probes import Probes, Stack, limit_tensors

_REMEDY = "give --anew to fit anew"


class FitObserver:
    """Who a fit reports to: this one shows a bar, keeps nothing, and lets it go on to the end."""

    saves = False  # whether the probes are written to a file, which must be able to hold them
    style = IN_PYTHON  # how a setting is written

    def __init__(self, title: str = "") -> None:
        """`title` stands in front of the semantic, beside the bar."""
        self.title = title

    def finished(self) -> dict[str, Tensor]:
        """The tensors of the semantics that an earlier fit has finished."""
        return {}

    def run(self, fitter: Fitter, done: Mapping[str, Tensor]) -> None:  # noqa: ARG002
        """Fit one semantic to its end; `done` are the tensors of those that are finished."""
        with Progress(
            fitter.epochs * fitter.chunks,
            unit="chunk",
            device=fitter.device,
            title=f"{self.title}{fitter.semantic}",
            shorter=fitter.shorter,
        ) as progress:

            def advance() -> bool:
                progress.advance()
                return False

            fitter.run(advance, progress.begin)

    def kept(self, semantic: str, stack: Stack) -> None:
        """Note what is kept of the probes of a semantic, some of which may be silent."""

    def after_semantic(self, done: Mapping[str, Tensor], *, last: bool) -> None:
        """Note that one more semantic is finished; the `last` of all: the probes come at once."""


def fit_probes(
    dataset: Dataset,
    config: FitConfig,
    observer: FitObserver | None = None,
    processes: Processes | None = None,
) -> Probes:
    """Fit probes for every semantic of the configuration."""
    observer, config = observer or FitObserver(), dataset.settled(config)
    done, names = observer.finished(), semantics.parse(config.semantic)
    for semantic in names:
        if any(name.startswith(f"{semantic}/") for name in done):
            continue
        fitter = Fitter(dataset, semantic, config, processes, observer.style)
        observer.run(fitter, done)
        stack = fitter.result()
        observer.kept(semantic, stack)
        done |= stack.tensors(semantic) | {f"{semantic}/counts": fitter.counts}
        done |= limit_tensors(semantic, fitter.limits())
        for kind, spread in fitter.spreads.items():
            done = spread.tensors(kind) | done  # the first semantic's is as good as any
        observer.after_semantic(done, last=semantic == names[-1])
    others = {semantics.base(name) for name in names if not semantics.of_model(name)}
    answers = {name: dataset.answers[name] for name in sorted(others)}
    probes = Probes.of(
        config.probe, dataset.kinds, names, dataset.label_count, done, answers,
        any_size=not observer.saves,
    )  # fmt: skip
    dataset.questions |= {name: stack.questions for name, stack in probes.stacks.items()}
    return replace(probes, widths=widths_of(probes, dataset))


@dataclass(frozen=True)
class _Header(Strict):
    """What a checkpoint says beside its tensors."""

    identity: str  # tells fits apart
    semantic: str = ""  # the one that is being fitted
    progress: FitProgress = field(default_factory=FitProgress)  # of that one
    seen: Count = 0


def _state(fitter: Fitter) -> dict[str, Tensor]:
    """Every tensor of a fitter by its name in the file."""
    parts = {
        "weights": fitter.family.weights,
        "first": fitter.first,
        "second": fitter.second,
        "best": fitter.best,
        "questions": {kind: asked.weight for kind, asked in fitter.questions.items()},
    }
    named = {f"{part}:{name}": t for part, some in parts.items() for name, t in some.items()}
    return named | {"nll": fitter.nll}


def save_fit(
    path: Path, identity: str, done: Mapping[str, Tensor], fitter: Fitter | None = None
) -> None:
    """Write the finished probes and the fitter that is at work; `identity` tells fits apart."""
    tensors, header = {f"done:{name}": t for name, t in done.items()}, _Header(identity)
    if fitter:
        tensors |= _state(fitter)
        header = _Header(identity, fitter.semantic, fitter.progress, fitter.seen)
    write_tensors(path, tensors, header)


def _other_fit(path: Path, before: str, now: str) -> str:
    """What to do about the unfinished fit of a run that is not the one asked for; empty: it is, and
    was begun by a version with fewer options.
    """
    (model, options), (other, asked) = json.loads(before), json.loads(now)
    options = {**asdict(FitConfig()), **options}
    if model == other and options == {**asdict(FitConfig()), **asked}:
        return ""
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
        self.tensors, self._header = read_sealed(path, _Header, _REMEDY)
        if self._header.identity != identity:
            try:
                problem = _other_fit(path, self._header.identity, identity)
            except (ValueError, TypeError, AttributeError, RecursionError) as error:
                raise damaged(path, "identity", _REMEDY) from error
            if problem:
                raise RnnlensError(problem)
        if not in_range(self.tensors):
            raise damaged(path, "it holds values that are no numbers", _REMEDY)

    @property
    def semantic(self) -> str:
        """The semantic that is being fitted; empty between two."""
        return self._header.semantic

    @property
    def done(self) -> dict[str, Tensor]:
        """The probes of the semantics that are finished."""
        return {
            n.removeprefix("done:"): t for n, t in self.tensors.items() if n.startswith("done:")
        }

    def restore(self, fitter: Fitter) -> None:
        """Give a fitter the state that was saved."""
        progress = self._header.progress
        if progress.epoch > fitter.epochs:
            raise damaged(self.path, "it is beyond the end of the fit", _REMEDY)
        if len(progress.best) != len(fitter.kinds):
            raise damaged(self.path, "best", _REMEDY)
        state = _state(fitter)
        saved = {n: t for n, t in self.tensors.items() if not n.startswith("done:")}
        check_same(self.path, saved, state, _REMEDY)
        for name, values in state.items():
            values.copy_(saved[name])
        fitter.progress, fitter.seen = progress, self._header.seen
        fitter.family.refresh()
