"""`rnnlens train`: from a corpus to a run with a trained model."""

import argparse
from pathlib import Path
from typing import Any

from rnnlens.base.flags import add_flags, add_preset
from rnnlens.cli.shared_flags import begin, given, terminal
from rnnlens.corpus.corpus_config import CorpusConfig
from rnnlens.corpus.read.formats import is_of_nltk
from rnnlens.corpus.read.text_files import files
from rnnlens.model.network_config import NetworkConfig
from rnnlens.model.train.training_config import TrainingConfig
from rnnlens.work.recipes import PRESETS
from rnnlens.work.train_options import TrainOptions

_HELP = """\
Train a network: it reads a sentence word by word and predicts the next word; with --task tag a
label of each word, and with --task classify one of the whole text.

CORPUS is a text file with one tokenised sentence a line, raw text, a CoNLL-U file, Penn Treebank
brackets, a folder of files of one of these, gzipped or not, or nltk:NAME for a corpus that NLTK has
installed. The defaults are the paper's: lower case, numerals as NUM, words seen less than three
times as UNK, 80/10/10 of the sentences for training, validation and testing, an LSTM of 2 layers of
300.

With --task tag CORPUS is CoNLL-U, brackets, nltk:NAME or a word a line with columns of labels; with
--task classify label<TAB>text, CSV, lines of JSON, or a folder of folders or files that are named
for labels. These tasks have recipes of their own, and so have other cells than lstm, gru and rnn
for the next word: defaults below are the LSTM's. A recipe's rates go before those of a --preset,
and any flag goes before both.

examples:
  rnnlens train news.conllu.gz -o runs/news
  rnnlens train news.conllu.gz -o runs/small --preset quick      in minutes without a GPU
  rnnlens train news.conllu.gz -o runs/large --preset gpu        larger steps, for a million words
  rnnlens train nltk:brown -o runs/brown --cell gru --width 200
  rnnlens train news.conllu.gz -o runs/news --keep 8              to look at the training itself
  rnnlens train train.txt --valid valid.txt --test test.txt -o runs/ptb --min-count 1
  rnnlens train ewt.conllu --task tag --bidirectional -o runs/tagger
  rnnlens train reviews.csv --task classify --text-column review --label-column stars -o runs/stars
  torchrun --nproc-per-node 2 -m rnnlens train news.conllu.gz -o runs/news

Ctrl-C stops; the same command continues where it stopped, to the same result."""


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser("train", help="train a model on a corpus", description=_HELP)
    parser.add_argument("corpus", metavar="CORPUS", help="a file, a folder or nltk:NAME")
    parser.add_argument("-o", "--output", metavar="RUN", required=True, type=Path,
                        help="the run folder to make, or to continue")  # fmt: skip
    parser.add_argument("--device", default="auto", metavar="NAME",
                        help="cpu, cuda or cuda:N (default: cuda where there is any)")  # fmt: skip
    parser.add_argument("--colours", type=Path, metavar="FILE",
                        help="JSON with your own groups of words and their colours")  # fmt: skip
    parser.add_argument("--checkpoint-seconds", type=float, default=60.0, metavar="X",
                        help="save this often, in case of a crash (default: 60)")  # fmt: skip
    add_preset(parser, PRESETS)
    add_flags(parser, CorpusConfig, "corpus")
    add_flags(parser, NetworkConfig, "network")
    add_flags(parser, TrainingConfig, "training")
    parser.set_defaults(run=run_train)


def run_train(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    chosen = given(args, CorpusConfig, NetworkConfig, TrainingConfig)
    options = TrainOptions.of(chosen, args.preset)
    for source in options.corpus.sources(args.corpus):
        if not is_of_nltk(source):
            files(Path(source))  # or say that there are none
    from rnnlens.corpus.ahead import read_ahead
    from rnnlens.corpus.corpus import read_tokens

    read_ahead(read_tokens, args.corpus, options.corpus, lowercase=options.corpus.lowercase)
    begin(f"training on {args.corpus}, into {args.output}")
    from rnnlens.run.folder import Run
    from rnnlens.work.train_run import train_into

    train_into(
        Run(args.output),
        args.corpus,
        preset=args.preset,
        device=args.device,
        colours=args.colours,
        checkpoint_seconds=args.checkpoint_seconds,
        observer=terminal(args),
        **chosen,
    )
    return 0
