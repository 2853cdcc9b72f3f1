"""Which kernels a codec pass can convolve with, by the capability of its device."""

from __future__ import annotations

import logging
from typing import Protocol

import torch
from torch import Tensor

from worker.engine.cuda.codec.kernels.causal_conv import Activation, ConvWeights, Outputs, causal_conv

logger = logging.getLogger(__name__)

# Hopper's matrix instructions are in no later chip.
_HOPPER = 9


class CausalConvolution(Protocol):
    """The contract is `causal_conv`'s."""

    def __call__(
        self,
        inputs: Tensor,
        weights: ConvWeights,
        outputs: Outputs,
        *,
        residual: Tensor | None = None,
        activation: Activation = Activation.NONE,
    ) -> None: ...


def convolution_for(device: torch.device, dtype: torch.dtype) -> CausalConvolution:
    """Hopper's own kernels for 16-bit floats on a Hopper GPU; anywhere else those that run on every device."""
    if device.type != "cuda":
        return causal_conv
    major, minor = torch.cuda.get_device_capability(device)
    if major != _HOPPER or dtype is not torch.float16:
        logger.info("codec: convolutions by the kernels for any device (capability %d.%d, %s)", major, minor, dtype)
        return causal_conv
    from worker.engine.cuda.codec.kernels.hopper_conv import HopperConvolution  # needs a driver

    logger.info("codec: convolutions by Hopper's kernels (capability %d.%d)", major, minor)
    return HopperConvolution(torch.cuda.get_device_properties(device).multi_processor_count)
