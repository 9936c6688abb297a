"""Fitting the probes of a run: of a network of ours, or of what `user_runs` makes a run of."""

import json
import math
import time
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import is_present, remove
from rnnlens.base.flags import check_known, from_flags
from rnnlens.model.train.distributed import Processes, processes
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fit_loop import FitObserver, SavedFit, fit_probes, save_fit
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.probe.probes import Stack
from rnnlens.run.corpus_data import Moved, of_model, run_dataset
from rnnlens.run.folder import Run, kept_runs, run_at
from rnnlens.work.observer import Observer, Resumable, among, check_seconds

if TYPE_CHECKING:  # a command that fits needs none of it
    from rnnlens.lens.lens import Lens
    from rnnlens.work.user_runs import ModuleRun, StatesRun

_LINES = 12  # about epochs, at most about
_NAMED = 5  # kinds without a probe of their own, at most; of more it is said how many
_BRIEF = 60.0  # seconds of a fit that is not saved for the moment until its probes are written


def fit_run(
    run: "str | Path | Lens",
    *,
    corpus: str | None = None,
    valid: str | None = None,
    test: str | None = None,
    device: str = "auto",
    anew: bool = False,
    **options: Any,
) -> "Lens":
    """Fit the probes of a run folder, or of a lens that comes from one, and look through them.

    `options` are the flags of `rnnlens fit`, such as `semantic="output,input"`, `probe="shared"` or
    `epochs=1`. The corpus is read from where training found it, unless `corpus`, `valid` and `test`
    say where it is now. Ctrl-C stops; the same call continues; `anew` drops an unfinished fit.
    """
    from rnnlens.lens.open import opened

    check_known("fit_run", options, FitConfig)
    folder, config = run_of(run), from_flags(FitConfig, options)
    fit_into(folder, config, device=device, moved=Moved(corpus, valid, test), anew=anew)
    return opened(folder)


def run_of(run: "str | Path | Lens") -> Run:
    """The run folder of a lens, or at a path."""
    if isinstance(run, str | Path):
        return run_at(str(run))
    if run.subject.run is None:
        raise RnnlensError(f"{run.name} is kept in no run folder; save it first: lens.save(folder)")
    return run.subject.run


def fit_into(
    run: Run,
    config: FitConfig,
    module: "ModuleRun | StatesRun | None" = None,
    *,
    device: str = "auto",
    moved: Moved | None = None,
    anew: bool = False,
    checkpoint_seconds: float = 300.0,
    observer: Observer | None = None,
) -> None:
    """Fit the probes of a run and of its training's checkpoints, from where an earlier fit stopped.

    Of a user's module, and of recorded states, the run is made first.
    """
    check_seconds(checkpoint_seconds)
    dataset = module.dataset if module else run_dataset(run, device, moved)
    config = dataset.settled(config)
    with processes(dataset.device) as group, ExitStack() as lock:
        observer = among(observer or Observer(), group)
        group.any(False)  # no process writes before all have looked at the folder
        if group.first:
            lock.enter_context(run.writing())
        if module and group.first:
            observer.say(module.describe())
            module.write()
        group.any(False)  # no process reads before the folder is written
        if module and group.any(module.differs(run)):
            raise RnnlensError(
                f"{module.where} gives other weights in each process; see to it that the same are "
                "loaded each time"
            )
        if anew and group.first:
            remove(run.fit_checkpoint)
        group.any(False)  # no process reads what is dropped
        checkpoints = {} if module else kept_runs(run)
        rest = [one for one in checkpoints.values() if anew or not _is_fitted(one, config)]
        going_on = bool(rest) and len(rest) < len(checkpoints) and not anew
        group.any(False)  # no process writes before all have looked at what is fitted
        job = _Job(config, group, checkpoint_seconds, observer)
        if not (going_on and _is_fitted(run, config)):
            job.fit(run, dataset)
        for one in rest:
            with one.writing() if group.first else nullcontext():
                observer.say(f"checkpoint {one.path.name}, {rest.index(one) + 1} of {len(rest)}")
                model = one.network().to(dataset.device)
                job.fit(one, of_model(dataset, model))


