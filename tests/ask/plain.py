"""A run's LSTM in plain NumPy, float64, written from its equations and read from its file."""

from typing import Any

import numpy as np
from safetensors.numpy import load_file

Put = tuple[int, str, int, Any]  # a layer, a letter, a step, and the state that is put there


class Plain:
    """The network of a run whose embedding is tied to its readout."""

    def __init__(self, lens: Any) -> None:
        path = lens.subject.run.path / "model.safetensors"
        self.w = {name: value.astype(float) for name, value in load_file(path).items()}
        self.layers = sorted({name.split(".")[1] for name in self.w if name.startswith("layers.")})

    def logits(self, ids: list[int], put: Put | None = None) -> np.ndarray:
        """After each word, (T, V)."""
        return self.readout(self.top(self.w["embedding"][ids], put))

    def readout(self, top: np.ndarray) -> np.ndarray:
        """From outputs of the last layer to logits."""
        logits: np.ndarray = top @ self.w["readout"].T @ self.w["embedding"].T + self.w["bias"]
        return logits

    def top(self, inputs: np.ndarray, put: Put | None = None) -> np.ndarray:
        """The outputs of the last layer, (T, H)."""
        return np.array(self._run(inputs, put)[-1]["h"])

    def states(self, ids: list[int], layer: int, letter: str) -> list[np.ndarray]:
        """Those of one kind after each word."""
        return self._run(self.w["embedding"][ids], None)[layer][letter]

    def held(self, inputs: np.ndarray, others: np.ndarray) -> np.ndarray:
        """What other inputs give with all gates, and the slopes of all tanh, held, (T, H)."""
        for k, real in enumerate(self._run(inputs, None)):
            w_x, w_h, bias = self._weights(k)
            h = c = np.zeros(w_h.shape[1])
            found = []
            for t, x in enumerate(others):
                g = np.split(w_x @ x + w_h @ h + bias, 4)[2]
                c = real["f"][t] * c + real["i"][t] * np.tanh(real["a"][t]) / real["a"][t] * g
                h = real["o"][t] * np.tanh(real["c"][t]) / real["c"][t] * c
                found.append(h)
            others = np.array(found)
        return others

    def _weights(self, layer: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        w = {k: self.w[f"layers.{self.layers[layer]}.{k}"] for k in ("w_x", "w_h", "b_x", "b_h")}
        return w["w_x"], w["w_h"], w["b_x"] + w["b_h"]

    def _run(self, inputs: np.ndarray, put: Put | None) -> list[dict[str, list[np.ndarray]]]:
        """Of each layer every kind, and `a`, what g is the tanh of."""
        found: list[dict[str, list[np.ndarray]]] = []
        for layer in range(len(self.layers)):
            w_x, w_h, bias = self._weights(layer)
            h = c = np.zeros(w_h.shape[1])
            kinds: dict[str, list[np.ndarray]] = {letter: [] for letter in "ifoach"}
            for t, x in enumerate(inputs):
                i, f, a, o = np.split(w_x @ x + w_h @ h + bias, 4)
                i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
                if put is not None and put[:3] == (layer, "o", t):
                    o = put[3]
                c = f * c + i * np.tanh(a)
                if put is not None and put[:3] == (layer, "c", t):
                    c = put[3]
                h = o * np.tanh(c)
                if put is not None and put[:3] == (layer, "h", t):
                    h = put[3]
                for letter, value in zip("ifoach", (i, f, o, a, c, h), strict=True):
                    kinds[letter].append(value)
            found.append(kinds)
            inputs = np.array(kinds["h"])
        return found
