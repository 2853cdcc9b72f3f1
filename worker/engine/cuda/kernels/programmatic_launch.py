"""Kernels that start before the one in front of them has ended (Hopper's programmatic dependent launch).

A kernel launched so may run at once up to `wait_for_inputs`, which returns when everything in front of it is written.
What comes before that point may touch nothing but weights. Every kernel of such a chain begins with `let_next_start`:
the next one may then be brought in while this one still works, and wait at its own `wait_for_inputs`.
"""

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
