"""Numbers of eight bits: four of exponent, three of fraction (e4m3), at most 448."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

FLOAT8 = torch.float8_e4m3fn
LARGEST = torch.finfo(FLOAT8).max
# A row of nothing but zeros has a scale too.
LEAST_SCALE = 1e-12


@dataclass(frozen=True, slots=True)
class Float8Rows:
    """A matrix (N, width) whose row n is `values[n] * scales[n]`: values e4m3, scales float32 (N, 1)."""

    values: Tensor
    scales: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> Float8Rows:
        """Each row by its largest value, so that what is large in one costs the others nothing."""
        exact = rows.float()
        scales = (exact.abs().amax(dim=1, keepdim=True) / LARGEST).clamp_min(LEAST_SCALE)
        return cls((exact / scales).to(FLOAT8), scales)

    @classmethod
    def allocate(cls, num_rows: int, width: int, device: torch.device) -> Float8Rows:
        """For a kernel to fill."""
        values = torch.empty(num_rows, width, dtype=FLOAT8, device=device)
        return cls(values, torch.empty(num_rows, 1, dtype=torch.float32, device=device))

    def exact(self) -> Tensor:
        """float32."""
        return self.values.float() * self.scales


def stored_as(x: Tensor, dtype: torch.dtype) -> Tensor:
    """In a cache's numbers. What is too large for eight bits becomes the largest they have, as on the GPU."""
    return x if x.dtype == dtype else x.clamp(-LARGEST, LARGEST).to(dtype)
