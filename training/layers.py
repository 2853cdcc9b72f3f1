"""Pieces that the decoder and the talker share, with the parameter names of the published modules.

Twins of what the engine runs, written for training: whole sequences, gradients, no caches.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight.float(), self.eps).to(x.dtype)


def rotary_tables(length: int, dim: int, theta: float, device: torch.device) -> tuple[Tensor, Tensor]:
    """(length, dim) cosines and sines, the halves of a head side by side."""
    inverse = 1.0 / theta ** (torch.arange(0, dim, 2, device=device, dtype=torch.float32) / dim)
    angles = torch.arange(length, device=device, dtype=torch.float32)[:, None] * inverse[None]
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, tables: tuple[Tensor, Tensor]) -> Tensor:
    cosines, sines = tables
    first, second = x.chunk(2, -1)
    return x * cosines.to(x.dtype) + torch.cat((-second, first), -1) * sines.to(x.dtype)


class Attention(nn.Module):
    """Causal. `q_norm` and `k_norm` exist in the talker's stacks only."""

    def __init__(
        self, dim: int, num_heads: int, num_kv_heads: int, head_dim: int, head_norm: tuple[nn.Module, nn.Module]
    ) -> None:
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, head_dim
        self.q_proj = nn.Linear(dim, num_heads * head_dim, bias=False)
        self.k_proj = nn.Linear(dim, num_kv_heads * head_dim, bias=False)
        self.v_proj = nn.Linear(dim, num_kv_heads * head_dim, bias=False)
        self.o_proj = nn.Linear(num_heads * head_dim, dim, bias=False)
        self.q_norm, self.k_norm = head_norm

    def project(self, x: Tensor, tables: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T, C) -> queries (B, H, T, D), keys and values (B, K, T, D)."""
        batch, length, _ = x.shape
        q = self.q_norm(self.q_proj(x).view(batch, length, self.num_heads, self.head_dim)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(batch, length, self.num_kv_heads, self.head_dim)).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.num_kv_heads, self.head_dim).transpose(1, 2)
        return rotate(q, tables), rotate(k, tables), v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        repeats = self.num_heads // self.num_kv_heads
        if repeats > 1:
            k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
        return self.o_proj(out.transpose(1, 2).flatten(2))

    def forward(self, x: Tensor, tables: tuple[Tensor, Tensor], mask: Tensor | None = None) -> Tensor:
        return self.attend(*self.project(x, tables), mask)


class SwiGLU(nn.Module):
    def __init__(self, dim: int, intermediate: int) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(dim, intermediate, bias=False)
        self.up_proj = nn.Linear(dim, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))
