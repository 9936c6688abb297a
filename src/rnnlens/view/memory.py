"""What the network carries from word to word, kept for prefixes that were read before."""

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock

import torch
import torch.nn.functional as F
from torch import Tensor

from rnnlens.model.cells import States
from rnnlens.model.network import Carried, Network

_ROOM = 64 * 2**20  # bytes
_FEW = 4  # states
_ENTRY = 200  # bytes of bookkeeping for each


class Memory:
    """Reads words from the longest prefix it knows; safe to use from several threads."""

    def __init__(self, network: Network, room: int = _ROOM) -> None:
        self.network = network
        self.names = [
            [(kind, f"{kind}{number}") for kind in cell.carried]
            for number, cell in enumerate(network.cells, 1)
        ]
        width = network.config.width * sum(map(len, self.names))
        self.most = max(2, room // (4 * width + _ENTRY))  # entries
        self.steps = 0  # words read so far, for those who measure
        self._known: OrderedDict[bytes, Tensor] = OrderedDict()  # prefix -> (width,)
        self._lock = Lock()

    def read(self, ids: Sequence[int], first: int, last: int) -> tuple[States, States]:
        """States of every kind after the words first..last-1, and what was carried into `first`."""
        keys = prefixes(ids[:last])
        start, carried = self._longest(keys[: first + 1])
        inputs = torch.tensor(ids[start:last])[:, None]
        states, _ = self.network.states(inputs, None, carried)
        self.steps += last - start
        flat = {kind: values[:, 0] for kind, values in states.items()}  # (T, H) each
        self._keep(keys[start + 1 :], flat)
        before = self._before(flat, carried, first - start)
        return {kind: values[first - start :] for kind, values in flat.items()}, before

    def forget(self) -> None:
        """Know no prefix any more."""
        with self._lock:
            self._known.clear()

    def _before(self, flat: States, carried: Carried | None, rows: int) -> States:
        """The carried kinds one word before: of the trace, or of what it started from."""
        if rows:
            return {name: flat[name][rows - 1] for layer in self.names for _, name in layer}
        carried = carried or [cell.start(1) for cell in self.network.cells]
        return {
            name: carried[number][kind][0]
            for number, layer in enumerate(self.names)
            for kind, name in layer
        }

    def _longest(self, keys: list[bytes]) -> tuple[int, Carried | None]:
        """The longest known prefix among these, and what is carried after it."""
        with self._lock:
            for length in range(len(keys) - 1, 0, -1):
                if (held := self._known.get(keys[length])) is not None:
                    self._known.move_to_end(keys[length])
                    parts = iter(held.split(self.network.config.width))
                    layers = [
                        {kind: next(parts)[None] for kind, _ in layer} for layer in self.names
                    ]
                    return length, layers
        return 0, None

    def _keep(self, keys: list[bytes], states: States) -> None:
        rows = torch.cat([states[name] for layer in self.names for _, name in layer], 1)
        with self._lock:
            for key, row in zip(keys[-self.most :], rows[-self.most :], strict=True):
                self._known[key] = row.clone()  # a view would hold all rows
                self._known.move_to_end(key)
            while len(self._known) > self.most:
                self._known.popitem(last=False)


def prefixes(ids: Sequence[int]) -> list[bytes]:
    """A digest for every prefix, each made from the one before; the empty prefix is first."""
    keys = [b""]
    for label in ids:
        keys.append(blake2b(keys[-1] + label.to_bytes(4, "little"), digest_size=16).digest())
    return keys


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """X (N, H) @ weight (V, H) transposed + bias, quick for few states too."""
    if len(x) > _FEW:
        return F.linear(x, weight, bias)
    # With the weights as rows they are read at full speed, and few states are all reading.
    made = (weight @ x.T).T.contiguous()
    return made if bias is None else made.add_(bias)
