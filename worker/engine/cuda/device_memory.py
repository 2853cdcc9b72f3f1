"""The memory of a CUDA device that this process may take."""

from __future__ import annotations

import torch


def total_and_free_bytes(device: torch.device) -> tuple[int, int]:
    """Of the whole device, or of the part that `torch.cuda.set_per_process_memory_fraction` leaves this process."""
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    share = torch.cuda.get_per_process_memory_fraction(device)
    if share >= 1.0:
        return total_bytes, free_bytes
    allowed_bytes = int(total_bytes * share)
    return allowed_bytes, min(free_bytes, allowed_bytes - torch.cuda.memory_reserved(device))


def taken_bytes(device: torch.device) -> int:
    """Of the whole device, by this process and by others: what the driver says, not the allocator."""
    free_bytes, total_bytes = torch.cuda.mem_get_info(device)
    return total_bytes - free_bytes
