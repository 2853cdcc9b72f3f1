"""Arrays of the host on their way to the device."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def sent(array: NDArray[np.int32] | NDArray[np.int64] | NDArray[np.float32], device: torch.device) -> Tensor:
    """On the device in the order of the current stream; waits for nothing."""
    tensor = torch.from_numpy(array)
    if device.type == "cpu":
        return tensor
    # Pinned memory goes back to torch's host allocator, which keeps it until the copy is through.
    return tensor.pin_memory().to(device, non_blocking=True)
