"""`rnnlens show`: the grid of a sentence, to a file or in the terminal."""

import argparse
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rnnlens.base.errors import RnnlensError
from rnnlens.base.rules import count, texts
from rnnlens.cli.output import draw
from rnnlens.cli.shared_flags import add_trust_flags, allow_code, check_runs
from rnnlens.cli.view_command import unique_names
from rnnlens.draw import figure, saving, terminal
from rnnlens.draw.cells import NUMBERS
from rnnlens.draw.columns import MANY
from rnnlens.draw.look import Look
from rnnlens.draw.printable import printable
from rnnlens.run.folder import bundled, run_at

if TYPE_CHECKING:
    from rnnlens.ask.continuation import Continued
    from rnnlens.ask.written import Written
    from rnnlens.lens.lens import Lens
    from rnnlens.reading.lines import Lines

_HELP = """\
Show what every hidden state of a run's network says while it reads a sentence: a row for each word,
a column for each kind, and for each state a rectangle in the colour of the group it expects, the
whiter the less decided, with its most probable labels.

An edit changes a kind after a word, by the row's number, and the network goes on from there:
  l2@4=0  l2@4=0.5         every unit is put to a number; l2[0,5-9]@4=0: some of them
  l2@4*0.5                 is multiplied by one
  l2@4=freeze              stays what it was one word before
  l2@4+said  l2@4-said     is pushed towards a label, or away from it, by the kind's deviation;
  l2@4+0.5:said            by half of that
  l2@4=@2  l2@4=@2:we ran  is that of row 2, or of row 2 of another text

Two alternatives in braces make two texts, which are drawn side by side: a line each from where they
differ, and between them how far apart what they say is, in bits. --beside has another run read the
text, too.

Without -o it is drawn in the terminal. With -o the file's ending says what is written:
  .svg .pdf .png   a figure for print
  .html            the interactive page in one file, which works offline
  .json            every number and colour

examples:
  rnnlens show english-news "we stand in solidarity"      the bundled model
  rnnlens show runs/news "we stand in solidarity"
  rnnlens show runs/news "we stand in solidarity" -o figure.pdf
  rnnlens show runs/news "we stand in solidarity" -o page.html --kinds all
  rnnlens show runs/news "we stand in solidarity" --kinds x,l2,h2 --bars 5
  rnnlens show runs/news "we stand in solidarity" -o figure.svg --density compact --symbols
  rnnlens show runs/news "we stand in solidarity" --semantic input --palette universal
  rnnlens show runs/news "the dogs near the house" --follow are,were --against is,was
  rnnlens show runs/news "the dogs near the house" --edit c2@2=0 --continue 8 --samples 3
  rnnlens show runs/news "the dogs near the house" --written-by y@5 --follow were --against was
  rnnlens show runs/news "the keys to the cabinet {is|are} on the table" --kinds outputs
  rnnlens show runs/lstm "we stand in solidarity" --beside runs/gru
  rnnlens show recall "b 3 d 7 b 5 ? b" --asked d
  rnnlens show runs/news "we stand in solidarity" --rows 3-4 --kinds layer2 -o teaser.pdf
  head -1 sentences.txt | rnnlens show runs/news - -o figure.png --width 7"""

_WIDEST = 10_000  # columns of a terminal


def add_to(verbs: Any) -> None:
    """Declare the verb."""
    parser = verbs.add_parser(
        "show", help="draw a sentence to a file or in the terminal", description=_HELP
    )
    parser.add_argument("at", metavar="RUN", type=run_at,
                        help=f"a run folder, or a bundled run: {', '.join(bundled())}")  # fmt: skip
    parser.add_argument("sentence", metavar="SENTENCE", help='in quotes; "-" reads standard input')
    parser.add_argument("-o", "--output", type=Path, metavar="FILE",
                        help=f"write {' '.join(saving.ENDINGS)}, by its ending")  # fmt: skip
    asked = parser.add_argument_group("what is asked")
    asked.add_argument("--semantic", metavar="NAME",
                       help="the label asked about (default: the first fitted)")  # fmt: skip
    asked.add_argument("--beside", metavar="RUN", type=run_at,
                       help="another run that reads the sentence, too")  # fmt: skip
    asked.add_argument("--follow", metavar="LABELS",
                       help="the probability of these in every state, comma between")  # fmt: skip
    asked.add_argument("--against", default="", metavar="LABELS",
                       help="with --follow: the odds against these")  # fmt: skip
    asked.add_argument("--edit", action="append", default=[], metavar="EDIT",
                       help="change a state, such as l2@4=0; may be given again")  # fmt: skip
    asked.add_argument("--continue", type=int, dest="go_on", metavar="N",
                       help="let the model go on by itself for so many words")  # fmt: skip
    asked.add_argument("--samples", type=int, default=0, metavar="N",
                       help="with --continue: draw so many samples, too")  # fmt: skip
    asked.add_argument("--seed", type=int, default=0, metavar="N",
                       help="with --samples, or words that stand in: the same seed, the same "
                       "words")  # fmt: skip
    asked.add_argument("--written-by", metavar="KIND@ROW",
                       help="which words made a state say --follow rather than --against (default: "
                       "its most probable label rather than the next)")  # fmt: skip
    asked.add_argument("--stand-in", metavar="NAME", choices=texts("stand_ins"),
                       help="with --written-by: what is read in a word's place, other words of the "
                       "same tag (tag) or that the model expected (model), the unknown word "
                       "(unknown) or nothing (left_out); default: the first that there "
                       "is")  # fmt: skip
    asked.add_argument("--palette", metavar="NAME",
                       help="how labels are grouped (default: the run's first)")  # fmt: skip
    asked.add_argument("--colours", type=Path, metavar="FILE",
                       help="your own groups and colours, as JSON")  # fmt: skip
    _add_look(parser.add_argument_group("how it looks"))
    add_trust_flags(parser.add_argument_group("a run of a module"))
    parser.set_defaults(run=run_show)


