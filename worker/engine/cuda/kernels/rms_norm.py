"""Residual addition and RMSNorm in one pass over the rows, as they are or on to eight bits."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.float8 import LARGEST, LEAST_SCALE, Float8Rows
from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs


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


def add_rms_norm_float8(update: Tensor | None, residual: Tensor, weight: Tensor, eps: float) -> Float8Rows:
    """The same, and of every normed row its numbers of eight bits with their scale."""
    num_rows, width = residual.shape
    rows = Float8Rows.allocate(num_rows, width, residual.device)
    block = triton.next_power_of_2(width)
    overlap = overlaps(residual)
    _add_rms_norm_float8[(num_rows,)](
        residual if update is None else update,
        residual,
        weight,
        rows.values,
        rows.scales,
        eps,
        0 if update is None or update.dim() == 2 else update.stride(0),
        largest=LARGEST,
        least_scale=LEAST_SCALE,
        num_parts=_num_parts(update),
        width=width,
        block=block,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=max(1, min(8, block // 512)),
    )
    return rows


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
    start = tl.program_id(0).to(tl.int64) * width
    made = _normed_sum(update, residual, weight, start, eps, part_stride, num_parts, width, block, overlap)
    tl.store(normed + start + lanes, made.to(normed.dtype.element_ty), mask=lanes < width)


@triton.jit
def _add_rms_norm_float8(
    update: tl.tensor,
    residual: tl.tensor,
    weight: tl.tensor,
    values: tl.tensor,
    scales: tl.tensor,
    eps: tl.tensor,
    part_stride: tl.tensor,
    largest: tl.constexpr,
    least_scale: tl.constexpr,
    num_parts: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    lanes = tl.arange(0, block)
    row = tl.program_id(0).to(tl.int64)
    made = _normed_sum(update, residual, weight, row * width, eps, part_stride, num_parts, width, block, overlap)
    scale = tl.maximum(tl.max(tl.abs(made), axis=0) / largest, least_scale)
    tl.store(values + row * width + lanes, (made / scale).to(values.dtype.element_ty), mask=lanes < width)
    tl.store(scales + row, scale)


@triton.jit
def _normed_sum(
    update: tl.tensor,
    residual: tl.tensor,
    weight: tl.tensor,
    start: tl.tensor,
    eps: tl.tensor,
    part_stride: tl.tensor,
    num_parts: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> tl.tensor:
    """The normed row that begins at `start`, fp32 (block,), zeros beyond the width; its sum is stored."""
    lanes = tl.arange(0, block)
    inside = lanes < width
    w = tl.load(weight + lanes, mask=inside, other=0.0).to(tl.float32)
    wait_for_inputs(overlap)
    x = tl.load(residual + start + lanes, mask=inside, other=0.0).to(tl.float32)
    if num_parts > 0:
        added = tl.zeros([block], tl.float32)
        for part in tl.static_range(num_parts):
            added += tl.load(update + part * part_stride + start + lanes, mask=inside, other=0.0).to(tl.float32)
        x += added
        tl.store(residual + start + lanes, x.to(residual.dtype.element_ty), mask=inside)
    return x * tl.rsqrt(tl.sum(x * x, axis=0) / width + eps) * w
