"""Keys and values of the talker: one row of fixed capacity per request, reserved when the request is admitted.

Rows are kept dense: the running requests are rows 0 to n - 1, so that a step works on plain prefixes of every
state tensor. When one leaves, the last row moves into its place (`move`).
"""

from __future__ import annotations

import torch
from torch import Tensor

from worker.engine.model.config import TransformerConfig


class KvCache:
    """keys, values: (layers, rows, capacity, kv_heads, head_dim).

    Everything starts at zero, because masked positions are multiplied by zero and not skipped: what stands there
    must be finite.
    """

    def __init__(self, config: TransformerConfig, num_rows: int, capacity: int, device: torch.device) -> None:
        shape = (config.num_layers, num_rows, capacity, config.num_kv_heads, config.head_dim)
        self.capacity = capacity
        self._keys = torch.zeros(shape, device=device)
        self._values = torch.zeros(shape, device=device)
        flat = (config.num_layers, num_rows * capacity, config.num_kv_heads, config.head_dim)
        self._flat_keys = self._keys.view(flat)
        self._flat_values = self._values.view(flat)

    def write_prompt(self, layer: int, row: int, keys: Tensor, values: Tensor) -> None:
        """Positions 0 to P - 1 of one row: (P, kv_heads, head_dim) each."""
        self._keys[layer, row, : keys.shape[0]] = keys
        self._values[layer, row, : values.shape[0]] = values

    def write(self, layer: int, places: Tensor, keys: Tensor, values: Tensor) -> None:
        """One token per row at `places` (row * capacity + position): (B, kv_heads, head_dim) each."""
        self._flat_keys[layer].index_copy_(0, places, keys)
        self._flat_values[layer].index_copy_(0, places, values)

    def prefix(self, layer: int, num_rows: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the first positions of the first rows: (B, kv_heads, length, head_dim) views."""
        return (
            self._keys[layer, :num_rows, :length].transpose(1, 2),
            self._values[layer, :num_rows, :length].transpose(1, 2),
        )

    def move(self, source: int, target: int, length: int) -> None:
        self._keys[:, target, :length] = self._keys[:, source, :length]
        self._values[:, target, :length] = self._values[:, source, :length]

    def scrub(self, row: int) -> None:
        """Forget a row that holds non-finite numbers: they would reach the next request through the mask."""
        self._keys[:, row].zero_()
        self._values[:, row].zero_()