def _add_look(look: Any) -> None:
    """Declare the flags of the drawing."""
    look.add_argument("--kinds", metavar="LIST",
                      help="columns, comma between, such as x,c2@-1,l2,h2; layer2; h for the h of "
                      "every layer; all; outputs; or default (all but gates and candidates, and "
                      f"outputs where there are more than {MANY} columns)")  # fmt: skip
    look.add_argument("--rows", default="", metavar="LIST",
                      help="words by number, such as 7-8 or 1,4- (default: all)")  # fmt: skip
    look.add_argument("--bars", type=int, metavar="N",
                      help="labels of a state (default: 3, in the terminal 1)")  # fmt: skip
    look.add_argument("--density", choices=("bars", "compact"),
                      help="with labels, or rectangles only (default: bars; in the terminal, "
                      "labels where they fit)")  # fmt: skip
    look.add_argument("--symbols", action="store_true",
                      help="head the columns with mathematical symbols only")  # fmt: skip
    look.add_argument("--head", type=int, default=0, metavar="N",
                      help="of a pair whose attention has several heads, which is told (default: "
                      "0, their mean)")  # fmt: skip
    look.add_argument("--pins", default="", metavar="LIST",
                      help="states to ring in a figure, such as l2:8,h2:8")  # fmt: skip
    look.add_argument("--memories", choices=tuple(NUMBERS),
                      help="in the cells of memories that are matrices, a number rather than what "
                      "the probe says: norm, effective rank or median half-life")  # fmt: skip
    look.add_argument("--asked", metavar="WORD",
                      help="or what they would answer if this word came next")  # fmt: skip
    look.add_argument("--no-key", dest="key", action="store_false",
                      help="draw no key of colours and marks below a figure")  # fmt: skip
    look.add_argument("--title", default="", metavar="TEXT", help="above a figure")
    look.add_argument("--width", type=float, metavar="X",
                      help="of a figure in inches, of the terminal in columns")  # fmt: skip
    look.add_argument("--colour", choices=("auto", "always", "never"), default="auto",
                      help="in the terminal (default: auto, which heeds NO_COLOR)")  # fmt: skip


def run_show(args: argparse.Namespace) -> int:
    """Carry out the verb."""
    if args.against and args.follow is None:
        raise RnnlensError(
            "--against names labels, and --follow none; give both, or --follow alone"
        )
    if args.stand_in and args.written_by is None:
        raise RnnlensError(
            "--stand-in says what is read in a word's place, and nothing is; give --written-by, too"
        )
    look = Look(**{one.name: getattr(args, one.name) for one in fields(Look)})
    if args.output:
        saving.check(args.output, look)
    else:
        _check_terminal(args, look)
    text = sentence(args.sentence)
    check_runs(*filter(None, (args.at, args.beside)))
    from rnnlens.ask.grids import drawn_columns, grid_of
    from rnnlens.ask.memories import with_cells
    from rnnlens.page import saved_page
    from rnnlens.reading.lines import Lines

    allow_code(args, args.at)
    lens, beside = _lenses(args)
    lines = Lines.of(
        lens.subject, text, args.semantic, args.palette, args.edit,
        beside=beside.subject if beside else None,
    )  # fmt: skip
    lines.check_length()
    # A figure has what it shows; a file that is looked at, or read by a program, has everything.
    is_part = not args.output or args.output.suffix.lower() in figure.ENDINGS
    grid = grid_of(lines.showing(drawn_columns(lines, look.kinds)) if is_part else lines)
    grid = with_cells(grid, lines, look) if is_part else grid
    followed = _followed(args, lines)
    more = [*grid["notes"], *reasons(args, lines)]
    if not grid["semantics"]:
        path = args.at.path
        print(f"rnnlens: {path} has no probes, so only its own prediction is shown; fit them: "
              f"rnnlens fit {path}", file=sys.stderr)  # fmt: skip
    if args.output:
        saved_page.save(grid, args.output, look, followed)
    else:
        drawn = in_terminal(grid, look, followed, args.colour)
        attended = terminal.attention_lines(grid, look.head)
        told = (terminal.parted_lines(grid), attended, terminal.changed_lines(grid))
        more = [*(line for lines in told for line in lines), *more]
        draw(drawn + (in_encoding("\n".join(["", *more, ""])) if more else ""))
        return 0
    if more:
        draw(in_encoding("\n".join([*more, ""])))
    return 0


