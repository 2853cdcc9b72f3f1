"""Decoder layers over any number of rows: products are matrix products, and what stands between them is fused."""

from __future__ import annotations

from torch import Tensor

from worker.engine.native.cuda.decoder_stream import Attend, DecoderStream
from worker.engine.native.cuda.decoder_weights import DecoderWeights, LayerWeights
from worker.engine.native.cuda.operations import RowOperations


def run_many_rows(weights: DecoderWeights, inputs: Tensor, attend: Attend, operations: RowOperations) -> DecoderStream:
    """Inputs (N, hidden) become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = operations.add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, operations.linear(normed, layer.qkv))
        update = operations.linear(attended, layer.output)
        update = _mlp(layer, update, residual, weights.eps, operations)
    return DecoderStream(residual, update)


def _mlp(layer: LayerWeights, update: Tensor, residual: Tensor, eps: float, operations: RowOperations) -> Tensor:
    """Adds `update` to `residual` in place and gives the next one, in the numbers that the layer's weights have."""
    if layer.float8_mlp is None:
        normed = operations.add_rms_norm(update, residual, layer.post_norm, eps)
        return operations.linear(operations.silu_multiply(operations.linear(normed, layer.gate_up)), layer.down)
    rows = operations.add_rms_norm_float8(update, residual, layer.post_norm, eps)
    gate_up = operations.linear_float8(rows, layer.float8_mlp.gate_up, residual.dtype)
    return operations.linear_float8(operations.silu_multiply_float8(gate_up), layer.float8_mlp.down, residual.dtype)
