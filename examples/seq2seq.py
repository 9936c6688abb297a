"""An encoder and a decoder with attention, which write dates in one way: the twenty first of march
2017 becomes 2017 mar 21.

The order of the words is another in each sentence, so that the truth is known: the attention of
each written word, and the words that wrote it, have to be those that say the same in the source.
Given the name of a file, `python examples/seq2seq.py dates.html`, it also saves the grid.
"""

import random
import sys

import torch
from torch import nn
from torch.nn.functional import cross_entropy

import rnnlens

UNITS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
TEENS = [f"{number}teenth" for number in "thir four fif six seven eigh nine".split()]
MONTHS = (
    "january february march april may june july august september october november december".split()
)
YEARS = [str(year) for year in range(1990, 2030)]
DAYS = [f"{day:02d}" for day in range(1, 32)]
SHORT = [month[:3] for month in MONTHS]

SOURCE = ["<pad>", "the", "of", "in", "on", "twentieth", "thirtieth", "twenty", "thirty",
          *UNITS, *TEENS, *MONTHS, *YEARS]  # fmt: skip
TARGET = ["<pad>", "<s>", "</s>", *YEARS, *SHORT, *DAYS]
GROUPS = {"year": ("#2a78b8", YEARS), "month": ("#d8701f", SHORT), "day": ("#3d9142", DAYS)}


def spoken(day: int) -> str:
    """A day of a month in words: 21 is the twenty first."""
    if day < 20:
        return [*UNITS, *TEENS][day - 1]
    tens = ("twenty", "thirty")[day // 10 - 2]
    return f"{tens} {UNITS[day % 10 - 1]}" if day % 10 else tens.removesuffix("y") + "ieth"


def date(chance: random.Random) -> tuple[str, str]:
    """A date as somebody says it, and as it is written."""
    day, month, year = chance.randint(1, 31), chance.randrange(12), chance.choice(YEARS)
    said = chance.choice(
        ("the {day} of {month} {year}", "{month} {day} {year}", "in {year} on the {day} of {month}",
         "{month} the {day} {year}", "on {month} {day} in {year}", "in {month} {year} the {day}")
    )  # fmt: skip
    source = said.format(day=spoken(day), month=MONTHS[month], year=year)
    return source, f"{year} {SHORT[month]} {DAYS[day - 1]}"


def batch(chance: random.Random) -> tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]:
    """What the module is fed, sources and the words before each that it writes; and these."""
    pairs = [date(chance) for _ in range(32)]
    sources = [[SOURCE.index(word) for word in source.split()] for source, _ in pairs]
    longest = max(map(len, sources))
    source = torch.tensor([some + [0] * (longest - len(some)) for some in sources])
    written = [[TARGET.index(word) for word in target.split()] for _, target in pairs]
    target = torch.tensor([[1, *some, 2] for some in written])
    return (source, target[:, :-1]), target[:, 1:]


class Attention(nn.Module):
    """How much each word of the source has to do with a state of the decoder, by Bahdanau."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.state, self.word = nn.Linear(size, size), nn.Linear(size, size)
        self.score = nn.Linear(size, 1)

    def forward(self, state: torch.Tensor, words: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """A state (B, H), words (B, S, H) -> weights (B, S)"""
        score = self.score(torch.tanh(self.state(state)[:, None] + self.word(words)))[..., 0]
        return torch.softmax(score.masked_fill(~real, -1e9), -1)


class Translator(nn.Module):
    """A GRU that reads the source, and one that writes the target, with attention between."""

    def __init__(self, size: int = 48) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(len(SOURCE), 24), nn.Embedding(len(TARGET), 24)
        self.encoder = nn.GRU(24, size, batch_first=True)
        self.attention = Attention(size)
        self.decoder = nn.GRUCell(24 + size, size)
        self.readout = nn.Linear(size, len(TARGET))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(B, S), (B, T) -> (B, T, V)"""
        words, last = self.encoder(self.source(source))
        state, written = torch.zeros_like(last[0]), []  # all comes through the attention
        for step in range(target.shape[1]):
            weights = self.attention(state, words, source != 0)
            seen = (weights[..., None] * words).sum(1)
            state = self.decoder(torch.cat([self.target(target[:, step]), seen], -1), state)
            written.append(self.readout(state))
        return torch.stack(written, 1)


def trained() -> tuple[Translator, list[tuple[tuple[torch.Tensor, torch.Tensor], torch.Tensor]]]:
    """The module, and the batches that it has learnt from; seconds."""
    torch.manual_seed(0)
    chance = random.Random(0)
    batches = [batch(chance) for _ in range(120)]
    model = Translator()
    optimiser = torch.optim.Adam(model.parameters(), 0.01)
    for inputs, wanted in batches * 5:
        loss = cross_entropy(model(*inputs).flatten(0, 1), wanted.flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return model, batches


def main() -> None:
    """Print what the decoder attends to, and which words wrote what it says."""
    model, batches = trained()
    colours = {
        "colours": {group: colour for group, (colour, _) in GROUPS.items()},
        "groups": {word: group for group, (_, words) in GROUPS.items() for word in words},
    }
    lens = rnnlens.fit(
        model, batches, TARGET, source=SOURCE, colours=colours, name="dates", epochs=6
    )
    grid = lens("the twenty first of march 2017")  # without a target: it is written
    print("written:", *grid.target)
    print(grid["y"][1].written_by("mar"))
    if len(sys.argv) > 1:
        grid.save(sys.argv[1])
    chance = random.Random(1)
    found = [named(lens, *date(chance)) for _ in range(5)]
    right = [pair for one in found for pair in one]
    attention, written = (sum(some) for some in zip(*right, strict=True))
    told = f"by attention {attention} of {len(right)}, by what wrote it {written} of {len(right)}"
    print(f"named right: {told}")


def named(lens: rnnlens.Lens, source: str, target: str) -> list[tuple[bool, bool]]:
    """Of each word of a target whether the source's word that says it has most attention, and most
    of the difference that is lost where another is read in its place.
    """
    grid = lens(source, target=target)
    right = []
    for step, word in enumerate(grid.target[1:]):
        day = spoken(int(word)) if word in DAYS else ""
        truth = {word, *day.split(), *(month for month in MONTHS if month[:3] == word)}
        weights = [] if grid.attention is None else grid.attention[step].tolist()
        without = grid["y"][step].written_by(word).without[: len(grid.source)].tolist()
        right.append((best(weights, grid.source) in truth, best(without, grid.source) in truth))
    return right


def best(values: list[float], words: list[str]) -> str:
    """The word with the largest value."""
    return max(zip(values, words, strict=True))[1]


if __name__ == "__main__":
    main()
