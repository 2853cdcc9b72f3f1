"""A frame's inputs: rows gathered from their slots, and rows of a table by the codes drawn so far."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.cuda.slot_state import SlotState


def begin_rows(slots: Tensor, state: SlotState) -> tuple[Tensor, Tensor]:
    """The talker's inputs (B, hidden) and their positions int32 (B,) of the slots that `slots` int32 (B,) names."""
    num_rows, hidden = slots.shape[0], state.next_input.shape[1]
    inputs = state.next_input.new_empty(num_rows, hidden)
    positions = torch.empty_like(slots)
    block = triton.next_power_of_2(hidden)
    overlap = overlaps(slots)
    _begin_rows[(num_rows,)](
        slots,
        state.next_input,
        state.position,
        inputs,
        positions,
        hidden=hidden,
        block=block,
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=4,
    )
    return inputs, positions


def gather_codes(codes: Tensor, codebook: int, table: Tensor) -> Tensor:
    """The table's rows (B, width) of column `codebook` of the frame's codes, int32 (B, Q).

    A code above the table's last row uses that row. The end of speech is drawn as such a code. Its row continues with
    unused values to the end of the frame.
    """
    num_rows, width = codes.shape[0], table.shape[1]
    rows = table.new_empty(num_rows, width)
    overlap = overlaps(codes)
    _gather_codes[(num_rows,)](
        codes[:, codebook],
        table,
        rows,
        code_stride=codes.stride(0),
        last=table.shape[0] - 1,
        width=width,
        block=triton.next_power_of_2(width),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=4,
    )
    return rows


@triton.jit
def _begin_rows(
    slots: tl.tensor,
    next_input: tl.tensor,
    position: tl.tensor,
    inputs: tl.tensor,
    positions: tl.tensor,
    hidden: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row).to(tl.int64)
    lanes = tl.arange(0, block)
    inside = lanes < hidden
    tl.store(inputs + row * hidden + lanes, tl.load(next_input + slot * hidden + lanes, mask=inside), mask=inside)
    tl.store(positions + row, tl.load(position + slot))


@triton.jit
def _gather_codes(
    codes: tl.tensor,
    table: tl.tensor,
    rows: tl.tensor,
    code_stride: tl.constexpr,
    last: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    code = tl.minimum(tl.load(codes + row * code_stride), last).to(tl.int64)
    lanes = tl.arange(0, block)
    inside = lanes < width
    tl.store(rows + row * width + lanes, tl.load(table + code * width + lanes, mask=inside), mask=inside)
