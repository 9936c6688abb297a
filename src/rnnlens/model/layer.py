"""One recurrent layer of a network of ours."""

import torch
from torch import Tensor, nn

from rnnlens.model.cell import Cell, States, Weights


class Layer(nn.Module):
    """A cell and its weights."""

    def __init__(self, cell: Cell, inputs: int, width: int) -> None:
        super().__init__()
        self.cell = cell
        self.w_x = nn.Parameter(torch.empty(cell.gates * width, inputs))
        self.w_h = nn.Parameter(torch.empty(cell.gates * width, width))
        self.b_x = nn.Parameter(torch.zeros(cell.gates * width))
        self.b_h = nn.Parameter(torch.zeros(cell.gates * width))

    def weights(self, w_h: Tensor | None = None) -> Weights:
        """Its weights; `w_h` replaces the recurrent ones, for dropout."""
        return Weights(self.w_x, self.w_h if w_h is None else w_h, self.b_x, self.b_h)

    def start(self, batch: int) -> States:
        """The state before the first word: zeros."""
        zeros = self.w_h.new_zeros(batch, self.w_h.shape[1])
        return dict.fromkeys(self.cell.carried, zeros)