def reasons(args: argparse.Namespace, lines: "Lines") -> list[str]:
    """What is asked about a text beside its grid, as lines of a terminal."""
    text: list[str] = []
    if args.written_by is not None:
        text += [*_written(args, lines).lines(), ""]
    if args.go_on is not None:
        if lines.are_two:
            raise RnnlensError("--continue is asked of one text by one run; leave out the other")
        text += [*_continuation(lines, args).lines(), ""]
    return [printable(line) for line in text[:-1]]


def _continuation(lines: "Lines", args: argparse.Namespace) -> "Continued":
    from rnnlens.ask.continuation import continuation

    return continuation(lines.shown[0], args.go_on, args.samples, args.seed)


def _written(args: argparse.Namespace, lines: "Lines") -> "Written":
    """Who wrote the state that is asked about."""
    from rnnlens.ask.written import written_by

    form, count = re.fullmatch(r"(.+)@(\d{1,6})", args.written_by), len(lines.lines)
    row = int(form[2]) if form else 0
    if not form or not 1 <= row <= count:
        raise RnnlensError(
            f"--written-by {args.written_by}: give a column and a row from 1 to {count}, such as "
            f"c2@{count}"
        )
    reading, step = lines.state(row - 1)
    names = reading.answers.names
    labels, against = (
        listed(given, names) if given else () for given in (args.follow, args.against)
    )
    return written_by(
        reading, form[1], step, labels, against, stand_in=args.stand_in, seed=args.seed
    )


def _lenses(args: argparse.Namespace) -> "tuple[Lens, Lens | None]":
    """The run that is asked for, and the one that is to read beside it."""
    from rnnlens.lens.open import opened

    lens = opened(args.at, args.colours)
    if not args.beside:
        return lens, None
    allow_code(args, args.beside)
    return lens, opened(args.beside, args.colours, unique_names([args.at, args.beside])[1])


def _followed(args: argparse.Namespace, lines: "Lines") -> dict[str, Any] | None:
    if args.follow is None:
        return None
    from rnnlens.ask.follow import follow_all

    names = lines.shown[0].answers.names
    labels, against = (listed(given, names) for given in (args.follow, args.against))
    return follow_all(lines, labels, against).to_json()


def listed(given: str, known: Sequence[str]) -> tuple[str, ...]:
    """Labels with commas between; a comma alone may be a label itself."""
    return (given,) if given in known else tuple(part for part in given.split(",") if part)


def _check_terminal(args: argparse.Namespace, look: Look) -> None:
    look.check()
    if args.width is not None and not terminal.NARROWEST <= args.width <= _WIDEST:
        raise RnnlensError(
            f"--width {args.width:g}: give {terminal.NARROWEST:g} to {_WIDEST:,} columns"
        )


def sentence(argument: str) -> str:
    """The sentence to show: the argument, or standard input where that is a dash."""
    where, text, most = "the sentence", argument, count("text_characters")
    if argument == "-":
        where = "standard input"
        try:
            text = sys.stdin.read(most + 1)
            if len(text) > most:
                raise RnnlensError(f"standard input has more than {most:,} characters; give fewer")
        except UnicodeDecodeError as error:
            raise RnnlensError(
                f"standard input is not {error.encoding} text; convert it"
            ) from error
    if not text.strip():
        raise RnnlensError(f"{where} is empty; give words to read")
    if any("\ud800" <= character <= "\udfff" for character in text):  # bytes that are no text
        raise RnnlensError(f"{where} is not UTF-8 text; convert it")
    return text


def in_terminal(
    grid: dict[str, Any], look: Look, followed: dict[str, Any] | None, colour: str
) -> str:
    """The grid as text, in the width, colours and characters that the terminal has."""
    from rnnlens.ask.decision import answer_line

    text = terminal.draw(
        grid,
        look,
        width=int(look.width or max(shutil.get_terminal_size().columns, terminal.NARROWEST)),
        colours=colours(colour, os.environ, sys.stdout.isatty()),
        followed=followed,
        notes=[line for line in [answer_line(grid)] if line],
    )
    return in_encoding(text)


def in_encoding(text: str) -> str:
    """A text in the characters that the terminal has."""
    encoding = sys.stdout.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def colours(choice: str, environment: Mapping[str, str], is_terminal: bool) -> int:
    """How many colours the drawing may use."""
    terminal_name = environment.get("TERM", "")
    plain = environment.get("NO_COLOR") or not is_terminal or terminal_name in ("", "dumb")
    if choice == "never" or (choice == "auto" and plain):
        return terminal.PLAIN
    true = environment.get("COLORTERM", "").lower() in ("truecolor", "24bit")
    return terminal.TRUE if true else terminal.INDEXED
