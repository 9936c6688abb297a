"""Modules as strangers have them: a table of ways to write one, each with what plain torch says.

A case is a module, its batches, how it is given to `rnnlens.fit`, and either what is refused or
warned of, or a reference: functions of plain torch that read the module beside the lens.
"""

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import torch
import torch.nn.functional as F
from tests.letters import WORDS, LanguageModel, V, batches
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

Ids = list[int]


@dataclass(frozen=True)
class Case:
    """One module and how it is read."""

    module: nn.Module
    data: list[Any]
    options: dict[str, Any] = field(default_factory=dict)
    labels: Any = field(default_factory=lambda: list(WORDS))
    #: What the message of the refusal has, if it is refused.
    refused: str = ""
    #: What a warning has, if there is one.
    warned: str = ""
    text: str = "c d e a"
    ids: Ids = field(default_factory=lambda: [3, 4, 5, 1])
    #: Plain torch: from the module and a text's numbers to what it is fed.
    feeds: Callable[[Ids], Any] = lambda ids: (torch.tensor([ids]),)
    #: Where states are recorded: the submodule, which kind that is, and how its output is turned
    #: into (T, H) of the text's rows.
    part: str = "recurrence"
    kind: str = "h1"
    rows: Callable[[Any, int], Tensor] = lambda output, n: output[0][0][:n]
    #: From what the module returns to logits (n, V) of the text's rows.
    logits: Callable[[Any, int], Tensor] = lambda output, n: output[0][:n]
    #: From what the module returns and the targets of a batch to the mean loss.
    loss: Callable[[Any, Tensor], Tensor] | None = None
    reads: bool = True  # whether texts can be typed
    measured: bool = True  # whether calling the module gives its logits
    kinds: tuple[str, ...] = ()  # that there must be
    remedy: "Callable[[], Case] | None" = None  # what the refusal tells to do, done


MAKERS: dict[str, Callable[[], Case]] = {}


def case(maker: Callable[[], Case]) -> Callable[[], Case]:
    """Put a case into the table, by the name of its function."""
    MAKERS[maker.__name__] = maker
    return maker


def mean_loss(output: Any, targets: Tensor) -> Tensor:
    """Cross-entropy of (B, T, V) or (B, V) with targets, negative ones left out."""
    wanted = targets.flatten()
    return F.cross_entropy(output.reshape(-1, output.shape[-1])[wanted >= 0], wanted[wanted >= 0])


class Wrapped(nn.Module):
    """A language model with one thing changed, by functions before and after."""

    def __init__(self, before: Any = None, after: Any = None, **options: Any) -> None:
        super().__init__()
        inner = LanguageModel(**options)
        self.embedding, self.recurrence, self.readout = (
            inner.embedding, inner.recurrence, inner.readout,
        )  # fmt: skip
        self.before, self.after = before, after

    def forward(self, words: Tensor, *rest: Any) -> Any:
        if self.before:
            words = self.before(words)
        h = self.recurrence(self.embedding(words), *rest)[0]
        made = self.readout(h)
        return self.after(made) if self.after else made


# Right as they are


for _name, _cell in (("lstm", nn.LSTM), ("gru", nn.GRU), ("elman", nn.RNN)):
    MAKERS[_name] = lambda cell=_cell: Case(LanguageModel(cell=cell), batches())  # type: ignore[misc]
    MAKERS[f"{_name}_time_first"] = lambda cell=_cell: Case(  # type: ignore[misc]
        LanguageModel(False, cell=cell), batches(False),
        feeds=lambda ids: (torch.tensor([ids]).T,),
        rows=lambda output, _n: output[0][:, 0], logits=lambda output, _n: output[:, 0],
    )  # fmt: skip
    MAKERS[f"{_name}_two_layers"] = lambda cell=_cell: Case(  # type: ignore[misc]
        LanguageModel(cell=cell, num_layers=2), batches(), kind="h2"
    )
    MAKERS[f"{_name}_both_ways"] = lambda cell=_cell: Case(  # type: ignore[misc]
        LanguageModel(cell=cell, bidirectional=True), batches(), kind="j1"
    )
    MAKERS[f"{_name}_half"] = lambda cell=_cell: Case(  # type: ignore[misc]
        LanguageModel(cell=cell).double(), batches()
    )


@case
def projected() -> Case:
    module = LanguageModel(proj_size=5)
    module.readout = nn.Linear(5, V)
    return Case(module, batches(), kind="h1")


@case
def square_batches() -> Case:
    return Case(LanguageModel(), batches(size=7))


@case
def log_probabilities() -> Case:
    return Case(Wrapped(after=lambda y: y.log_softmax(-1)), batches())


@case
def probabilities() -> Case:
    return Case(
        Wrapped(after=lambda y: y.softmax(-1)), batches(),
        logits=lambda output, n: output[0][:n].log(),
        loss=lambda output, targets: mean_loss(output.log(), targets),
    )  # fmt: skip


@case
def flat_logits() -> Case:
    return Case(
        Wrapped(after=lambda y: y.reshape(-1, V)), [(w, t.reshape(-1)) for w, t in batches()],
        logits=lambda output, n: output[:n],
    )  # fmt: skip


@case
def logits_in_a_dictionary() -> Case:
    return Case(
        Wrapped(after=lambda y: {"logits": y, "loss": y.mean()}), batches(),
        logits=lambda output, n: output["logits"][0][:n],
        loss=lambda output, targets: mean_loss(output["logits"], targets),
    )  # fmt: skip


@case
def compiled() -> Case:
    return Case(torch.compile(LanguageModel(), backend="eager"), batches())  # type: ignore[arg-type]


@case
def data_parallel() -> Case:
    return Case(nn.DataParallel(LanguageModel()), batches(), part="module.recurrence")


