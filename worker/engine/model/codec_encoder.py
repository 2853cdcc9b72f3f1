"""Sound into codec frames: strided convolutions, a windowed transformer, nearest codebook entries (Mimi).

In float32: a tie decided by a rounder format is another code. Parameters carry the published names; the file holds more
acoustic codebooks than the decoder knows, and only those are computed.

Each clip goes through the convolutions alone: one fills a GPU, and a second would only take memory. After them, at 25
positions a second, all clips share a batch. Everything is causal, so what is padded at the end of a clip is not seen by
any of its positions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pad_sequence

from worker.engine.model.codec_config import CodecEncoderConfig, CodecTransformerConfig
from worker.engine.model.codec_transformer import LayerScale, rotated, rotation_at, window_mask

_USAGE_FLOOR = 1e-5
# Positions of the transformer to a frame.
_DOWNSAMPLING = 2
# Queries that attend together: bounds the attention matrix of a long clip to block × (block + window).
_QUERY_BLOCK = 256


class CodecEncoder(nn.Module):
    """Samples (S,) of each clip into its frames (S / samples_per_frame, Q) int64. S is a whole number of frames."""

    def __init__(self, config: CodecEncoderConfig, num_quantizers: int) -> None:
        super().__init__()
        self.encoder = _ConvStack(config)
        self.encoder_transformer = _Transformer(config.transformer)
        hidden = config.transformer.hidden_size
        self.downsample = _CausalConv(hidden, hidden, 2 * _DOWNSAMPLING, _DOWNSAMPLING, bias=False)
        self.quantizer = _SplitQuantizer(config)
        self._num_quantizers = num_quantizers
        self._samples_per_frame = math.prod(config.strides) * _DOWNSAMPLING

    def forward(self, clips: Sequence[Tensor]) -> tuple[Tensor, ...]:
        heard = [self.encoder(samples[None]).T for samples in clips]
        latent = self.encoder_transformer(pad_sequence(heard, batch_first=True))
        # Upstream repeats the first column to the left here, where every other convolution sees zeros.
        latent = self.downsample.conv(F.pad(latent.transpose(1, 2), (2, 0), mode="replicate")).transpose(1, 2)
        lengths = [samples.shape[0] // self._samples_per_frame for samples in clips]
        inside = torch.cat([latent[number, :length] for number, length in enumerate(lengths)])
        return self.quantizer(inside, self._num_quantizers).split(lengths)


class _CausalConv(nn.Module):
    """(…, inputs, T) -> (…, outputs, T / stride); T is a multiple of the stride."""

    def __init__(self, inputs: int, outputs: int, kernel_size: int, stride: int = 1, *, bias: bool = True) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel_size, stride, bias=bias)
        self._past = kernel_size - stride

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x, (self._past, 0)))


class _ConvStack(nn.Module):
    """(1, S) -> (hidden, S / product of strides)."""

    def __init__(self, config: CodecEncoderConfig) -> None:
        super().__init__()
        width = config.num_filters
        layers: list[nn.Module] = [_CausalConv(1, width, config.kernel_size)]
        for stride in config.strides:
            layers += [_ResidualUnit(config, width), nn.ELU(), _CausalConv(width, 2 * width, 2 * stride, stride)]
            width *= 2
        layers += [nn.ELU(), _CausalConv(width, config.transformer.hidden_size, config.last_kernel_size)]
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class _ResidualUnit(nn.Module):
    def __init__(self, config: CodecEncoderConfig, dim: int) -> None:
        super().__init__()
        narrow = dim // config.residual_compression
        self.block = nn.ModuleList(
            (nn.ELU(), _CausalConv(dim, narrow, config.residual_kernel_size), nn.ELU(), _CausalConv(narrow, dim, 1))
        )

    def forward(self, x: Tensor) -> Tensor:
        y = x
        for layer in self.block:
            y = layer(y)
        return x + y


class _Transformer(nn.Module):
    """(B, T, hidden) -> (B, T, hidden)."""

    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        self._config = config
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config.num_layers))

    def forward(self, x: Tensor) -> Tensor:
        rotation = rotation_at(0, x.shape[1], self._config, x.device)
        for layer in self.layers:
            x = layer(x, rotation)
        return x


class _Layer(nn.Module):
    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        self.input_layernorm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.self_attn = _Attention(config)
        self.self_attn_layer_scale = LayerScale(config.hidden_size)
        self.post_attention_layernorm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.mlp = _Mlp(config)
        self.mlp_layer_scale = LayerScale(config.hidden_size)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        x = x + self.self_attn_layer_scale(self.self_attn(self.input_layernorm(x), rotation))
        return x + self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x)))


class _Attention(nn.Module):
    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        width = config.num_heads * config.head_dim
        self._heads = (config.num_heads, config.head_dim)
        self._window = config.window
        self.q_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        query, key = rotated(self._by_head(self.q_proj(x)), rotation), rotated(self._by_head(self.k_proj(x)), rotation)
        value = self._by_head(self.v_proj(x))
        blocks: list[Tensor] = []
        for start in range(0, x.shape[1], _QUERY_BLOCK):
            end = min(start + _QUERY_BLOCK, x.shape[1])
            first = max(0, start - self._window + 1)
            mask = window_mask(end - start, start - first, self._window, x.device)
            blocks.append(
                F.scaled_dot_product_attention(
                    query[:, :, start:end], key[:, :, first:end], value[:, :, first:end], attn_mask=mask
                )
            )
        return self.o_proj(torch.cat(blocks, dim=2).transpose(1, 2).flatten(2))

    def _by_head(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, self._heads).transpose(1, 2)


class _Mlp(nn.Module):
    def __init__(self, config: CodecTransformerConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.fc2 = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(F.gelu(self.fc1(x)))


class _SplitQuantizer(nn.Module):
    """Codebook 0 and the residual chain of the others, each on its own projection of the same latent."""

    def __init__(self, config: CodecEncoderConfig) -> None:
        super().__init__()
        self.semantic_residual_vector_quantizer = _ResidualQuantizer(config, num_layers=1)
        self.acoustic_residual_vector_quantizer = _ResidualQuantizer(config, num_layers=config.num_quantizers - 1)

    def forward(self, latent: Tensor, num_quantizers: int) -> Tensor:
        semantic = self.semantic_residual_vector_quantizer(latent, 1)
        return torch.cat((semantic, self.acoustic_residual_vector_quantizer(latent, num_quantizers - 1)), dim=1)


class _ResidualQuantizer(nn.Module):
    """(T, hidden) -> (T, levels): at each level the entry nearest to what the levels before left over."""

    def __init__(self, config: CodecEncoderConfig, num_layers: int) -> None:
        super().__init__()
        hidden, vector_dim = config.transformer.hidden_size, config.codebook_dim
        self.input_proj = nn.Conv1d(hidden, vector_dim, 1, bias=False)
        self.output_proj = nn.Conv1d(vector_dim, hidden, 1, bias=False)  # published; the decoder's side
        self.layers = nn.ModuleList(
            nn.ModuleDict({"codebook": _Codebook(config.codebook_size, vector_dim)}) for _ in range(num_layers)
        )

    def forward(self, latent: Tensor, levels: int) -> Tensor:
        residual = F.linear(latent, self.input_proj.weight[:, :, 0])
        codes: list[Tensor] = []
        for layer in list(self.layers)[:levels]:
            entries = cast("_Codebook", cast("nn.ModuleDict", layer)["codebook"]).entries()
            nearest = torch.cdist(residual[None], entries[None])[0].argmin(dim=-1)
            residual = residual - entries[nearest]
            codes.append(nearest)
        return torch.stack(codes, dim=1)


class _Codebook(nn.Module):
    """A codebook as training left it: moving sums of vectors, and how many they are sums of."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self.initialized = nn.Parameter(torch.empty(1))  # published; says that training has filled the entries
        self.cluster_usage = nn.Parameter(torch.empty(size))
        self.embed_sum = nn.Parameter(torch.empty(size, dim))

    def entries(self) -> Tensor:
        return self.embed_sum / self.cluster_usage.clamp(min=_USAGE_FLOOR)[:, None]
