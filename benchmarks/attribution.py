"""Which reading names the right word, where the right word is known.

    python benchmarks/attribution.py [--corpus amalgum_news.conllu.gz]

Four truths, from the surest to the most natural. By construction: networks whose weights are
written by hand to keep one word and ignore the others. By the task: a trained network that adds up
numbers, of which every word's share is its number. By definition: exact Shapley values of short
sentences, over all subsets of words, the others replaced by the unknown word. By grammar: a closing
quote is predicted because of the open one, 8 or more words back, in sentences of the news corpus.

The methods: stored, path and without are those of `written_by`; gradient x input and integrated
gradients (20 steps), from the unknown word's embedding, are the usual alternatives.
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
from rnnlens.ask.written import written_by
from rnnlens.corpus.read.formats import read
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.model.network import Network, NetworkConfig
from rnnlens.model.text import TextSide
from rnnlens.model.traceable import StateEdit
from rnnlens.reading.encoding import Palette
from rnnlens.reading.reading import Reading
from rnnlens.reading.session import Session
from rnnlens.reading.subject import Subject

Values = NDArray[np.float64]
STEPS = 20  # of integrated gradients
METHODS = ("stored", "path", "without", "gradient", "integrated")


def readings(subject: Subject, ids: list[int], sides: tuple[int, int]) -> dict[str, Values]:
    """Every method's value of each word, for the prediction after the last."""
    names = subject.labels
    reading = Reading.of(subject, " ".join(names[number] for number in ids))
    asked = ([names[sides[0]]], [names[sides[1]]])
    written = written_by(reading, "y", len(ids) - 1, *asked, stand_in="unknown")
    found = {name: written.readings[name] for name in METHODS[:3]}
    return found | slopes(subject.model, ids, sides, subject.session.vocabulary.unknown or 0)


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
    grouping = {"colours": {"OTHER": "#000000"}, "groups": dict.fromkeys(labels, "OTHER")}
    return Subject("made", session, {"all": Palette.of(labels, grouping)})


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


def by_construction(cell: str, texts: int = 40) -> dict[str, float]:
    """How often each method names the word that was stored first, among nine others."""
    draw, right = np.random.default_rng(0), dict.fromkeys(METHODS, 0)
    for k in range(texts):
        subject, ids = keeper(cell, k % 4), draw.integers(3, len(WORDS), 10).tolist()
        place, answer = int(draw.integers(0, 9)), int(draw.integers(1, 3))
        ids[place] = answer
        for name, values in readings(subject, ids, (answer, 3 - answer)).items():
            right[name] += int(np.abs(values).argmax() == place)
    return {name: count / texts for name, count in right.items()}


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


def by_task(cell: str, texts: int = 40) -> dict[str, float]:
    """How well each method's values go with the numbers that were added, as a correlation."""
    subject, amounts = adder(cell, 0), amounts_of().numpy()
    draw, found = np.random.default_rng(1), {name: list[float]() for name in METHODS}
    for _ in range(texts):
        ids = draw.integers(0, len(WORDS), 8).tolist()
        for name, values in readings(subject, ids, (1, 2)).items():
            found[name].append(float(np.corrcoef(values, amounts[ids])[0, 1]))
    return {name: float(np.mean(values)) for name, values in found.items()}


@torch.no_grad()
def shapley(model: Any, ids: list[int], sides: tuple[int, int], unknown: int) -> Values:
    """The exact Shapley value of each word: all subsets of words in one batch."""
    count = len(ids)
    masks = torch.tensor(list(itertools.product([False, True], repeat=count)))  # (2^n, n)
    words = torch.where(masks, torch.tensor(ids), unknown).T.contiguous()
    y = model.trace(words).prediction[-1]
    readout = model.classifier()
    weight = readout.weight[sides[0]] - readout.weight[sides[1]]
    value = (y @ weight).double().numpy()
    size = masks.sum(1).numpy()
    weights = np.array([1 / (count * _choose(count - 1, k)) for k in range(count)])
    number = np.arange(len(masks))
    found = []
    for word in range(count):
        bit = 1 << (count - 1 - word)
        without = number[(number & bit) == 0]
        found.append((weights[size[without]] * (value[without | bit] - value[without])).sum())
    return np.array(found)


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


def by_definition(subject: Subject, sentences: list[list[str]], most: int) -> dict[str, float]:
    """The rank correlation of each method with the exact Shapley values, up to ten words."""
    unknown = subject.session.vocabulary.unknown or 0
    found = {name: list[float]() for name in METHODS}
    for words in sentences[:most]:
        ids = subject.session.vocabulary.encode(words)[:10]
        top = top_two(subject, ids)[-1]
        truth = shapley(subject.model, ids, (top[0], top[1]), unknown)
        for name, values in readings(subject, ids, (top[0], top[1])).items():
            found[name].append(rank_correlation(values, truth))
    return {name: float(np.mean(values)) for name, values in found.items()}


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


def by_grammar(subject: Subject, sentences: list[list[str]], most: int) -> dict[str, float]:
    """How often each method names the open quote first, the last word left out."""
    closing = subject.session.vocabulary.encode(["''"])[0]
    right, count = dict.fromkeys(METHODS, 0), 0
    for ids, place, second in itertools.islice(quotations(subject, sentences), most):
        count += 1
        for name, values in readings(subject, ids, (closing, second)).items():
            right[name] += int(values[:-1].argmax() == place)
    print(f"  ({count} positions)")
    return {name: number / max(1, count) for name, number in right.items()}


def told(what: str, measure: Callable[[], dict[str, float]]) -> None:
    """Print one line of the table."""
    values = measure()
    print(f"{what:<44}" + "".join(f"{values[name]:>12.2f}" for name in METHODS), flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpus", type=Path, help="the news part of AMALGUM, CoNLL-U")
    parser.add_argument("--most", type=int, default=60, help="sentences of each part")
    args = parser.parse_args()
    print(f"{'':<44}" + "".join(f"{name:>12}" for name in METHODS))
    for cell in ("lstm", "gru"):
        told(f"built by hand, {cell}: the stored word is first", partial(by_construction, cell))
        told(f"addition, {cell}: correlation with the numbers", partial(by_task, cell))
    if args.corpus is None:
        return
    subject = rnnlens.load("english-news").subject
    sentences = [list(s.words) for s in itertools.islice(read(str(args.corpus)), 12_000)]
    short = [words for words in sentences if 6 <= len(words) <= 10]
    told("Shapley values, up to ten words: rank", lambda: by_definition(subject, short, args.most))
    told("open quote 8 or more back is first", lambda: by_grammar(subject, sentences, args.most))


if __name__ == "__main__":
    main()