@case
def tied() -> Case:
    module = LanguageModel()
    module.recurrence, module.readout = nn.LSTM(7, 7, batch_first=True), nn.Linear(7, V)
    module.readout.weight = module.embedding.weight
    return Case(module, batches())


class Cells(nn.Module):
    """A cell in a loop."""

    def __init__(self, cell: Any = nn.LSTMCell) -> None:
        super().__init__()
        self.embedding, self.recurrence = nn.Embedding(V, 7), cell(7, 9)
        self.readout = nn.Linear(9, V)

    def forward(self, words: Tensor) -> Tensor:
        state, rows = None, []
        for x in self.embedding(words).unbind(1):
            state = self.recurrence(x, state)
            rows.append(state[0] if isinstance(state, tuple) else state)
        self.seen = torch.stack(rows, 1)
        return self.readout(self.seen)  # type: ignore[no-any-return]


for _name, _step in (("lstm", nn.LSTMCell), ("gru", nn.GRUCell), ("rnn", nn.RNNCell)):
    MAKERS[f"{_name}_cell"] = lambda cell=_step: Case(Cells(cell), batches(), part="")  # type: ignore[misc]


class Packed(LanguageModel):
    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        x = pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        h, _ = pad_packed_sequence(self.recurrence(x)[0], batch_first=True)
        return self.readout(h)


def _ragged(seed: int = 0) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Words with zeros behind them, lengths, and targets."""
    draw, made = random.Random(seed), []
    for words, targets in batches():
        lengths = torch.tensor([7, *(draw.randint(3, 7) for _ in words[1:])])
        past = torch.arange(7) >= lengths[:, None]
        made.append((words.masked_fill(past, 0), lengths, targets.masked_fill(past, -100)))
    return made


@case
def packed() -> Case:
    return Case(
        Packed(), [((w, n), t) for w, n, t in _ragged()],
        {"prepare": lambda ids: (torch.tensor([ids]), torch.tensor([len(ids)]))},
        feeds=lambda ids: (torch.tensor([ids]), torch.tensor([len(ids)])),
        rows=lambda output, _n: output[0].data,
    )  # fmt: skip


@case
def padded_behind() -> Case:
    return Case(LanguageModel(), [(w, t) for w, _, t in _ragged()])


@case
def padded_behind_both_ways() -> Case:
    """Always seven words, of which the last may be padding that the reverse direction reads."""
    return Case(
        LanguageModel(bidirectional=True), [(w, t) for w, _, t in _ragged()],
        feeds=lambda ids: (torch.tensor([[*ids, *[0] * (7 - len(ids))]]),), kind="j1",
    )  # fmt: skip


def _left(data: list[tuple[Tensor, Tensor]], seed: int = 0) -> list[tuple[Tensor, Tensor]]:
    """The same words with zeros in front, all of one length."""
    draw, made = random.Random(seed), []
    for given in data:
        words, targets = (values.clone() for values in given)
        for row, wanted in zip(words, targets, strict=True):
            count = draw.randint(0, 4)
            row[:count], wanted[:count] = 0, -100
        made.append((words, targets))
    return made


@case
def padded_in_front() -> Case:
    return Case(
        LanguageModel(), _left(batches()),
        feeds=lambda ids: (torch.tensor([[*[0] * (7 - len(ids)), *ids]]),),
        rows=lambda output, n: output[0][0][-n:], logits=lambda output, n: output[0][-n:],
    )  # fmt: skip


class Last(LanguageModel):
    """What follows the last word, of a sequence of fixed length."""

    def forward(self, words: Tensor) -> Any:
        return super().forward(words)[:, -1]


@case
def padded_in_front_one_answer() -> Case:
    return Case(
        Last(), [(w, t[:, -1]) for w, t in _left(batches())], {"inputs": WORDS},
        feeds=lambda ids: (torch.tensor([[*[0] * (7 - len(ids)), *ids]]),),
        rows=lambda output, n: output[0][0][-n:],
        logits=lambda output, n: output[:1].expand(n, -1),
        loss=None,
    )  # fmt: skip


@case
def padded_by_prepare() -> Case:
    return Case(
        LanguageModel(), _left(batches()),
        {"prepare": lambda ids: torch.tensor([[*[0] * (7 - len(ids)), *ids]])},
        feeds=lambda ids: (torch.tensor([[*[0] * (7 - len(ids)), *ids]]),),
        rows=lambda output, n: output[0][0][-n:], logits=lambda output, n: output[0][-n:],
    )  # fmt: skip


@case
def length_is_said() -> Case:
    return Case(
        LanguageModel(), batches(), {"length": 7, "pad": "<unk>"},
        feeds=lambda ids: (torch.tensor([[*[0] * (7 - len(ids)), *ids]]),),
        rows=lambda output, n: output[0][0][-n:], logits=lambda output, n: output[0][-n:],
    )  # fmt: skip


def _marked() -> list[tuple[Tensor, Tensor]]:
    """Every sequence begins with <unk>, which stands nowhere else."""
    made = []
    for words, _ in batches():
        read = torch.cat([torch.zeros_like(words[:, :1]), words], 1)
        made.append((read[:, :-1].contiguous(), read[:, 1:].contiguous()))
    return made


@case
def begun_with_a_mark() -> Case:
    return Case(LanguageModel(), _marked(), text="c d e a", ids=[0, 3, 4, 5, 1])


@case
def begun_with_a_mark_by_words() -> Case:
    return Case(
        LanguageModel(), _marked(), {"words": lambda text: ["<unk>", *text.split()]},
        ids=[0, 3, 4, 5, 1],
    )  # fmt: skip


@case
def begun_with_a_mark_by_prepare() -> Case:
    return Case(
        LanguageModel(), _marked(), {"prepare": lambda ids: torch.tensor([[0, *ids]])},
        feeds=lambda ids: (torch.tensor([[0, *ids]]),),
        rows=lambda output, _n: output[0][0][1:], logits=lambda output, _n: output[0][1:],
    )  # fmt: skip


@case
def begun_and_shifted_by_prepare() -> Case:
    return Case(
        LanguageModel(), _marked(), {"prepare": lambda ids: torch.tensor([[0, *ids[:-1]]])},
        feeds=lambda ids: (torch.tensor([[0, *ids[:-1]]]),),
    )  # fmt: skip


class InPlace(LanguageModel):
    """Writes into what it is given."""

    def forward(self, words: Tensor) -> Any:
        words.remainder_(3)
        return super().forward(words)


@case
def writes_into_its_input() -> Case:
    return Case(InPlace(), batches())


class Complex(nn.Module):
    """A linear recurrence of complex numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.decay = nn.Parameter(torch.polar(torch.full((5,), 0.8), torch.arange(5.0)))
        self.w = nn.Parameter(torch.randn(7, 5, dtype=torch.cfloat))

    def forward(self, x: Tensor) -> Tensor:
        h, rows = x.new_zeros(len(x), 5).to(torch.cfloat), []
        for now in x.unbind(1):
            h = self.decay * h + now.to(torch.cfloat) @ self.w
            rows.append(h)
        return torch.stack(rows, 1)


class ComplexModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.recurrence = nn.Embedding(V, 7), Complex()
        self.readout = nn.Linear(10, V)

    def forward(self, words: Tensor) -> Tensor:
        h = self.recurrence(self.embedding(words))
        return self.readout(torch.cat([h.real, h.imag], -1))  # type: ignore[no-any-return]


@case
def complex_states() -> Case:
    return Case(
        ComplexModel(), batches(), {"kinds": ["recurrence"]}, kind="recurrence",
        rows=lambda output, _n: torch.cat([output[0].real, output[0].imag], -1),
    )  # fmt: skip


class Channels(nn.Module):
    """A causal convolution, whose output has channels before timesteps."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.recurrence = nn.Embedding(V, 7), nn.Conv1d(7, 9, 3, padding=2)
        self.readout = nn.Linear(9, V)

    def forward(self, words: Tensor) -> Tensor:
        h = self.recurrence(self.embedding(words).transpose(1, 2))[..., : words.shape[1]]
        return self.readout(h.tanh().transpose(1, 2))  # type: ignore[no-any-return]


class Heads(nn.Module):
    """Attention to what came before, whose heads stand side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, 8)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.recurrence, self.readout = nn.Identity(), nn.Linear(8, V)

    def forward(self, words: Tensor) -> Tensor:
        x = self.embedding(words)
        mask = nn.Transformer.generate_square_subsequent_mask(words.shape[1])
        h = self.recurrence(self.attention(x, x, x, attn_mask=mask)[0] + x)
        return self.readout(h)  # type: ignore[no-any-return]


@case
def attention() -> Case:
    return Case(
        Heads(), batches(), {"kinds": ["recurrence"]}, kind="recurrence",
        rows=lambda output, _n: output[0],
    )  # fmt: skip


