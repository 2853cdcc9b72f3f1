"""A pass of the code predictor over several positions of a frame on a CUDA device, with the engine's own products.

What the engine lacks for it are two kernels, which are here: the inputs of several codebooks, and the attention of
several positions that see one another. Whatever a position computes, it computes in the order of a pass of its own.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import enum
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.cuda.kernels.code_embedding import gather_codes
from worker.engine.cuda.kernels.few_row_products import norm_linear
from worker.engine.cuda.kernels.predictor_attention import attend_first_pair, attend_position
from worker.engine.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs
from worker.engine.cuda.kernels.rms_norm import add_rms_norm
from worker.engine.cuda.kernels.rotary_heads import normed_and_rotated
from worker.engine.cuda.kernels.sampler import draw_residual
from worker.engine.cuda.kernels.skinny_products import MAX_TOKENS, skinny_linear
from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.decode.stream import Attend, TransformerStream
from worker.engine.cuda.talker.decode.transformer_layers import MOST_FEW_ROWS, run_few_rows, run_some_rows
from worker.engine.cuda.talker.decode.weights import TransformerWeights
from worker.engine.cuda.talker.frame_step import KvMemory, PredictorWeights

MOST_TOKENS_OF_FEW = 8
"""Of a pass that is tried with the products of few rows; the engine gives them four tokens at most."""
FIRST_POSITIONS = 2


class Products(enum.Enum):
    """Whose sums a pass multiplies with. Within each, a token is summed alike in any company."""

    FEW_ROWS = "few rows"
    SOME_ROWS = "some rows"

    @classmethod
    def of_engine(cls, num_rows: int) -> Products:
        """Those that the engine has in a frame of so many rows."""
        return cls.FEW_ROWS if num_rows <= MOST_FEW_ROWS else cls.SOME_ROWS

    def takes(self, num_tokens: int) -> bool:
        return num_tokens <= (MOST_TOKENS_OF_FEW if self is Products.FEW_ROWS else MAX_TOKENS)

    def run(self, weights: TransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        run = run_few_rows if self is Products.FEW_ROWS else run_some_rows
        return run(weights, inputs, attend)


@dataclass(frozen=True, slots=True)
class FrameMemory:
    """Of B rows: keys and values of one frame, its codes and drawn codes int32 (B, Q), finite int8 (B, Q)."""

    kv: KvMemory
    slots: Tensor
    codes: Tensor
    drawn: Tensor
    finite: Tensor

    @classmethod
    def allocate(cls, weights: PredictorWeights, num_rows: int) -> FrameMemory:
        num_codebooks, device = weights.heads.shape[0] + 1, weights.heads.device
        codes = torch.zeros(num_rows, num_codebooks, dtype=torch.int32, device=device)
        return cls(
            KvMemory.allocate(weights.transformer, num_rows, num_codebooks, weights.heads.dtype, device),
            torch.arange(num_rows, dtype=torch.int32, device=device),
            codes,
            torch.zeros_like(codes),
            torch.zeros_like(codes, dtype=torch.int8),
        )


class DraftedPasses:
    """Of a frame of B rows. A position's logits are drawn as the codebook of that number."""

    def __init__(self, weights: PredictorWeights, state: SlotState, memory: FrameMemory, products: Products) -> None:
        self._weights = weights
        self._state = state
        self._memory = memory
        self._products = products

    def first_pair(self, hidden: Tensor) -> Tensor:
        """Positions 0 and 1, hidden (B, width): the logits behind codebook 0, (B, V), drawn."""
        stack, memory = self._weights.transformer, self._memory
        first = gather_codes(memory.codes, 0, self._weights.inputs[0])

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads = stack.layers[layer].heads
            keys, values = memory.kv.keys[layer], memory.kv.values[layer]
            factors = (heads.query_norm, heads.key_norm, heads.eps, stack.rotary.cos, stack.rotary.sin)
            return attend_first_pair(qkv, *factors, keys, values)

        stream = self._products.run(stack, torch.cat((hidden, first)), attend).rows_from(hidden.shape[0])
        return self._draw(stream, 1, 1)[0]

    def single(self, position: int) -> Tensor:
        """A pass of the engine's: the logits behind the code at `position`, (B, V), drawn."""
        stack, memory = self._weights.transformer, self._memory
        inputs = gather_codes(memory.codes, position - 1, self._weights.inputs[position - 1])

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads = stack.layers[layer].heads
            keys, values = memory.kv.keys[layer], memory.kv.values[layer]
            factors = (heads.query_norm, heads.key_norm, heads.eps, stack.rotary.cos, stack.rotary.sin)
            return attend_position(qkv, *factors, keys, values, position)

        return self._draw(self._products.run(stack, inputs, attend), position, 1)[0]

    def several(self, start: int, count: int) -> list[Tensor]:
        """The same for `count` positions from `start` on, whose codes are there."""
        stack, memory = self._weights.transformer, self._memory
        inputs = gather_span(memory.codes, start - 1, count, self._weights.inputs)

        def attend(layer: int, qkv: Tensor) -> Tensor:
            heads = stack.layers[layer].heads
            keys, values = memory.kv.keys[layer], memory.kv.values[layer]
            factors = (heads.query_norm, heads.key_norm, heads.eps, stack.rotary.cos, stack.rotary.sin)
            return attend_span(qkv, *factors, keys, values, start, count)

        return self._draw(self._products.run(stack, inputs, attend), start, count)

    def _draw(self, stream: TransformerStream, start: int, count: int) -> list[Tensor]:
        """Tokens of `start` for all rows, then those of the next position: each has the head of its codebook."""
        stack, memory, num_rows = self._weights.transformer, self._memory, self._memory.slots.shape[0]
        states = stream.residual
        if self._products is Products.SOME_ROWS:
            states = add_rms_norm(stream.update, stream.residual, stack.norm, stack.eps)
        logits: list[Tensor] = []
        for index, of_position in enumerate(states.split(num_rows)):
            head = self._weights.heads[start + index - 1]
            if self._products is Products.SOME_ROWS:
                logits.append(skinny_linear(of_position, head, torch.float32))
            else:
                logits.append(norm_linear(of_position, stack.norm, stack.eps, head, torch.float32))
            draw_residual(logits[-1], start + index, memory.slots, self._state, memory.drawn, memory.finite)
        return logits


