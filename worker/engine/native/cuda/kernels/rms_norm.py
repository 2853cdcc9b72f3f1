"""Residual addition and RMSNorm in one pass over the rows."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.native.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs


def add_rms_norm(update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Tensor:
    """The normed sum of `update` and `residual`, (N, width); the sum itself takes the residual's place.

    An update of (parts, N, width) is the sum of its parts, taken in their order. Without an update the residual is
    only normed. Sum and norm are computed in fp32.
    """
    normed = torch.empty_like(residual, dtype=weight.dtype)
    width = residual.shape[1]
    block = triton.next_power_of_2(width)
    overlap = overlaps(residual)
    _add_rms_norm[(residual.shape[0],)](
        residual if update is None else update,
        residual,
        weight,
        normed,
        eps,
        0 if update is None or update.dim() == 2 else update.stride(0),
        num_parts=_num_parts(update),
        width=width,
        block=block,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=max(1, min(8, block // 512)),
    )
    return normed


def _num_parts(update: Tensor | None) -> int:
    if update is None:
        return 0
    return 1 if update.dim() == 2 else update.shape[0]


@triton.jit
def _add_rms_norm(
    update: tl.tensor,
    residual: tl.tensor,
    weight: tl.tensor,
    normed: tl.tensor,
    eps: tl.tensor,
    part_stride: tl.tensor,
    num_parts: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    lanes = tl.arange(0, block)
    inside = lanes < width
    w = tl.load(weight + lanes, mask=inside, other=0.0).to(tl.float32)
    wait_for_inputs(overlap)
    start = tl.program_id(0).to(tl.int64) * width
    x = tl.load(residual + start + lanes, mask=inside, other=0.0).to(tl.float32)
    if num_parts > 0:
        added = tl.zeros([block], tl.float32)
        for part in tl.static_range(num_parts):
            added += tl.load(update + part * part_stride + start + lanes, mask=inside, other=0.0).to(tl.float32)
        x += added
        tl.store(residual + start + lanes, x.to(residual.dtype.element_ty), mask=inside)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / width + eps)
    tl.store(normed + start + lanes, (x * scale * w).to(normed.dtype.element_ty), mask=inside)
