"""Operands that kernels are given, and how far what they make of them is from the same in double precision."""

from __future__ import annotations

import torch
from torch import Tensor


def noise(random: torch.Generator, dtype: torch.dtype, *shape: int) -> Tensor:
    """Normal numbers, on the generator's device."""
    return torch.randn(*shape, generator=random, device=random.device).to(dtype)


def relative_error(found: Tensor, expected: Tensor) -> float:
    """The norm of the difference to that of `expected`, which is in double precision."""
    return float((found.double() - expected).norm() / expected.norm())
