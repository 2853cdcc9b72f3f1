"""The layers of a transformer over many rows, whatever computes them."""

from __future__ import annotations

from torch import Tensor

from worker.engine.cuda.talker.decode.operations import RowOperations
from worker.engine.cuda.talker.decode.stream import Attend, TransformerStream
from worker.engine.cuda.talker.decode.weights import LayerWeights, TalkerTransformerWeights


def run_many_rows(
    weights: TalkerTransformerWeights, inputs: Tensor, attend: Attend, operations: RowOperations
) -> TransformerStream:
    """Inputs (N, hidden) become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = operations.add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, operations.linear(normed, layer.qkv))
        update = operations.linear(attended, layer.output)
        update = _mlp(layer, update, residual, weights.eps, operations)
    return TransformerStream(residual, update)


def _mlp(layer: LayerWeights, update: Tensor, residual: Tensor, eps: float, operations: RowOperations) -> Tensor:
    """Adds `update` to `residual` in place and gives the next one, in the numbers that the layer's weights have."""
    if layer.float8_mlp is None:
        normed = operations.add_rms_norm(update, residual, layer.post_norm, eps)
        return operations.linear(operations.silu_multiply(operations.linear(normed, layer.gate_up)), layer.down)
    rows = operations.add_rms_norm_float8(update, residual, layer.post_norm, eps)
    gate_up = operations.linear_float8(rows, layer.float8_mlp.gate_up, residual.dtype)
    return operations.linear_float8(operations.silu_multiply_float8(gate_up), layer.float8_mlp.down, residual.dtype)
