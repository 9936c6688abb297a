"""Which reading names the right word, where it is known which word is right, and what becomes of
that where something else stands in for a word.

    python benchmarks/attribution.py [--corpus amalgum_news.conllu.gz]

What readings are held against, from the surest to the most natural. Planted: networks whose weights
are written by hand to keep one word and ignore the others. By the task: a trained network that adds
up numbers, of which every word's share is its number. By definition: exact Shapley values of short
sentences, over all subsets of words, under each stand-in for the words that are missing. By
interchange: the input at a word comes from another sentence of the corpus, at the same place. By
grammar: a closing quote is predicted because of the open one, 8 or more words back.

The readings: stored, path and without are those of `written_by`, without under every stand-in;
gradient x input and integrated gradients (20 steps), from the unknown word's embedding, are the
usual alternatives. Stand-ins that are drawn for a reading are other draws than those that it is
held against.
"""

import argparse
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import rnnlens
from rnnlens.ask.ablation import WAYS, ZERO
from rnnlens.ask.stand_ins import LEAST_DRAWS, STAND_INS, UNKNOWN, StandIns
from rnnlens.ask.written import written_by
from rnnlens.base.intervals import interval
from rnnlens.corpus.read.formats import read
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.labels.colours import TAGS
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import StateEdit
from rnnlens.reading.encoding import Palette
from rnnlens.reading.reading import Reading
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject

Values = NDArray[np.float64]
STEPS = 20  # of integrated gradients
METHODS = ("stored", "path", *STAND_INS, "gradient", "integrated")
SHORT, LONG = 6, 8  # words of the sentences whose subsets are all read
OTHERS = 12  # sentences that words are taken from
Found = dict[str, list[float]]  # of every method, one for each sentence


def readings(subject: Subject, ids: list[int], sides: tuple[int, int]) -> dict[str, Values]:
    """Every method's value of each word, for the prediction after the last."""
    names = subject.labels
    reading = Reading.of(subject, " ".join(names[number] for number in ids))
    asked = ([names[sides[0]]], [names[sides[1]]])
    by = {name: written_by(reading, "y", len(ids) - 1, *asked, stand_in=name) for name in STAND_INS}
    found = {name: np.nan_to_num(written.without) for name, written in by.items()}
    usual = by[UNKNOWN]
    assert usual.stored is not None
    assert usual.path is not None
    unknown = subject.session.vocabulary.unknown or 0
    return {"stored": usual.stored, "path": usual.path, **found,
            **slopes(subject.model, ids, sides, unknown)}  # fmt: skip


def slopes(model: Any, ids: list[int], sides: tuple[int, int], unknown: int) -> dict[str, Values]:
    """Gradient x input and integrated gradients, all steps of the latter in one batch."""
    real, base = (model.embedding[torch.tensor(some)] for some in (ids, [unknown] * len(ids)))
    shares = (torch.arange(STEPS) + 0.5) / STEPS
    columns = torch.cat(
        [real[:, None], base[:, None] + shares[:, None] * (real - base)[:, None]], 1
    )
    with torch.enable_grad():
        x = columns.clone().requires_grad_()  # (T, 1 + STEPS, I)
        edits = [StateEdit("x", t, partial(_put, value)) for t, value in enumerate(x)]
        start = {kind: v.requires_grad_() for kind, v in zeros(model, x.shape[1]).items()}
        words = torch.tensor(ids)[:, None].expand(-1, x.shape[1])
        logits = model.trace(words, start, edits).logits
        total = (logits[-1, :, sides[0]] - logits[-1, :, sides[1]]).sum()
        (slope,) = torch.autograd.grad(total, x)
    moved = (real - base)[:, None]
    return {
        "gradient": (slope[:, :1] * moved).sum((1, 2)).double().numpy(),
        "integrated": (slope[:, 1:].mean(1, keepdim=True) * moved).sum((1, 2)).double().numpy(),
    }


def _put(value: Tensor, _state: Tensor) -> Tensor:
    return value


def zeros(model: Any, batch: int) -> dict[str, Tensor]:
    """What is carried before the first word."""
    width = model.config.width
    return {kind: torch.zeros(batch, width) for kind in model.carried}


def subject_of(network: Network, labels: tuple[str, ...]) -> Subject:
    """A network with its labels, without probes."""
    session = Session(network, TextSide.of_words(Vocabulary(labels, (1,) * len(labels))))
    answers = dict.fromkeys(("yes", "no"), "ANSWER")  # a part of speech of their own
    grouping = {"colours": {"OTHER": "#000000", "ANSWER": "#ffffff"}, "groups": answers}
    return Subject("made", session, {TAGS: Palette.of(labels, grouping)})


