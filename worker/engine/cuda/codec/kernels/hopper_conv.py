"""The convolution of `causal_conv` for Hopper, written in Gluon: same arguments, same sums, nearer the matrix rate.

A program is one warp that loads and two groups of four that multiply. The loader fills a ring of stages through
the copy engine: the input rows of a tap are the same box `dilation` rows further on. The groups take tiles in turns, so
that one multiplies while the other is in its epilogue. Results leave through shared memory and the copy engine, which
clips what stands past a stream's end.

Sums go over taps and inputs in one order, whatever shares the pass. Gluon has no interpreter: `causal_conv` is this
kernel's twin, which tests hold it to on a device. Import this module only where there is a Hopper GPU.
"""

# pyright: reportAssignmentType=false, reportMissingTypeStubs=false, reportPossiblyUnboundVariable=false
# pyright: reportPrivateUsage=false

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs, causal_conv
from worker.engine.cuda.codec.kernels.hopper_tiles import GROUPS, ConvShape, TileCut, cut_for
from worker.engine.cuda.codec.kernels.snake import snake

_LARGEST_FLOAT16 = gl.constexpr(65504.0)
_GROUPS = gl.constexpr(GROUPS)
_LOADER_REGISTERS = gl.constexpr(40)
_GROUP_REGISTERS = gl.constexpr(232)
_barrier = gl.thread_barrier if hasattr(gl, "thread_barrier") else gl.barrier  # Triton 3.6; 3.7 renamed it


@dataclass(frozen=True, slots=True)
class _Variant:
    """What a kernel is compiled for. left, right: columns of its sums. resident: weights that stay, 0 if none do."""

    gelu: bool
    has_residual: bool
    has_plain: bool
    has_active: bool
    wraps: bool
    streams: int
    box_rows: int
    left: int
    right: int
    inputs: int
    stages: int
    resident: int


class _Ring(NamedTuple):
    """Stages of inputs and weights, and barriers: `full` and `empty` of each stage, `kept` of weights that stay.

    order: of each group, its turn at the ring.
    """

    x: gl.shared_memory_descriptor
    left: gl.shared_memory_descriptor
    right: gl.shared_memory_descriptor
    full: gl.shared_memory_descriptor
    empty: gl.shared_memory_descriptor
    kept: gl.shared_memory_descriptor
    order: gl.shared_memory_descriptor


class _Sizes(NamedTuple):
    num_taps: gl.tensor
    input_tiles: gl.tensor
    column_tiles: gl.tensor
    row_tiles: gl.tensor
    num_tiles: gl.tensor
    wave: gl.tensor
    tiles_per_program: gl.tensor


class _Ends(NamedTuple):
    """Of the left or the right columns: where the residual comes from, and where results go."""

    residual: tma.tensor_descriptor
    plain: tma.tensor_descriptor
    active: tma.tensor_descriptor


class _Group(NamedTuple):
    """Of a group: its barrier for residuals, and the tiles that results leave through."""

    residual_there: gl.shared_memory_descriptor
    left_piece: gl.shared_memory_descriptor
    right_piece: gl.shared_memory_descriptor


class _Channels(NamedTuple):
    bias: gl.tensor
    half_turns: gl.tensor
    amplitude: gl.tensor
    num: gl.tensor


def hopper_conv(
    inputs: Tensor,
    weights: ConvWeights,
    outputs: Outputs,
    cut: TileCut,
    *,
    residual: Tensor | None = None,
    activation: Activation = Activation.NONE,
) -> None:
    """As `causal_conv`, in float16, cut up as `hopper_tiles.cut` says."""
    arguments, options = _launch_arguments(inputs, weights, outputs, cut, residual=residual, activation=activation)
    _hopper_conv[(cut.num_programs,)](*arguments, **options)


