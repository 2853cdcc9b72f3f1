"""A causal convolution as one matrix product, with everything that follows it in the codec done on the way out.

One kernel serves all of the codec's convolutions and wide linear maps. It does k taps with a dilation, pointwise
convolutions and the ConvNeXt's products. A transposed convolution has two taps, and the outputs of one input side by
side. A residual unit reads its activated input once. It writes its sum and the next layer's activated input once. The
activation is computed while its argument is in registers, without an extra pass.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.codec.kernels.snake import SnakeTable, snake

_LARGEST_FLOAT16 = tl.constexpr(65504.0)


class Activation(enum.IntEnum):
    """What happens to a product before it is added to anything."""

    NONE = 0
    GELU = 1


@dataclass(frozen=True, slots=True)
class ConvWeights:
    """taps (k, inputs, outputs), oldest first, 16-bit or float32; bias float32 (outputs,).

    `channels`: outputs of one output row. A transposed convolution has `stride` rows of them for every input row, so
    its `outputs` are stride * channels.
    """

    taps: Tensor
    bias: Tensor
    dilation: int
    channels: int

    @property
    def rows_back(self) -> int:
        """Rows before the current one that an output looks at."""
        return (self.taps.shape[0] - 1) * self.dilation

    @property
    def rows_per_row(self) -> int:
        """Output rows for each input row."""
        return self.taps.shape[2] // self.channels


@dataclass(frozen=True, slots=True)
class Outputs:
    """Where the results go, each (B, rows, outputs) with any distance between streams; at least one of the two.

    plain: the sum itself. active: the SnakeBeta of the sum, by `snake`.
    """

    plain: Tensor | None = None
    active: Tensor | None = None
    snake: SnakeTable | None = None


@dataclass(frozen=True, slots=True)
class _Tile:
    """Of the product: rows x columns of it in one program, which works through the inputs `inputs` at a time."""

    rows: int
    columns: int
    inputs: int
    warps: int
    stages: int


def causal_conv(
    inputs: Tensor,
    weights: ConvWeights,
    outputs: Outputs,
    *,
    residual: Tensor | None = None,
    activation: Activation = Activation.NONE,
) -> None:
    """outputs = activation(conv(inputs) + bias) + residual.

    inputs: (B, rows_back + rows, C), rows contiguous; the first `rows_back` rows are the past. residual: (B, rows,
    outputs). All of one dtype; sums are float32.
    """
    target = outputs.plain if outputs.plain is not None else outputs.active
    assert target is not None  # noqa: S101
    num_streams, rows = inputs.shape[0], inputs.shape[1] - weights.rows_back
    num_taps, num_inputs, num_outputs = weights.taps.shape
    num_rows = num_streams * rows
    tile = _tile_for(num_rows, num_inputs, num_outputs)
    snake_table = outputs.snake
    grid = (triton.cdiv(num_rows, tile.rows) * triton.cdiv(num_outputs, tile.columns),)
    _causal_conv[grid](
        inputs,
        weights.taps,
        weights.bias,
        target if residual is None else residual,
        target if outputs.plain is None else outputs.plain,
        target if outputs.active is None else outputs.active,
        weights.bias if snake_table is None else snake_table.half_turns,
        weights.bias if snake_table is None else snake_table.amplitude,
        num_rows,
        rows,
        num_taps,
        weights.dilation,
        num_inputs,
        num_outputs,
        weights.channels,
        inputs.stride(0),
        0 if residual is None else residual.stride(0),
        0 if outputs.plain is None else outputs.plain.stride(0),
        0 if outputs.active is None else outputs.active.stride(0),
        GELU=activation is Activation.GELU,
        HAS_RESIDUAL=residual is not None,
        HAS_PLAIN=outputs.plain is not None,
        HAS_ACTIVE=outputs.active is not None,
        TILE_ROWS=tile.rows,
        TILE_COLUMNS=tile.columns,
        TILE_INPUTS=tile.inputs,
        WHOLE_INPUTS=num_inputs % tile.inputs == 0,
        WHOLE_COLUMNS=num_outputs % tile.columns == 0,
        PRECISION="ieee" if inputs.dtype == torch.float32 else "tf32",
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def _tile_for(num_rows: int, num_inputs: int, num_outputs: int) -> _Tile:
    # 32 with a masked rest if neither divides the inputs.
    inputs = 64 if num_inputs % 64 == 0 else 32
    if num_rows <= 16:
        return _Tile(16, 32, inputs, warps=4, stages=5)
    if num_rows <= 256:
        return _Tile(32, 64, inputs, warps=4, stages=4)
    if num_outputs % 128 == 0:
        return _Tile(128, 128, inputs, warps=8, stages=4)
    if num_outputs <= 32:
        return _Tile(128, 32, inputs, warps=4, stages=4)
    if num_outputs > 64 and num_outputs <= 128:
        return _Tile(128, 128, inputs, warps=8, stages=4)
    return _Tile(128, 64, inputs, warps=4, stages=4)


@triton.jit
def narrowed(x: tl.tensor, DTYPE: tl.constexpr) -> tl.tensor:
    """What float16 cannot hold becomes its largest number: an infinity would stay in a stream's state."""
    if DTYPE == tl.float16:  # noqa: SIM300  (a constant to the compiler, not to Python)
        x = tl.minimum(tl.maximum(x, -_LARGEST_FLOAT16), _LARGEST_FLOAT16)
    return x.to(DTYPE)


