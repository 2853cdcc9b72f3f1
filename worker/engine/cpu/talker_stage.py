"""The talker as it is run: prompts into rows of the KV cache, then one token per row and frame."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from worker.engine.model.config import TransformerConfig
from worker.engine.model.layers import RotaryTable
from worker.engine.model.talker import Talker


class TalkerStage:
    """Owns the talker's KV cache; single-threaded."""

    def __init__(self, config: TransformerConfig, talker: Talker, num_rows: int, capacity: int) -> None:
        device = talker.codec_head.weight.device
        self._talker = talker
        self._rotary = RotaryTable(config, capacity, device)
        self._positions = torch.arange(capacity, device=device)
        self._row_starts = torch.arange(num_rows, device=device) * capacity
        self.cache = KvCache(config, num_rows, capacity, device)

    def prefill(self, row: int, rows: Tensor) -> None:
        """Fill positions 0 to N - 1 of a cache row with the prompt rows (N, hidden)."""
        attend = _PromptAttention(self.cache, row)
        self._talker(rows, self._rotary.span(0, rows.shape[0]), attend)

    def decode(self, inputs: Tensor, positions: Tensor, length: int) -> Tensor:
        """One token for each of the first B rows.

        inputs (B, hidden), positions int64 (B,) -> normed hidden (B, hidden). length: more than any position.
        """
        num_rows = inputs.shape[0]
        mask = torch.where(self._positions[:length] <= positions.unsqueeze(1), 0.0, -torch.inf)
        places = self._row_starts[:num_rows] + positions
        attend = _RowsAttention(self.cache, places, mask.view(num_rows, 1, 1, length))
        return self._talker(inputs, self._rotary.at(positions), attend)


class _PromptAttention:
    """Causal attention among the tokens of one prompt."""

    def __init__(self, cache: KvCache, row: int) -> None:
        self._cache = cache
        self._row = row

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        self._cache.write_prompt(layer, self._row, keys, values)
        attended = F.scaled_dot_product_attention(
            queries.transpose(0, 1).unsqueeze(0),
            keys.transpose(0, 1).unsqueeze(0),
            values.transpose(0, 1).unsqueeze(0),
            is_causal=True,
            enable_gqa=True,
        )
        return attended.squeeze(0).transpose(0, 1).flatten(1)


class _RowsAttention:
    """One token per row over the row's own history; the query heads of a KV head stand as its query positions."""

    def __init__(self, cache: KvCache, places: Tensor, mask: Tensor) -> None:
        """mask: 0 or -inf, (B, 1, 1, length)."""
        self._cache = cache
        self._places = places
        self._mask = mask

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        self._cache.write(layer, self._places, keys, values)
        num_rows, num_kv_heads, head_dim = keys.shape
        all_keys, all_values = self._cache.prefix(layer, num_rows, self._mask.shape[-1])
        grouped = queries.view(num_rows, num_kv_heads, -1, head_dim)
        attended = F.scaled_dot_product_attention(grouped, all_keys, all_values, attn_mask=self._mask)
        return attended.reshape(num_rows, -1)


class KvCache:
    """Keys, then values: (2, layers, rows, capacity, kv_heads, head_dim); a row for each request from its admission on.

    Rows are kept dense: the running requests are rows 0 to n - 1, so that a step works on plain prefixes of every
    state tensor. When one leaves, the last row moves into its place (`move`).

    Everything starts at zero, because masked positions are multiplied by zero and not skipped: what stands there
    must be finite.
    """

    def __init__(self, config: TransformerConfig, num_rows: int, capacity: int, device: torch.device) -> None:
        shape = (2, config.num_layers, num_rows, capacity, config.num_kv_heads, config.head_dim)
        self.capacity = capacity
        self._kept = torch.zeros(shape, device=device)
        self._flat = self._kept.flatten(2, 3)

    def write_prompt(self, layer: int, row: int, keys: Tensor, values: Tensor) -> None:
        """Positions 0 to P - 1 of one row: (P, kv_heads, head_dim) each."""
        self._kept[0, layer, row, : keys.shape[0]] = keys
        self._kept[1, layer, row, : values.shape[0]] = values

    def write(self, layer: int, places: Tensor, keys: Tensor, values: Tensor) -> None:
        """One token per row at `places` (row * capacity + position): (B, kv_heads, head_dim) each."""
        self._flat[0, layer].index_copy_(0, places, keys)
        self._flat[1, layer].index_copy_(0, places, values)

    def prefix(self, layer: int, num_rows: int, length: int) -> tuple[Tensor, Tensor]:
        """Keys and values of the first positions of the first rows: (B, kv_heads, length, head_dim) views."""
        keys, values = self._kept[:, layer, :num_rows, :length].transpose(2, 3)
        return keys, values

    def move(self, source: int, target: int, length: int) -> None:
        self._kept[:, :, target, :length] = self._kept[:, :, source, :length]

    def scrub(self, row: int) -> None:
        """Forget a row that holds non-finite numbers: they would reach the next request through the mask."""
        self._kept[:, :, row].zero_()
