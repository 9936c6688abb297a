"""`rnnlens fit`: probes for every kind of a run's model."""

import argparse
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.flags import add_flags, add_preset, from_flags
from rnnlens.cli.shared_flags import add_trust_flags, allow_code, begin, moved, terminal
from rnnlens.corpus.corpus_config import ReadingConfig
from rnnlens.probe.fit_config import FitConfig
from rnnlens.run.folder import Run
from rnnlens.run.trusted_code import search

if TYPE_CHECKING:
    from rnnlens.work.user_runs import ModuleRun, StatesRun

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

With --recorded the run is of states that were recorded, without any network: a folder that
rnnlens.record has written, or files of your own (safetensors, npz, HDF5, Parquet).

examples:
  rnnlens fit runs/news
  rnnlens fit runs/news --probe shared --semantic output,input,output+2
  rnnlens fit runs/news --semantic output,tag parts of speech too, of a tagged corpus
  rnnlens fit runs/news --preset quick        one epoch, in minutes without a GPU
  rnnlens fit runs/news --epochs 0            the closed form alone, in one pass
  rnnlens fit --model mine:trained --path . --corpus news.txt -o runs/mine
  rnnlens fit --recorded states -o runs/recorded

Ctrl-C stops; the same command continues where it stopped."""
_PRESETS: dict[str, dict[str, Any]] = {"quick": {"epochs": 1}}


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
    user.add_argument("--recorded", metavar="FOLDER", help="states that were recorded")
    user.add_argument("--end", metavar="WORD",
                      help="with --recorded: the word after which a sequence ends, if it has no "
                      "lengths")  # fmt: skip
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
    _check_together(args)
    run = Run(args.output if args.model or args.recorded else args.path)
    if not (args.model or args.recorded):
        run.check_finished()
    begin(f"fitting probes into {run.path}")
    from rnnlens.work.fit_run import fit_into
    from rnnlens.work.observer import check_seconds

    check_seconds(args.checkpoint_seconds)
    module = _user_run(args, run) if args.model or args.recorded else None
    if module is None:
        allow_code(args, run)
    elif args.semantic is None:
        config = replace(config, semantic=module.semantics)
    fit_into(
        run,
        config,
        module,
        device=args.device,
        moved=moved(args),
        anew=args.anew,
        checkpoint_seconds=args.checkpoint_seconds,
        observer=terminal(args),
    )
    return 0


def _user_run(args: argparse.Namespace, run: Run) -> "ModuleRun | StatesRun":
    """The run that is to be made, which is much to import for a run of ours."""
    from rnnlens.work.user_runs import ModuleRun, StatesRun

    given = {"device": args.device, "colours": args.colours, "command": terminal(args).command}
    if args.recorded:
        return StatesRun.of(run, args.recorded, end=args.end, **given)
    search(args.folders)
    return ModuleRun.of(run, args.model, args.corpus, from_flags(ReadingConfig, args), **given)


def _check_together(args: argparse.Namespace) -> None:
    """Refuse flags that do not go together."""
    if args.recorded and (args.path or args.model or args.corpus or not args.output):
        raise RnnlensError("recorded states take: rnnlens fit --recorded FOLDER -o RUN")
    if args.end and not args.recorded:
        raise RnnlensError("--end goes with --recorded; leave it out")
    if args.recorded:
        return
    if args.model and (args.path or not args.output or not args.corpus):
        raise RnnlensError(
            "a module of your own takes: rnnlens fit --model package.module:factory --corpus "
            "CORPUS -o RUN"
        )
    if args.model:
        return
    if not args.path:
        raise RnnlensError(
            "give a run folder to fit, a module of your own with --model, or --recorded"
        )
    reading = {f.name for f in fields(ReadingConfig)} - {"valid", "test"}
    for name in ("output", "colours", *sorted(reading)):
        if getattr(args, name) is not None:
            raise RnnlensError(
                f"--{name.replace('_', '-')} goes with --model; a run's corpus is read as it was "
                "for training"
            )
