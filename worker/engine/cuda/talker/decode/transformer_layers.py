"""The layers of a transformer over few and some rows: the thresholds, and a way through them for each."""

from __future__ import annotations

from torch import Tensor

from worker.engine.cuda.kernels.few_row_products import MAX_ROWS, linear_add, norm_gate_up, norm_linear
from worker.engine.cuda.kernels.rms_norm import add_rms_norm
from worker.engine.cuda.kernels.skinny_products import MAX_TOKENS, skinny_gate_up, skinny_linear, skinny_parts
from worker.engine.cuda.talker.decode.stream import Attend, TransformerStream
from worker.engine.cuda.talker.decode.weights import TalkerTransformerWeights

# The predictor's first pass takes two tokens of each row.
MOST_FEW_ROWS, FEW_TOKENS = MAX_ROWS // 2, MAX_ROWS
MOST_SOME_ROWS, SOME_TOKENS = MAX_TOKENS // 2, MAX_TOKENS
WIDEST_SOME_ROWS = 1024
"""Measured on an H200: 21 against 27 microseconds a layer of width 1024, but 55 against 45 at width 2048."""


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
