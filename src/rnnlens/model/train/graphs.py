"""CUDA graphs: a step is recorded once for each shape of batch and then replayed.

A small recurrent network launches hundreds of tiny kernels a step, and launching them one by one
takes longer than running them.
"""

from collections.abc import Callable

import torch
from torch import Tensor

_WARM_UP = 3  # plain calls before recording, in which libraries and optimiser set themselves up


class Graphs:
    """Wraps a function of tensors that works on fixed memory and returns nothing."""

    def __init__(self, function: Callable[..., None], generator: torch.Generator) -> None:
        self.function, self.generator = function, generator
        self.recorded: dict[tuple[torch.Size, ...], tuple[list[Tensor], torch.cuda.CUDAGraph]] = {}
        self.calls = 0
        self.stream = torch.cuda.Stream()

    def __call__(self, *tensors: Tensor) -> None:
        """Record on the first call with these shapes; then copy the arguments in and replay."""
        self.calls += 1
        if self.calls <= _WARM_UP:
            self._warm_up(tensors)
            return
        shapes = tuple(t.shape for t in tensors)
        if shapes not in self.recorded:
            self.recorded[shapes] = self._record(tensors)
        fixed, graph = self.recorded[shapes]
        for argument, tensor in zip(fixed, tensors, strict=True):
            argument.copy_(tensor)
        graph.replay()

    def _warm_up(self, tensors: tuple[Tensor, ...]) -> None:
        """A plain call, on the stream that will record, so that nothing is tied to another."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.function(*tensors)
        torch.cuda.current_stream().wait_stream(self.stream)

    def _record(self, tensors: tuple[Tensor, ...]) -> tuple[list[Tensor], torch.cuda.CUDAGraph]:
        fixed = [t.clone() for t in tensors]
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.generator)
        # Graphs run one at a time, so they can all use the same memory.
        pool = next((g.pool() for _, g in self.recorded.values()), None)
        with torch.cuda.graph(graph, pool=pool, stream=self.stream):
            self.function(*fixed)
        return fixed, graph
