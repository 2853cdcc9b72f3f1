"""The ConvNeXt's beginning in one pass: a causal convolution within each channel, then LayerNorm over the channels."""

from __future__ import annotations

from dataclasses import dataclass

import triton
import triton.language as tl
from torch import Tensor


@dataclass(frozen=True, slots=True)
class DepthwiseNormWeights:
    """float32. taps (k, C), oldest first; bias, gain, shift (C,)."""

    taps: Tensor
    bias: Tensor
    gain: Tensor
    shift: Tensor
    eps: float


def depthwise_norm(inputs: Tensor, weights: DepthwiseNormWeights, out: Tensor) -> None:
    """inputs (B, k - 1 + rows, C), the first k - 1 rows the past; out (B, rows, C), contiguous."""
    num_streams, rows, width = out.shape
    _depthwise_norm[(num_streams * rows,)](
        inputs,
        weights.taps,
        weights.bias,
        weights.gain,
        weights.shift,
        out,
        rows,
        inputs.stride(0),
        weights.eps,
        TAPS=weights.taps.shape[0],
        WIDTH=width,
        TILE=triton.next_power_of_2(width),
    )


@triton.jit
def _depthwise_norm(
    inputs: tl.tensor,
    taps: tl.tensor,
    bias: tl.tensor,
    gain: tl.tensor,
    shift: tl.tensor,
    out: tl.tensor,
    rows: tl.tensor,
    inputs_stride: tl.tensor,
    eps: tl.tensor,
    TAPS: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, TILE)
    inside = lane < WIDTH
    source = inputs + (row // rows) * inputs_stride + (row % rows) * WIDTH
    total = tl.load(bias + lane, mask=inside, other=0.0)
    for tap in tl.static_range(TAPS):
        x = tl.load(source + tap * WIDTH + lane, mask=inside, other=0.0).to(tl.float32)
        total += x * tl.load(taps + tap * WIDTH + lane, mask=inside, other=0.0)
    mean = tl.sum(total, axis=0) / WIDTH
    centred = tl.where(inside, total - mean, 0.0)
    deviation = tl.rsqrt(tl.sum(centred * centred, axis=0) / WIDTH + eps)
    y = centred * deviation * tl.load(gain + lane, mask=inside, other=0.0)
    y += tl.load(shift + lane, mask=inside, other=0.0)
    tl.store(out + row * WIDTH + lane, y.to(out.dtype.element_ty), mask=inside)
