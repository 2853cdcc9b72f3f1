"""SnakeBeta and its derivatives as one Triton kernel each."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportArgumentType=false, reportReturnType=false
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

_BLOCK = 1024


class FusedSnakeBeta(torch.autograd.Function):
    """As `decoder_model.snake_beta`, computed in fp32 whatever the dtype."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:  # noqa: ANN401
        x = x.contiguous()
        y = torch.empty_like(x)
        channels, length = x.shape[1:]
        _forward[_grid(x)](x, alpha, beta, y, channels, length, block=_BLOCK)
        ctx.save_for_backward(x, alpha, beta)
        return y

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ANN401
        x, alpha, beta = ctx.saved_tensors
        dx = torch.empty_like(x)
        dalpha = torch.zeros(alpha.shape, device=x.device, dtype=torch.float32)
        dbeta = torch.zeros_like(dalpha)
        channels, length = x.shape[1:]
        _backward[_grid(x)](
            x, alpha, beta, grad_outputs[0].contiguous(), dx, dalpha, dbeta, channels, length, block=_BLOCK
        )
        return dx, dalpha.to(alpha.dtype), dbeta.to(beta.dtype)


def _grid(x: Tensor) -> tuple[int, int]:
    """A program for each block of each channel of each example."""
    batch, channels, length = x.shape
    return batch * channels, triton.cdiv(length, _BLOCK)


@triton.jit
def _forward(
    x: tl.tensor,
    alpha: tl.tensor,
    beta: tl.tensor,
    y: tl.tensor,
    channels: tl.tensor,
    length: tl.tensor,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0)
    channel = row % channels
    frequency = tl.exp(tl.load(alpha + channel).to(tl.float32))
    scale = 1.0 / (tl.exp(tl.load(beta + channel).to(tl.float32)) + 1e-9)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < length
    start = row.to(tl.int64) * length
    value = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
    sine = tl.sin(value * frequency)
    tl.store(y + start + at, value + scale * sine * sine, mask=inside)


@triton.jit
def _backward(
    x: tl.tensor,
    alpha: tl.tensor,
    beta: tl.tensor,
    dy: tl.tensor,
    dx: tl.tensor,
    dalpha: tl.tensor,
    dbeta: tl.tensor,
    channels: tl.tensor,
    length: tl.tensor,
    block: tl.constexpr,
) -> None:
    row = tl.program_id(0)
    channel = row % channels
    frequency = tl.exp(tl.load(alpha + channel).to(tl.float32))
    magnitude = tl.exp(tl.load(beta + channel).to(tl.float32))
    scale = 1.0 / (magnitude + 1e-9)
    at = tl.program_id(1) * block + tl.arange(0, block)
    inside = at < length
    start = row.to(tl.int64) * length
    value = tl.load(x + start + at, mask=inside, other=0.0).to(tl.float32)
    slope = tl.load(dy + start + at, mask=inside, other=0.0).to(tl.float32)
    sine = tl.sin(value * frequency)
    double = tl.sin(2.0 * value * frequency)  # twice sine times cosine
    tl.store(dx + start + at, slope * (1.0 + scale * double * frequency), mask=inside)
    tl.atomic_add(dalpha + channel, tl.sum(slope * scale * double * value * frequency, 0))
    tl.atomic_add(dbeta + channel, tl.sum(-slope * sine * sine * scale * scale * magnitude, 0))
