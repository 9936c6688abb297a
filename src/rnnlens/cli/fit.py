"""`rnnlens fit`: probes for every kind of a run's model."""

import argparse
import json
import math
from collections.abc import Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from torch import Tensor

from rnnlens.base.errors import RnnlensError, Stopped
from rnnlens.base.files import is_present, remove
from rnnlens.base.flags import add_flags, add_preset, from_flags
from rnnlens.base.tensors import digest
from rnnlens.cli.dataset import dataset_of, of_model
from rnnlens.cli.trust import add_trust_flags
from rnnlens.cli.user_run import UserRun
from rnnlens.cli.watch import Watch, check_seconds
from rnnlens.corpus.tokens import ReadingConfig
from rnnlens.model.train.distributed import Processes, processes
from rnnlens.model.train.perplexity import perplexity
from rnnlens.probe.dataset import Dataset
from rnnlens.probe.fit_loop import FitObserver, SavedFit, fit_probes, save_fit
from rnnlens.probe.fitting import FitConfig, Fitter
from rnnlens.run.folder import Run, kept_runs
from rnnlens.run.trusted_code import search

_HELP = """\
Fit the probes of a trained run: for every kind of hidden state, what that state alone says about
the next word (or whatever --semantic asks for). Each is a linear softmax classifier.

It starts from a closed form, the best linear guess of the network's last output read by the
network's own readout, and goes on by gradient steps over states streamed from the model. The
validation sentences decide when to stop; the test sentences are never looked at.

Where checkpoints of the training were kept (rnnlens train --keep), each gets probes, too.

With --model the run is of a torch module of your own: package.module:factory is a function without
arguments that returns the trained module and the names of its labels (or rnnlens.UserModel, which
says more). Its weights are kept in the run; its code is needed again only for new texts.

examples:
  rnnlens fit runs/news
  rnnlens fit runs/news --probe shared --semantic output,input,output+2
  rnnlens fit runs/news --semantic output,tag parts of speech too, of a tagged corpus
  rnnlens fit runs/news --preset quick        one epoch, in minutes without a GPU
  rnnlens fit runs/news --epochs 0            the closed form alone, in one pass
  rnnlens fit --model mine:trained --path . --corpus news.txt -o runs/mine

Ctrl-C stops; the same command continues where it stopped."""
_PRESETS: dict[str, dict[str, Any]] = {"quick": {"epochs": 1}}
_LINES = 12  # of output about epochs, at most about


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "fit", help="fit the probes of a run, or of a module of your own", description=_HELP
    )
    parser.add_argument("path", metavar="RUN", type=Path, nargs="?", help="a run folder")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    parser.add_argument("--checkpoint-seconds", type=float, default=300.0, metavar="X",
                         help="save this often, in case of a crash (default: 300)")  # fmt: skip
    add_preset(parser, _PRESETS)
    add_flags(parser, FitConfig, "fit")
    parser.add_argument("--anew", action="store_true",
                        help="drop an unfinished fit instead of continuing it")  # fmt: skip
    user = parser.add_argument_group("a module of your own")
    user.add_argument("--model", metavar="PACKAGE.MODULE:FACTORY",
                      help="a function that returns the module")  # fmt: skip
    add_trust_flags(user)
    user.add_argument("-o", "--output", metavar="RUN", type=Path, help="the run folder to make")
    user.add_argument("--colours", type=Path, metavar="FILE",
                      help="JSON with your own groups of labels and their colours")  # fmt: skip
    user.add_argument("--corpus", metavar="CORPUS",
                      help="what it reads; of a run, where its corpus is now")  # fmt: skip
    add_flags(parser, ReadingConfig, "its corpus (of a run: --valid and --test, if moved)")
    parser.set_defaults(run=run_fit)