def gather_span(codes: Tensor, first: int, count: int, tables: Tensor) -> Tensor:
    """Rows of tables (Q - 1, V, width) by `count` columns of codes int32 (B, Q) from `first` on.

    -> (count * B, width), the first column's of all rows first; column c has table c.
    """
    num_rows, (_, num_lanes, width) = codes.shape[0], tables.shape
    rows = tables.new_empty(count * num_rows, width)
    overlap = overlaps(codes)
    _gather_span[(num_rows, count)](
        codes,
        tables,
        rows,
        first,
        num_rows,
        code_stride=codes.stride(0),
        num_lanes=num_lanes,
        width=width,
        block=triton.next_power_of_2(width),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=4,
    )
    return rows


def attend_span(
    qkv: Tensor,
    q_weight: Tensor,
    k_weight: Tensor,
    eps: float,
    cos: Tensor,
    sin: Tensor,
    keys: Tensor,
    values: Tensor,
    start: int,
    count: int,
) -> Tensor:
    """As `attend_position` for `count` positions from `start` on: qkv (count * B, …), the first of all rows first."""
    num_kv_heads, head_dim = keys.shape[1], keys.shape[3]
    num_rows, group = qkv.shape[0] // count, (qkv.shape[1] // head_dim - 2 * num_kv_heads) // num_kv_heads
    attended = qkv.new_empty(qkv.shape[0], num_kv_heads * group * head_dim)
    overlap = overlaps(qkv)
    _attend_span[(num_rows, num_kv_heads * group, count)](
        qkv,
        q_weight,
        k_weight,
        cos,
        sin,
        keys,
        values,
        attended,
        eps,
        head_dim**-0.5,
        start,
        num_rows,
        count=count,
        num_kv_heads=num_kv_heads,
        group=group,
        head_dim=head_dim,
        capacity=keys.shape[2],
        key_block=triton.next_power_of_2(keys.shape[2]),
        overlap=overlap,
        launch_pdl=overlap,
        num_warps=1,
    )
    return attended


