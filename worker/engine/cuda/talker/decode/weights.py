"""A loaded stack of transformer layers as the plain tensors that a frame step multiplies with."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from worker.engine.cuda.float8 import Float8Rows
from worker.engine.model.config import TransformerConfig
from worker.engine.model.layers import TransformerLayer, TransformerStack


@dataclass(frozen=True, slots=True)
class RotaryFactors:
    """cos, sin: float32 (positions, d / 2), of the pairs (i, i + d / 2)."""

    cos: Tensor
    sin: Tensor

    @classmethod
    def compute(cls, config: TransformerConfig, num_positions: int, device: torch.device) -> RotaryFactors:
        exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
        angles = torch.outer(torch.arange(num_positions, dtype=torch.float32), config.rope_theta**-exponents)
        return cls(angles.cos().to(device), angles.sin().to(device))


@dataclass(frozen=True, slots=True)
class Heads:
    """How many heads a layer has, and the norms over their width: weights (d,)."""

    num_heads: int
    num_kv_heads: int
    head_dim: int
    query_norm: Tensor
    key_norm: Tensor
    eps: float


@dataclass(frozen=True, slots=True)
class Float8Mlp:
    """The MLP's projections in eight bits, each output with its own scale."""

    gate_up: Float8Rows
    down: Float8Rows


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """Projections are (out, in): qkv holds queries, keys, values; gate_up holds gates, then ups.

    float8_mlp: what many rows are multiplied with in the place of `gate_up` and `down`; few rows wait for launches
    and not for products.
    """

    input_norm: Tensor
    qkv: Tensor
    heads: Heads
    output: Tensor
    post_norm: Tensor
    gate_up: Tensor
    down: Tensor
    float8_mlp: Float8Mlp | None = None


@dataclass(frozen=True, slots=True)
class TalkerTransformerWeights:
    layers: tuple[LayerWeights, ...]
    norm: Tensor
    eps: float
    rotary: RotaryFactors

    @classmethod
    def of(cls, stack: TransformerStack, config: TransformerConfig, num_positions: int) -> TalkerTransformerWeights:
        """Shares the stack's storage. num_positions: how many the rotary factors are made for."""
        return cls(
            layers=tuple(_layer(layer, config) for layer in stack.layers if isinstance(layer, TransformerLayer)),
            norm=stack.norm.weight.detach(),
            eps=config.rms_norm_eps,
            rotary=RotaryFactors.compute(config, num_positions, stack.norm.weight.device),
        )

    def with_float8_mlps(self) -> TalkerTransformerWeights:
        """The same layers; what many rows go through is rounded to eight bits."""
        return replace(self, layers=tuple(replace(layer, float8_mlp=_float8_mlp(layer)) for layer in self.layers))


def _float8_mlp(layer: LayerWeights) -> Float8Mlp:
    return Float8Mlp(Float8Rows.of(layer.gate_up), Float8Rows.of(layer.down))


def _layer(layer: TransformerLayer, config: TransformerConfig) -> LayerWeights:
    attention, mlp = layer.self_attn, layer.mlp
    norms = attention.qk_norm.weight.detach()
    return LayerWeights(
        input_norm=layer.input_layernorm.weight.detach(),
        qkv=attention.qkv.weight.detach(),
        heads=Heads(config.num_heads, config.num_kv_heads, config.head_dim, norms[0], norms[1], config.rms_norm_eps),
        output=attention.o_proj.weight.detach(),
        post_norm=layer.post_attention_layernorm.weight.detach(),
        gate_up=mlp.gate_up.weight.detach(),
        down=mlp.down_proj.weight.detach(),
    )
