"""Kernels that start before the one in front of them has ended (Hopper's programmatic dependent launch).

A kernel launched so may run at once up to `wait_for_inputs`, which returns when everything in front of it is written.
What comes before that point may touch nothing but weights. Every kernel of such a chain begins with `let_next_start`:
the next one may then be brought in while this one still works, and wait at its own `wait_for_inputs`.
"""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

_FIRST_WITH_IT = (9, 0)


def overlaps(tensor: Tensor) -> bool:
    """Whether kernels on the tensor's device can be launched so."""
    return tensor.is_cuda and _device_overlaps(tensor.device)


@functools.cache
def _device_overlaps(device: torch.device) -> bool:
    return torch.cuda.get_device_capability(device) >= _FIRST_WITH_IT


@triton.jit
def let_next_start(overlap: tl.constexpr) -> None:
    if overlap:
        gdc_launch_dependents()


@triton.jit
def wait_for_inputs(overlap: tl.constexpr) -> None:
    if overlap:
        gdc_wait()


@triton.jit
def prefetch_rows(rows: tl.tensor, num_bytes: tl.constexpr, overlap: tl.constexpr) -> None:
    """Have the pieces of device memory that begin at the pointers `rows` (32,) brought to the L2 cache.

    num_bytes: of each piece; it and the addresses are multiples of 16, or nothing is fetched. The first warp, each of
    whose lanes has one of the pointers, does it for all.
    """
    if overlap and num_bytes % 16 == 0:
        tl.inline_asm_elementwise(
            """
            {
                .reg .pred is_first_warp;
                .reg .u32 thread;
                mov.u32 thread, %tid.x;
                setp.lt.u32 is_first_warp, thread, 32;
                @is_first_warp cp.async.bulk.prefetch.L2.global [$1], $2;
                mov.u32 $0, 0;
            }
            """,
            "=r,l,r",
            [rows.to(tl.int64), num_bytes],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )


@triton.jit
def prefetch_share(
    memory: tl.tensor, num_bytes: tl.constexpr, num_programs: tl.constexpr, overlap: tl.constexpr
) -> None:
    """Have this program's share of a contiguous piece of device memory brought to the L2 cache.

    num_bytes: of the whole; what does not divide into shares of 16 bytes stays where it is.
    """
    share: tl.constexpr = num_bytes // num_programs // 16 * 16
    if overlap and share > 0:
        tl.inline_asm_elementwise(
            """
            {
                .reg .pred is_first;
                .reg .u32 thread;
                mov.u32 thread, %tid.x;
                setp.eq.u32 is_first, thread, 0;
                @is_first cp.async.bulk.prefetch.L2.global [$1], $2;
                mov.u32 $0, 0;
            }
            """,
            "=r,l,r",
            [memory.to(tl.int64) + tl.program_id(0).to(tl.int64) * share, share],
            dtype=tl.int32,
            is_pure=False,
            pack=1,
        )
