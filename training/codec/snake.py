"""SnakeBeta, x + sin²(x e^alpha) / (e^beta + 1e-9): one kernel each way on a GPU, plain torch elsewhere.

Source of the function: BigVGAN (Lee et al., 2022).
"""

from __future__ import annotations

import torch
from torch import Tensor


def snake_beta(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """x (B, C, T), alpha and beta (C,)."""
    if x.is_cuda:
        # torch's CPU build comes without Triton.
        from training.codec.snake_kernels import FusedSnakeBeta

        return FusedSnakeBeta.apply(x, alpha, beta)
    scale = 1.0 / (beta.exp()[None, :, None] + 1e-9)
    return x + scale.to(x.dtype) * torch.sin(x * alpha.exp()[None, :, None].to(x.dtype)).pow(2)
