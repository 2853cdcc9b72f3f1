"""Convolutions on a Hopper GPU: its own kernel where it is the faster one, the kernel for any device elsewhere."""

from __future__ import annotations

from torch import Tensor

from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs, causal_conv
from worker.engine.cuda.codec.kernels.hopper_conv import hopper_conv
from worker.engine.cuda.codec.kernels.hopper_tiles import ConvShape, cut_for


class HopperConvolution:
    """Which kernel a layer gets depends on its widths and on the pass's shape alone, so a pass always gets the same."""

    def __init__(self, multiprocessors: int) -> None:
        self._multiprocessors = multiprocessors

    def __call__(
        self,
        inputs: Tensor,
        weights: ConvWeights,
        outputs: Outputs,
        *,
        residual: Tensor | None = None,
        activation: Activation = Activation.NONE,
    ) -> None:
        cut = cut_for(conv_shape(inputs, weights, outputs, residual, activation), self._multiprocessors)
        if cut is None:
            causal_conv(inputs, weights, outputs, residual=residual, activation=activation)
        else:
            hopper_conv(inputs, weights, outputs, cut, residual=residual, activation=activation)


def conv_shape(
    inputs: Tensor, weights: ConvWeights, outputs: Outputs, residual: Tensor | None, activation: Activation
) -> ConvShape:
    num_taps, num_inputs, num_outputs = weights.taps.shape
    return ConvShape(
        num_streams=inputs.shape[0],
        rows=inputs.shape[1] - weights.rows_back,
        num_taps=num_taps,
        num_inputs=num_inputs,
        num_outputs=num_outputs,
        num_stores=(outputs.plain is not None) + (outputs.active is not None),
        has_residual=residual is not None,
        has_gelu=activation is Activation.GELU,
    )
