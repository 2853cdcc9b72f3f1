"""Matrix products of a few rows, each with what stands before or after it in a transformer layer.

With so few rows a product is the reading of its weights, and the plain cores do the multiply-adds meanwhile. A
program holds its weights in registers, complete and requested before its inputs exist (`programmatic_launch`), and
then meets every row with them. Weights lie in a program chunk by chunk of 256 lanes, outputs side by side: a warp owns
outputs, so that a sum ends inside the warp. The sums are fp32; how they are cut depends on the widths alone, never on
the rows.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

MAX_ROWS = 4
_LANES = 256
_NUM_WARPS = 4
_CHUNKS_OF_FOUR_WARPS = 16
# Weights of one program: 64 registers of two bf16 numbers for each of its threads.
_WEIGHTS_AT_ONCE = 64 * 2 * 32 * _NUM_WARPS


def norm_linear(residual: Tensor, norm_weight: Tensor, eps: float, weight: Tensor, out_dtype: torch.dtype) -> Tensor:
    """The RMS-normed rows (N, in) times weight (out, in) -> (N, out). N is at most `MAX_ROWS`."""
    product = residual.new_empty(len(residual), len(weight), dtype=out_dtype)
    _launch(_norm_linear, residual, (norm_weight, weight, product, eps), len(weight))
    return product


def linear(x: Tensor, weight: Tensor, out_dtype: torch.dtype) -> Tensor:
    """x (N, in) times weight (out, in) -> (N, out). N is at most `MAX_ROWS`."""
    product = x.new_empty(len(x), len(weight), dtype=out_dtype)
    _launch(_linear, x, (weight, product), len(weight))
    return product


def norm_gate_up(residual: Tensor, norm_weight: Tensor, eps: float, weight: Tensor) -> Tensor:
    """silu(gate) * up of the RMS-normed rows (N, in); weight (2 * out, in) holds gates, then ups -> (N, out)."""
    num_outputs = len(weight) // 2
    product = residual.new_empty(len(residual), num_outputs, dtype=weight.dtype)
    _launch(_norm_gate_up, residual, (norm_weight, weight, product, eps), num_outputs, tiles=2)
    return product


def linear_add(x: Tensor, weight: Tensor, residual: Tensor) -> None:
    """residual (N, out) += x (N, in) times weight (out, in), in place. N is at most `MAX_ROWS`."""
    _launch(_linear_add, x, (weight, residual), len(weight))


def _launch(
    kernel: triton.JITFunction[Any], rows: Tensor, others: tuple[Tensor | float, ...], num_outputs: int, tiles: int = 1
) -> None:
    """others: the kernel's arguments behind its rows. tiles: of weights that a program holds."""
    num_rows, width = rows.shape
    chunks, outputs = _tile(width, num_outputs, tiles)
    overlap = overlaps(rows)
    kernel[(triton.cdiv(num_outputs, outputs),)](
        rows,
        *others,
        num_rows=num_rows,
        width=width,
        num_outputs=num_outputs,
        chunks=chunks,
        outputs=outputs,
        lanes=_LANES,
        overlap=overlap,
        # Several wide rows do not fit into the registers of four warps.
        num_warps=_NUM_WARPS if chunks <= _CHUNKS_OF_FOUR_WARPS else 2 * _NUM_WARPS,
        launch_pdl=overlap,
    )


