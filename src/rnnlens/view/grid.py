"""The grid of a sentence, as the JSON that everything that draws is given."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from rnnlens.corpus.text import words_of
from rnnlens.corpus.vocabulary import Vocabulary
from rnnlens.errors import RnnlensError
from rnnlens.model.network import Network
from rnnlens.run import Run
from rnnlens.view.colours import checked
from rnnlens.view.encoding import Palette, encode

LONGEST = 1000  # words
EXAMPLES = (
    "`` we stand in solidarity , '' she emphasized .",  # the paper's
    "`` the old teacher follows the birds , '' she said .",  # of the demo's grammar
)


@dataclass(frozen=True)
class Lens:
    """A run, ready to be asked about sentences."""

    title: str
    network: Network
    vocabulary: Vocabulary
    palette: Palette

    @classmethod
    def load(cls, run: Run) -> "Lens":
        """Everything a run holds."""
        network, vocabulary = run.model(), run.vocabulary()
        groupings = run.colours()["groupings"]
        if network.labels != len(vocabulary):
            raise RnnlensError(
                f"the model in {run.path} has {network.labels} labels and its vocabulary "
                f"{len(vocabulary)}; restore both"
            )
        config = network.config
        title = f"{run.path.name}: {config.cell.upper()} {config.width} × {config.layers}"
        first = checked(next(iter(groupings.values())), run.path / "colours.json")
        return cls(title, network, vocabulary, Palette.of(vocabulary.labels, first))

    @torch.no_grad()
    def grid(self, text: str, bars: int = 3) -> dict[str, Any]:
        """What the network predicts after each word of a sentence."""
        words = self._words(text)
        if len(words) > LONGEST:
            raise RnnlensError(f"{len(words)} words are too many; give at most {LONGEST}")
        ids = self.vocabulary.encode(words)
        logits = self._logits(ids)
        return {
            "title": self.title,
            "example": self.example,
            "groups": dict(zip(self.palette.groups, self.palette.colours, strict=True)),
            "kinds": [asdict(self.network.prediction)],
            "words": [self._word(word, label) for word, label in zip(words, ids, strict=True)],
            "states": {"y": self._states(logits, ids, bars)},
        }

    def _words(self, text: str) -> tuple[str, ...]:
        unknown = self.vocabulary.unknown
        return words_of(text, lambda word: self.vocabulary.encode([word]) != [unknown])

    @cached_property
    def example(self) -> str:
        """A sentence to begin with: of a few, the one with the fewest unknown words."""
        unknown = self.vocabulary.unknown
        return min(EXAMPLES, key=lambda text: self.vocabulary.encode(text.split()).count(unknown))

    def _logits(self, ids: list[int]) -> Tensor:
        """The model's own logits after each word, (T, V)."""
        if not ids:
            return torch.empty(0, len(self.vocabulary))
        return self.network.trace(torch.tensor(ids)[:, None]).logits[:, 0]

    def _word(self, word: str, label: int) -> dict[str, Any]:
        group = int(self.palette.group_of[label])
        return {
            "text": word,
            "label": self.vocabulary.labels[label],
            "unknown": label == self.vocabulary.unknown,
            "group": self.palette.groups[group],
            "colour": self.palette.colours[group],
        }

    def _states(self, logits: Tensor, ids: list[int], bars: int) -> list[dict[str, Any]]:
        made = encode(logits, self.palette, bars)
        entropy = torch.special.entr(logits.softmax(-1)).sum(-1) / torch.log(torch.tensor(2.0))
        group_of, colours = self.palette.group_of, self.palette.colours
        states = []
        for t, (labels, values) in enumerate(
            zip(made.labels.tolist(), made.probabilities.tolist(), strict=True)
        ):
            state: dict[str, Any] = {
                "rectangle": made.rectangles[t],
                "group": self.palette.groups[int(made.group[t])],
                "share": float(made.share[t]),
                "entropy": float(entropy[t]),
                "bars": [
                    {
                        "label": self.vocabulary.labels[k],
                        "probability": p,
                        "colour": colours[int(group_of[k])],
                    }
                    for k, p in zip(labels, values, strict=True)
                ],
            }
            if t + 1 < len(ids):
                p = logits[t].softmax(-1)
                came = float(p[ids[t + 1]])
                state["next"] = {"probability": came, "rank": int((p > came).sum()) + 1}
            states.append(state)
        return states
