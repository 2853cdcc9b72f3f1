"""SnakeBeta, x + sin²(x e^alpha) / (e^beta + 1e-9), as one Triton kernel each way on a GPU and plain torch elsewhere.

Source of the function: BigVGAN (Lee et al., 2022).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

try:
    import triton
    import triton.language as tl
except ImportError:  # the CPU build of torch has none
    triton = None


def snake_beta(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """x (B, C, T), alpha and beta (C,)."""
    if triton is not None and x.is_cuda:
        return _Fused.apply(x, alpha, beta)
    scale = 1.0 / (beta.exp()[None, :, None] + 1e-9)
    return x + scale.to(x.dtype) * torch.sin(x * alpha.exp()[None, :, None].to(x.dtype)).pow(2)


if triton is not None:

    @triton.jit
    def _forward(x, al, be, y, C, T, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
        row, block = tl.program_id(0), tl.program_id(1)
        c = row % C
        a = tl.exp(tl.load(al + c).to(tl.float32))
        ib = 1.0 / (tl.exp(tl.load(be + c).to(tl.float32)) + 1e-9)
        t = block * BLOCK + tl.arange(0, BLOCK)
        inside = t < T
        v = tl.load(x + row.to(tl.int64) * T + t, mask=inside, other=0.0).to(tl.float32)
        s = tl.sin(v * a)
        tl.store(y + row.to(tl.int64) * T + t, v + ib * s * s, mask=inside)

    @triton.jit
    def _backward(x, al, be, dy, dx, da, db, C, T, BLOCK: tl.constexpr):  # noqa: ANN001, ANN202
        row, block = tl.program_id(0), tl.program_id(1)
        c = row % C
        a = tl.exp(tl.load(al + c).to(tl.float32))
        eb = tl.exp(tl.load(be + c).to(tl.float32))
        ib = 1.0 / (eb + 1e-9)
        t = block * BLOCK + tl.arange(0, BLOCK)
        inside = t < T
        v = tl.load(x + row.to(tl.int64) * T + t, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(dy + row.to(tl.int64) * T + t, mask=inside, other=0.0).to(tl.float32)
        s = tl.sin(v * a)
        s2 = tl.sin(2.0 * v * a)  # twice sine times cosine
        tl.store(dx + row.to(tl.int64) * T + t, g * (1.0 + ib * s2 * a), mask=inside)
        tl.atomic_add(da + c, tl.sum(g * ib * s2 * v * a, 0))
        tl.atomic_add(db + c, tl.sum(-g * s * s * ib * ib * eb, 0))

    class _Fused(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:  # noqa: ANN401
            x = x.contiguous()
            y = torch.empty_like(x)
            batch, channels, length = x.shape
            _forward[(batch * channels, triton.cdiv(length, 1024))](x, alpha, beta, y, channels, length, BLOCK=1024)
            ctx.save_for_backward(x, alpha, beta)
            return y

        @staticmethod
        def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, Tensor]:  # noqa: ANN401
            x, alpha, beta = ctx.saved_tensors
            dy = dy.contiguous()
            dx = torch.empty_like(x)
            da = torch.zeros(alpha.shape, device=x.device, dtype=torch.float32)
            db = torch.zeros_like(da)
            batch, channels, length = x.shape
            _backward[(batch * channels, triton.cdiv(length, 1024))](
                x, alpha, beta, dy, dx, da, db, channels, length, BLOCK=1024
            )
            return dx, da.to(alpha.dtype), db.to(beta.dtype)
