"""Codec frames into the codec's first activations: the rows of all codebooks, already projected, in one sum."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor


def embed_frames(codes: Tensor, table: Tensor, out: Tensor) -> None:
    """out (B, T, C) = the sum over q of table[q, codes[:, :, q]].

    codes: int32 (B, T, Q), contiguous. table: float32 (Q, size, C). out: rows contiguous, streams at any distance.
    """
    num_streams, num_frames, num_codebooks = codes.shape
    size, width = table.shape[1:]
    _embed_frames[(num_streams * num_frames,)](
        codes,
        table,
        out,
        num_frames,
        out.stride(0),
        CODEBOOKS=num_codebooks,
        SIZE=size,
        WIDTH=width,
        TILE=triton.next_power_of_2(width),
    )


@triton.jit
def _embed_frames(
    codes: tl.tensor,
    table: tl.tensor,
    out: tl.tensor,
    num_frames: tl.tensor,
    out_stride: tl.tensor,
    CODEBOOKS: tl.constexpr,
    SIZE: tl.constexpr,
    WIDTH: tl.constexpr,
    TILE: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, TILE)
    inside = lane < WIDTH
    total = tl.zeros((TILE,), dtype=tl.float32)
    for codebook in range(CODEBOOKS):
        code = tl.load(codes + row * CODEBOOKS + codebook)
        total += tl.load(table + (codebook * SIZE + code) * WIDTH + lane, mask=inside, other=0.0)
    target = out + (row // num_frames) * out_stride + (row % num_frames) * WIDTH
    tl.store(target + lane, total.to(out.dtype.element_ty), mask=inside)