def _launch_arguments(
    inputs: Tensor,
    weights: ConvWeights,
    outputs: Outputs,
    cut: TileCut,
    *,
    residual: Tensor | None,
    activation: Activation,
) -> tuple[list[object], dict[str, object]]:
    target = outputs.plain if outputs.plain is not None else outputs.active
    assert target is not None  # noqa: S101
    num_streams, rows = inputs.shape[0], inputs.shape[1] - weights.rows_back
    num_taps, num_inputs, num_outputs = weights.taps.shape
    tile = cut.tile
    left, right = tile.columns
    snake_table = outputs.snake
    ends = (
        target if residual is None else residual,
        target if outputs.plain is None else outputs.plain,
        target if outputs.active is None else outputs.active,
    )

    def rows_of(tensor: Tensor, width: int, length: int, columns: int) -> TensorDescriptor:
        block = [cut.streams, cut.box_rows, columns]
        return _described(tensor, [num_streams, length, width], [tensor.stride(0), width, 1], block)

    def taps_of(columns: int) -> TensorDescriptor:
        return _described(weights.taps, [num_taps * num_inputs, num_outputs], [num_outputs, 1], [tile.inputs, columns])

    arguments = [
        rows_of(inputs, num_inputs, inputs.shape[1], tile.inputs),
        taps_of(left),
        taps_of(right or left),
        *(rows_of(tensor, num_outputs, rows, left) for tensor in ends),
        *(rows_of(tensor, num_outputs, rows, right or left) for tensor in ends),
        weights.bias,
        weights.bias if snake_table is None else snake_table.half_turns,
        weights.bias if snake_table is None else snake_table.amplitude,
        num_taps,
        num_inputs // tile.inputs,
        weights.dilation,
        weights.channels,
        num_outputs // tile.width,
        -(-rows // cut.box_rows),
        cut.num_tiles,
        cut.wave,
        cut.tiles_per_program,
    ]
    variant = _Variant(
        gelu=activation is Activation.GELU,
        has_residual=residual is not None,
        has_plain=outputs.plain is not None,
        has_active=outputs.active is not None,
        wraps=weights.channels != num_outputs,
        streams=cut.streams,
        box_rows=cut.box_rows,
        left=left,
        right=right,
        inputs=tile.inputs,
        stages=tile.stages,
        resident=num_taps * (num_inputs // tile.inputs) if tile.resident else 0,
    )
    return arguments, {"V": variant, "num_warps": 4}


def _described(tensor: Tensor, shape: list[int], strides: list[int], block: list[int]) -> TensorDescriptor:
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor(tensor, shape, strides, block, layout)


@gluon.jit
def _first_tile(sizes: _Sizes) -> gl.tensor:
    program = gl.program_id(0)
    return (program // sizes.wave) * (sizes.wave * sizes.tiles_per_program) + program % sizes.wave


@gluon.jit
def _tiles_end(sizes: _Sizes) -> gl.tensor:
    last = (gl.program_id(0) // sizes.wave + 1) * (sizes.wave * sizes.tiles_per_program)
    return gl.minimum(sizes.num_tiles, last)


@gluon.jit
def _place(tile: gl.tensor, sizes: _Sizes, V: gl.constexpr) -> tuple[gl.tensor, gl.tensor, gl.tensor]:
    """First stream, row and column of a tile."""
    row_tile = tile // sizes.column_tiles
    stream = (row_tile // sizes.row_tiles) * V.streams
    time = (row_tile % sizes.row_tiles) * V.box_rows
    return stream, time, (tile % sizes.column_tiles) * (V.left + V.right)


@gluon.jit
def _load(
    x: tma.tensor_descriptor,
    w_left: tma.tensor_descriptor,
    w_right: tma.tensor_descriptor,
    ring: _Ring,
    sizes: _Sizes,
    dilation: gl.tensor,
    V: gl.constexpr,
) -> None:
    """The warp that fills the ring."""
    ROWS: gl.constexpr = V.streams * V.box_rows
    WIDTH: gl.constexpr = V.left + V.right
    STAGE_BYTES: gl.constexpr = (ROWS * V.inputs + (0 if V.resident > 0 else V.inputs * WIDTH)) * 2
    if V.resident > 0:  # one column tile: its weights stay for the life of the program
        mbarrier.expect(ring.kept, V.resident * V.inputs * WIDTH * 2)
        for step in range(V.resident):
            tma.async_copy_global_to_shared(w_left, [step * V.inputs, 0], ring.kept, ring.left.index(step))
            if V.right > 0:
                tma.async_copy_global_to_shared(w_right, [step * V.inputs, V.left], ring.kept, ring.right.index(step))
    slot = 0
    phase = 1
    for tile in range(_first_tile(sizes), _tiles_end(sizes), sizes.wave):
        stream, time, column = _place(tile, sizes, V)
        weight_row = 0
        for tap in range(sizes.num_taps):
            for input_tile in range(sizes.input_tiles):
                mbarrier.wait(ring.empty.index(slot), phase)
                ready = ring.full.index(slot)
                mbarrier.expect(ready, STAGE_BYTES)
                tma.async_copy_global_to_shared(
                    x, [stream, time + tap * dilation, input_tile * V.inputs], ready, ring.x.index(slot)
                )
                if V.resident == 0:
                    tma.async_copy_global_to_shared(w_left, [weight_row, column], ready, ring.left.index(slot))
                    if V.right > 0:
                        tma.async_copy_global_to_shared(
                            w_right, [weight_row, column + V.left], ready, ring.right.index(slot)
                        )
                weight_row += V.inputs
                slot += 1
                if slot == V.stages:
                    slot = 0
                    phase = phase ^ 1


@gluon.jit
def _narrowed(x: gl.tensor) -> gl.tensor:
    """As `causal_conv.narrowed`."""
    return gl.minimum(gl.maximum(x, -_LARGEST_FLOAT16), _LARGEST_FLOAT16).to(gl.float16)


@gluon.jit
def _finish(
    total: gl.tensor,
    ends: _Ends,
    piece: gl.shared_memory_descriptor,
    residual_there: gl.shared_memory_descriptor,
    residual_phase: gl.tensor,
    stream: gl.tensor,
    time: gl.tensor,
    first: gl.tensor,
    channels: _Channels,
    V: gl.constexpr,
) -> None:
    """What follows the product, and its way out through `piece`, in which the residual is already under way."""
    ROWS: gl.constexpr = total.shape[0]
    WIDTH: gl.constexpr = total.shape[1]
    LAYOUT: gl.constexpr = total.type.layout
    FLAT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, WIDTH], gl.float16)
    flat = piece._reinterpret(gl.float16, [ROWS, WIDTH], FLAT)
    column = first + gl.arange(0, WIDTH, layout=gl.SliceLayout(0, LAYOUT))
    tma.store_wait(0)
    total += gl.load(channels.bias + column)[None, :]
    if V.gelu:
        total = 0.5 * total * (1.0 + gl.erf(total * 0.7071067811865476))
    if V.has_residual:
        mbarrier.wait(residual_there, residual_phase)
        total += flat.load(LAYOUT).to(gl.float32)
    if V.has_plain:
        flat.store(_narrowed(total))
        fence_async_shared()
        tma.async_copy_shared_to_global(ends.plain, [stream, time, first], piece)
    if V.has_active:
        channel = column % channels.num if V.wraps else column
        turns = gl.load(channels.half_turns + channel)
        gain = gl.load(channels.amplitude + channel)
        waved = snake(total, turns[None, :], gain[None, :])
        narrow = _narrowed(waved)
        if V.has_plain:
            tma.store_wait(0)
        flat.store(narrow)
        fence_async_shared()
        tma.async_copy_shared_to_global(ends.active, [stream, time, first], piece)


@gluon.jit
def _multiply(
    ring: _Ring,
    group: _Group,
    left_ends: _Ends,
    right_ends: _Ends,
    channels: _Channels,
    sizes: _Sizes,
    NUMBER: gl.constexpr,
    V: gl.constexpr,
) -> None:
    """Group NUMBER takes every second tile of its program. `order` lets a group at the ring only when the other has
    taken its last stage. A barrier's phase is one bit, so a group that waits for a later round than the next one would
    take old data.
    """
    ROWS: gl.constexpr = V.streams * V.box_rows
    LEFT: gl.constexpr = V.left
    RIGHT: gl.constexpr = V.right
    WIDTH: gl.constexpr = LEFT + RIGHT
    LEFT_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, LEFT, 16])
    RIGHT_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, RIGHT if RIGHT > 0 else 8, 16])
    FLAT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, V.inputs], gl.float16)
    residual_there, left_piece, right_piece = group
    steps = sizes.num_taps * sizes.input_tiles
    turn = NUMBER * steps
    residual_phase = 0
    order_phase = 1 - NUMBER
    if V.resident > 0:
        mbarrier.wait(ring.kept, 0)
    first_tile = _first_tile(sizes) + NUMBER * sizes.wave
    for tile in range(first_tile, _tiles_end(sizes), sizes.wave * _GROUPS):
        stream, time, column = _place(tile, sizes, V)
        if V.has_residual:
            tma.store_wait(0)
            mbarrier.expect(residual_there, ROWS * WIDTH * 2)
            tma.async_copy_global_to_shared(left_ends.residual, [stream, time, column], residual_there, left_piece)
            if RIGHT > 0:
                tma.async_copy_global_to_shared(
                    right_ends.residual, [stream, time, column + LEFT], residual_there, right_piece
                )
        slot = turn % V.stages
        phase = (turn // V.stages) & 1
        left = gl.zeros((ROWS, LEFT), dtype=gl.float32, layout=LEFT_LAYOUT)
        if RIGHT > 0:
            right = gl.zeros((ROWS, RIGHT), dtype=gl.float32, layout=RIGHT_LAYOUT)
        # Not `before = slot`: two names of one value before a loop, and the loop does not carry the second one.
        before = slot + 0
        mbarrier.wait(ring.order.index(NUMBER), order_phase)
        order_phase = order_phase ^ 1
        for step in range(steps):
            mbarrier.wait(ring.full.index(slot), phase)
            place = step if V.resident > 0 else slot
            rows = ring.x.index(slot)._reinterpret(gl.float16, [ROWS, V.inputs], FLAT)
            left = warpgroup_mma(rows, ring.left.index(place), left, is_async=True)
            # One step behind: the stage before is given back once its products are done.
            if RIGHT > 0:
                right = warpgroup_mma(rows, ring.right.index(place), right, is_async=True)
                left, right = warpgroup_mma_wait(num_outstanding=2, deps=(left, right))
            else:
                left = warpgroup_mma_wait(num_outstanding=1, deps=(left,))
            mbarrier.arrive(ring.empty.index(before), count=1, pred=step > 0)
            before = slot
            slot += 1
            if slot == V.stages:
                slot = 0
                phase = phase ^ 1
        mbarrier.arrive(ring.order.index(1 - NUMBER), count=1)
        if RIGHT > 0:
            left, right = warpgroup_mma_wait(num_outstanding=0, deps=(left, right))
        else:
            left = warpgroup_mma_wait(num_outstanding=0, deps=(left,))
        mbarrier.arrive(ring.empty.index(before), count=1)
        turn += steps * _GROUPS
        _finish(left, left_ends, left_piece, residual_there, residual_phase, stream, time, column, channels, V)
        if RIGHT > 0:
            first = column + LEFT
            _finish(right, right_ends, right_piece, residual_there, residual_phase, stream, time, first, channels, V)
        residual_phase = residual_phase ^ 1
    tma.store_wait(0)


# Few variants are compiled: sizes come at run time, and nothing depends on their divisibility.
@gluon.jit(do_not_specialize=[*_Sizes._fields, "dilation", "channels"])
def _hopper_conv(
    x: gl.tensor,
    w_left: gl.tensor,
    w_right: gl.tensor,
    left_residual: gl.tensor,
    left_plain: gl.tensor,
    left_active: gl.tensor,
    right_residual: gl.tensor,
    right_plain: gl.tensor,
    right_active: gl.tensor,
    bias: gl.tensor,
    half_turns: gl.tensor,
    amplitude: gl.tensor,
    num_taps: gl.tensor,
    input_tiles: gl.tensor,
    dilation: gl.tensor,
    channels: gl.tensor,
    column_tiles: gl.tensor,
    row_tiles: gl.tensor,
    num_tiles: gl.tensor,
    wave: gl.tensor,
    tiles_per_program: gl.tensor,
    V: gl.constexpr,
    num_warps: gl.constexpr,
) -> None:
    STAGES: gl.constexpr = V.stages
    WEIGHTS: gl.constexpr = V.resident if V.resident > 0 else STAGES
    x_ring = gl.allocate_shared_memory(gl.float16, [STAGES, V.streams, V.box_rows, V.inputs], x.layout)
    left_ring = gl.allocate_shared_memory(gl.float16, [WEIGHTS, V.inputs, V.left], w_left.layout)
    left_out = gl.allocate_shared_memory(gl.float16, [_GROUPS, V.streams, V.box_rows, V.left], left_plain.layout)
    if V.right > 0:
        right_ring = gl.allocate_shared_memory(gl.float16, [WEIGHTS, V.inputs, V.right], w_right.layout)
        right_out = gl.allocate_shared_memory(gl.float16, [_GROUPS, V.streams, V.box_rows, V.right], right_plain.layout)
    else:
        right_ring = left_ring
        right_out = left_out
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    arrived = gl.allocate_shared_memory(gl.int64, [_GROUPS, 1], mbarrier.MBarrierLayout())
    order = gl.allocate_shared_memory(gl.int64, [_GROUPS, 1], mbarrier.MBarrierLayout())
    kept = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(kept, count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    for number in gl.static_range(_GROUPS):
        mbarrier.init(arrived.index(number), count=1)
        mbarrier.init(order.index(number), count=1)
    fence_async_shared()
    _barrier()
    ring = _Ring(x_ring, left_ring, right_ring, full, empty, kept, order)
    left_ends = _Ends(left_residual, left_plain, left_active)
    right_ends = _Ends(right_residual, right_plain, right_active)
    table = _Channels(bias, half_turns, amplitude, channels)
    sizes = _Sizes(num_taps, input_tiles, column_tiles, row_tiles, num_tiles, wave, tiles_per_program)
    first = _Group(arrived.index(0), left_out.index(0), right_out.index(0))
    second = _Group(arrived.index(1), left_out.index(1), right_out.index(1))
    # Numbers and V are written in place: assigned to a name, they would turn into run-time values.
    gl.warp_specialize(
        [
            (_multiply, (ring, first, left_ends, right_ends, table, sizes, 0, V)),
            (_multiply, (ring, second, left_ends, right_ends, table, sizes, 1, V)),
            (_load, (x, w_left, w_right, ring, sizes, dilation, V)),
        ],
        [4, 1],
        [_GROUP_REGISTERS, _LOADER_REGISTERS],
    )


class HopperConvolution:
    """Which kernel a layer gets depends on its widths and on the pass's shape alone, so a pass always gets the same."""

    def __init__(self, multiprocessors: int) -> None:
        self._multiprocessors = multiprocessors

    def __call__(
        self,
        inputs: Tensor,
        weights: ConvWeights,
        outputs: Outputs,
        *,
        residual: Tensor | None = None,
        activation: Activation = Activation.NONE,
    ) -> None:
        cut = cut_for(conv_shape(inputs, weights, outputs, residual, activation), self._multiprocessors)
        if cut is None:
            causal_conv(inputs, weights, outputs, residual=residual, activation=activation)
        else:
            hopper_conv(inputs, weights, outputs, cut, residual=residual, activation=activation)


def conv_shape(
    inputs: Tensor, weights: ConvWeights, outputs: Outputs, residual: Tensor | None, activation: Activation
) -> ConvShape:
    num_taps, num_inputs, num_outputs = weights.taps.shape
    return ConvShape(
        num_streams=inputs.shape[0],
        rows=inputs.shape[1] - weights.rows_back,
        num_taps=num_taps,
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        num_stores=(outputs.plain is not None) + (outputs.active is not None),
        has_residual=residual is not None,
        has_gelu=activation is Activation.GELU,
    )
