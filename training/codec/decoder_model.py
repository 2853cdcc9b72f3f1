"""The codec's decoder in training form: code vectors at 12.5 Hz to samples. Names as published."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from training.dimensions import CODEC, CodecDimensions
from training.layers import Attention, RMSNorm, SwiGLU, rotary_tables

FEATURES_PER_FRAME = 4
"""Columns per frame between the two halves of the decoder."""


class CausalConv(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel, dilation=dilation, groups=groups)
        self.history = (kernel - 1) * dilation

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x, (self.history, 0)) if self.history else x)


class CausalTransposedConv(nn.Module):
    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel, stride=stride)
        self.surplus = kernel - stride

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return x[..., : x.shape[-1] - self.surplus]


class SnakeBeta(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.zeros(dim))
        self.beta = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        return snake_beta(x, self.alpha, self.beta)


def snake_beta(x: Tensor, alpha: Tensor, beta: Tensor) -> Tensor:
    """x + sin²(x e^alpha) / (e^beta + 1e-9): one kernel each way on a GPU, plain torch elsewhere.

    x (B, C, T), alpha and beta (C,). Source of the function: BigVGAN (Lee et al., 2022).
    """
    if x.is_cuda:
        # torch's CPU build comes without Triton.
        from training.codec.snake_kernels import FusedSnakeBeta

        return FusedSnakeBeta.apply(x, alpha, beta)
    scale = 1.0 / (beta.exp()[None, :, None] + 1e-9)
    return x + scale.to(x.dtype) * torch.sin(x * alpha.exp()[None, :, None].to(x.dtype)).pow(2)


class ConvNeXt(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dwconv = CausalConv(dim, dim, 7, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=1e-6)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(0.1 * torch.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(self.dwconv(x).transpose(1, 2))
        h = self.pwconv2(F.gelu(self.pwconv1(h)))
        return x + (self.gamma * h).transpose(1, 2)


class LayerScale(nn.Module):
    def __init__(self, dim: int, initial: float) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((dim,), initial))

    def forward(self, x: Tensor) -> Tensor:
        return self.scale * x


class TransformerLayer(nn.Module):
    def __init__(self, c: CodecDimensions) -> None:
        super().__init__()
        no_norm = (nn.Identity(), nn.Identity())
        self.self_attn = Attention(c.hidden_size, c.num_heads, c.num_heads, c.head_dim, no_norm)
        self.mlp = SwiGLU(c.hidden_size, c.intermediate_size)
        self.input_layernorm = RMSNorm(c.hidden_size, c.norm_eps)
        self.post_attention_layernorm = RMSNorm(c.hidden_size, c.norm_eps)
        self.self_attn_layer_scale = LayerScale(c.hidden_size, c.layer_scale)
        self.mlp_layer_scale = LayerScale(c.hidden_size, c.layer_scale)

    def forward(self, x: Tensor, tables: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        x = x + self.self_attn_layer_scale(self.self_attn(self.input_layernorm(x), tables, mask))
        return x + self.mlp_layer_scale(self.mlp(self.post_attention_layernorm(x)))


class PreTransformer(nn.Module):
    def __init__(self, c: CodecDimensions) -> None:
        super().__init__()
        self._dimensions = c
        self.layers = nn.ModuleList([TransformerLayer(c) for _ in range(c.num_layers)])
        self.norm = RMSNorm(c.hidden_size, c.norm_eps)
        self.input_proj = nn.Linear(c.latent_dim, c.hidden_size)
        self.output_proj = nn.Linear(c.hidden_size, c.latent_dim)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, latent) both ways."""
        c, length = self._dimensions, x.shape[1]
        tables = rotary_tables(length, c.head_dim, c.rope_theta, x.device)
        places = torch.arange(length, device=x.device)
        age = places[:, None] - places[None]
        mask = (age >= 0) & (age < c.sliding_window)
        x = self.input_proj(x)
        for layer in self.layers:
            x = layer(x, tables, mask)
        return self.output_proj(self.norm(x))


class ResidualUnit(nn.Module):
    def __init__(self, dim: int, dilation: int) -> None:
        super().__init__()
        self.act1 = SnakeBeta(dim)
        self.conv1 = CausalConv(dim, dim, 7, dilation=dilation)
        self.act2 = SnakeBeta(dim)
        self.conv2 = CausalConv(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv2(self.act2(self.conv1(self.act1(x))))


class DecoderBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            SnakeBeta(inputs),
            CausalTransposedConv(inputs, outputs, 2 * rate, rate),
            *(ResidualUnit(outputs, dilation) for dilation in (1, 3, 9)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class CodecDecoder(nn.Module):
    """Codebooks (fixed), their two projections, and everything behind them."""

    books: Tensor

    def __init__(self, c: CodecDimensions = CODEC) -> None:
        super().__init__()
        self.register_buffer("books", torch.zeros(c.num_quantizers, c.codebook_size, c.vector_dim))
        self.first_proj = nn.Conv1d(c.vector_dim, c.codebook_dim, 1, bias=False)
        self.rest_proj = nn.Conv1d(c.vector_dim, c.codebook_dim, 1, bias=False)
        self.pre_conv = CausalConv(c.codebook_dim, c.latent_dim, 3)
        self.pre_transformer = PreTransformer(c)
        self.upsample = nn.ModuleList(
            nn.Sequential(CausalTransposedConv(c.latent_dim, c.latent_dim, ratio, ratio), ConvNeXt(c.latent_dim))
            for ratio in c.upsampling_ratios
        )
        widths = [c.decoder_dim // 2**stage for stage in range(len(c.upsample_rates) + 1)]
        self.decoder = nn.Sequential(
            CausalConv(c.latent_dim, c.decoder_dim, 7),
            *(DecoderBlock(widths[n], widths[n + 1], rate) for n, rate in enumerate(c.upsample_rates)),
            SnakeBeta(widths[-1]),
            CausalConv(widths[-1], 1, 7),
        )

    def vectors(self, codes: Tensor, kept: Tensor | None = None) -> Tensor:
        """codes (B, Q, T) -> (B, codebook_dim, T). `kept` (B,): how many codebooks count; None counts all."""
        first = F.embedding(codes[:, 0], self.books[0])
        rest = torch.zeros_like(first)
        for number in range(1, self.books.shape[0]):
            part = F.embedding(codes[:, number], self.books[number])
            rest = rest + (part if kept is None else part * (kept > number)[:, None, None])
        return self.first_proj(first.transpose(1, 2)) + self.rest_proj(rest.transpose(1, 2))

    def features(self, vectors: Tensor) -> Tensor:
        """(B, codebook_dim, T) -> (B, latent, 4 T)."""
        x = self.pre_transformer(self.pre_conv(vectors).transpose(1, 2)).transpose(1, 2)
        for stage in self.upsample:
            x = stage(x)
        return x

    def samples(self, features: Tensor) -> Tensor:
        """(B, latent, 4 T) -> (B, 1, 1920 T)."""
        return self.decoder(features)

    def forward(self, codes: Tensor) -> Tensor:
        return self.samples(self.features(self.vectors(codes))).clamp(-1, 1)
