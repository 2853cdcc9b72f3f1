"""The transformer layer that talker and code predictor share: Qwen3, pre-norm, grouped-query attention, SwiGLU.

A layer works on N tokens in a row, whatever sequences they belong to. Where keys are kept and which of them a
token may see is the business of the `Attend` it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from worker.engine.model.config import TransformerConfig
from worker.engine.model.weights import StackedModule


class Attend(Protocol):
    """Keeps the tokens' keys and values, and attends to all keys that each token may see."""

    def __call__(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """queries (N, H, d), keys and values (N, KV, d), rotated -> (N, H * d)."""
        ...


@dataclass(frozen=True, slots=True)
class Rotation:
    """Rotary factors of N tokens: cos and sin (N, 1, d), where sin carries the sign of the swapped halves."""

    cos: Tensor
    sin: Tensor

    def apply(self, heads: Tensor) -> Tensor:
        """Rotate (N, H, d)."""
        swapped = heads.roll(heads.shape[-1] // 2, -1)
        return torch.addcmul(heads * self.cos, swapped, self.sin)


class RotaryTable:
    """Rotary factors of all positions, computed once in fp32."""

    def __init__(self, config: TransformerConfig, num_positions: int, device: torch.device) -> None:
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
        angles = torch.outer(torch.arange(num_positions, dtype=torch.float32), config.rope_theta**-exponents)
        self._cos = torch.cat((angles.cos(), angles.cos()), dim=1).unsqueeze(1).to(device)
        self._sin = torch.cat((-angles.sin(), angles.sin()), dim=1).unsqueeze(1).to(device)

    def at(self, positions: Tensor) -> Rotation:
        """positions: int64 (N,)."""
        return Rotation(self._cos.index_select(0, positions), self._sin.index_select(0, positions))

    def span(self, start: int, end: int) -> Rotation:
        return Rotation(self._cos[start:end], self._sin[start:end])


class StackedLinear(StackedModule):
    """Several published projections of the same input as one matrix: one product instead of three."""

    def __init__(self, in_features: int, parts: Mapping[str, int]) -> None:
        super().__init__()
        self._parts = dict(parts)
        self.weight = nn.Parameter(torch.empty(sum(parts.values()), in_features))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight)

    def published_views(self) -> Mapping[str, Tensor]:
        rows = self.weight.split(list(self._parts.values()))
        return {f"{name}.weight": view for name, view in zip(self._parts, rows, strict=True)}


class QueryKeyNorm(StackedModule):
    """RMSNorm over the head dimension of queries and keys, which lie behind one another: (N, H + KV, d)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(2, config.head_dim))
        self._heads = (config.num_heads, config.num_kv_heads)
        self._eps = config.rms_norm_eps

    def forward(self, heads: Tensor) -> Tensor:
        head_dim = heads.shape[-1]
        weights = [self.weight[i].expand(count, head_dim) for i, count in enumerate(self._heads)]
        return F.rms_norm(heads, (head_dim,), None, self._eps) * torch.cat(weights)

    def published_views(self) -> Mapping[str, Tensor]:
        return {"q_norm.weight": self.weight[0], "k_norm.weight": self.weight[1]}


class Attention(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        width, kv_width = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
        self.qkv = StackedLinear(config.hidden_size, {"q_proj": width, "k_proj": kv_width, "v_proj": kv_width})
        self.qk_norm = QueryKeyNorm(config)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)
        self._num_heads, self._num_kv_heads, self._head_dim = config.num_heads, config.num_kv_heads, config.head_dim

    def forward(self, x: Tensor, rotation: Rotation, attend: Attend, layer: int) -> Tensor:
        heads = self.qkv(x).view(x.shape[0], -1, self._head_dim)
        query_key, values = heads.split((self._num_heads + self._num_kv_heads, self._num_kv_heads), dim=1)
        queries, keys = rotation.apply(self.qk_norm(query_key)).split((self._num_heads, self._num_kv_heads), dim=1)
        return self.o_proj(attend(layer, queries, keys, values))


class SwiGlu(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        parts = {"gate_proj": config.intermediate_size, "up_proj": config.intermediate_size}
        self.gate_up = StackedLinear(config.hidden_size, parts)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return self.down_proj(F.silu(gate) * up)


class TransformerLayer(nn.Module):
    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = SwiGlu(config)

    def forward(self, x: Tensor, rotation: Rotation, attend: Attend, layer: int) -> Tensor:
        x = x + self.self_attn(self.input_layernorm(x), rotation, attend, layer)
        return x + self.mlp(self.post_attention_layernorm(x))


class TransformerStack(nn.Module):
    """Layers and the final norm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: Tensor, rotation: Rotation, attend: Attend) -> Tensor:
        """(N, hidden) -> (N, hidden), normed."""
        for index, layer in enumerate(self.layers):
            x = layer(x, rotation, attend, index)
        return self.norm(x)
