"""Decoder layers over any number of rows: products are matrix products, and what stands between them is fused."""

from __future__ import annotations

from torch import Tensor

from worker.engine.native.cuda.decoder_stream import Attend, DecoderStream
from worker.engine.native.cuda.decoder_weights import DecoderWeights
from worker.engine.native.cuda.operations import RowOperations


def run_many_rows(weights: DecoderWeights, inputs: Tensor, attend: Attend, operations: RowOperations) -> DecoderStream:
    """Inputs (N, hidden) become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = operations.add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, operations.linear(normed, layer.qkv))
        update = operations.linear(attended, layer.output)
        normed = operations.add_rms_norm(update, residual, layer.post_norm, weights.eps)
        gated = operations.silu_multiply(operations.linear(normed, layer.gate_up))
        update = operations.linear(gated, layer.down)
    return DecoderStream(residual, update)
