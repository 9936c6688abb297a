"""Recurrent networks with one edit on the way, in float64 and written apart from the product."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rnnlens.model.network import Network

Array = NDArray[np.float64]
Change = Callable[[str, int, Array, list[Array]], Array]


def sigmoid(a: Array) -> Array:
    return 1 / (1 + np.exp(-a))


def read(network: Network, ids: list[int], change: Change) -> dict[str, Array]:
    """Every kind (T, H); `change` is told the kind, the step, its value and its earlier values."""
    history: dict[str, list[Array]] = {}

    def put(kind: str, step: int, value: Array) -> Array:
        earlier = history.setdefault(kind, [])
        earlier.append(change(kind, step, value, earlier))
        return earlier[-1]

    x = [put("x", t, network.embedding[i].double().numpy().copy()) for t, i in enumerate(ids)]
    step = {"lstm": lstm, "gru": gru, "rnn": rnn}[network.config.cell]
    for number, layer in enumerate(network.recurrent, 1):
        w = [p.detach().double().numpy() for p in layer.weights().values()]
        h = c = np.zeros(network.config.width)
        outputs = []
        for t, now in enumerate(x):
            h, c = step(w, now, h, c, lambda letter, v, t=t, n=number: put(f"{letter}{n}", t, v))
            outputs.append(h)
        x = outputs
    return {kind: np.stack(values) for kind, values in history.items()}


def lstm(w, x, h, c, put):
    i, f, g, o = np.split(w[0] @ x + w[2] + w[1] @ h + w[3], 4)
    f, i, o = put("f", sigmoid(f)), put("i", sigmoid(i)), put("o", sigmoid(o))
    g = put("g", np.tanh(g))
    long, short = put("l", f * c), put("s", i * g)
    c = put("c", long + short)
    return put("h", o * np.tanh(c)), c


def gru(w, x, h, _c, put):
    (a_r, a_z, a_n), (u_r, u_z, u_n) = np.split(w[0] @ x + w[2], 3), np.split(w[1] @ h + w[3], 3)
    r, z = put("r", sigmoid(a_r + u_r)), put("z", sigmoid(a_z + u_z))
    n = put("n", np.tanh(a_n + r * u_n))
    k, written = put("k", z * h), put("w", (1 - z) * n)
    return put("h", k + written), h


def rnn(w, x, h, _c, put):
    return put("h", np.tanh(w[0] @ x + w[2] + w[1] @ h + w[3])), h
