"""float32 into the dtype of a tensor, for use inside other kernels."""

# Triton reads the kernels' source; its Python types describe neither device code nor launch options.
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportReturnType=false
# pyright: reportArgumentType=false, reportGeneralTypeIssues=false, reportOperatorIssue=false
# pyright: reportIndexIssue=false

from __future__ import annotations

import triton
import triton.language as tl

_LARGEST_FLOAT16 = tl.constexpr(65504.0)


@triton.jit
def narrowed(x: tl.tensor, DTYPE: tl.constexpr) -> tl.tensor:
    """What float16 cannot hold becomes its largest number: an infinity would go on for ever in a stream's state."""
    if DTYPE == tl.float16:  # noqa: SIM300  (a constant to the compiler, not to Python)
        x = tl.minimum(tl.maximum(x, -_LARGEST_FLOAT16), _LARGEST_FLOAT16)
    return x.to(DTYPE)
