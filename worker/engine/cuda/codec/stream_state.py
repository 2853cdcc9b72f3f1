"""What a stream's next chunk needs of the chunks before it, and how it gets into the layers' inputs and out again.

Every layer that looks back has an input buffer whose first rows are the past. All buffers of a pass are pieces of one
workspace. A stream's state is one row of the arena: the pasts of all layers, one after the other. So one kernel puts
the pasts of all streams in place before a pass, and one takes the new ones out after it.

Streams of one pass may have different numbers of new frames. The past that is taken out ends at the stream's own last
frame, so that what stands in the buffers after it is never seen again.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import torch
import triton
import triton.language as tl
from torch import Tensor

ORIGIN_SLOT = 0
"""The state of a stream that has not begun. Read only."""

# Buffers and pasts begin at whole multiples of this many elements, so that every load is aligned.
_ALIGNMENT = 64
_PIECE = 2048


@dataclass(frozen=True, slots=True)
class Past:
    """What one layer looks back to: `rows` rows of `width` numbers. A frame is `rows_per_frame` rows at that layer."""

    rows: int
    width: int
    rows_per_frame: int

    @property
    def size(self) -> int:
        return self.rows * self.width

    def buffer_size(self, num_streams: int, num_frames: int) -> int:
        return num_streams * (self.rows + num_frames * self.rows_per_frame) * self.width


def state_size(pasts: Sequence[Past]) -> int:
    """Elements of one stream's state."""
    return sum(_aligned(past.size) for past in pasts)


def workspace_size(pasts: Sequence[Past], num_streams: int, num_frames: int) -> int:
    """Elements that the buffers of one pass take together."""
    return sum(_aligned(past.buffer_size(num_streams, num_frames)) for past in pasts)


def carve(workspace: Tensor, pasts: Sequence[Past], num_streams: int, num_frames: int) -> list[Tensor]:
    """The buffers of a pass, (num_streams, rows + new rows, width) each, in the order of `pasts`."""
    sizes = [past.buffer_size(num_streams, num_frames) for past in pasts]
    starts = [0, *accumulate(_aligned(size) for size in sizes)]
    return [
        workspace[start : start + size].view(num_streams, -1, past.width)
        for start, size, past in zip(starts, sizes, pasts, strict=False)
    ]


class StateArena:
    """The states of all streams, allocated once. Slot 0 is the origin, the last slot is for states that no pass needs.

    states (slots, state_size), positions int32 (slots,): frames that the stream has seen.
    """

    def __init__(self, pasts: Sequence[Past], num_streams: int, dtype: torch.dtype, device: torch.device) -> None:
        num_slots = num_streams + 2
        self.states = torch.zeros(num_slots, state_size(pasts), dtype=dtype, device=device)
        self.positions = torch.zeros(num_slots, dtype=torch.int32, device=device)
        self.scratch_slot = num_slots - 1
        self.stream_slots = range(1, self.scratch_slot)


class HistoryMoves:
    """Between the arena and the buffers of one shape of pass."""

    def __init__(self, pasts: Sequence[Past], num_streams: int, num_frames: int, device: torch.device) -> None:
        self._pieces = torch.tensor(_pieces(pasts, num_streams, num_frames), dtype=torch.int64, device=device)
        self._grid = (self._pieces.shape[0], num_streams)

    def put_in(self, arena: StateArena, workspace: Tensor, slots: Tensor, starts: Tensor) -> None:
        """The state of slots[b] before the new rows of stream b, and the position of its first new frame in starts[b].

        slots, starts: int32 (num_streams,).
        """
        _put_in[self._grid](
            arena.states, arena.positions, workspace, self._pieces, slots, starts, arena.states.stride(0), PIECE=_PIECE
        )

    def take_out(self, arena: StateArena, workspace: Tensor, slots: Tensor, starts: Tensor, lengths: Tensor) -> None:
        """The state of stream b after its first lengths[b] new frames, into slots[b]. All int32 (num_streams,)."""
        _take_out[self._grid](
            arena.states,
            arena.positions,
            workspace,
            self._pieces,
            slots,
            starts,
            lengths,
            arena.states.stride(0),
            PIECE=_PIECE,
        )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _pieces(pasts: Sequence[Past], num_streams: int, num_frames: int) -> list[tuple[int, int, int, int, int]]:
    """At most `_PIECE` elements each: offset in the state, offset in the workspace, distance between streams there,
    distance between frames there, number of elements."""
    pieces: list[tuple[int, int, int, int, int]] = []
    in_state = in_workspace = 0
    for past in pasts:
        stream_stride = past.buffer_size(1, num_frames)
        frame_stride = past.rows_per_frame * past.width
        for begin in range(0, past.size, _PIECE):
            count = min(_PIECE, past.size - begin)
            pieces.append((in_state + begin, in_workspace + begin, stream_stride, frame_stride, count))
        in_state += _aligned(past.size)
        in_workspace += _aligned(past.buffer_size(num_streams, num_frames))
    return pieces


@triton.jit
def _put_in(
    states: tl.tensor,
    positions: tl.tensor,
    workspace: tl.tensor,
    pieces: tl.tensor,
    slots: tl.tensor,
    starts: tl.tensor,
    state_stride: tl.tensor,
    PIECE: tl.constexpr,
) -> None:
    piece = pieces + tl.program_id(0) * 5
    stream = tl.program_id(1)
    slot = tl.load(slots + stream).to(tl.int64)
    if tl.program_id(0) == 0:
        tl.store(starts + stream, tl.load(positions + slot))
    lane = tl.arange(0, PIECE)
    inside = lane < tl.load(piece + 4)
    source = states + slot * state_stride + tl.load(piece)
    target = workspace + tl.load(piece + 1) + stream * tl.load(piece + 2)
    tl.store(target + lane, tl.load(source + lane, mask=inside), mask=inside)


@triton.jit
def _take_out(
    states: tl.tensor,
    positions: tl.tensor,
    workspace: tl.tensor,
    pieces: tl.tensor,
    slots: tl.tensor,
    starts: tl.tensor,
    lengths: tl.tensor,
    state_stride: tl.tensor,
    PIECE: tl.constexpr,
) -> None:
    piece = pieces + tl.program_id(0) * 5
    stream = tl.program_id(1)
    slot = tl.load(slots + stream).to(tl.int64)
    length = tl.load(lengths + stream)
    if tl.program_id(0) == 0:
        tl.store(positions + slot, tl.load(starts + stream) + length)
    lane = tl.arange(0, PIECE)
    inside = lane < tl.load(piece + 4)
    source = workspace + tl.load(piece + 1) + stream * tl.load(piece + 2) + length * tl.load(piece + 3)
    target = states + slot * state_stride + tl.load(piece)
    tl.store(target + lane, tl.load(source + lane, mask=inside), mask=inside)