@triton.jit(do_not_specialize=["first", "num_rows"])
def _gather_span(
    codes: tl.tensor,
    tables: tl.tensor,
    rows: tl.tensor,
    first: tl.tensor,
    num_rows: tl.tensor,
    code_stride: tl.constexpr,
    num_lanes: tl.constexpr,
    width: tl.constexpr,
    block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    column = first + tl.program_id(1)
    code = tl.minimum(tl.load(codes + row * code_stride + column), num_lanes - 1).to(tl.int64)
    lanes = tl.arange(0, block)
    inside = lanes < width
    target = rows + (tl.program_id(1).to(tl.int64) * num_rows + row) * width
    source = tables + (column.to(tl.int64) * num_lanes + code) * width
    tl.store(target + lanes, tl.load(source + lanes, mask=inside), mask=inside)


@triton.jit(do_not_specialize=["start", "num_rows"])
def _attend_span(
    qkv: tl.tensor,
    q_weight: tl.tensor,
    k_weight: tl.tensor,
    cos: tl.tensor,
    sin: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    attended: tl.tensor,
    eps: tl.tensor,
    scale: tl.tensor,
    start: tl.tensor,
    num_rows: tl.tensor,
    count: tl.constexpr,
    num_kv_heads: tl.constexpr,
    group: tl.constexpr,
    head_dim: tl.constexpr,
    capacity: tl.constexpr,
    key_block: tl.constexpr,
    overlap: tl.constexpr,
) -> None:
    """A program is one query head of one position. It makes the keys of the positions before its own in this pass
    itself, as the cache will have them; those before `start` are in the cache."""
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    position = start + tl.program_id(2)
    kv_head = head // group
    lane = tl.arange(0, head_dim)
    history = (row * num_kv_heads + kv_head) * capacity * head_dim
    past = tl.arange(0, key_block)
    place = history + past[:, None] * head_dim + lane[None, :]
    past_k = tl.load(keys + place, mask=(past < start)[:, None], other=0.0)
    past_v = tl.load(values + place, mask=(past < start)[:, None], other=0.0)
    token_width = (group + 2) * num_kv_heads * head_dim
    k_source = (num_kv_heads * group + kv_head) * head_dim
    v_source = k_source + num_kv_heads * head_dim
    for index in tl.static_range(count - 1):
        earlier = qkv + (index * num_rows.to(tl.int64) + row) * token_width
        is_here = ((past == start + index) & (past < position))[:, None]
        k_before = normed_and_rotated(earlier + k_source, k_weight, cos, sin, start + index, eps, head_dim)
        past_k = tl.where(is_here, k_before.to(keys.dtype.element_ty)[None, :], past_k)
        v_before = tl.load(earlier + v_source + lane)
        past_v = tl.where(is_here, v_before.to(values.dtype.element_ty)[None, :], past_v)
    token = qkv + (tl.program_id(2) * num_rows.to(tl.int64) + row) * token_width
    k = normed_and_rotated(token + k_source, k_weight, cos, sin, position, eps, head_dim).to(keys.dtype.element_ty)
    v = tl.load(token + v_source + lane).to(values.dtype.element_ty)
    q = normed_and_rotated(token + head * head_dim, q_weight, cos, sin, position, eps, head_dim) * scale

    scores = tl.sum(past_k.to(tl.float32) * q[None, :], axis=1)
    scores = tl.where(past < position, scores, float("-inf"))
    own_score = tl.sum(k.to(tl.float32) * q, axis=0)
    largest = tl.maximum(tl.max(scores, axis=0), own_score)
    weights = tl.exp(scores - largest)
    own_weight = tl.exp(own_score - largest)
    total = tl.sum(weights, axis=0) + own_weight
    out = (tl.sum(past_v.to(tl.float32) * weights[:, None], axis=0) + v.to(tl.float32) * own_weight) / total
    target = (tl.program_id(2) * num_rows.to(tl.int64) + row) * num_kv_heads * group + head
    tl.store(attended + target * head_dim + lane, out.to(attended.dtype.element_ty))
    if head % group == 0:
        tl.store(keys + history + position * head_dim + lane, k)
        tl.store(values + history + position * head_dim + lane, v)