# Few variants are compiled: widths come at run time, and only their divisibility by 16 makes a difference.
@triton.jit(do_not_specialize=["num_rows", "rows", "num_taps", "dilation"])
def _causal_conv(
    inputs: tl.tensor,
    taps: tl.tensor,
    bias: tl.tensor,
    residual: tl.tensor,
    plain: tl.tensor,
    active: tl.tensor,
    half_turns: tl.tensor,
    amplitude: tl.tensor,
    num_rows: tl.tensor,
    rows: tl.tensor,
    num_taps: tl.tensor,
    dilation: tl.tensor,
    num_inputs: tl.tensor,
    num_outputs: tl.tensor,
    channels: tl.tensor,
    inputs_stride: tl.tensor,
    residual_stride: tl.tensor,
    plain_stride: tl.tensor,
    active_stride: tl.tensor,
    GELU: tl.constexpr,
    HAS_RESIDUAL: tl.constexpr,
    HAS_PLAIN: tl.constexpr,
    HAS_ACTIVE: tl.constexpr,
    TILE_ROWS: tl.constexpr,
    TILE_COLUMNS: tl.constexpr,
    TILE_INPUTS: tl.constexpr,
    WHOLE_INPUTS: tl.constexpr,
    WHOLE_COLUMNS: tl.constexpr,
    PRECISION: tl.constexpr,
) -> None:
    # Programs that share rows are neighbours, so that the rows come out of the second-level cache.
    column_tiles = tl.cdiv(num_outputs, TILE_COLUMNS)
    input_tiles = tl.cdiv(num_inputs, TILE_INPUTS)
    program = tl.program_id(0)
    all_rows = (program // column_tiles) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    column = (program % column_tiles) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
    is_column = column < num_outputs
    row = tl.minimum(all_rows, num_rows - 1)
    stream = (row // rows).to(tl.int64)
    time = (row % rows).to(tl.int64)
    k = tl.arange(0, TILE_INPUTS)

    row_inputs = inputs + stream * inputs_stride + time * num_inputs
    total = tl.zeros((TILE_ROWS, TILE_COLUMNS), dtype=tl.float32)
    for step in range(num_taps * input_tiles):
        tap = step // input_tiles
        first = (step % input_tiles) * TILE_INPUTS
        row_tile = row_inputs[:, None] + (tap * (dilation * num_inputs) + first + k)[None, :]
        tap_tile = taps + (tap * num_inputs + first + k)[:, None] * num_outputs + column[None, :]
        if WHOLE_INPUTS:
            x = tl.load(row_tile)
            if WHOLE_COLUMNS:  # noqa: SIM108  (no ternaries on device values)
                w = tl.load(tap_tile)
            else:
                w = tl.load(tap_tile, mask=is_column[None, :], other=0.0)
        else:
            is_input = first + k < num_inputs
            x = tl.load(row_tile, mask=is_input[None, :], other=0.0)
            w = tl.load(tap_tile, mask=is_input[:, None] & is_column[None, :], other=0.0)
        total = tl.dot(x, w, total, input_precision=PRECISION)

    total += tl.load(bias + column, mask=is_column, other=0.0)[None, :]
    if GELU:
        total = 0.5 * total * (1.0 + tl.erf(total * 0.7071067811865476))
    is_inside = (all_rows < num_rows)[:, None] & is_column[None, :]
    offset = time[:, None] * num_outputs + column[None, :]
    if HAS_RESIDUAL:
        old = tl.load(residual + stream[:, None] * residual_stride + offset, mask=is_inside, other=0.0)
        total += old.to(tl.float32)
    if HAS_PLAIN:
        narrow = narrowed(total, plain.dtype.element_ty)
        tl.store(plain + stream[:, None] * plain_stride + offset, narrow, mask=is_inside)
    if HAS_ACTIVE:
        channel = column % channels
        turns = tl.load(half_turns + channel, mask=is_column, other=0.0)
        gain = tl.load(amplitude + channel, mask=is_column, other=0.0)
        waved = snake(total, turns[None, :], gain[None, :])
        narrow = narrowed(waved, active.dtype.element_ty)
        tl.store(active + stream[:, None] * active_stride + offset, narrow, mask=is_inside)