WORDS = ("UNK", "yes", "no", *(f"w{k}" for k in range(20)))


def keeper(cell: str, seed: int) -> Subject:
    """A network that stores `yes` or `no` for ever, and of other words almost nothing.

    Unit 0 is the answer: its candidate is the word's sign, and its gate opens only for a word that
    is one of the two; both are as sure as can be. Other units carry what happens to come, and count
    for a twentieth.
    """
    network = Network(NetworkConfig(cell, width=4, layers=1, embedding=6, tied=False), len(WORDS))
    network.initialise(seed).eval().requires_grad_(False)
    network.embedding[:, :2] = 0
    network.embedding[1, :2], network.embedding[2, :2] = (
        torch.tensor([1.0, 1]),
        torch.tensor([-1.0, 1]),
    )
    w, width = network.recurrent[0].weights(), 4
    blocks = {"lstm": {"open": 0, "keep": 1, "value": 2, "out": 3}, "gru": {"keep": 1, "value": 2}}[
        cell
    ]

    def row(block: str, inputs: list[float], bias: float) -> None:
        at = blocks[block] * width
        w["w_x"][at], w["w_h"][at] = 0, 0
        w["w_x"][at, :2], w["b_x"][at], w["b_h"][at] = torch.tensor(inputs), bias, 0

    row("value", [5, 0], 0)
    if cell == "lstm":
        row("open", [0, 20], -10)
        row("keep", [0, -20], 10)
        row("out", [0, 0], 10)
    else:
        row("keep", [0, -20], 10)
    network.readout.zero_()
    network.readout[1], network.readout[2] = 0.1, -0.1
    network.readout[1, 0], network.readout[2, 0] = 2, -2
    return subject_of(network, WORDS)


def planted(cell: str, texts: int = 40) -> Found:
    """Whether each method names the word that was stored first, among nine others."""
    draw, right = np.random.default_rng(0), {name: list[float]() for name in METHODS}
    for k in range(texts):
        subject, ids = keeper(cell, k % 4), draw.integers(3, len(WORDS), 10).tolist()
        place, answer = int(draw.integers(0, 9)), int(draw.integers(1, 3))
        ids[place] = answer
        for name, values in readings(subject, ids, (answer, 3 - answer)).items():
            right[name].append(float(np.abs(values).argmax() == place))
    return right


