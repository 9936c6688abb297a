"""What jobs do where nobody says otherwise: presets for machines without a GPU and with one, a
recipe for each task and each cell, and how much is compared. Read without torch, for the flags of
commands.
"""

from typing import Any

from rnnlens.corpus.read.task import CLASSIFY, TAG

# A smaller network, chosen by what two CPU cores reach in minutes (docs/results.md).
QUICK = "quick"
PRESETS: dict[str, dict[str, Any]] = {
    QUICK: {
        "width": 128,
        "epochs": 12,
        "batch": 24,
        "learning_rate": 1.4e-2,
        "weight_decay": 0.15,
        "dropout_words": 0.05,
        "dropout_input": 0.2,
        "dropout_hidden": 0.1,
        "dropout_output": 0.25,
        "dropout_weight": 0.1,
    },
    # Larger steps, and more epochs of them, for a GPU and a corpus of a million words.
    "gpu": {"batch": 192, "learning_rate": 2e-2, "epochs": 45},
}
# What of a preset is the LSTM's alone: a recipe that says otherwise knows better.
OF_RECIPES = ("learning_rate", "weight_decay")
# How each task is trained where no flag says otherwise (docs/results.md).
RECIPES: dict[str, dict[str, Any]] = {
    TAG: {
        "tied": False,
        "lowercase": False,
        "min_count": 1,
        "unknown": 0.5,
        "epochs": 20,
        "batch": 32,
        "learning_rate": 3e-3,
        "dropout_words": 0.0,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
    CLASSIFY: {
        "tied": False,
        "min_count": 2,
        "unknown": 0.25,
        "longest": 1000,
        "epochs": 4,
        "learning_rate": 3e-3,
        "dropout_input": 0.4,
        "dropout_hidden": 0.4,
        "dropout_output": 0.4,
    },
}
# How each cell is trained where neither a flag nor the task's recipe says otherwise. By the LSTM's
# recipe linear memories learn the training data by heart; a stronger weight decay at a lower rate
# keeps them from it, and more dropout does not (docs/results.md).
_LINEAR: dict[str, Any] = {
    "epochs": 24,
    "batch": 128,
    "learning_rate": 4e-3,
    "weight_decay": 0.5,
    "dropout_weight": 0.1,
}
# Layers that are half as large as an LSTM's: four of them have about as many weights as two.
_DEEP: dict[str, Any] = {**_LINEAR, "layers": 4}
# Its output feeds back, as an LSTM's does: it is trained as an LSTM is, at a lower rate.
_FED_BACK: dict[str, Any] = {"epochs": 24, "learning_rate": 4e-3}
CELL_RECIPES: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("mingru", "minlstm", "rglru", "gla"), _DEEP),
    **dict.fromkeys(("mamba", "mamba2", "deltanet", "rwkv7", "mlstm"), _LINEAR),
    "slstm": _FED_BACK,
}
COMPARED_WORDS = 100_000  # that two lenses are compared on, at most
