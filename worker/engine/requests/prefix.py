"""Frames that a request goes on behind, as they are taken: checked, for they come from outside of this engine."""

from __future__ import annotations

import numpy as np

from worker.engine.errors import RequestRejected
from worker.engine.interface import CodecFrames


def checked_prefix(
    prefix: CodecFrames | None, max_frames: int, num_codebooks: int, codebook_size: int
) -> CodecFrames | None:
    """int16 (P, Q), P > 0; None where there is none. Raises RequestRejected."""
    if prefix is None or not prefix.size:
        return None
    if prefix.ndim != 2 or prefix.shape[1] != num_codebooks or not np.issubdtype(prefix.dtype, np.integer):
        raise RequestRejected(f"the prefix has shape {prefix.shape}, not (P, {num_codebooks}) of integers")
    if prefix.min() < 0 or prefix.max() >= codebook_size:
        raise RequestRejected(f"the prefix holds codes outside 0 to {codebook_size - 1}")
    if len(prefix) >= max_frames:
        raise RequestRejected(f"the prefix has {len(prefix)} frames, and the request ends after {max_frames}")
    return prefix.astype(np.int16)
