"""SnakeBeta, x + sin²(a·x) / b, for use inside other kernels.

sin² has period π, so the argument is taken in half turns and reduced to [-1/2, 1/2] by one subtraction. There an odd
polynomial of degree nine gives the sine to 6e-8. That is below the error of a float32 sine of the unreduced argument.
Against the special-function unit it costs little and its result is the same on every device.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from worker.engine.model.codec_layers import SnakeBeta

# Adding and subtracting 1.5 * 2^23 rounds a float32 to the nearest whole number.
_ROUNDER = tl.constexpr(12582912.0)


@dataclass(frozen=True, slots=True)
class SnakeTable:
    """Per channel, float32 (C,): half turns for each unit of x, and the amplitude."""

    half_turns: Tensor
    amplitude: Tensor

    @classmethod
    def of(cls, layer: SnakeBeta, device: torch.device) -> SnakeTable:
        """From a folded layer."""
        half_turns = layer.frequency.double() / math.pi
        return cls(half_turns.float().to(device), layer.amplitude.float().to(device))


@triton.jit
def snake(x: tl.tensor, half_turns: tl.tensor, amplitude: tl.tensor) -> tl.tensor:
    """float32 in and out; half_turns and amplitude are broadcast against x."""
    turns = x * half_turns
    turns = turns - ((turns + _ROUNDER) - _ROUNDER)
    square = turns * turns
    series = -0.59804419 + square * 0.077218386
    series = 2.5500312 + square * series
    series = -5.1677069 + square * series
    series = 3.1415926 + square * series
    sine = turns * series
    return x + amplitude * (sine * sine)
