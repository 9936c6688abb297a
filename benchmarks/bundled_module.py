"""The bundled network as a torch module of one's own, to set `rnnlens fit --model` beside `fit`.

PYTHONPATH=benchmarks rnnlens fit --model bundled_module:model --corpus NEWS -o runs/module
rnnlens eval runs/module
"""

import torch
from torch import Tensor, nn

import rnnlens
from rnnlens.model.network import Network
from rnnlens.run.folder import BUNDLED, run_at


class LanguageModel(nn.Module):
    """Embedding, nn.LSTM, readout, with the weights of one of our networks."""

    @torch.no_grad()
    def __init__(self, network: Network) -> None:
        super().__init__()
        width, layers = network.config.width, network.config.layers
        self.embedding = nn.Embedding(network.label_count, width)
        self.recurrence = nn.LSTM(width, width, layers, batch_first=True)
        self.readout = nn.Linear(width, network.label_count)
        self.embedding.weight.copy_(network.embedding)
        classifier = network.classifier()
        assert classifier is not None
        self.readout.weight.copy_(classifier.weight)
        self.readout.bias.copy_(classifier.bias)
        for cell, weights in zip(network.recurrent, self.recurrence.all_weights, strict=True):
            for mine, theirs in zip(cell.weights().values(), weights, strict=True):
                theirs.copy_(mine)

    def forward(self, words: Tensor) -> Tensor:
        """(B, T) -> (B, T, V)"""
        logits: Tensor = self.readout(self.recurrence(self.embedding(words))[0])
        return logits


def model() -> rnnlens.UserModel:
    """Words are what the bundled vocabulary makes of them: lower case, NUM, UNK."""
    run = run_at(BUNDLED)
    vocabulary = run.vocabulary()

    def words(text: str) -> list[str]:
        return [vocabulary.labels[k] for k in vocabulary.encode(text.split())]

    return rnnlens.UserModel(LanguageModel(run.network().float()), vocabulary.labels, words=words)
