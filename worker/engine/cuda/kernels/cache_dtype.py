"""In what numbers attention multiplies what a cache holds."""

from __future__ import annotations

import torch
import triton.language as tl

PRODUCT_TYPES = {
    torch.float32: tl.float32,
    torch.float16: tl.float16,
    torch.bfloat16: tl.bfloat16,
    # Every number of eight bits is one of these, and the GPU converts two at once; to bfloat16 the way is longer.
    torch.float8_e4m3fn: tl.float16,
}
"""By the numbers of the cache. Queries and weights are rounded to them, sums are fp32."""
