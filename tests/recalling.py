"""The network of examples/recall.py with weights that are set by hand, so that its memory is known
to the last number: a value is written under the key before it, and a key asks for its own.
"""

import importlib.util
from pathlib import Path
from types import ModuleType

import torch


def recall_example() -> ModuleType:
    """The example as a module."""
    path = Path(__file__).parents[1] / "examples" / "recall.py"
    spec = importlib.util.spec_from_file_location("recall_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@torch.no_grad()
def planted(example: ModuleType, delta: bool = True) -> torch.nn.Module:
    """A network that stores exactly what it is to store."""
    keys, values = len(example.KEYS), len(example.VALUES)
    words = keys + values
    model = example.Recall(delta)
    for parameter in model.parameters():
        parameter.zero_()
    model.embed.weight[:, :words] = torch.eye(words)
    width = model.embed.embedding_dim
    model.pair.weight[:words, :words] = 9 * torch.eye(words)  # the word
    at = slice(words, words + keys)
    model.pair.weight[at, width : width + keys] = 9 * torch.eye(keys)  # the key before it
    memory = model.memory
    memory.question.weight[:keys, :keys] = torch.eye(keys)
    memory.key.weight[:keys, at] = torch.eye(keys)
    memory.value.weight[:values, keys:words] = torch.eye(values)
    memory.strength.weight[0, keys:words] = 40.0
    memory.strength.bias.fill_(-20.0)
    memory.decay.bias.fill_(0.5)
    model.head.weight[keys:words, :values] = 4 * torch.eye(values)
    made: torch.nn.Module = model.eval()
    return made