class Custom(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w, self.u = nn.Linear(7, 9), nn.Linear(9, 9)

    def forward(self, x: Tensor) -> Tensor:
        h, rows = x.new_zeros(9), []
        for now in x.unbind(1):
            h = (self.w(now) + self.u(h)).tanh()
            rows.append(h)
        return torch.stack(rows, 1)


@case
def own_recurrence() -> Case:
    class Own(LanguageModel):
        def forward(self, words: Tensor) -> Any:
            return self.readout(self.recurrence(self.embedding(words)))

    own = Own()
    own.recurrence = Custom()
    return Case(
        own, batches(), {"kinds": ["recurrence"]}, kind="recurrence",
        rows=lambda output, _n: output[0],
    )  # fmt: skip


@case
def classifier() -> Case:
    return Case(
        Last(), [(w, t[:, -1]) for w, t in batches()], {"inputs": WORDS},
        logits=lambda output, n: output[:1].expand(n, -1),
    )  # fmt: skip


@case
def tagger() -> Case:
    return Case(
        LanguageModel(labels=3), [(w, w % 3) for w, _ in batches()], {"inputs": WORDS},
        labels=["x", "y", "z"],
    )  # fmt: skip


@case
def stateful_hidden() -> Case:
    def zeros(count: int) -> tuple[Tensor, Tensor]:
        return torch.zeros(1, count, 9), torch.zeros(1, count, 9)

    return Case(
        Wrapped(), [((w, zeros(8)), t) for w, t in batches()],
        {"prepare": lambda ids: (torch.tensor([ids]), zeros(1))},
        feeds=lambda ids: (torch.tensor([ids]), zeros(1)),
    )  # fmt: skip


class Scheduled(LanguageModel):
    """Drops words while it learns."""

    def forward(self, words: Tensor) -> Any:
        if self.training:
            words = words * torch.randint(2, words.shape)
        return super().forward(words)


@case
def word_dropout_in_training() -> Case:
    return Case(Scheduled(), batches())


@case
def several_sizes() -> Case:
    return Case(LanguageModel(), [*batches(count=4), *batches(count=4, size=3, length=5)])


@case
def one_batch() -> Case:
    return Case(LanguageModel(), batches(count=1, size=20))


@case
def whole_numbers_of_32_bits() -> Case:
    return Case(LanguageModel(), [(w.int(), t) for w, t in batches()])


@case
def characters() -> Case:
    return Case(LanguageModel(), batches(), {"words": list}, text="cdea")


@case
def ignored_label() -> Case:
    return Case(
        LanguageModel(), [(w, t.masked_fill(t == 2, 0)) for w, t in batches()],
        {"ignore_index": 0, "inputs": WORDS},
        loss=lambda output, targets: mean_loss(output, targets.masked_fill(targets == 0, -1)),
    )  # fmt: skip


# Encoders and decoders


class Seq2seq(nn.Module):
    """The usual tutorial: a decoder that reads what it is given, or its own guess."""

    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(V, 7), nn.Embedding(V, 7)
        self.encoder = nn.GRU(7, 9, batch_first=True)
        self.decoder, self.readout = nn.GRU(7, 9, batch_first=True), nn.Linear(9, V)

    def forward(self, src: Tensor, trg: Tensor, teacher_forcing_ratio: float = 0.5) -> Tensor:
        _, h = self.encoder(self.source(src))
        rows, now = [], trg[:, 0]
        for t in range(trg.shape[1]):
            out, h = self.decoder(self.target(now[:, None]), h)
            rows.append(self.readout(out[:, 0]))
            forced = random.random() < teacher_forcing_ratio
            if t + 1 < trg.shape[1]:
                now = trg[:, t + 1] if forced else rows[-1].argmax(-1)
        return torch.stack(rows, 1)


def _pairs(length: int = 5) -> list[Any]:
    return [
        ((source[:, :length], words), targets)
        for (source, _), (words, targets) in zip(batches(seed=1), batches(), strict=True)
    ]


@case
def teacher_forcing_half() -> Case:
    return Case(Seq2seq(), _pairs(), refused="does not read word .* teacher_forcing_ratio=1.0")


@case
def teacher_forcing_never() -> Case:
    return Case(
        Seq2seq(), _pairs(),
        {"feed": lambda module, batch: module(*batch, teacher_forcing_ratio=0.0)},
        refused="does not read word",
    )  # fmt: skip


_SOURCE = torch.tensor([[1, 2, 3, 4, 5]])


@case
def teacher_forcing_always() -> Case:
    return Case(
        Seq2seq(), _pairs(),
        {"feed": lambda module, batch: module(*batch, teacher_forcing_ratio=1.0),
         "prepare": lambda ids: (_SOURCE, torch.tensor([ids]))},
        feeds=lambda ids: (_SOURCE, torch.tensor([ids]), 1.0),
        warned="left out", part="", kind="decoder.h1",
        loss=None,
    )  # fmt: skip


@case
def teacher_forcing_as_long_as_its_source() -> Case:
    """As many letters in the source as in the target."""
    return Case(Seq2seq(), _pairs(7), refused="does not read word")


# What is refused, or warned of


class LastInEvaluation(LanguageModel):
    def forward(self, words: Tensor) -> Any:
        made = super().forward(words)
        return made if self.training else made[:, -1]


@case
def last_logits_in_evaluation() -> Case:
    return Case(LastInEvaluation(), batches(), refused="predicts once for a sequence")


@case
def prepare_that_reverses() -> Case:
    return Case(
        LanguageModel(), batches(), {"prepare": lambda ids: torch.tensor([ids[::-1]])},
        refused="not read in their order",
    )  # fmt: skip


@case
def prepare_that_reorders() -> Case:
    return Case(
        LanguageModel(), batches(), {"prepare": lambda ids: torch.tensor([[*ids[1:], ids[0]]])},
        refused="not read in their order",
    )  # fmt: skip


@case
def prepare_that_drops_words() -> Case:
    return Case(
        LanguageModel(), batches(), {"prepare": lambda ids: torch.tensor([[ids[0]] * len(ids)])},
        refused="is not read",
    )  # fmt: skip


def _one_against_rest() -> Wrapped:
    """Trained to say of each label by itself whether it comes next."""
    module = Wrapped(after=lambda y: y.sigmoid())
    optimiser = torch.optim.Adam(module.parameters(), 0.02)
    for words, targets in batches() * 3:
        loss = F.binary_cross_entropy(module(words), F.one_hot(targets, V).float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return module


@case
def sigmoid_heads() -> Case:
    return Case(_one_against_rest(), batches(), refused=r"logits=lambda p: p\.log\(\)")


def _against_rest_by_logits() -> Case:
    """Raw logits of each label by itself, where no word tells the next one for certain."""
    module, chance = LanguageModel(), torch.Generator().manual_seed(0)
    data = []
    for words, targets in batches():
        other = torch.randint(V, targets.shape, generator=chance)
        data.append(
            (words, torch.where(torch.rand(targets.shape, generator=chance) < 0.3, other, targets))
        )
    optimiser = torch.optim.Adam(module.parameters(), 0.02)
    for words, targets in data * 12:
        wanted = F.one_hot(targets, V).float()
        loss = F.binary_cross_entropy_with_logits(module(words), wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return Case(module, data, {"inputs": WORDS})


@case
def logits_of_each_against_the_rest() -> Case:
    given = _against_rest_by_logits()
    return _remedied(
        r"of each label against all others .*logits=torch\.nn\.functional\.logsigmoid", given,
        lambda: replace(
            given, options={"inputs": WORDS, "logits": F.logsigmoid}, refused="",
            logits=lambda output, n: F.logsigmoid(output[0][:n]),
            loss=lambda output, targets: mean_loss(F.logsigmoid(output), targets),
        ),
    )  # fmt: skip


@case
def logits_said_to_be_of_a_softmax() -> Case:
    return replace(_against_rest_by_logits(), options={"inputs": WORDS, "logits": lambda z: z})


@case
def batch_first_forgotten() -> Case:
    return Case(LanguageModel(False), batches(), refused="was batch_first=True meant")


class Always(LanguageModel):
    """Dropout that is always on."""

    def forward(self, words: Tensor) -> Any:
        return self.readout(F.dropout(self.recurrence(self.embedding(words))[0], 0.5))


@case
def dropout_always_on() -> Case:
    return Case(Always(), batches(), warned="random in evaluation mode", part="")


class Sampling(LanguageModel):
    """Reads its words with noise."""

    def forward(self, words: Tensor) -> Any:
        x = self.embedding(words)
        return self.readout(self.recurrence(x + torch.randn_like(x))[0])


@case
def noise_always_on() -> Case:
    return Case(Sampling(), batches(), warned="random in evaluation mode", part="")


# What is refused with a remedy, which works


def _remedied(refused: str, given: Case, remedy: Callable[[], Case]) -> Case:
    return replace(given, refused=refused, remedy=remedy)


@case
def sigmoid_heads_with_their_logarithms() -> Case:
    return Case(
        _one_against_rest(), batches(), {"logits": lambda p: p.log()},
        logits=lambda output, n: output[0][:n].log(),
        loss=lambda output, targets: mean_loss(output.log(), targets),
    )  # fmt: skip


class Lazy(LanguageModel):
    def __init__(self) -> None:
        super().__init__()
        self.readout = nn.LazyLinear(V)


def _run_once() -> Case:
    module = Lazy()
    module(batches()[0][0])
    return Case(module, batches())


@case
def lazy() -> Case:
    return _remedied("run the module once", Case(Lazy(), batches()), _run_once)


class Scripted(nn.Module):
    """A layer that was scripted, unless it is not."""

    def __init__(self, scripted: bool) -> None:
        super().__init__()
        layer = nn.Linear(7, 9)
        self.embedding, self.readout = nn.Embedding(V, 7), nn.Linear(9, V)
        with warnings.catch_warnings(action="ignore"):  # of an age that is not ours
            self.recurrence = torch.jit.script(layer) if scripted else layer

    def forward(self, words: Tensor) -> Any:
        return self.readout(self.recurrence(self.embedding(words)).cumsum(1))


def _of_layer(scripted: bool) -> Case:
    return Case(
        Scripted(scripted), batches(), {"kinds": ["recurrence"]}, kind="recurrence",
        rows=lambda output, _n: output[0],
    )  # fmt: skip


@case
def one_hot_targets() -> Case:
    hot = [(words, F.one_hot(targets, V)) for words, targets in batches()]
    back = [(words, targets.argmax(-1)) for words, targets in hot]
    return _remedied(
        r"targets\.argmax\(-1\)", Case(LanguageModel(), hot), lambda: Case(LanguageModel(), back)
    )


@case
def targets_of_minus_one_and_one() -> Case:
    signs = [(words, (words > 2).long() * 2 - 1) for words, _ in batches()]
    labels = [(words, (targets > 0).long()) for words, targets in signs]
    return _remedied(
        r"\(targets > 0\)\.long\(\)",
        Case(LanguageModel(labels=2), signs, {"inputs": WORDS}, ["no", "yes"]),
        lambda: Case(LanguageModel(labels=2), labels, {"inputs": WORDS}, ["no", "yes"]),
    )


@case
def labels_before_timesteps_as_many() -> Case:
    def turned(y: Tensor) -> Tensor:
        return y.transpose(1, 2)

    return _remedied(
        r"y\.transpose\(1, 2\)", Case(Wrapped(after=turned), batches(length=6)),
        lambda: Case(
            Wrapped(after=turned), batches(length=6), {"logits": turned},
            logits=lambda output, n: output[0].T[:n],
            loss=lambda output, targets: mean_loss(output.transpose(1, 2), targets),
        ),
    )  # fmt: skip


@case
def returns_nothing() -> Case:
    def feed(module: Any, words: Tensor) -> Tensor:
        return module.readout(module.recurrence(module.embedding(words))[0])  # type: ignore[no-any-return]

    module = Wrapped(after=lambda _y: None)
    return _remedied(
        "let forward return them, or give feed=", Case(module, batches()),
        lambda: Case(module, batches(), {"feed": feed}, reads=False, measured=False),
    )  # fmt: skip


@case
def one_number_a_timestep() -> Case:
    def logits(z: Tensor) -> Tensor:
        return torch.stack([0 * z, z], -1)

    yes = [(words, (words > 2).long()) for words, _ in batches()]
    given = Case(
        Wrapped(after=lambda y: y[..., 0]), yes, {"inputs": WORDS}, ["no", "yes"],
        logits=lambda output, n: logits(output[0][:n]),
        loss=lambda output, targets: mean_loss(logits(output), targets),
    )  # fmt: skip
    return _remedied(
        r"torch\.stack\(\[0 \* z, z\], -1\)", replace(given, labels=None),
        lambda: replace(given, options={"inputs": WORDS, "logits": logits}),
    )  # fmt: skip


@case
def scripted_layer() -> Case:
    return _remedied("scripted or traced", _of_layer(True), lambda: _of_layer(False))


@case
def on_the_meta_device() -> Case:
    return Case(LanguageModel().to("meta"), batches(), refused="without values; load its weights")


class Two(nn.Module):
    """Two arrays of numbers side by side."""

    def __init__(self) -> None:
        super().__init__()
        self.recurrence, self.other = nn.Identity(), nn.Identity()
        self.readout = nn.Linear(7, V)

    def forward(self, a: Tensor, b: Tensor) -> Any:
        return self.readout(torch.cat([self.recurrence(a), self.other(b)], -1))


@case
def arrays_side_by_side() -> Case:
    table = torch.randn(V, 7)
    data = [((table[w][..., :3], table[w][..., 3:]), t) for w, t in batches()]
    return Case(
        Two(), data, {"kinds": ["recurrence", "other"]}, reads=False, kinds=("recurrence", "other")
    )


class Shaped(nn.Module):
    """A recurrence whose states come in some shape, and the way back from there."""

    def __init__(self, there: Callable[[Tensor], Tensor], back: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.embedding, self.inner, self.recurrence = nn.Embedding(V, 7), Custom(), Turned(there)
        self.readout, self.back = nn.Linear(9, V), back

    def forward(self, words: Tensor) -> Tensor:
        h = self.recurrence(self.inner(self.embedding(words)))
        return self.readout(self.back(h))  # type: ignore[no-any-return]


class Turned(nn.Module):
    def __init__(self, turn: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.turn = turn

    def forward(self, x: Tensor) -> Tensor:
        return self.turn(x)


def _shaped(there: Any, back: Any, axes: str, kind: str, rows: Any) -> Case:
    options = {"kinds": [f"recurrence: {axes}"]}
    return Case(Shaped(there, back), batches(), options, kind=kind, rows=rows)


@case
def channels_before_timesteps() -> Case:
    def turn(x: Tensor) -> Tensor:
        return x.transpose(1, 2)

    return _shaped(turn, turn, "b c t", "recurrence", lambda output, _n: output[0].T)


@case
def heads_of_several_numbers() -> Case:
    return _shaped(
        lambda x: x.unflatten(-1, (3, 3)), lambda x: x.flatten(2), "b t h n", "recurrence",
        lambda output, _n: output[0].flatten(1),
    )  # fmt: skip


@case
def one_of_several_heads() -> Case:
    return _shaped(
        lambda x: x.unflatten(-1, (3, 3)).transpose(1, 2),
        lambda x: x.transpose(1, 2).flatten(2), "b h=1 t n", "recurrence.h1",
        lambda output, _n: output[0, 1],
    )  # fmt: skip


@case
def each_of_heads_side_by_side() -> Case:
    made = _shaped(
        lambda x: x, lambda x: x, "b t (h:3* n)", "recurrence.h2",
        lambda output, _n: output[0, :, 6:],
    )  # fmt: skip
    return replace(made, kinds=("recurrence.h0", "recurrence.h1", "recurrence.h2"))


@case
def sequences_last() -> Case:
    return _shaped(
        lambda x: x.permute(1, 2, 0)[None], lambda x: x[0].permute(2, 0, 1), "1 t n b",
        "recurrence", lambda output, _n: output[0, ..., 0],
    )  # fmt: skip


@case
def a_shape_that_does_not_fit() -> Case:
    made = _shaped(lambda x: x, lambda x: x, "b t h n", "", None)
    met = r"which met Tensor 8 x 7 x 9 \(float32\): it has 3 axes and 4 are"
    return replace(made, refused=f"kinds= has 'recurrence: b t h n', {met}")


# Modules of every odd kind


class InChunks(LanguageModel):
    """Reads three words at a time, and goes on from where it was."""

    def forward(self, words: Tensor) -> Any:
        h, outputs = None, []
        for some in self.embedding(words).split(3, 1):
            output, h = self.recurrence(some, h)
            outputs.append(output)
        return self.readout(torch.cat(outputs, 1))


@case
def read_in_chunks() -> Case:
    return Case(InChunks(), batches(), part="")


class OneByOne(LanguageModel):
    def forward(self, words: Tensor) -> Any:
        return torch.stack([self.readout(self.recurrence(self.embedding(w))[0]) for w in words])


@case
def sequence_by_sequence() -> Case:
    return Case(OneByOne(), batches(), part="")


class ListOfSteps(LanguageModel):
    def forward(self, words: Tensor) -> Any:
        return list(super().forward(words).unbind(1))


@case
def a_list_of_timesteps() -> Case:
    def joined(output: Any) -> Tensor:
        return torch.stack(list(output), 1)

    module = ListOfSteps()
    return _remedied(
        r"one for each timestep; give logits=lambda output: torch\.stack", Case(module, batches()),
        lambda: Case(
            module, batches(), {"logits": joined}, logits=lambda output, _n: joined(output)[0],
            loss=lambda output, targets: mean_loss(joined(output), targets),
        ),
    )  # fmt: skip


class PadsItself(LanguageModel):
    """Reads whole multiples of four, and gives back as many as it was given."""

    def forward(self, words: Tensor) -> Any:
        return super().forward(F.pad(words, (0, -words.shape[1] % 4)))[:, : words.shape[1]]


@case
def pads_inside_of_forward() -> Case:
    module = PadsItself()
    padded = [(F.pad(x, (0, 1)), F.pad(y, (0, 1), value=-100)) for x, y in batches()]
    return _remedied(
        "give batches as the parts read them",
        Case(module, batches()),
        lambda: Case(module, padded, {"inputs": WORDS}, text="c d e a"),
    )


class Reversing(LanguageModel):
    def forward(self, words: Tensor) -> Any:
        return super().forward(words.flip(1)).flip(1)


@case
def reads_from_the_end() -> Case:
    module = Reversing()
    return _remedied(
        r"it reads from the end; give words and targets from the end too", Case(module, batches()),
        lambda: Case(
            module, [(x.flip(1), y.flip(1)) for x, y in batches()],
            {"feed": lambda m, words: m(words.flip(1)).flip(1), "inputs": WORDS}, measured=False,
            feeds=lambda ids: (torch.tensor([ids]).flip(1),),
            logits=lambda output, _n: output[0].flip(0),
        ),
    )  # fmt: skip


class Sequences(LanguageModel):
    """Gives its sequences back in another order than it was given them."""

    def forward(self, words: Tensor) -> Any:
        return super().forward(words.roll(1, 0))


@case
def sequences_in_another_order() -> Case:
    return Case(Sequences(), batches(), refused="in another order than it is fed")


class Zoneout(nn.Module):
    """Cells one above the other, of whose states some of the last step stays."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.readout = nn.Embedding(V, 6), nn.Linear(8, V)
        self.lower, self.upper = nn.LSTMCell(6, 8), nn.LSTMCell(8, 8)

    def forward(self, words: Tensor) -> Tensor:
        zeros = torch.zeros(len(words), 8)
        lower = upper = (zeros, zeros)
        outputs = []
        for word in words.unbind(1):
            new = self.lower(self.embedding(word), lower)
            lower = tuple(0.9 * n + 0.1 * old for n, old in zip(new, lower, strict=True))
            upper = self.upper(lower[0], upper)
            outputs.append(self.readout(upper[0]))
        return torch.stack(outputs, 1)


@case
def cells_that_stay_in_part() -> Case:
    return Case(Zoneout(), batches(), part="")


class Normed(LanguageModel):
    def __init__(self) -> None:
        super().__init__()
        nn.utils.parametrizations.weight_norm(self.readout)
        nn.utils.parametrizations.spectral_norm(self.recurrence, "weight_hh_l0")


@case
def weights_that_are_computed() -> Case:
    return Case(Normed(), batches())


class Inferring(LanguageModel):
    @torch.inference_mode()
    def forward(self, words: Tensor) -> Any:
        return super().forward(words)


@case
def in_inference_mode() -> Case:
    return Case(Inferring(), batches())


class LearnedStart(LanguageModel):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.randn(2, 1, 1, self.recurrence.hidden_size))

    def forward(self, words: Tensor) -> Any:
        start = self.start.expand(-1, -1, len(words), -1).contiguous()
        return self.readout(self.recurrence(self.embedding(words), tuple(start))[0])


@case
def a_learned_start() -> Case:
    return Case(LearnedStart(), batches())


class ThreeWords(nn.Module):
    """No recurrence at all: a window of three words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.window = nn.Embedding(V, 6), nn.Conv1d(6, 8, 3)
        self.layer, self.readout = nn.Linear(8, 8), nn.Linear(8, V)

    def forward(self, words: Tensor) -> Tensor:
        x = F.pad(self.embedding(words).transpose(1, 2), (2, 0))
        return self.readout(self.layer(self.window(x).transpose(1, 2)).tanh())  # type: ignore[no-any-return]


@case
def a_window_of_words() -> Case:
    return Case(
        ThreeWords(), batches(), {"kinds": ["layer"]}, part="layer", kind="layer",
        rows=lambda output, n: output[0][:n],
    )  # fmt: skip


@case
def logits_of_all_timesteps_first() -> Case:
    def loss(output: Tensor, targets: Tensor) -> Tensor:
        return F.cross_entropy(output, targets.T.flatten())

    return Case(
        Wrapped(after=lambda y: y.transpose(0, 1).reshape(-1, V)), batches(),
        logits=lambda output, n: output[:n], loss=loss,
    )  # fmt: skip


@case
def labels_before_timesteps() -> Case:
    def turned(y: Tensor) -> Tensor:
        return y.transpose(1, 2)

    module = Wrapped(after=turned)
    return _remedied(
        r"labels before timesteps; give logits=lambda y: y\.transpose\(1, 2\)",
        Case(module, batches()),
        lambda: Case(
            module, batches(), {"logits": turned}, logits=lambda output, _n: turned(output)[0],
            loss=lambda output, targets: mean_loss(turned(output), targets),
        ),
    )  # fmt: skip


# Ways to write the same in other hands


class ByHand(nn.Module):
    """An IndRNN whose cell is somebody's own."""

    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.read, self.carry = nn.Linear(6, 7), nn.Parameter(torch.rand(7))

        def forward(self, x: Tensor, h: Tensor) -> Tensor:
            return torch.relu(self.read(x) + self.carry * h)

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.cell, self.readout = nn.Embedding(V, 6), self.Cell(), nn.Linear(7, V)

    def forward(self, words: Tensor) -> Any:
        x, h, made = self.embedding(words), words.new_zeros(len(words), 7).float(), []
        for step in range(words.shape[1]):
            h = self.cell(x[:, step], h)
            made.append(h)
        return self.readout(torch.stack(made, 1))


@case
def a_cell_by_hand() -> Case:
    return Case(ByHand(), batches(), {"kinds": ["cell"]}, part="", kinds=("cell",))


@dataclass
class Output:
    """What a library's model returns."""

    logits: Tensor
    hidden_states: tuple[Tensor, ...]
    loss: Tensor | None = None


class InDataclass(LanguageModel):
    def forward(self, words: Tensor) -> Any:
        h = self.recurrence(self.embedding(words))[0]
        return Output(self.readout(h), (h,))


@case
def logits_in_a_dataclass() -> Case:
    return Case(
        InDataclass(), batches(), logits=lambda output, n: output.logits[0][:n],
        loss=lambda output, targets: mean_loss(output.logits, targets),
    )  # fmt: skip


class LossBeside(LanguageModel):
    """Has its targets, too, and gives the loss beside its logits."""

    def forward(self, words: Tensor, targets: Tensor | None = None) -> Any:
        y = super().forward(words)
        loss = None if targets is None else mean_loss(y, targets)
        return y, loss


@case
def a_loss_inside_of_forward() -> Case:
    return Case(
        LossBeside(), [((w, t), t) for w, t in batches()],
        {"prepare": lambda ids: (torch.tensor([ids]),)},
        logits=lambda output, n: output[0][0][:n],
        loss=lambda output, targets: mean_loss(output[0], targets),
    )  # fmt: skip


class LossAlone(LanguageModel):
    def forward(self, words: Tensor, targets: Tensor) -> Any:  # type: ignore[override]
        return mean_loss(super().forward(words), targets)


@case
def a_loss_and_no_logits() -> Case:
    data = [((w, t), t) for w, t in batches()]
    return Case(LossAlone(), data, refused=r"returned Tensor single number .*; else give logits=")


class BestPath(LanguageModel):
    """The labels that are chosen, as a CRF decodes them, and no logits."""

    def forward(self, words: Tensor) -> Any:
        return super().forward(words).argmax(-1)


@case
def chosen_labels_and_no_logits() -> Case:
    return Case(BestPath(), batches(), refused=r"returned Tensor 8 x 7 \(int64\), in which nothing")


@case
def a_label_for_nothing_and_timesteps_first() -> Case:
    """As for CTC: log-probabilities (T, B, V + 1)."""
    return Case(
        Wrapped(after=lambda y: y.transpose(0, 1).log_softmax(-1), labels=V + 1), batches(),
        {"inputs": list(WORDS)}, [*WORDS, "<blank>"],
        logits=lambda output, _n: output[:, 0],
        loss=lambda output, targets: mean_loss(output.transpose(0, 1), targets),
    )  # fmt: skip


class Functional(nn.Module):
    """Weights that are no parameters of the module that is run."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = LanguageModel()
        self.held = {name: p.detach().clone() for name, p in self.inner.named_parameters()}

    def forward(self, words: Tensor) -> Any:
        return torch.func.functional_call(self.inner, self.held, (words,))


@case
def weights_given_by_a_function() -> Case:
    return Case(Functional(), batches(), part="inner.recurrence")


@case
def weights_on_a_sphere_or_orthogonal() -> Case:
    module = LanguageModel(cell=nn.RNN)
    nn.utils.parametrizations.orthogonal(module.recurrence, "weight_hh_l0")
    nn.utils.parametrizations.weight_norm(module.recurrence, "weight_ih_l0")
    nn.utils.parametrizations.spectral_norm(module.readout)
    return Case(module, batches())


class PackedBack(LanguageModel):
    """Gives its logits packed, as the recurrence gave its states."""

    def forward(self, words: Tensor, lengths: Tensor) -> Any:  # type: ignore[override]
        x = pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        h = self.recurrence(x)[0]
        return h._replace(data=self.readout(h.data))


@case
def packed_logits() -> Case:
    def feeds(ids: Ids) -> Any:
        return torch.tensor([ids]), torch.tensor([len(ids)])

    def loss(output: Any, targets: Tensor) -> Tensor:
        y = pad_packed_sequence(output, batch_first=True)[0]
        return mean_loss(y, targets[:, : y.shape[1]])

    return Case(
        PackedBack(), [((w, lengths), t) for w, lengths, t in _ragged()], {"prepare": feeds},
        feeds=feeds, logits=lambda output, n: output.data[:n], loss=loss,
        rows=lambda output, n: output[0].data[:n],
    )  # fmt: skip


class Spelling(nn.Module):
    """Words of letters, (B, T, L): a recurrence over the letters of each below one over words."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.spelling = nn.Embedding(V, 5), nn.GRU(5, 6, batch_first=True)
        self.recurrence, self.readout = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, V)

    def forward(self, letters: Tensor) -> Any:
        x = self.spelling(self.letters(letters.flatten(0, 1)))[1][-1]
        return self.readout(self.recurrence(x.view(*letters.shape[:2], -1))[0])


@case
def letters_below_words() -> Case:
    data = [(torch.stack([w, w.roll(1, 1), w * 2 % V], -1), t) for w, t in batches()]
    return Case(Spelling(), data, reads=False, warned="left out, as their states are not beside")


class OwnSchedule(LanguageModel):
    """Reads its own guess now and then, by a schedule of its own, always."""

    def forward(self, words: Tensor, share: float = 0.25) -> Any:
        x, state, guess, made = self.embedding(words), None, None, []
        for step in range(words.shape[1]):
            own = guess is not None and random.random() < share
            read = self.embedding(guess) if own else x[:, step : step + 1]
            h, state = self.recurrence(read, state)
            made.append(self.readout(h))
            guess = made[-1].argmax(-1)
        return torch.cat(made, 1)


@case
def own_guesses_now_and_then() -> Case:
    return Case(OwnSchedule(), batches(), warned="random in evaluation mode too", part="")


@case
def own_guesses_never() -> Case:
    feed = {"feed": lambda module, words: module(words, share=0.0)}
    return Case(OwnSchedule(), batches(), feed, feeds=lambda ids: (torch.tensor([ids]), 0.0),
                part="", measured=False)  # fmt: skip


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.norm, self.readout = (
            nn.Embedding(V, 8), nn.LayerNorm(8), nn.Linear(8, V),
        )  # fmt: skip
        self.layers = nn.ModuleList([nn.GRU(8, 8, batch_first=True) for _ in range(3)])

    def forward(self, words: Tensor) -> Any:
        x = self.embedding(words)
        for layer in self.layers:
            x = x + layer(self.norm(x))[0]
        return self.readout(x)


@case
def layers_around_which_one_goes() -> Case:
    return Case(Residual(), batches(), part="layers.1", kind="layers.1.h1")


class SevenWords(LanguageModel):
    """Refuses texts of any other length by an error of its own."""

    def forward(self, words: Tensor) -> Any:
        if words.shape[1] != 7:
            raise ValueError("seven words")
        return super().forward(words)


@case
def an_error_of_its_own_at_other_lengths() -> Case:
    return Case(SevenWords(), batches(), reads=False)


@case
def traced() -> Case:
    with warnings.catch_warnings(action="ignore"):  # of an age that is not ours
        module = torch.jit.trace(LanguageModel(), batches()[0][0])
    return Case(module, batches(), refused="is scripted or traced, which hides its states; give")


@case
def quantised() -> Case:
    with warnings.catch_warnings(action="ignore"):  # torch's, that it will be elsewhere
        module = torch.ao.quantization.quantize_dynamic(LanguageModel(), {nn.LSTM})
    return Case(module, batches(), refused="is quantised .* give the module as it was before")