def adder(cell: str, seed: int, steps: int = 600) -> Subject:
    """A network that is trained to add up numbers: its last logits are the sum and its opposite."""
    torch.manual_seed(seed)
    network = Network(NetworkConfig(cell, width=16, layers=1, embedding=8, tied=False), len(WORDS))
    network.initialise(seed)
    amounts = amounts_of()
    optimiser = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(steps):
        ids = torch.randint(0, len(WORDS), (8, 64))
        logits = network.predict(network.hidden(ids)[-1])
        loss = ((logits[:, 1] - logits[:, 2]) - amounts[ids].sum(0)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        for group in optimiser.param_groups:
            group["lr"] = 0.01 * (1 - step / steps)
    return subject_of(network.eval().requires_grad_(False), WORDS)


def amounts_of() -> Tensor:
    """The number that each word stands for; the unknown word is nothing."""
    amounts = torch.linspace(-1, 1, len(WORDS))
    amounts[0] = 0
    return amounts


def by_task(cell: str, texts: int = 40) -> Found:
    """How well each method's values go with the numbers that were added, as a correlation."""
    subject, amounts = adder(cell, 0), amounts_of().numpy()
    draw, found = np.random.default_rng(1), {name: list[float]() for name in METHODS}
    for _ in range(texts):
        ids = draw.integers(0, len(WORDS), 8).tolist()
        for name, values in readings(subject, ids, (1, 2)).items():
            found[name].append(float(np.corrcoef(values, amounts[ids])[0, 1]))
    return found


@torch.no_grad()
def shapley(
    subject: Subject, ids: list[int], sides: tuple[int, int], stand_in: str, seed: int = 1
) -> Values:
    """The exact Shapley value of each word: all subsets of words are read, with stand-ins in the
    places of the others; where these are drawn, once for every draw.
    """
    count, model = len(ids), subject.model
    stand_ins = StandIns(subject, ids)
    chosen = stand_ins.of(stand_in, draws=LEAST_DRAWS, seed=seed)
    assert chosen is not None
    words = stand_ins.drawn(chosen, model.trace(torch.tensor(ids)[:, None]))
    masks = torch.tensor(list(itertools.product([False, True], repeat=count)))  # (2^n, n)
    if chosen.leaves_out:
        value = _shortened(model, ids, masks, sides)
    else:
        # A word that nothing can stand in for stays.
        draws = [[some[k] if some else ids[t] for t, some in enumerate(words)]
                 for k in range(max(map(len, words)))]  # fmt: skip
        every = [torch.where(masks, torch.tensor(ids), torch.tensor(one)).T for one in draws]
        values = ahead(model, torch.cat(every, 1), sides)
        value = values.reshape(len(draws), -1).mean(0)
    size = masks.sum(1).numpy()
    weights = np.array([1 / (count * _choose(count - 1, k)) for k in range(count)])
    number = np.arange(len(masks))
    found = []
    for word in range(count):
        bit = 1 << (count - 1 - word)
        without = number[(number & bit) == 0]
        found.append((weights[size[without]] * (value[without | bit] - value[without])).sum())
    return np.array(found)


@torch.no_grad()
def ahead(model: Any, words: Tensor, sides: tuple[int, int]) -> Values:
    """How far one label is ahead of another after each text of a batch (T, B)."""
    readout = model.classifier()
    weight = (readout.weight[sides[0]] - readout.weight[sides[1]]).detach()
    states = [model.trace(some).states[readout.kind][-1] for some in words.split(256, 1)]
    bias = readout.bias[sides[0]] - readout.bias[sides[1]]
    found: Values = (torch.cat(states) @ weight + bias).detach().double().numpy()
    return found


def _shortened(model: Any, ids: list[int], masks: Tensor, sides: tuple[int, int]) -> Values:
    """What each subset says with the other words left out; before any word is read, the bias."""
    bias = model.classifier().bias
    value = np.full(len(masks), float(bias[sides[0]] - bias[sides[1]]))
    size, words = masks.sum(1), torch.tensor(ids).expand(len(masks), -1)
    for count in range(1, len(ids) + 1):
        some = torch.nonzero(size == count)[:, 0]
        kept = words[some][masks[some]].reshape(len(some), count)
        value[some.numpy()] = ahead(model, kept.T.contiguous(), sides)
    return value


def _choose(n: int, k: int) -> float:
    return float(np.prod([(n - j) / (j + 1) for j in range(k)]))


def rank_correlation(a: Values, b: Values) -> float:
    """Spearman's."""
    ranks = [np.argsort(np.argsort(values)).astype(float) for values in (a, b)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def top_two(subject: Subject, ids: list[int]) -> list[list[int]]:
    """The two most probable labels after each word."""
    y = subject.model.trace(torch.tensor(ids)[:, None]).prediction[:, 0]
    found: list[list[int]] = subject.model.predict(y).topk(2).indices.tolist()
    return found


class Short:
    """Short sentences of a corpus, and what every method says of each, computed once."""

    def __init__(self, subject: Subject, sentences: list[list[str]], most: int) -> None:
        self.subject, encode = subject, subject.session.vocabulary.encode
        every = [encode(words) for words in sentences if SHORT <= len(words) <= LONG]
        self.texts, self.others = every[:most], every[most:]
        self.sides = [tuple(top_two(subject, ids)[-1]) for ids in self.texts]
        self.found = [readings(subject, ids, (a, b))
                      for ids, (a, b) in zip(self.texts, self.sides, strict=True)]  # fmt: skip

    def against(self, value: Callable[[list[int], tuple[int, int]], Values]) -> Found:
        """The rank correlation of each method with a value of each word."""
        correlations: Found = {name: [] for name in METHODS}
        for ids, (a, b), found in zip(self.texts, self.sides, self.found, strict=True):
            held = value(ids, (a, b))
            for name, values in found.items():
                correlations[name].append(rank_correlation(values, held))
        return correlations

    def interchanged(self, ids: list[int], sides: tuple[int, int]) -> Values:
        """What goes where a word's input is that of the word at its place in other sentences."""
        others = [one for one in self.others if len(one) >= len(ids)][:OTHERS]
        texts = [[*ids[:t], other[t], *ids[t + 1 :]] for t in range(len(ids)) for other in others]
        real = ahead(self.subject.model, torch.tensor(ids)[:, None], sides)[0]
        again = ahead(self.subject.model, torch.tensor(texts).T.contiguous(), sides)
        lost: Values = real - again.reshape(len(ids), -1).mean(1)
        return lost

    def same_word(self) -> dict[str, dict[str, float]]:
        """In which share of sentences two stand-ins name the same word first."""
        tops = {name: np.array([int(found[name].argmax()) for found in self.found])
                for name in STAND_INS}  # fmt: skip
        return {a: {b: float((tops[a] == tops[b]).mean()) for b in STAND_INS} for a in STAND_INS}


def quotations(
    subject: Subject, sentences: list[list[str]]
) -> Iterator[tuple[list[int], int, int]]:
    """Words up to where a closing quote is the top label, the open quote's place, and the next."""
    vocabulary = subject.session.vocabulary
    opening, closing = vocabulary.encode(["``", "''"])
    for words in sentences:
        ids = vocabulary.encode(words)
        if opening not in ids or len(ids) > 60:
            continue
        place, tops = len(ids), top_two(subject, ids)
        for t, word in enumerate(ids):
            place = t if word == opening else len(ids) if word == closing else place
            if t - place >= 8 and tops[t][0] == closing:
                yield ids[: t + 1], place, tops[t][1]


def by_grammar(subject: Subject, sentences: list[list[str]], most: int) -> Found:
    """Whether each method names the open quote first, the last word left out."""
    closing = subject.session.vocabulary.encode(["''"])[0]
    right: Found = {name: [] for name in METHODS}
    for ids, place, second in itertools.islice(quotations(subject, sentences), most):
        for name, values in readings(subject, ids, (closing, second)).items():
            right[name].append(float(values[:-1].argmax() == place))
    return right


def ablations(sentences: list[list[str]], most: int) -> None:
    """Print how far states of the last word matter by each way of taking them away."""
    lens, others = rnnlens.load("english-news"), [" ".join(words) for words in sentences[-60:]]
    texts = [" ".join(words) for words in sentences[:most]]
    found = {by: [lens(text).ablated(by=by, others=others) for text in texts] for by in WAYS}
    kinds = found[ZERO][0].kinds
    print(f"\nbits that a state of the last word is worth, {len(texts)} sentences")
    print(
        f"{'':<12}" + "".join(f"{kind:>6}" for kind in kinds) + "   the same state first as by zero"
    )
    firsts = {by: [int(one.values.argmax()) for one in some] for by, some in found.items()}
    for by, some in found.items():
        mean = np.mean([one.values[-1] for one in some], 0)
        same = np.mean(np.array(firsts[by]) == np.array(firsts[ZERO]))
        print(f"{by:<12}" + "".join(f"{bits:>6.2f}" for bits in mean) + f"   {same:.0%}")


def told(what: str, measure: Callable[[], Found]) -> None:
    """Print one line of the table: means, how many, and the widest of their 95% intervals."""
    values = measure()
    ends = [interval(some) for some in values.values()]
    wide = max((one.high - one.low) / 2 for one in ends if one) if all(ends) else float("nan")
    count = len(values["path"])
    print(f"{what:<40}" + "".join(f"{np.mean(values[name]):>10.2f}" for name in METHODS)
          + f"{count:>6}{wide:>7.2f}", flush=True)  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="the news part of AMALGUM, CoNLL-U")
    parser.add_argument("--most", type=int, default=60, help="sentences of each part")
    args = parser.parse_args()
    print(f"{'':<40}" + "".join(f"{name:>10}" for name in METHODS) + f"{'n':>6}{'±':>7}")
    for cell in ("lstm", "gru"):
        told(f"planted, {cell}: the stored word is first", partial(planted, cell))
        told(f"addition, {cell}: correlation", partial(by_task, cell))
    if args.corpus is None:
        return
    subject = rnnlens.load("english-news").subject
    sentences = [list(s.words) for s in itertools.islice(read(str(args.corpus)), 12_000)]
    short = Short(subject, sentences, args.most)
    for name in STAND_INS:
        by = partial(shapley, subject, stand_in=name)
        told(f"Shapley values, {name}: rank", partial(short.against, by))
    told("interchange: rank", partial(short.against, short.interchanged))
    told("open quote is first", partial(by_grammar, subject, sentences, args.most))
    print("\nthe same word first:")
    for name, row in short.same_word().items():
        print(f"{name:<12}" + "".join(f"{share:>10.0%}" for share in row.values()), flush=True)
    ablations([words for words in sentences if SHORT <= len(words) <= 12], args.most // 2)


if __name__ == "__main__":
    main()
