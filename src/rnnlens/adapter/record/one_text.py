"""What a recurrence would read as one text and is none: several texts packed into one sequence,
and padding before the words. Many classes of libraries take and ignore what says so.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from rnnlens.base.errors import RnnlensError

#: Where each of several packed texts begins.
_PACKED = ("cu_seqlens", "cu_seq_lens_q", "cu_seq_lens_k", "seq_idx")
_POSITIONS, _MASK = "position_ids", "attention_mask"
_NOTHING = 1e-6  # of the largest number of a memory, below which a state holds nothing
_REMEDY = "give each text as a sequence of its own, padded"


def check_one_text(who: str, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of a call that say where packed texts begin."""
    if packed := [name for name in _PACKED if arguments.get(name) is not None]:
        raise RnnlensError(
            f"{who} {packed[0]}=, several texts in one sequence, in which a memory begins anew; "
            + _REMEDY
        )


@dataclass
class Padded:
    """The padding before the words of a batch, as the mask that the model is given has it."""

    mask: Tensor | None = None  # (B, T), whether it is a word
    model: str = ""  # that was given it

    def check(self, layer: str, memory: Callable[[], Tensor]) -> None:
        """Refuse padding that a layer has put into its memory (T, B, H) before the words."""
        if self.mask is None or bool(self.mask[:, 0].all()):
            return
        real = self.mask
        rows = (real.any(1) & ~real[:, 0]).nonzero()[:, 0]
        states = memory() if len(rows) else None
        if states is None or states.shape[:2] != self.mask.T.shape:
            return
        last = real.int().argmax(1)[rows] - 1  # the timestep before the first word
        held = states[last.to(states.device), rows.to(states.device)]
        if float(held.abs().max()) > _NOTHING * float(states.abs().max()):
            raise RnnlensError(
                f"{self.model} is given {_MASK}= with padding before the words, which {layer} "
                "reads as words, so that its memory holds it; put padding behind the words"
            )


@contextmanager
def one_text_a_sequence(module: nn.Module) -> Iterator[Padded]:
    """Refuse packed texts while a model of a library runs, or one that holds such a model; what is
    padded is known after that.
    """
    padded = Padded()

    def check(part: nn.Module, args: Any, named: dict[str, Any]) -> None:
        who = type(part).__name__
        check_one_text(f"{who} is given", named)
        given = named | _by_position(part, args) if args else named
        mask = given.get(_MASK)
        if padded.mask is None and isinstance(mask, Tensor) and mask.dim() == 2 and mask.numel():
            padded.mask, padded.model = _words(mask), who
        _check_positions(who, given.get(_POSITIONS), padded.mask)  # parts within have no mask

    with ExitStack() as stack:
        for part in _around_layers(module):
            handle = part.register_forward_pre_hook(check, with_kwargs=True)
            stack.callback(handle.remove)
        yield padded


def _around_layers(module: nn.Module) -> Iterator[nn.Module]:
    """A module and its submodules, but for those in a list of layers."""
    yield module
    for child in module.children():
        if not isinstance(child, nn.ModuleList):
            yield from _around_layers(child)


def _words(mask: Tensor) -> Tensor:
    """Where words are, of a mask that has 1 for them, or 0 and for padding a very negative number,
    as it is added to the scores of an attention.
    """
    return mask >= 0 if mask.is_floating_point() and bool((mask < 0).any()) else mask.bool()


def _check_positions(who: str, positions: Any, words: Tensor | None) -> None:
    """Refuse positions that begin anew within a sequence."""
    if (begin := _begins_anew(positions, words)) is not None:
        row, step = begin
        raise RnnlensError(
            f"{who} is given {_POSITIONS}= that begin anew at timestep {step} of sequence {row}, "
            f"as those of several texts in one sequence do, and a memory does not; {_REMEDY}"
        )


def _by_position(module: nn.Module, args: Any) -> dict[str, Any]:
    """Arguments that are given without their names."""
    names = [*inspect.signature(module.forward).parameters]
    return dict(zip(names, args, strict=False))


def _begins_anew(positions: Any, words: Tensor | None) -> tuple[int, int] | None:
    """The first row and timestep at which positions fall that rose before; None: there is none.
    Where a mask says what is padding, both must be words; where none does, they must rise again,
    since those of padding behind the words stay what they are.
    """
    if not isinstance(positions, Tensor) or positions.dim() == 0 or positions.shape[-1] < 4:
        return None
    rows = positions if positions.dim() < 3 else positions[0]  # of several kinds the first is time
    rows = rows.reshape(-1, rows.shape[-1])
    steps = rows.diff()
    anew = (steps[:, :-1] == 1) & (steps[:, 1:] < 0)
    if words is not None and words.shape == rows.shape:
        anew &= words[:, 1:-1] & words[:, 2:]
    else:
        anew = anew[:, :-1] & (steps[:, 2:] == 1)
    if not bool(anew.any()):
        return None
    row, step = anew.nonzero()[0].tolist()
    return row, step + 2
