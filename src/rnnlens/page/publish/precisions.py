"""How precisely a published page keeps weights."""

from typing import Literal

Precision = Literal["int8", "fp16"]
PRECISIONS: tuple[Precision, ...] = ("int8", "fp16")
