"""What a frame leaves behind in the slots of its rows."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.cuda.slot_state import FrameTables, SlotState
from worker.engine.requests.request_state import RowEnd

_RUNNING = tl.constexpr(int(RowEnd.RUNNING))
_EOS = tl.constexpr(int(RowEnd.EOS))
_LENGTH = tl.constexpr(int(RowEnd.LENGTH))
_NON_FINITE = tl.constexpr(int(RowEnd.NON_FINITE))


def finish_frame(codes: Tensor, finite: Tensor, slots: Tensor, state: SlotState, tables: FrameTables) -> Tensor:
    """Count the frame, prepare the next inputs, and say what came of each row: int16 (B, Q + 1), codes and status.

    codes: int32 (B, Q), of which codebook 0 is the drawn lane, V for the end of speech. finite: int8 (B, Q), 0 where
    a draw was not. The embeddings are summed in fp32. A slot that has ended stands still, and only a row that goes on
    counts: so `state.frame` is exactly the number of frames that belong to the request.
    """
    num_rows, num_codebooks = codes.shape
    hidden = state.next_input.shape[1]
    packet = torch.empty(num_rows, num_codebooks + 1, dtype=torch.int16, device=codes.device)
    block = triton.next_power_of_2(hidden)
    overlap = overlaps(codes)
    _finish_frame[(num_rows,)](
        codes,
        finite,
        slots,
        state.status,
        state.frame,
        state.max_frames,
        state.position,
        state.trailing_ids,
        state.trailing_length,
        state.next_input,
        tables.first,
        tables.residual,
        tables.text,
        packet,
        trailing_stride=state.trailing_ids.stride(0),
        codebook_size=tables.residual.shape[1],
        num_codebooks=num_codebooks,
        codebook_block=triton.next_power_of_2(num_codebooks),
        hidden=hidden,
        block=block,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=max(1, min(8, block // 256)),
    )
    return packet


@triton.jit
def _finish_frame(
    codes: tl.tensor,
    finite: tl.tensor,
    slots: tl.tensor,
    status: tl.tensor,
    frame: tl.tensor,
    max_frames: tl.tensor,
    position: tl.tensor,
    trailing_ids: tl.tensor,
    trailing_length: tl.tensor,
    next_input: tl.tensor,
    first_table: tl.tensor,
    residual_table: tl.tensor,
    text_table: tl.tensor,
    packet: tl.tensor,
    trailing_stride: tl.constexpr,
    codebook_size: tl.constexpr,
    num_codebooks: tl.constexpr,
    codebook_block: tl.constexpr,
    hidden: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    before = tl.load(status + slot)
    made = tl.load(frame + slot)
    lane = tl.load(codes + row * num_codebooks)
    book = tl.arange(0, codebook_block)
    is_book = book < num_codebooks
    sick = tl.sum(tl.where(tl.load(finite + row * num_codebooks + book, mask=is_book, other=1) == 0, 1, 0), axis=0) > 0
    now = tl.where(made >= tl.load(max_frames + slot), _LENGTH, _RUNNING)
    now = tl.where(lane == codebook_size, _EOS, now)
    now = tl.where(sick, _NON_FINITE, now)
    now = tl.where(before == _RUNNING, now, before)

    drawn = tl.minimum(tl.load(codes + row * num_codebooks + book, mask=is_book, other=0), codebook_size - 1)
    target = packet + row * (num_codebooks + 1)
    tl.store(target + book, drawn.to(tl.int16), mask=is_book)
    tl.store(target + num_codebooks, now.to(tl.int16))
    if now == _RUNNING:
        lanes = tl.arange(0, block)
        inside = lanes < hidden
        text = tl.minimum(made, tl.load(trailing_length + slot))
        text_id = tl.load(trailing_ids + slot * trailing_stride + text).to(tl.int64)
        first = lane.to(tl.int64)
        total = tl.load(first_table + first * hidden + lanes, mask=inside, other=0.0).to(tl.float32)
        for residual in tl.static_range(1, num_codebooks):
            code = tl.load(codes + row * num_codebooks + residual).to(tl.int64)
            place = ((residual - 1) * codebook_size + code) * hidden
            total += tl.load(residual_table + place + lanes, mask=inside, other=0.0).to(tl.float32)
        total += tl.load(text_table + text_id * hidden + lanes, mask=inside, other=0.0).to(tl.float32)
        tl.store(next_input + slot * hidden + lanes, total.to(next_input.dtype.element_ty), mask=inside)
        # Every thread must have read the counters before one of them is changed.
        tl.debug_barrier()
        tl.store(frame + slot, made + 1)
        tl.store(position + slot, tl.load(position + slot) + 1)
    else:
        tl.store(status + slot, now)
