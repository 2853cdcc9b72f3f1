"""Decoder layers over some rows, more than a few: seven launches a layer, all of them our own."""

from __future__ import annotations

from torch import Tensor

from worker.engine.native.cuda.decoder_stream import Attend, DecoderStream
from worker.engine.native.cuda.decoder_weights import DecoderWeights
from worker.engine.native.cuda.kernels.rms_norm import add_rms_norm
from worker.engine.native.cuda.kernels.skinny_products import skinny_gate_up, skinny_linear, skinny_parts


def run_some_rows(weights: DecoderWeights, inputs: Tensor, attend: Attend) -> DecoderStream:
    """Inputs (N, hidden), N at most `skinny_products.MAX_TOKENS`, become the residual stream and are lost."""
    residual, update = inputs, None
    for index, layer in enumerate(weights.layers):
        normed = add_rms_norm(update, residual, layer.input_norm, weights.eps)
        attended = attend(index, skinny_linear(normed, layer.qkv, normed.dtype))
        normed = add_rms_norm(skinny_parts(attended, layer.output), residual, layer.post_norm, weights.eps)
        update = skinny_parts(skinny_gate_up(normed, layer.gate_up), layer.down)
    return DecoderStream(residual, update)