def run_fit(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    config = from_flags(FitConfig, args, _PRESETS[args.preset] if args.preset else None)
    check_seconds(args.checkpoint_seconds)
    _check_asked(args)
    run = Run(args.output if args.model else args.path)
    search(args.folders)
    user_run = UserRun.asked_for(run, args) if args.model else None
    dataset = user_run.dataset if user_run else dataset_of(run, args)
    with processes(dataset.device) as group, ExitStack() as lock:
        group.any(False)  # no process writes before all have looked at the folder
        if group.first:
            lock.enter_context(run.writing())
        if user_run and group.first:
            print(user_run.describe())
            user_run.write()
        group.any(False)  # no process reads before the folder is written
        differs = user_run and digest(user_run.model.user.weights()) != run.model_hash()
        if group.any(bool(differs)):
            raise RnnlensError(
                f"{args.model} gives other weights in each process; see to it that the same are "
                "loaded each time"
            )
        if args.anew and group.first:
            remove(run.fit_checkpoint)
        group.any(False)  # no process reads what is dropped
        kept = {} if user_run else kept_runs(run)
        rest = [one for one in kept.values() if args.anew or not _is_fitted(one, config)]
        going_on = bool(rest) and len(rest) < len(kept) and not args.anew
        group.any(False)  # no process writes before all have looked at what is fitted
        code, seconds = 0, args.checkpoint_seconds
        if not (going_on and _is_fitted(run, config)):
            code = _fit(run, dataset, config, group, seconds)
        for one in rest if not code else ():
            lock.enter_context(one.writing() if group.first else nullcontext())
            if group.first:
                print(f"checkpoint {one.path.name}, {rest.index(one) + 1} of {len(rest)}")
            model = one.network().to(dataset.device)
            if code := _fit(one, of_model(dataset, model), config, group, seconds):
                break
        return code


def _is_fitted(run: Run, config: FitConfig) -> bool:
    """Whether a run has probes of its model that are made as it is asked for."""
    with suppress(RnnlensError):
        return run.has_probes() and run.fit_config() == config
    return False


def _check_asked(args: argparse.Namespace) -> None:
    """Refuse flags that do not go together."""
    if args.model and (args.path or not args.output or not args.corpus):
        raise RnnlensError(
            "a module of your own takes: rnnlens fit --model package.module:factory --corpus "
            "CORPUS -o RUN"
        )
    if args.model:
        return
    if not args.path:
        raise RnnlensError("give a run folder to fit, or a module of your own with --model")
    reading = {f.name for f in fields(ReadingConfig)} - {"valid", "test"}
    for name in ("output", "colours", *sorted(reading)):
        if getattr(args, name) is not None:
            raise RnnlensError(
                f"--{name.replace('_', '-')} goes with --model; a run's corpus is read as it was "
                "for training"
            )


def _fit(run: Run, dataset: Dataset, config: FitConfig, group: Processes, seconds: float) -> int:
    observer = _SavingObserver(run, config, group, seconds)
    try:
        probes = fit_probes(dataset, config, observer, group)
    except Stopped as stop:
        return stop.code
    if group.first:
        run.write_probes(probes, asdict(config))
        remove(run.fit_checkpoint)
        print(f"{probes.parameters:,} parameters; see how good they are: rnnlens eval {run.path}")
    return 0


class _SavingObserver(FitObserver):
    """Saves a fit into its run, and continues one that was saved there."""

    def __init__(self, run: Run, config: FitConfig, group: Processes, seconds: float) -> None:
        super().__init__()
        self.run_, self.group, self.seconds = run, group, seconds
        self.identity = json.dumps([run.model_hash(), asdict(config)], sort_keys=True)
        path = run.fit_checkpoint
        self.saved = SavedFit(path, self.identity) if is_present(path) else None
        group.any(False)  # no process writes before all have read

    def finished(self) -> dict[str, Tensor]:
        return self.saved.done if self.saved else {}

    def run(self, fitter: Fitter, done: Mapping[str, Tensor]) -> None:
        if self.saved and self.saved.semantic == fitter.semantic:
            self.saved.restore(fitter)
        if code := _watch(self.run_, fitter, self.identity, done, self.seconds):
            raise Stopped(code)

    def after_semantic(self, done: Mapping[str, Tensor]) -> None:
        if self.group.first:
            save_fit(self.run_.fit_checkpoint, self.identity, done)


def _watch(
    run: Run, fitter: Fitter, identity: str, done: Mapping[str, Tensor], seconds: float
) -> int:
    """Fit one semantic with progress and checkpoints; the exit code, 0 unless a signal stops it."""
    chunks = fitter.chunks

    def look() -> str:
        nll = float(fitter.nll.mean())
        if not math.isfinite(nll):
            raise RnnlensError(
                f"the loss is {nll} while fitting {fitter.semantic}; what was saved stays: "
                f"try a lower --learning-rate (now {fitter.rate:g})"
            )
        mean = perplexity(nll, fitter.seen)  # of this process's share
        return f"{fitter.semantic}, epoch {fitter.progress.epoch + 1}, mean perplexity {mean:.1f}"

    def after_epoch() -> None:
        epoch, best = fitter.progress.epoch, fitter.progress.best
        if epoch % (1 + fitter.epochs // _LINES) and not fitter.finished:
            return
        name = f"epoch {epoch}" if epoch else "start"
        mean = perplexity(sum(best), len(best))
        watch.say(
            f"{fitter.semantic:<10} {name:<9} validation perplexity: mean of kinds {mean:8.2f}, "
            f"{fitter.kinds[-1]} {perplexity(best[-1], 1):8.2f}  ({watch.elapsed:.1f} s)"
        )

    with Watch(
        run,
        fitter.processes,
        total=fitter.epochs * chunks,
        done=fitter.progress.epoch * chunks + fitter.progress.chunk,
        unit="chunk",
        device=fitter.device,
        shorter=fitter.shorter("--{} {}"),
        seconds=seconds,
        look=look,
        save=lambda: save_fit(run.fit_checkpoint, identity, done, fitter),
    ) as watch:
        if not fitter.run(watch.stop, after_epoch):
            return watch.stopped()
    return 0
