"""What runs through a stack of transformer layers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

Attend = Callable[[int, Tensor], Tensor]
"""(layer, qkv of all tokens) -> attended values (N, H · d); keeps keys and values."""


@dataclass(frozen=True, slots=True)
class TransformerStream:
    """The residual stream behind the last layer, (N, hidden), and what is still to be added to it: the next norm can.

    An update may be in parts, (parts, N, hidden). None: there is nothing to add.
    """

    residual: Tensor
    update: Tensor | None

    def rows_from(self, first: int) -> TransformerStream:
        return TransformerStream(self.residual[first:], None if self.update is None else self.update[..., first:, :])
