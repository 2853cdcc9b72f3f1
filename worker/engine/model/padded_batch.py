"""Sequences of different lengths side by side, and what each of them would see if it were alone.

What stands behind the end of a sequence is finite and otherwise anything: it may be computed with, and no result of a
position inside may depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


class PaddedBatch:
    """B sequences, the longest of which has T positions.

    lengths: float32 (B, 1, 1). inside: bool (B, 1, T).
    """

    def __init__(self, lengths: Sequence[int], device: torch.device) -> None:
        self._ends = torch.tensor(lengths, device=device)[:, None, None]
        self._longest = max(lengths)
        self._mirrors: dict[int, Tensor] = {}
        self.lengths = self._ends.float()
        self.inside = torch.arange(self._longest, device=device) < self._ends

    def mirrored(self, x: Tensor, edge: int) -> Tensor:
        """(B, C, T) -> (B, C, T + 2 · edge): each sequence mirrored at both ends, longer than `edge`."""
        if not edge:
            return x
        return x.gather(2, self._mirror(edge).expand(-1, x.shape[1], -1))

    def mean(self, x: Tensor) -> Tensor:
        """(B, C, T) -> (B, C, 1), over the positions inside."""
        return (x * self.inside).sum(dim=2, keepdim=True) / self.lengths

    def _mirror(self, edge: int) -> Tensor:
        """(B, 1, T + 2 · edge): where the value of each position of a mirrored sequence comes from."""
        if edge not in self._mirrors:
            last = self._ends - 1
            places = torch.arange(-edge, self._longest + edge, device=last.device).abs()
            folded = last - (last - places).abs()
            self._mirrors[edge] = folded.clamp_(min=0)
        return self._mirrors[edge]
