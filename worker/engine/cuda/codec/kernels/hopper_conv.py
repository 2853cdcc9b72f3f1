"""The convolution of `causal_conv` for Hopper, written in Gluon: same arguments, same sums, nearer the matrix rate.

A program is one warp that loads and two groups of four that multiply. The loader fills a ring of stages through
the copy engine: the input rows of a tap are the same box `dilation` rows further on. The groups take tiles in turns, so
that one multiplies while the other is in its epilogue. Results leave through shared memory and the copy engine, which
clips what stands past a stream's end.

Sums go over taps and inputs in one order, whatever shares the pass. Gluon has no interpreter: `causal_conv` is this
kernel's twin, which tests hold it to on a device. Import this module only where there is a Hopper GPU.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false, reportAssignmentType=false, reportMissingTypeStubs=false, reportPossiblyUnboundVariable=false

from __future__ import annotations

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

from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs
from worker.engine.cuda.codec.kernels.hopper_tiles import GROUPS, TileCut
from worker.engine.cuda.codec.kernels.snake import snake

_LARGEST_FLOAT16 = gl.constexpr(65504.0)
_GROUPS = gl.constexpr(GROUPS)
_LOADER_REGISTERS = gl.constexpr(40)
_GROUP_REGISTERS = gl.constexpr(232)
_barrier = gl.thread_barrier if hasattr(gl, "thread_barrier") else gl.barrier  # Triton 3.6; 3.7 renamed it


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
    options = {
        "GELU": activation is Activation.GELU,
        "HAS_RESIDUAL": residual is not None,
        "HAS_PLAIN": outputs.plain is not None,
        "HAS_ACTIVE": outputs.active is not None,
        "WRAPS": weights.channels != num_outputs,
        "STREAMS": cut.streams,
        "BOX_ROWS": cut.box_rows,
        "LEFT": left,
        "RIGHT": right,
        "INPUTS": tile.inputs,
        "STAGES": tile.stages,
        "RESIDENT": num_taps * (num_inputs // tile.inputs) if tile.resident else 0,
        "num_warps": 4,
    }
    return arguments, options


def _described(tensor: Tensor, shape: list[int], strides: list[int], block: list[int]) -> TensorDescriptor:
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor(tensor, shape, strides, block, layout)


@gluon.jit
def _first_tile(wave: gl.tensor, tiles_per_program: gl.tensor) -> gl.tensor:
    program = gl.program_id(0)
    return (program // wave) * (wave * tiles_per_program) + program % wave


@gluon.jit
def _tiles_end(num_tiles: gl.tensor, wave: gl.tensor, tiles_per_program: gl.tensor) -> gl.tensor:
    return gl.minimum(num_tiles, (gl.program_id(0) // wave + 1) * (wave * tiles_per_program))


@gluon.jit
def _load(
    x: gl.tensor,
    w_left: gl.tensor,
    w_right: gl.tensor,
    x_ring: gl.tensor,
    left_ring: gl.tensor,
    right_ring: gl.tensor,
    full: gl.tensor,
    empty: gl.tensor,
    kept: gl.tensor,
    num_taps: gl.tensor,
    input_tiles: gl.tensor,
    dilation: gl.tensor,
    column_tiles: gl.tensor,
    row_tiles: gl.tensor,
    num_tiles: gl.tensor,
    wave: gl.tensor,
    tiles_per_program: gl.tensor,
    STREAMS: gl.constexpr,
    BOX_ROWS: gl.constexpr,
    LEFT: gl.constexpr,
    RIGHT: gl.constexpr,
    INPUTS: gl.constexpr,
    STAGES: gl.constexpr,
    RESIDENT: gl.constexpr,
) -> None:
    """The warp that fills the ring."""
    ROWS: gl.constexpr = STREAMS * BOX_ROWS
    WIDTH: gl.constexpr = LEFT + RIGHT
    STAGE_BYTES: gl.constexpr = (ROWS * INPUTS + (0 if RESIDENT > 0 else INPUTS * WIDTH)) * 2
    if RESIDENT > 0:  # one column tile: its weights stay for the life of the program
        mbarrier.expect(kept, RESIDENT * INPUTS * WIDTH * 2)
        for step in range(RESIDENT):
            tma.async_copy_global_to_shared(w_left, [step * INPUTS, 0], kept, left_ring.index(step))
            if RIGHT > 0:
                tma.async_copy_global_to_shared(w_right, [step * INPUTS, LEFT], kept, right_ring.index(step))
    slot = 0
    phase = 1
    for tile in range(_first_tile(wave, tiles_per_program), _tiles_end(num_tiles, wave, tiles_per_program), wave):
        column = (tile % column_tiles) * WIDTH
        row_tile = tile // column_tiles
        stream = (row_tile // row_tiles) * STREAMS
        time = (row_tile % row_tiles) * BOX_ROWS
        weight_row = 0
        for tap in range(num_taps):
            for input_tile in range(input_tiles):
                mbarrier.wait(empty.index(slot), phase)
                ready = full.index(slot)
                mbarrier.expect(ready, STAGE_BYTES)
                tma.async_copy_global_to_shared(
                    x, [stream, time + tap * dilation, input_tile * INPUTS], ready, x_ring.index(slot)
                )
                if RESIDENT == 0:
                    tma.async_copy_global_to_shared(w_left, [weight_row, column], ready, left_ring.index(slot))
                    if RIGHT > 0:
                        tma.async_copy_global_to_shared(
                            w_right, [weight_row, column + LEFT], ready, right_ring.index(slot)
                        )
                weight_row += INPUTS
                slot += 1
                if slot == STAGES:
                    slot = 0
                    phase = phase ^ 1


@gluon.jit
def _narrowed(x: gl.tensor) -> gl.tensor:
    """As `causal_conv.narrowed`."""
    return gl.minimum(gl.maximum(x, -_LARGEST_FLOAT16), _LARGEST_FLOAT16).to(gl.float16)


@gluon.jit
def _finish(
    total: gl.tensor,
    plain: gl.tensor,
    active: gl.tensor,
    piece: gl.tensor,
    residual_there: gl.tensor,
    residual_phase: gl.tensor,
    stream: gl.tensor,
    time: gl.tensor,
    first: gl.tensor,
    bias: gl.tensor,
    half_turns: gl.tensor,
    amplitude: gl.tensor,
    channels: gl.tensor,
    GELU: gl.constexpr,
    HAS_RESIDUAL: gl.constexpr,
    HAS_PLAIN: gl.constexpr,
    HAS_ACTIVE: gl.constexpr,
    WRAPS: gl.constexpr,
    ROWS: gl.constexpr,
    WIDTH: gl.constexpr,
    LAYOUT: gl.constexpr,
) -> None:
    """What follows the product, and its way out through `piece`, in which the residual is already under way."""
    FLAT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, WIDTH], gl.float16)
    flat = piece._reinterpret(gl.float16, [ROWS, WIDTH], FLAT)
    column = first + gl.arange(0, WIDTH, layout=gl.SliceLayout(0, LAYOUT))
    tma.store_wait(0)
    total += gl.load(bias + column)[None, :]
    if GELU:
        total = 0.5 * total * (1.0 + gl.erf(total * 0.7071067811865476))
    if HAS_RESIDUAL:
        mbarrier.wait(residual_there, residual_phase)
        total += flat.load(LAYOUT).to(gl.float32)
    if HAS_PLAIN:
        flat.store(_narrowed(total))
        fence_async_shared()
        tma.async_copy_shared_to_global(plain, [stream, time, first], piece)
    if HAS_ACTIVE:
        channel = column % channels if WRAPS else column
        turns = gl.load(half_turns + channel)
        gain = gl.load(amplitude + channel)
        waved = snake(total, turns[None, :], gain[None, :])
        narrow = _narrowed(waved)
        if HAS_PLAIN:
            tma.store_wait(0)
        flat.store(narrow)
        fence_async_shared()
        tma.async_copy_shared_to_global(active, [stream, time, first], piece)


@gluon.jit
def _multiply(
    x_ring: gl.tensor,
    left_ring: gl.tensor,
    right_ring: gl.tensor,
    full: gl.tensor,
    empty: gl.tensor,
    kept: gl.tensor,
    order: gl.tensor,
    left_piece: gl.tensor,
    right_piece: gl.tensor,
    residual_there: gl.tensor,
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
    channels: gl.tensor,
    column_tiles: gl.tensor,
    row_tiles: gl.tensor,
    num_tiles: gl.tensor,
    wave: gl.tensor,
    tiles_per_program: gl.tensor,
    NUMBER: gl.constexpr,
    GELU: gl.constexpr,
    HAS_RESIDUAL: gl.constexpr,
    HAS_PLAIN: gl.constexpr,
    HAS_ACTIVE: gl.constexpr,
    WRAPS: gl.constexpr,
    STREAMS: gl.constexpr,
    BOX_ROWS: gl.constexpr,
    LEFT: gl.constexpr,
    RIGHT: gl.constexpr,
    INPUTS: gl.constexpr,
    STAGES: gl.constexpr,
    RESIDENT: gl.constexpr,
) -> None:
    """Group NUMBER takes every second tile of its program. `order` lets a group at the ring only when the other has
    taken its last stage: a barrier's phase is one bit, and who waits for a later round than the next one mistakes an
    old filling for its own."""
    ROWS: gl.constexpr = STREAMS * BOX_ROWS
    WIDTH: gl.constexpr = LEFT + RIGHT
    LEFT_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, LEFT, 16])
    RIGHT_LAYOUT: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, RIGHT if RIGHT > 0 else 8, 16])
    FLAT: gl.constexpr = gl.NVMMASharedLayout.get_default_for([ROWS, INPUTS], gl.float16)
    steps = num_taps * input_tiles
    turn = NUMBER * steps
    residual_phase = 0
    order_phase = 1 - NUMBER
    if RESIDENT > 0:
        mbarrier.wait(kept, 0)
    for tile in range(
        _first_tile(wave, tiles_per_program) + NUMBER * wave,
        _tiles_end(num_tiles, wave, tiles_per_program),
        wave * _GROUPS,
    ):
        column = (tile % column_tiles) * WIDTH
        row_tile = tile // column_tiles
        stream = (row_tile // row_tiles) * STREAMS
        time = (row_tile % row_tiles) * BOX_ROWS
        if HAS_RESIDUAL:
            tma.store_wait(0)
            mbarrier.expect(residual_there, ROWS * WIDTH * 2)
            tma.async_copy_global_to_shared(left_residual, [stream, time, column], residual_there, left_piece)
            if RIGHT > 0:
                tma.async_copy_global_to_shared(
                    right_residual, [stream, time, column + LEFT], residual_there, right_piece
                )
        slot = turn % STAGES
        phase = (turn // STAGES) & 1
        left = gl.zeros((ROWS, LEFT), dtype=gl.float32, layout=LEFT_LAYOUT)
        if RIGHT > 0:
            right = gl.zeros((ROWS, RIGHT), dtype=gl.float32, layout=RIGHT_LAYOUT)
        # Not `before = slot`: two names of one value before a loop, and the loop does not carry the second one.
        before = slot + 0
        mbarrier.wait(order.index(NUMBER), order_phase)
        order_phase = order_phase ^ 1
        for step in range(steps):
            mbarrier.wait(full.index(slot), phase)
            place = step if RESIDENT > 0 else slot
            rows = x_ring.index(slot)._reinterpret(gl.float16, [ROWS, INPUTS], FLAT)
            left = warpgroup_mma(rows, left_ring.index(place), left, is_async=True)
            # One step behind: the stage before is given back once its products are done.
            if RIGHT > 0:
                right = warpgroup_mma(rows, right_ring.index(place), right, is_async=True)
                left, right = warpgroup_mma_wait(num_outstanding=2, deps=(left, right))
            else:
                left = warpgroup_mma_wait(num_outstanding=1, deps=(left,))
            mbarrier.arrive(empty.index(before), count=1, pred=step > 0)
            before = slot
            slot += 1
            if slot == STAGES:
                slot = 0
                phase = phase ^ 1
        mbarrier.arrive(order.index(1 - NUMBER), count=1)
        if RIGHT > 0:
            left, right = warpgroup_mma_wait(num_outstanding=0, deps=(left, right))
        else:
            left = warpgroup_mma_wait(num_outstanding=0, deps=(left,))
        mbarrier.arrive(empty.index(before), count=1)
        turn += steps * _GROUPS
        _finish(
            left,
            left_plain,
            left_active,
            left_piece,
            residual_there,
            residual_phase,
            stream,
            time,
            column,
            bias,
            half_turns,
            amplitude,
            channels,
            GELU,
            HAS_RESIDUAL,
            HAS_PLAIN,
            HAS_ACTIVE,
            WRAPS,
            ROWS,
            LEFT,
            LEFT_LAYOUT,
        )
        if RIGHT > 0:
            _finish(
                right,
                right_plain,
                right_active,
                right_piece,
                residual_there,
                residual_phase,
                stream,
                time,
                column + LEFT,
                bias,
                half_turns,
                amplitude,
                channels,
                GELU,
                HAS_RESIDUAL,
                HAS_PLAIN,
                HAS_ACTIVE,
                WRAPS,
                ROWS,
                RIGHT,
                RIGHT_LAYOUT,
            )
        residual_phase = residual_phase ^ 1
    tma.store_wait(0)


# Few variants are compiled: sizes come at run time, and nothing depends on their divisibility.
@gluon.jit(
    do_not_specialize=[
        "num_taps",
        "input_tiles",
        "dilation",
        "channels",
        "column_tiles",
        "row_tiles",
        "num_tiles",
        "wave",
        "tiles_per_program",
    ]
)
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
    GELU: gl.constexpr,
    HAS_RESIDUAL: gl.constexpr,
    HAS_PLAIN: gl.constexpr,
    HAS_ACTIVE: gl.constexpr,
    WRAPS: gl.constexpr,
    STREAMS: gl.constexpr,
    BOX_ROWS: gl.constexpr,
    LEFT: gl.constexpr,
    RIGHT: gl.constexpr,
    INPUTS: gl.constexpr,
    STAGES: gl.constexpr,
    RESIDENT: gl.constexpr,
    num_warps: gl.constexpr,
) -> None:
    WEIGHTS: gl.constexpr = RESIDENT if RESIDENT > 0 else STAGES
    x_ring = gl.allocate_shared_memory(gl.float16, [STAGES, STREAMS, BOX_ROWS, INPUTS], x.layout)
    left_ring = gl.allocate_shared_memory(gl.float16, [WEIGHTS, INPUTS, LEFT], w_left.layout)
    left_pieces = gl.allocate_shared_memory(gl.float16, [_GROUPS, STREAMS, BOX_ROWS, LEFT], left_plain.layout)
    if RIGHT > 0:
        right_ring = gl.allocate_shared_memory(gl.float16, [WEIGHTS, INPUTS, RIGHT], w_right.layout)
        right_pieces = gl.allocate_shared_memory(gl.float16, [_GROUPS, STREAMS, BOX_ROWS, RIGHT], right_plain.layout)
    else:
        right_ring = left_ring
        right_pieces = left_pieces
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    empty = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    residual_there = gl.allocate_shared_memory(gl.int64, [_GROUPS, 1], mbarrier.MBarrierLayout())
    order = gl.allocate_shared_memory(gl.int64, [_GROUPS, 1], mbarrier.MBarrierLayout())
    kept = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(kept, count=1)
    for stage in gl.static_range(STAGES):
        mbarrier.init(full.index(stage), count=1)
        mbarrier.init(empty.index(stage), count=1)
    for number in gl.static_range(_GROUPS):
        mbarrier.init(residual_there.index(number), count=1)
        mbarrier.init(order.index(number), count=1)
    fence_async_shared()
    _barrier()
    # Tuples are written in place: assigned to a name, their constants would turn into run-time values.
    gl.warp_specialize(
        [
            (
                _multiply,
                (
                    x_ring,
                    left_ring,
                    right_ring,
                    full,
                    empty,
                    kept,
                    order,
                    left_pieces.index(0),
                    right_pieces.index(0),
                    residual_there.index(0),
                    left_residual,
                    left_plain,
                    left_active,
                    right_residual,
                    right_plain,
                    right_active,
                    bias,
                    half_turns,
                    amplitude,
                    num_taps,
                    input_tiles,
                    channels,
                    column_tiles,
                    row_tiles,
                    num_tiles,
                    wave,
                    tiles_per_program,
                    0,
                    GELU,
                    HAS_RESIDUAL,
                    HAS_PLAIN,
                    HAS_ACTIVE,
                    WRAPS,
                    STREAMS,
                    BOX_ROWS,
                    LEFT,
                    RIGHT,
                    INPUTS,
                    STAGES,
                    RESIDENT,
                ),
            ),
            (
                _multiply,
                (
                    x_ring,
                    left_ring,
                    right_ring,
                    full,
                    empty,
                    kept,
                    order,
                    left_pieces.index(1),
                    right_pieces.index(1),
                    residual_there.index(1),
                    left_residual,
                    left_plain,
                    left_active,
                    right_residual,
                    right_plain,
                    right_active,
                    bias,
                    half_turns,
                    amplitude,
                    num_taps,
                    input_tiles,
                    channels,
                    column_tiles,
                    row_tiles,
                    num_tiles,
                    wave,
                    tiles_per_program,
                    1,
                    GELU,
                    HAS_RESIDUAL,
                    HAS_PLAIN,
                    HAS_ACTIVE,
                    WRAPS,
                    STREAMS,
                    BOX_ROWS,
                    LEFT,
                    RIGHT,
                    INPUTS,
                    STAGES,
                    RESIDENT,
                ),
            ),
            (
                _load,
                (
                    x,
                    w_left,
                    w_right,
                    x_ring,
                    left_ring,
                    right_ring,
                    full,
                    empty,
                    kept,
                    num_taps,
                    input_tiles,
                    dilation,
                    column_tiles,
                    row_tiles,
                    num_tiles,
                    wave,
                    tiles_per_program,
                    STREAMS,
                    BOX_ROWS,
                    LEFT,
                    RIGHT,
                    INPUTS,
                    STAGES,
                    RESIDENT,
                ),
            ),
        ],
        [4, 1],
        [_GROUP_REGISTERS, _LOADER_REGISTERS],
    )
