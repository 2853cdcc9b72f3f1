"""The operations of a frame on a CUDA device: our Triton kernels, and cuBLAS for the products."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.cuda.float8 import Float8Rows
from worker.engine.cuda.kernels.code_embedding import begin_rows, gather_codes
from worker.engine.cuda.kernels.decode_attention import decode_attention
from worker.engine.cuda.kernels.few_row_products import MAX_ROWS, linear, linear_add, norm_gate_up, norm_linear
from worker.engine.cuda.kernels.frame_end import finish_frame
from worker.engine.cuda.kernels.predictor_attention import attend_first_pair, attend_position
from worker.engine.cuda.kernels.prompt_attention import prompt_attention
from worker.engine.cuda.kernels.rms_norm import add_rms_norm, add_rms_norm_float8
from worker.engine.cuda.kernels.rotary_heads import rotate_and_store
from worker.engine.cuda.kernels.sampler import draw_first, draw_residual
from worker.engine.cuda.kernels.skinny_products import MAX_TOKENS, skinny_gate_up, skinny_linear, skinny_parts
from worker.engine.cuda.kernels.swiglu import silu_multiply, silu_multiply_float8
from worker.engine.cuda.slot_state import SlotState
from worker.engine.cuda.talker.decode.operations import Attend, TransformerStream, run_many_rows
from worker.engine.cuda.talker.decode.weights import Heads, RotaryFactors, TalkerTransformerWeights
from worker.engine.requests.sampling import MIN_FRAMES

# The predictor's first pass takes two tokens of each row.
MOST_FEW_ROWS, FEW_TOKENS = MAX_ROWS // 2, MAX_ROWS
MOST_SOME_ROWS, SOME_TOKENS = MAX_TOKENS // 2, MAX_TOKENS
WIDEST_SOME_ROWS = 1024
"""Measured on an H200: 21 against 27 microseconds a layer of width 1024, but 55 against 45 at width 2048."""


class TritonOperations:
    """`Operations` on one stream: `arrivals` is shared by all calls.

    num_splits: into how many parts a row's history is divided. The rounding of a row depends on it and on nothing
    else of the batch.
    """

    begin_rows = staticmethod(begin_rows)
    add_rms_norm = staticmethod(add_rms_norm)
    silu_multiply = staticmethod(silu_multiply)
    add_rms_norm_float8 = staticmethod(add_rms_norm_float8)
    silu_multiply_float8 = staticmethod(silu_multiply_float8)
    prompt_attention = staticmethod(prompt_attention)
    gather_codes = staticmethod(gather_codes)
    finish_frame = staticmethod(finish_frame)

    def __init__(self, num_splits: int, arrivals: Tensor) -> None:
        """arrivals: int32 zeros, one per row and KV head."""
        self._num_splits = num_splits
        self._arrivals = arrivals

    def run_transformer(self, weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        return run_many_rows(weights, inputs, attend, self)

    def norm_logits(self, stream: TransformerStream, weights: TalkerTransformerWeights, head: Tensor) -> Tensor:
        return self.logits(self.add_rms_norm(stream.update, stream.residual, weights.norm, weights.eps), head)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.linear(x, weight)

    def logits(self, x: Tensor, weight: Tensor) -> Tensor:
        if weight.dtype is torch.float32:
            return F.linear(x, weight)
        return torch.mm(x, weight.t(), out_dtype=torch.float32)

    def linear_float8(self, x: Float8Rows, weight: Float8Rows, dtype: torch.dtype) -> Tensor:
        by_row = F.ScalingType.RowWise
        return F.scaled_mm(x.values, weight.values.t(), x.scales, by_row, weight.scales.t(), by_row, output_dtype=dtype)

    def rotate_and_store(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        norms = (heads.query_norm, heads.key_norm, heads.eps)
        return rotate_and_store(qkv, *norms, rotary.cos, rotary.sin, slots, positions, keys, values)

    def decode_attention(
        self,
        qkv: Tensor,
        heads: Heads,
        rotary: RotaryFactors,
        slots: Tensor,
        positions: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        queries = self.rotate_and_store(qkv, heads, rotary, slots, positions, keys, values)
        return decode_attention(queries, keys, values, slots, positions, self._num_splits, self._arrivals)

    def attend_first_pair(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor
    ) -> Tensor:
        norms = (heads.query_norm, heads.key_norm, heads.eps)
        return attend_first_pair(qkv, *norms, rotary.cos, rotary.sin, keys, values)

    def attend_position(
        self, qkv: Tensor, heads: Heads, rotary: RotaryFactors, keys: Tensor, values: Tensor, position: int
    ) -> Tensor:
        norms = (heads.query_norm, heads.key_norm, heads.eps)
        return attend_position(qkv, *norms, rotary.cos, rotary.sin, keys, values, position)

    def draw_first(self, logits: Tensor, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor) -> None:
        draw_first(logits, slots, state, MIN_FRAMES, codes, finite)

    def draw_residual(
        self, logits: Tensor, codebook: int, slots: Tensor, state: SlotState, codes: Tensor, finite: Tensor
    ) -> None:
        draw_residual(logits, codebook, slots, state, codes, finite)


class FewRowOperations(TritonOperations):
    """The same for frames of at most `MOST_FEW_ROWS` rows: cuBLAS has no part in them.

    Whatever has more rows than these products take, which prompts do, goes as in every other frame.
    """

    def run_transformer(self, weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        if inputs.shape[0] > FEW_TOKENS:
            return super().run_transformer(weights, inputs, attend)
        return run_few_rows(weights, inputs, attend)

    def norm_logits(self, stream: TransformerStream, weights: TalkerTransformerWeights, head: Tensor) -> Tensor:
        if stream.update is not None:
            return super().norm_logits(stream, weights, head)
        return norm_linear(stream.residual, weights.norm, weights.eps, head, torch.float32)

    def linear(self, x: Tensor, weight: Tensor) -> Tensor:
        return linear(x, weight, x.dtype) if x.shape[0] <= FEW_TOKENS else super().linear(x, weight)

    def logits(self, x: Tensor, weight: Tensor) -> Tensor:
        return linear(x, weight, torch.float32) if x.shape[0] <= FEW_TOKENS else super().logits(x, weight)


class SomeRowOperations(TritonOperations):
    """The same for frames of at most `MOST_SOME_ROWS` rows: our own products where they are the faster ones."""

    def run_transformer(self, weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
        if inputs.shape[0] > SOME_TOKENS or inputs.shape[1] > WIDEST_SOME_ROWS:
            return super().run_transformer(weights, inputs, attend)
        return run_some_rows(weights, inputs, attend)

    def logits(self, x: Tensor, weight: Tensor) -> Tensor:
        if x.shape[0] > SOME_TOKENS or x.shape[1] > WIDEST_SOME_ROWS:
            return super().logits(x, weight)
        return skinny_linear(x, weight, torch.float32)


def operations_kind(num_rows: int) -> type[TritonOperations]:
    """The fastest for frames of so many rows."""
    if num_rows <= MOST_FEW_ROWS:
        return FewRowOperations
    return SomeRowOperations if num_rows <= MOST_SOME_ROWS else TritonOperations


def run_few_rows(weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
    """Inputs (N, hidden), N at most `FEW_TOKENS`, become the residual stream and are lost."""
    eps, residual = weights.eps, inputs
    for index, layer in enumerate(weights.layers):
        qkv = norm_linear(residual, layer.input_norm, eps, layer.qkv, residual.dtype)
        linear_add(attend(index, qkv), layer.output, residual)
        gated = norm_gate_up(residual, layer.post_norm, eps, layer.gate_up)
        linear_add(gated, layer.down, residual)
    return TransformerStream(residual, None)


def run_some_rows(weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend) -> TransformerStream:
    """Inputs (N, hidden), N at most `SOME_TOKENS`, become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, skinny_linear(normed, layer.qkv, normed.dtype))
        normed = add_rms_norm(skinny_parts(attended, layer.output), residual, layer.post_norm, weights.eps)
        update = skinny_parts(skinny_gate_up(normed, layer.gate_up), layer.down)
    return TransformerStream(residual, update)
