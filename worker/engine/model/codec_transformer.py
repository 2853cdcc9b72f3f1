"""The codec decoder's transformer: causal, with a window, so that a stream's memory of it does not grow."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from worker.engine.model.codec_config import CodecTransformerConfig
from worker.engine.model.codec_layers import StatefulModule, StreamState


class CodecTransformer(nn.Module):
    """(T, latent) -> (T, latent)."""

    def __init__(self, config: CodecTransformerConfig, latent_dim: int) -> None:
        super().__init__()
        self.config = config
        self.input_proj = nn.Linear(latent_dim, config.hidden_size)
        self.layers = nn.ModuleList(CodecTransformerLayer(config) for _ in range(config.num_layers))
        self.norm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.output_proj = nn.Linear(config.hidden_size, latent_dim)

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        num_new = x.shape[0]
        num_past = min(state.position, self.config.window - 1)
        mask = window_mask(num_new, num_past, self.config.window, x.device)
        rotation = rotation_at(state.position, num_new, self.config, x.device)
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, rotation, mask, state)
        return self.output_proj(self.norm(x))


class CodecTransformerLayer(nn.Module):
    """(T, hidden) -> (T, hidden)."""

    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.self_attn = _Attention(config)
        self.self_attn_layer_scale = LayerScale(config.hidden_size)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, eps=config.norm_eps)
        self.mlp = _GatedMlp(config)
        self.mlp_layer_scale = LayerScale(config.hidden_size)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor, state: StreamState) -> Tensor:
        x = x + self.self_attn_layer_scale(self.self_attn(self.input_layernorm(x), rotation, mask, state))
        return x + self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x)))


class _Attention(StatefulModule):
    """Keeps the keys and values of the last window - 1 frames."""

    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        width = config.num_heads * config.head_dim
        self._heads = (config.num_heads, config.head_dim)
        self._past = config.window - 1
        self.q_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)

    def fold(self) -> None:
        """Nothing to fold."""

    def initial_state(self) -> Tensor:
        """(2, heads, frames, head_dim): keys and values of no frames yet."""
        num_heads, head_dim = self._heads
        return self.q_proj.weight.new_empty(2, num_heads, 0, head_dim)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor], mask: Tensor, state: StreamState) -> Tensor:
        num_new = x.shape[0]
        query = rotated(self._by_head(self.q_proj(x)), rotation)
        new = torch.stack((rotated(self._by_head(self.k_proj(x)), rotation), self._by_head(self.v_proj(x))))
        seen = torch.cat((state.slots[self.slot], new), dim=2)
        state.slots[self.slot] = seen[:, :, max(0, seen.shape[2] - self._past) :].clone()
        y = F.scaled_dot_product_attention(query[None], seen[:1], seen[1:], attn_mask=mask)[0]
        return self.o_proj(y.transpose(0, 1).reshape(num_new, -1))

    def _by_head(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], *self._heads).transpose(0, 1)


class _GatedMlp(nn.Module):
    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LayerScale(nn.Module):
    """A learned gain per channel."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.empty(dim))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def window_mask(num_new: int, num_past: int, window: int, device: torch.device) -> Tensor:
    """(num_new, num_past + num_new), true where query i may see key j: the last `window` keys up to its own."""
    distance = torch.arange(num_past, num_past + num_new, device=device)[:, None] - torch.arange(
        num_past + num_new, device=device
    )
    return (distance >= 0) & (distance < window)


def rotation_at(
    start: int, num_frames: int, config: CodecTransformerConfig, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Cosine and sine of the rotary embedding, (num_frames, head_dim) each, halves repeated."""
    half = torch.arange(0, config.head_dim, 2, dtype=torch.float32, device=device) / config.head_dim
    positions = torch.arange(start, start + num_frames, dtype=torch.float32, device=device)
    angles = positions[:, None] * (1.0 / config.rope_theta**half)
    angles = torch.cat((angles, angles), dim=-1)
    return angles.cos(), angles.sin()


def rotated(x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """(..., frames, head_dim), its two halves turned against each other."""
    cosine, sine = rotation
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), dim=-1) * sine
