"""The product inside SwiGLU."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from worker.engine.native.cuda.kernels.programmatic_launch import let_next_start, overlaps, wait_for_inputs

_LANES = 1024


def silu_multiply(gate_up: Tensor) -> Tensor:
    """silu(gate) * up of rows that hold both behind one another: (N, 2 * width) -> (N, width), in fp32 inside."""
    num_rows, width = gate_up.shape[0], gate_up.shape[1] // 2
    product = gate_up.new_empty(num_rows, width)
    block = min(_LANES, triton.next_power_of_2(width))
    overlap = overlaps(gate_up)
    _silu_multiply[(num_rows, triton.cdiv(width, block))](
        gate_up, product, width=width, block=block, overlap=overlap, launch_pdl=overlap, num_warps=4
    )
    return product


@triton.jit
def _silu_multiply(
    gate_up: tl.tensor, product: tl.tensor, width: tl.constexpr, block: tl.constexpr, overlap: tl.constexpr
) -> None:
    let_next_start(overlap)
    wait_for_inputs(overlap)
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.program_id(1) * block + tl.arange(0, block)
    inside = lanes < width
    gate = tl.load(gate_up + row * 2 * width + lanes, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + lanes, mask=inside, other=0.0).to(tl.float32)
    value = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(product + row * width + lanes, value.to(product.dtype.element_ty), mask=inside)
