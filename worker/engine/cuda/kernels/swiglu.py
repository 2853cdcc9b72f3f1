"""The product inside SwiGLU."""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.float8 import LARGEST, LEAST_SCALE, Float8Rows
from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

_LANES = 1024


def silu_multiply(gate_up: Tensor) -> Tensor:
    """silu(gate) * up of rows that hold both behind one another: (N, 2 * width) -> (N, width), in fp32 inside."""
    num_rows, width = gate_up.shape[0], gate_up.shape[1] // 2
    product = gate_up.new_empty(num_rows, width)
    block = min(_LANES, triton.next_power_of_2(width))
    overlap = overlaps(gate_up)
    _silu_multiply[(num_rows, triton.cdiv(width, block))](
        gate_up, product, width=width, block=block, overlap=overlap, launch_pdl=overlap, num_warps=4
    )
    return product


def silu_multiply_float8(gate_up: Tensor) -> Float8Rows:
    """The same, and of every row its numbers of eight bits with their scale."""
    num_rows, width = gate_up.shape[0], gate_up.shape[1] // 2
    rows = Float8Rows.allocate(num_rows, width, gate_up.device)
    block = triton.next_power_of_2(width)
    overlap = overlaps(gate_up)
    _silu_multiply_float8[(num_rows,)](
        gate_up,
        rows.values,
        rows.scales,
        largest=LARGEST,
        least_scale=LEAST_SCALE,
        width=width,
        block=block,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=max(1, min(8, block // 512)),
    )
    return rows


@triton.jit
def _silu_multiply(
    gate_up: tl.tensor, product: tl.tensor, width: tl.constexpr, block: tl.constexpr, overlap: tl.constexpr
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.program_id(1) * block + tl.arange(0, block)
    value = _gated(gate_up + row * 2 * width, lanes, width)
    tl.store(product + row * width + lanes, value.to(product.dtype.element_ty), mask=lanes < width)


@triton.jit
def _silu_multiply_float8(
    gate_up: tl.tensor,
    values: tl.tensor,
    scales: tl.tensor,
    largest: tl.constexpr,
    least_scale: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, block)
    value = _gated(gate_up + row * 2 * width, lanes, width)
    scale = tl.maximum(tl.max(tl.abs(value), axis=0) / largest, least_scale)
    tl.store(values + row * width + lanes, (value / scale).to(values.dtype.element_ty), mask=lanes < width)
    tl.store(scales + row, scale)


@triton.jit
def _gated(gate_up: tl.tensor, lanes: tl.tensor, width: tl.constexpr) -> tl.tensor:
    """Lanes of the row that begins at `gate_up`, in fp32; zeros beyond the width."""
    inside = lanes < width
    gate = tl.load(gate_up + lanes, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + width + lanes, mask=inside, other=0.0).to(tl.float32)
    return gate / (1.0 + tl.exp(-gate)) * up
