"""Hopper's convolution held to its twin for any device: errors against float64, and what stands around the results."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from tests.worker.engine.cuda.codec.decoder_layers import Call, Layer, decoder_layers
from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs, causal_conv
from worker.engine.cuda.codec.kernels.hopper_conv import conv_shape, hopper_conv
from worker.engine.cuda.codec.kernels.hopper_tiles import cut, tile_for

# Streams and rows of each: a tile per stream and less; ends inside tiles; streams that do not fill a tile of several.
SHAPES = ((1, 5), (3, 37), (5, 130), (2, 384), (6, 96), (9, 33))
FEW_MULTIPROCESSORS = 3  # so that programs take turns
MOST_RELATIVE_ERROR = 4e-4


@pytest.fixture(scope="module", autouse=True)
def _hopper() -> None:
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("needs a Hopper GPU")


@pytest.mark.parametrize("layer", decoder_layers(), ids=lambda layer: f"{layer.name} {layer.num_inputs}")
def test_every_layer_is_as_its_twin(layer: Layer) -> None:
    def on_hopper(
        inputs: Tensor,
        weights: ConvWeights,
        outputs: Outputs,
        *,
        residual: Tensor | None = None,
        activation: Activation = Activation.NONE,
    ) -> None:
        shape = conv_shape(inputs, weights, outputs, residual, activation)
        tile = tile_for(shape)
        assert tile is not None
        pieces = cut(shape, tile, FEW_MULTIPROCESSORS)
        hopper_conv(inputs, weights, outputs, pieces, residual=residual, activation=activation)

    for num_streams, rows in SHAPES:
        call = Call.drawn(layer, num_streams, rows)

        assert call.error(causal_conv) < MOST_RELATIVE_ERROR
        assert call.error(on_hopper) < MOST_RELATIVE_ERROR
