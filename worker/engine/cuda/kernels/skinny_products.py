"""Matrix products of some rows: too many for `few_row_products`, too few to fill a library's tiles.

Here too the time is the reading of the weights. A program takes a strip of outputs and all rows, and multiplies on the
matrix units. Where the strips alone would leave multiprocessors idle, the inputs are cut too, into parts that the
reader of the product adds up in their order. Strips and parts depend on the widths alone, never on the rows.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

MAX_TOKENS = 128
_STRIP = 32
_NUM_WARPS = 4
# (bytes of a row's block of inputs, blocks on their way) by the rows of the tile: what fits into shared memory.
_BLOCKS = {64: (512, 3), 128: (256, 4)}
# The tile that Hopper's matrix units work on without waiting for one another's sums: faster than a smaller one, too.
_LEAST_ROWS = 64
# As many programs as there are multiprocessors, nearly, where the widths allow.
_PROGRAMS = 128
_MAX_PARTS = 8
_PART_UNIT = 128


def skinny_linear(x: Tensor, weight: Tensor, out_dtype: torch.dtype) -> Tensor:
    """x (N, in) times weight (out, in) -> (N, out). N is at most `MAX_TOKENS`."""
    return _skinny_linear(x, weight, 1, out_dtype)[0]


def skinny_parts(x: Tensor, weight: Tensor) -> Tensor:
    """The same product as float32 parts (parts, N, out) that are still to be added up."""
    num_outputs, width = weight.shape
    parts = 1
    while parts < _MAX_PARTS and width % (2 * parts * _PART_UNIT) == 0 and parts * num_outputs < _PROGRAMS * _STRIP:
        parts *= 2
    return _skinny_linear(x, weight, parts, torch.float32)


def skinny_gate_up(x: Tensor, weight: Tensor) -> Tensor:
    """silu(gate) * up of x (N, in); weight (2 * out, in) holds gates, then ups -> (N, out)."""
    num_rows, width = x.shape
    num_outputs = weight.shape[0] // 2
    product = x.new_empty(num_rows, num_outputs)
    rows = _row_tile(num_rows)
    block_bytes, num_stages = _BLOCKS[rows]
    overlap = overlaps(x)
    _gate_up_kernel[(triton.cdiv(num_outputs, _STRIP),)](
        x,
        weight,
        product,
        num_rows,
        rows=rows,
        width=width,
        num_outputs=num_outputs,
        strip=_STRIP,
        input_block=block_bytes // x.element_size(),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=_NUM_WARPS,
        num_stages=num_stages,
    )
    return product


def _skinny_linear(x: Tensor, weight: Tensor, parts: int, out_dtype: torch.dtype) -> Tensor:
    num_rows, width = x.shape
    num_outputs = weight.shape[0]
    product = x.new_empty(parts, num_rows, num_outputs, dtype=out_dtype)
    rows = _row_tile(num_rows)
    block_bytes, num_stages = _BLOCKS[rows]
    overlap = overlaps(x)
    _linear_kernel[(triton.cdiv(num_outputs, _STRIP), parts)](
        x,
        weight,
        product,
        num_rows,
        rows=rows,
        width=width,
        part_width=width // parts,
        num_outputs=num_outputs,
        strip=_STRIP,
        input_block=block_bytes // x.element_size(),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=_NUM_WARPS,
        num_stages=num_stages,
    )
    return product


def _row_tile(num_rows: int) -> int:
    return max(_LEAST_ROWS, triton.next_power_of_2(num_rows))


@triton.jit(do_not_specialize=["num_rows"])
def _linear_kernel(
    x: tl.tensor,
    weight: tl.tensor,
    product: tl.tensor,
    num_rows: tl.tensor,
    rows: tl.constexpr,
    width: tl.constexpr,
    part_width: tl.constexpr,
    num_outputs: tl.constexpr,
    strip: tl.constexpr,
    input_block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    output = tl.program_id(0) * strip + tl.arange(0, strip)
    part = tl.program_id(1)
    inside = output < num_outputs
    strip_weights = weight + tl.where(inside, output, 0) * width + part * part_width
    wait_for_inputs(overlap)
    row = tl.arange(0, rows)
    total = tl.zeros([rows, strip], tl.float32)
    for start in tl.range(0, part_width, input_block):
        column = start + tl.arange(0, input_block)
        is_input = column < part_width
        w = tl.load(strip_weights[:, None] + column[None, :], mask=is_input[None, :], other=0.0)
        total = tl.dot(
            _inputs(x + part * part_width, row, num_rows, column, is_input, width),
            tl.trans(w),
            total,
            input_precision="ieee",
        )
    target = product + (part * num_rows + row[:, None]) * num_outputs + output[None, :]
    tl.store(target, total.to(product.dtype.element_ty), mask=(row < num_rows)[:, None] & inside[None, :])


@triton.jit(do_not_specialize=["num_rows"])
def _gate_up_kernel(
    x: tl.tensor,
    weight: tl.tensor,
    product: tl.tensor,
    num_rows: tl.tensor,
    rows: tl.constexpr,
    width: tl.constexpr,
    num_outputs: tl.constexpr,
    strip: tl.constexpr,
    input_block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    output = tl.program_id(0) * strip + tl.arange(0, strip)
    inside = output < num_outputs
    gate_weights = weight + tl.where(inside, output, 0) * width
    up_weights = gate_weights + num_outputs * width
    wait_for_inputs(overlap)
    row = tl.arange(0, rows)
    gate = tl.zeros([rows, strip], tl.float32)
    up = tl.zeros([rows, strip], tl.float32)
    for start in tl.range(0, width, input_block):
        column = start + tl.arange(0, input_block)
        is_input = column < width
        inputs = _inputs(x, row, num_rows, column, is_input, width)
        w = tl.load(gate_weights[:, None] + column[None, :], mask=is_input[None, :], other=0.0)
        gate = tl.dot(inputs, tl.trans(w), gate, input_precision="ieee")
        w = tl.load(up_weights[:, None] + column[None, :], mask=is_input[None, :], other=0.0)
        up = tl.dot(inputs, tl.trans(w), up, input_precision="ieee")
    y = gate / (1.0 + tl.exp(-gate)) * up
    target = product + row[:, None] * num_outputs + output[None, :]
    tl.store(target, y.to(product.dtype.element_ty), mask=(row < num_rows)[:, None] & inside[None, :])


@triton.jit
def _inputs(
    x: tl.tensor, row: tl.tensor, num_rows: tl.tensor, column: tl.tensor, is_input: tl.tensor, width: tl.constexpr
) -> tl.tensor:
    """A block of the rows, (rows, input_block), zeros where there is none."""
    mask = (row < num_rows)[:, None] & is_input[None, :]
    return tl.load(x + row[:, None] * width + column[None, :], mask=mask, other=0.0)
