"""Decoder layers over a few rows: five launches a layer, each of which begins while the one in front still works."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from torch import Tensor

from worker.engine.native.cuda.decoder_stream import Attend, DecoderStream
from worker.engine.native.cuda.decoder_weights import DecoderWeights
from worker.engine.native.cuda.kernels.few_row_products import linear_add, norm_gate_up, norm_linear


def run_few_rows(weights: DecoderWeights, inputs: Tensor, attend: Attend) -> DecoderStream:
    """Inputs (N, hidden), N at most `few_row_products.MAX_ROWS`, become the residual stream and are lost."""
    eps, residual = weights.eps, inputs
    ahead = _two_products_later(weights)
    for index, layer in enumerate(weights.layers):
        qkv = norm_linear(residual, layer.input_norm, eps, layer.qkv, residual.dtype, next(ahead))
        linear_add(attend(index, qkv), layer.output, residual, next(ahead))
        gated = norm_gate_up(residual, layer.post_norm, eps, layer.gate_up, next(ahead))
        linear_add(gated, layer.down, residual, next(ahead))
    return DecoderStream(residual, None)


def _two_products_later(weights: DecoderWeights) -> Iterator[Tensor]:
    """For each product of the stack the one after the next; behind the last the stack begins anew, as passes do."""
    products = [weight for layer in weights.layers for weight in (layer.qkv, layer.output, layer.gate_up, layer.down)]
    return itertools.islice(itertools.cycle(products), 2, None)
