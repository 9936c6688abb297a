"""`rnnlens index`: what every state of a corpus says, as Parquet beside the run."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.files import locked
from rnnlens.base.progress import Progress
from rnnlens.cli.dataset import recorded
from rnnlens.cli.trust import add_trust_flags, heed
from rnnlens.corpus.corpus import Corpus, CorpusConfig, read_tokens
from rnnlens.corpus.tokens import SPLITS, ReadingConfig
from rnnlens.lens.open import opened
from rnnlens.model.train.distributed import pick_device, processes
from rnnlens.run.folder import Run, run_at
from rnnlens.search.build import Builder, Plan, check_ours
from rnnlens.search.corpus_pass import ALL, Texts
from rnnlens.search.language import first_question
from rnnlens.search.layout import arrow
from rnnlens.search.store import Index

_HELP = """\
Write down what every state says after every word of a corpus, as Parquet files in RUN/index, which
`rnnlens find` asks and any program that reads Parquet can take from there: for each word where it
stands, its tag, the word that came and how surprising it was; for each kind the most probable
labels, the dominant group and its share, the entropy, the rank and probability of what came, and
how far its prediction is from those of the states that feed it and from that of the step before.

Without --corpus it is the corpus that the run was trained on, its test sentences unless --split
names others. A corpus that the run has not seen is indexed as a whole.

With --states the states themselves are kept too, for `similar`: int8 takes a byte for each number
of a state, fp16 two.

examples:
  rnnlens index runs/news
  rnnlens index runs/news --split test,train --states int8 --state-kinds l2,h2
  rnnlens index runs/news --corpus letters.txt
  torchrun --nproc-per-node 4 -m rnnlens index runs/news

Ctrl-C stops; the same command continues where it stopped."""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "index", help="write down what every state of a corpus says", description=_HELP
    )
    parser.add_argument("path", metavar="RUN", type=run_at, help="a run folder")
    parser.add_argument("--corpus", metavar="CORPUS",
                        help="what to index, or where the run's corpus is now")  # fmt: skip
    for name in ("valid", "test"):
        parser.add_argument(f"--{name}", metavar="CORPUS",
                            help=f"where the run's {name} corpus is now")  # fmt: skip
    parser.add_argument("--split", metavar="NAMES",
                        help="parts of the run's corpus: test, valid, train (default: test)"
                        )  # fmt: skip
    parser.add_argument("--semantic", metavar="NAME",
                        help="what states are asked for (default: the first that is fitted)"
                        )  # fmt: skip
    parser.add_argument("--states", default="", metavar="SORT",
                        help="keep the states too, as int8 or fp16")  # fmt: skip
    parser.add_argument("--state-kinds", default="", metavar="KINDS",
                        help="of these kinds only, such as l2,h2")  # fmt: skip
    parser.add_argument("-o", "--output", type=Path, metavar="FOLDER",
                        help="write it there and not in RUN/index")  # fmt: skip
    parser.add_argument("--anew", action="store_true", help="drop an index that is there")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda or cuda:N")
    add_trust_flags(parser.add_argument_group("a run of a module"))
    parser.set_defaults(run=run_index)


def run_index(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    arrow()
    run: Run = args.path
    if not args.output and run.is_bundled:
        raise RnnlensError(
            "the bundled run stays as it is; give -o FOLDER, and ask it with: rnnlens find "
            f"{run.path.resolve().name} QUESTION --index FOLDER"
        )
    heed(args, run)
    device = pick_device(args.device)
    lens = opened(run)
    if args.device != "auto" or device.type == "cuda":
        lens.model.on(device)
    plan = Plan(
        lens, args.semantic or (lens.semantics or ("output",))[0], args.states,
        tuple(filter(None, args.state_kinds.split(","))),
    )  # fmt: skip
    plan.check()
    texts = _texts(run, args, plan)
    folder = run.index_folder(args.output)
    with processes(device) as group, ExitStack() as lock:
        builder = Builder(folder, plan, texts, group)
        if group.first:
            if args.output:
                lock.enter_context(_writing(folder))
            else:
                lock.enter_context(run.writing())
            if not builder.begin(anew=args.anew):
                print(f"{folder} is there already")
        group.any(False)  # no process writes before the folder is ready
        with Progress(
            texts.words // group.count, unit="word", device=device, title="index",
            quiet=not group.first,
        ) as progress:  # fmt: skip
            if not (folder / "manifest.json").exists():
                builder.make(device, progress.advance)
        group.any(False)  # every process has made its parts
        if group.first and not (folder / "manifest.json").exists():
            manifest = builder.finish()
            size = sum(path.stat().st_size for path in folder.iterdir())
            where = f" --index {quote(str(folder))}" if args.output else ""
            index = Index(folder, manifest)
            ask = quote(first_question(follows=index.contents.follows, tagged=index.has_tags))
            index.close()
            print(
                f"{manifest.rows:,} words in {len(texts):,} sentences, {size / 1e6:,.1f} MB in "
                f"{folder}; ask it: rnnlens find {quote(str(run.path))} {ask}{where}"
            )
    return 0


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Make a folder for an index alone, and be the only one who writes to it."""
    check_ours(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RnnlensError(
            f"cannot make the folder {folder}: {error.strerror}; choose another with -o"
        ) from error
    with locked(folder):
        yield


def _texts(run: Run, args: argparse.Namespace, plan: Plan) -> Texts:
    """The sentences to be indexed: of the run's corpus, or of another as a whole."""
    record = run.record()
    if not record.corpus and not args.corpus:
        raise RnnlensError(f"the run.json of {run.path} names no corpus; give one with --corpus")
    sort = CorpusConfig if record.made_by == "train" and record.corpus else ReadingConfig
    config, sha, source = sort(), "", str(args.corpus)
    if record.corpus:
        source, sha, config = recorded(run, args, sort)
    lowercase = isinstance(config, CorpusConfig) and config.lowercase
    form, tokens = read_tokens(source, config, lowercase=lowercase)
    if tokens.hash == sha:
        corpus = Corpus.of(source, form, tokens, config)
        return Texts(corpus, _splits(args.split or "test"), plan.side, config.longest)
    if not args.corpus:
        raise RnnlensError(
            f"{source} is not what {run.path} was trained on; say where that is: --corpus"
        )
    if args.split:
        raise RnnlensError(
            f"{source} is not the corpus of {run.path}, so that it has no parts; leave --split out"
        )
    if config.valid or config.test:  # which are the run's, and no part of this corpus
        alone = replace(config, valid="", test="")
        form, tokens = read_tokens(source, alone, lowercase=lowercase)
    return Texts(Corpus(source, form, tokens, tokens.part), [ALL], plan.side, config.longest)


def _splits(names: str) -> list[str]:
    splits = list(dict.fromkeys(filter(None, names.split(","))))
    if not splits or not {*splits} <= {*SPLITS}:
        raise RnnlensError(f"--split {names}: give some of {', '.join(SPLITS)}")
    return splits