def _is_fitted(run: Run, config: FitConfig) -> bool:
    """Whether a run has probes of its model that are made as it is asked for."""
    with suppress(RnnlensError):
        return run.has_probes() and run.fit_config() == config
    return False


@dataclass(frozen=True)
class _Job:
    """Fits of one configuration, and who is told of them."""

    config: FitConfig
    group: Processes
    seconds: float
    observer: Observer

    def fit(self, run: Run, dataset: Dataset) -> None:
        """Fit the probes of one run to its end, and write them."""
        probes = fit_probes(dataset, self.config, _SavingObserver(run, self), self.group)
        if self.group.first:
            run.write_probes(probes, asdict(self.config))
            remove(run.fit_checkpoint)
            self.observer.say(
                f"{probes.parameters:,} parameters; see how good they are: rnnlens eval {run.path}"
            )
            if dataset.model.verified:
                self.observer.say(dataset.model.verified)


class _SavingObserver(FitObserver):
    """Saves a fit into its run, and continues one that was saved there."""

    saves, style = True, "--{} {}"

    def __init__(self, run: Run, job: _Job) -> None:
        super().__init__()
        self.folder, self.job, path = run, job, run.fit_checkpoint
        self.identity = json.dumps([run.model_hash(), asdict(job.config)], sort_keys=True)
        self.saved = SavedFit(path, self.identity) if is_present(path) else None
        self.began = time.monotonic()  # with the semantic that is being fitted, first pass and all
        job.group.any(False)  # no process writes before all have read

    def finished(self) -> dict[str, Tensor]:
        return self.saved.done if self.saved else {}

    def kept(self, semantic: str, stack: Stack) -> None:
        silent = [kind for kind in stack.kinds if kind in stack.silent()]
        if silent:  # the perplexities that were told are not what is kept
            names = f" ({', '.join(silent)})" if len(silent) <= _NAMED else ""
            self.job.observer.say(
                f"{semantic}: the labels' frequencies are kept for {len(silent)} of "
                f"{len(stack.kinds)} kinds{names}, whose probes are no better; for more, train "
                "longer, or fit longer (--epochs)"
            )

    def after_semantic(self, done: Mapping[str, Tensor], *, last: bool) -> None:
        brief = last and time.monotonic() - self.began < _BRIEF
        if self.job.group.first and not brief:
            save_fit(self.folder.fit_checkpoint, self.identity, done)
        self.began = time.monotonic()

    def run(self, fitter: Fitter, done: Mapping[str, Tensor]) -> None:
        if self.saved and self.saved.semantic == fitter.semantic:
            self.saved.restore(fitter)
        chunks = fitter.chunks

        def look() -> str:
            nll = float(fitter.nll.mean())
            if not math.isfinite(nll):
                raise RnnlensError(
                    f"the loss is {nll} while fitting {fitter.semantic}; what was saved stays: "
                    f"try a lower --learning-rate (now {fitter.rate:g})"
                )
            mean = perplexity(nll, fitter.seen)  # of this process's share
            epoch = fitter.progress.epoch + 1
            return f"{fitter.semantic}, epoch {epoch}, mean perplexity {mean:.1f}"

        def after_epoch() -> None:
            work.progress.begin()
            epoch, best = fitter.progress.epoch, fitter.progress.best
            if epoch % (1 + fitter.epochs // _LINES) and not fitter.finished:
                return
            name = f"epoch {epoch}" if epoch else "start"
            mean = perplexity(sum(best), len(best))
            work.say(
                f"{fitter.semantic:<10} {name:<9} validation perplexity: mean of kinds "
                f"{mean:8.2f}, {fitter.kinds[-1]} {perplexity(best[-1], 1):8.2f}  "
                f"({work.elapsed:.1f} s)"
            )

        with Resumable(
            self.folder,
            fitter.processes,
            self.job.observer,
            total=fitter.epochs * chunks,
            done=fitter.progress.epoch * chunks + fitter.progress.chunk,
            unit="chunk",
            device=fitter.device,
            shorter=fitter.shorter,
            seconds=self.job.seconds,
            look=look,
            save=lambda: save_fit(self.folder.fit_checkpoint, self.identity, done, fitter),
        ) as work:
            if not fitter.run(work.stop, after_epoch):
                work.stopped()