def _tile(width: int, num_outputs: int, tiles: int) -> tuple[int, int]:
    """Chunks and outputs of a program that holds as many tiles of weights."""
    chunks = triton.next_power_of_2(triton.cdiv(width, _LANES))
    outputs = max(_NUM_WARPS, _WEIGHTS_AT_ONCE // (chunks * _LANES * tiles))
    # Small models: no program without work.
    return chunks, min(outputs, max(_NUM_WARPS, triton.next_power_of_2(num_outputs)))


@triton.jit
def _norm_linear(
    residual: tl.tensor,
    norm_weight: tl.tensor,
    weight: tl.tensor,
    product: tl.tensor,
    eps: tl.tensor,
    num_rows: tl.constexpr,
    width: tl.constexpr,
    num_outputs: tl.constexpr,
    chunks: tl.constexpr,
    outputs: tl.constexpr,
    lanes: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    first = tl.program_id(0) * outputs
    w = _weight_tile(weight, first, num_outputs, width, chunks, outputs, lanes)
    norms = _row(norm_weight, width, chunks, outputs, lanes)
    wait_for_inputs(overlap)
    output = first + tl.arange(0, outputs)
    for row in tl.static_range(num_rows):
        x = _row(residual + row * width, width, chunks, outputs, lanes)
        scale = tl.rsqrt(_products(x, x, chunks, outputs, lanes) / width + eps)
        y = _products(w, x * norms, chunks, outputs, lanes) * scale
        target = product + row * num_outputs + output
        tl.store(target, y.to(product.dtype.element_ty), mask=output < num_outputs)


@triton.jit
def _linear(
    x_rows: tl.tensor,
    weight: tl.tensor,
    product: tl.tensor,
    num_rows: tl.constexpr,
    width: tl.constexpr,
    num_outputs: tl.constexpr,
    chunks: tl.constexpr,
    outputs: tl.constexpr,
    lanes: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    first = tl.program_id(0) * outputs
    w = _weight_tile(weight, first, num_outputs, width, chunks, outputs, lanes)
    wait_for_inputs(overlap)
    output = first + tl.arange(0, outputs)
    for row in tl.static_range(num_rows):
        y = _products(w, _row(x_rows + row * width, width, chunks, outputs, lanes), chunks, outputs, lanes)
        tl.store(product + row * num_outputs + output, y.to(product.dtype.element_ty), mask=output < num_outputs)


@triton.jit
def _norm_gate_up(
    residual: tl.tensor,
    norm_weight: tl.tensor,
    weight: tl.tensor,
    product: tl.tensor,
    eps: tl.tensor,
    num_rows: tl.constexpr,
    width: tl.constexpr,
    num_outputs: tl.constexpr,
    chunks: tl.constexpr,
    outputs: tl.constexpr,
    lanes: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    first = tl.program_id(0) * outputs
    gate_w = _weight_tile(weight, first, num_outputs, width, chunks, outputs, lanes)
    up_w = _weight_tile(weight + num_outputs * width, first, num_outputs, width, chunks, outputs, lanes)
    norms = _row(norm_weight, width, chunks, outputs, lanes)
    wait_for_inputs(overlap)
    output = first + tl.arange(0, outputs)
    for row in tl.static_range(num_rows):
        x = _row(residual + row * width, width, chunks, outputs, lanes)
        scale = tl.rsqrt(_products(x, x, chunks, outputs, lanes) / width + eps)
        x = x * norms
        gate = _products(gate_w, x, chunks, outputs, lanes) * scale
        y = gate / (1.0 + tl.exp(-gate)) * (_products(up_w, x, chunks, outputs, lanes) * scale)
        target = product + row * num_outputs + output
        tl.store(target, y.to(product.dtype.element_ty), mask=output < num_outputs)


@triton.jit
def _linear_add(
    x_rows: tl.tensor,
    weight: tl.tensor,
    residual: tl.tensor,
    num_rows: tl.constexpr,
    width: tl.constexpr,
    num_outputs: tl.constexpr,
    chunks: tl.constexpr,
    outputs: tl.constexpr,
    lanes: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    first = tl.program_id(0) * outputs
    w = _weight_tile(weight, first, num_outputs, width, chunks, outputs, lanes)
    wait_for_inputs(overlap)
    output = first + tl.arange(0, outputs)
    for row in tl.static_range(num_rows):
        x = _row(x_rows + row * width, width, chunks, outputs, lanes)
        y = _products(w, x, chunks, outputs, lanes)
        target = residual + row * num_outputs + output
        inside = output < num_outputs
        y += tl.load(target, mask=inside, other=0.0).to(tl.float32)
        tl.store(target, y.to(residual.dtype.element_ty), mask=inside)


@triton.jit
def _weight_tile(
    weight: tl.tensor,
    first: tl.tensor,
    num_outputs: tl.constexpr,
    width: tl.constexpr,
    chunks: tl.constexpr,
    outputs: tl.constexpr,
    lanes: tl.constexpr,
) -> tl.tensor:
    """Weights (chunks * outputs, lanes) of the outputs from `first` on, a chunk of all before the next."""
    place = tl.arange(0, chunks * outputs)[:, None]
    column = place // outputs * lanes + tl.arange(0, lanes)[None, :]
    output = first + place % outputs
    return tl.load(weight + output * width + column, mask=(column < width) & (output < num_outputs), other=0.0)


@triton.jit
def _row(
    source: tl.tensor, width: tl.constexpr, chunks: tl.constexpr, outputs: tl.constexpr, lanes: tl.constexpr
) -> tl.tensor:
    """A row in fp32, every chunk once for every output: (chunks * outputs, lanes).

    So it lies in the registers where the weights do. Loaded flat, it would take detours through shared memory; the
    copies are one load, for the compiler sees that their addresses are the same.
    """
    column = tl.arange(0, chunks * outputs)[:, None] // outputs * lanes + tl.arange(0, lanes)[None, :]
    return tl.load(source + column, mask=column < width, other=0.0).to(tl.float32)


@triton.jit
def _products(
    w: tl.tensor, x: tl.tensor, chunks: tl.constexpr, outputs: tl.constexpr, lanes: tl.constexpr
) -> tl.tensor:
    """Weights times a row, both (chunks * outputs, lanes) -> (outputs,)."""
    terms = tl.reshape(w.to(tl.float32) * x, (chunks, outputs, lanes))
    return tl.sum(tl.sum(terms, axis=0), axis=1)
