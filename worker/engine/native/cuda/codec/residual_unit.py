"""A whole residual unit of the decoder in one kernel, for layers so narrow that one program holds all their channels.

At 96 and 192 channels the unit is bound by what goes to and from memory: run as two convolutions it writes and reads
the activation between them, which here never leaves the registers.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.native.cuda.codec.causal_conv import ConvWeights, Outputs
from worker.engine.native.cuda.codec.narrowing import narrowed
from worker.engine.native.cuda.codec.snake import SnakeTable, snake


@dataclass(frozen=True, slots=True)
class UnitTile:
    """rows of one program, which works through the inputs `inputs` at a time."""

    rows: int
    inputs: int
    warps: int
    stages: int
    max_registers: int | None = None
    """Of one thread; fewer let two programs share a multiprocessor."""


_TILES = {96: UnitTile(128, 32, warps=8, stages=4), 192: UnitTile(128, 64, warps=8, stages=3)}


def fits_one_program(x: Tensor) -> bool:
    """Whether the channels (..., C) do, in 16 bits; float32 is for comparison, and takes minutes to compile."""
    return x.shape[-1] in _TILES and x.element_size() == 2


def residual_unit(
    inputs: Tensor,
    look_back: ConvWeights,
    between: SnakeTable,
    mix: ConvWeights,
    residual: Tensor,
    outputs: Outputs,
    *,
    tile: UnitTile | None = None,
) -> None:
    """outputs = mix(snake(look_back(inputs))) + residual.

    inputs: (B, rows_back + rows, C), rows contiguous, activated already; its channels fit one program. residual
    and outputs: (B, rows, C). All of one dtype.
    """
    num_streams, rows = inputs.shape[0], inputs.shape[1] - look_back.rows_back
    num_taps, _, num_channels = look_back.taps.shape
    tile = tile or _TILES[num_channels]
    plain, active = outputs.plain, outputs.active
    assert active is not None  # noqa: S101
    assert outputs.snake is not None  # noqa: S101
    num_rows = num_streams * rows
    _residual_unit[(triton.cdiv(num_rows, tile.rows),)](
        inputs,
        look_back.taps,
        look_back.bias,
        between.half_turns,
        between.amplitude,
        mix.taps,
        mix.bias,
        residual,
        active if plain is None else plain,
        active,
        outputs.snake.half_turns,
        outputs.snake.amplitude,
        num_rows,
        rows,
        look_back.dilation,
        inputs.stride(0),
        residual.stride(0),
        0 if plain is None else plain.stride(0),
        active.stride(0),
        TAPS=num_taps,
        # Two thirds and one third of the channels: both are powers of two, so that no column is padding.
        WIDE=num_channels * 2 // 3,
        NARROW=num_channels // 3,
        HAS_PLAIN=plain is not None,
        TILE_ROWS=tile.rows,
        TILE_INPUTS=tile.inputs,
        PRECISION="ieee" if inputs.dtype == torch.float32 else "tf32",
        num_warps=tile.warps,
        num_stages=tile.stages,
        maxnreg=tile.max_registers,
    )


@triton.jit(do_not_specialize=["num_rows", "rows", "dilation"])
def _residual_unit(
    inputs: tl.tensor,
    taps: tl.tensor,
    bias: tl.tensor,
    between_half_turns: tl.tensor,
    between_amplitude: tl.tensor,
    mix_taps: tl.tensor,
    mix_bias: tl.tensor,
    residual: tl.tensor,
    plain: tl.tensor,
    active: tl.tensor,
    half_turns: tl.tensor,
    amplitude: tl.tensor,
    num_rows: tl.tensor,
    rows: tl.tensor,
    dilation: tl.tensor,
    inputs_stride: tl.tensor,
    residual_stride: tl.tensor,
    plain_stride: tl.tensor,
    active_stride: tl.tensor,
    TAPS: tl.constexpr,
    WIDE: tl.constexpr,
    NARROW: tl.constexpr,
    HAS_PLAIN: tl.constexpr,
    TILE_ROWS: tl.constexpr,
    TILE_INPUTS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    channels: tl.constexpr = WIDE + NARROW
    input_tiles: tl.constexpr = channels // TILE_INPUTS
    all_rows = tl.program_id(0) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    row = tl.minimum(all_rows, num_rows - 1)
    stream = (row // rows).to(tl.int64)
    time = row % rows
    wide = tl.arange(0, WIDE)
    narrow = WIDE + tl.arange(0, NARROW)
    k = tl.arange(0, TILE_INPUTS)

    row_inputs = inputs + stream * inputs_stride + time * channels
    wide_sum = tl.zeros((TILE_ROWS, WIDE), dtype=tl.float32)
    narrow_sum = tl.zeros((TILE_ROWS, NARROW), dtype=tl.float32)
    for step in range(TAPS * input_tiles):
        tap = step // input_tiles
        first = (step % input_tiles) * TILE_INPUTS
        x = tl.load(row_inputs[:, None] + (tap * dilation * channels + first + k)[None, :])
        tap_rows = taps + ((tap * channels + first + k) * channels)[:, None]
        wide_sum = tl.dot(x, tl.load(tap_rows + wide[None, :]), wide_sum, input_precision=PRECISION)
        narrow_sum = tl.dot(x, tl.load(tap_rows + narrow[None, :]), narrow_sum, input_precision=PRECISION)

    dtype = active.dtype.element_ty
    wide_sum += tl.load(bias + wide)[None, :]
    narrow_sum += tl.load(bias + narrow)[None, :]
    wide_wave = snake(wide_sum, tl.load(between_half_turns + wide)[None, :], tl.load(between_amplitude + wide)[None, :])
    narrow_wave = snake(
        narrow_sum, tl.load(between_half_turns + narrow)[None, :], tl.load(between_amplitude + narrow)[None, :]
    )
    wide_in, narrow_in = narrowed(wide_wave, dtype), narrowed(narrow_wave, dtype)

    is_row = (all_rows < num_rows)[:, None]
    from_wide, from_narrow = mix_taps + (wide * channels)[:, None], mix_taps + (narrow * channels)[:, None]
    _mix_and_store(
        wide, wide_in, narrow_in, from_wide, from_narrow, mix_bias, residual, plain, active, half_turns, amplitude,
        stream, time * channels, is_row, residual_stride, plain_stride, active_stride, HAS_PLAIN, PRECISION,
    )  # fmt: skip
    _mix_and_store(
        narrow, wide_in, narrow_in, from_wide, from_narrow, mix_bias, residual, plain, active, half_turns, amplitude,
        stream, time * channels, is_row, residual_stride, plain_stride, active_stride, HAS_PLAIN, PRECISION,
    )  # fmt: skip


@triton.jit
def _mix_and_store(
    column: tl.tensor,
    wide_in: tl.tensor,
    narrow_in: tl.tensor,
    from_wide: tl.tensor,
    from_narrow: tl.tensor,
    mix_bias: tl.tensor,
    residual: tl.tensor,
    plain: tl.tensor,
    active: tl.tensor,
    half_turns: tl.tensor,
    amplitude: tl.tensor,
    stream: tl.tensor,
    row_offset: tl.tensor,
    is_row: tl.tensor,
    residual_stride: tl.tensor,
    plain_stride: tl.tensor,
    active_stride: tl.tensor,
    HAS_PLAIN: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    """The results of some columns."""
    total = tl.dot(wide_in, tl.load(from_wide + column[None, :]), input_precision=PRECISION)
    total = tl.dot(narrow_in, tl.load(from_narrow + column[None, :]), total, input_precision=PRECISION)
    total += tl.load(mix_bias + column)[None, :]
    offset = row_offset[:, None] + column[None, :]
    total += tl.load(residual + stream[:, None] * residual_stride + offset, mask=is_row, other=0.0).to(tl.float32)
    if HAS_PLAIN:
        kept = narrowed(total, plain.dtype.element_ty)
        tl.store(plain + stream[:, None] * plain_stride + offset, kept, mask=is_row)
    waved = snake(total, tl.load(half_turns + column)[None, :], tl.load(amplitude + column)[None, :])
    kept = narrowed(waved, active.dtype.element_ty)
    tl.store(active + stream[:, None] * active_stride + offset, kept, mask=is_row)
