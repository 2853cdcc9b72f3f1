"""The Gumbel noise of `sampling.NoiseTable` inside a kernel: the same bits from (seed, frame, codebook, lane)."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import triton
import triton.language as tl

# SplitMix64's constants as signed numbers: see sampling.py.
_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15 - (1 << 64))
_MIX_1 = tl.constexpr(0xBF58476D1CE4E5B9 - (1 << 64))
_MIX_2 = tl.constexpr(0x94D049BB133111EB - (1 << 64))
_FRAME_STRIDE = tl.constexpr(0xD1342543DE82EF95 - (1 << 64))


@triton.jit
def gumbel_noise(seed: tl.tensor, frame: tl.tensor, codebook: tl.tensor, lanes: tl.tensor) -> tl.tensor:
    """seed: int64, frame: int32, both one number; lanes int32 (V,) -> float32 (V,)."""
    start = _mix(_mix(seed) + frame.to(tl.int64) * _FRAME_STRIDE)
    # A plain number has 32 bits, which the shift would leave.
    book = tl.zeros([], tl.int64) + codebook
    counter = lanes.to(tl.int64) + ((book << 32) + 1)
    bits = _mix(start + counter * _GOLDEN)
    uniform = (((bits >> 41) & 0x7FFFFF).to(tl.float32) + 0.5) * (2.0**-23)
    return -tl.log(-tl.log(uniform))


@triton.jit
def _mix(z: tl.tensor) -> tl.tensor:
    z = (z ^ ((z >> 30) & 0x3FFFFFFFF)) * _MIX_1
    z = (z ^ ((z >> 27) & 0x1FFFFFFFFF)) * _MIX_2
    return z ^ ((z >> 31) & 0x1FFFFFFFF)
