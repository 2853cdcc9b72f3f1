"""Decoder layers over a few rows: five launches a layer, each of which begins while the one in front still works."""

from __future__ import annotations

from torch import Tensor

from worker.engine.native.cuda.decoder_stream import Attend, DecoderStream
from worker.engine.native.cuda.decoder_weights import DecoderWeights
from worker.engine.native.cuda.kernels.few_row_products import linear_add, norm_gate_up, norm_linear


def run_few_rows(weights: DecoderWeights, inputs: Tensor, attend: Attend) -> DecoderStream:
    """Inputs (N, hidden), N at most `few_row_products.MAX_ROWS`, become the residual stream and are lost."""
    eps, residual = weights.eps, inputs
    for index, layer in enumerate(weights.layers):
        qkv = norm_linear(residual, layer.input_norm, eps, layer.qkv, residual.dtype)
        linear_add(attend(index, qkv), layer.output, residual)
        gated = norm_gate_up(residual, layer.post_norm, eps, layer.gate_up)
        linear_add(gated, layer.down, residual)
    return DecoderStream(residual, None)
