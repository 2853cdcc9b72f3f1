"""Codec frames into sound: residual codebooks, a windowed transformer, and a stack of convolutions.

Everything looks back only, so a stream of chunks gives the samples of one pass over the whole utterance up to
rounding. Parameters carry the published names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from worker.engine.model.codec_config import CodecDecoderConfig
from worker.engine.model.codec_layers import (
    CausalConv,
    CausalTransposedConv,
    FoldedModule,
    PointwiseConv,
    SnakeBeta,
    StatefulModule,
    StreamState,
)
from worker.engine.model.codec_transformer import CodecTransformer
from worker.engine.model.weights import loaded

_CONVNEXT_NORM_EPS = 1e-6
_USAGE_FLOOR = 1e-5
_DILATIONS = (1, 3, 9)


class CodecDecoder(nn.Module):
    """Frames (T, Q) into samples (T · samples_per_frame,), chunk by chunk.

    Modules hold no state of a stream: any number of streams may take turns, also from different threads.
    """

    def __init__(self, config: CodecDecoderConfig) -> None:
        super().__init__()
        self.samples_per_frame = config.samples_per_frame
        self.quantizer = SplitQuantizer(config)
        self.pre_conv = CausalConv(config.codebook_dim, config.latent_dim, 3)
        self.pre_transformer = CodecTransformer(config.transformer, config.latent_dim)
        self.upsample = nn.ModuleList(
            nn.ModuleList((CausalTransposedConv(config.latent_dim, config.latent_dim, ratio, ratio), block))
            for ratio, block in ((ratio, ConvNeXt(config.latent_dim)) for ratio in config.upsampling_ratios)
        )
        widths = [config.decoder_dim >> halvings for halvings in range(len(config.upsample_rates) + 1)]
        blocks = [
            CodecDecoderBlock(*shape) for shape in zip(widths[:-1], widths[1:], config.upsample_rates, strict=True)
        ]
        self.decoder = nn.ModuleList(
            (
                CausalConv(config.latent_dim, config.decoder_dim, 7),
                *blocks,
                SnakeBeta(widths[-1]),
                CausalConv(widths[-1], 1, 7),
            )
        )
        self._stateful = [module for module in self.modules() if isinstance(module, StatefulModule)]
        for slot, module in enumerate(self._stateful):
            module.slot = slot

    @classmethod
    def load(cls, config: CodecDecoderConfig, tensors: Mapping[str, Tensor], source: str) -> CodecDecoder:
        """A float32 decoder on the CPU from tensors named as published, without the "decoder." prefix.

        Raises CheckpointError when names or shapes are not exactly the expected ones.
        """
        decoder = loaded(lambda: cls(config), tensors, source)
        for module in list(decoder.modules()):
            if isinstance(module, FoldedModule):
                module.fold()
        return decoder

    def new_stream(self) -> StreamState:
        return StreamState(position=0, slots=[module.initial_state() for module in self._stateful])

    def forward(self, frames: Tensor, state: StreamState) -> Tensor:
        """The samples of the stream's next frames. frames: (T, Q) int64, T ≥ 1; `state` moves on by T."""
        x = self.pre_conv(self.quantizer(frames), state)
        x = self.pre_transformer(x, state)
        for stage in self.upsample:
            widen, mix = cast("nn.ModuleList", stage)
            x = mix(widen(x, state), state)
        first, *blocks, activation, last = self.decoder
        x = first(x, state)
        for block in blocks:
            x = block(x, state)
        samples = last(activation(x), state)
        state.position += frames.shape[0]
        return samples[:, 0].clamp_(-1.0, 1.0)


class SplitQuantizer(nn.Module):
    """Codebook 0 and the sum of the others, each through its own projection."""

    def __init__(self, config: CodecDecoderConfig) -> None:
        super().__init__()
        self.rvq_first = _ResidualQuantizer(config, num_layers=1)
        self.rvq_rest = _ResidualQuantizer(config, num_layers=config.num_quantizers - 1)

    def forward(self, frames: Tensor) -> Tensor:
        return self.rvq_first(frames[:, :1]) + self.rvq_rest(frames[:, 1:])

    def projected_entries(self) -> Tensor:
        """(Q, size, codebook_dim): what each entry adds to the result."""
        return torch.cat((self.rvq_first.projected_entries(), self.rvq_rest.projected_entries()))


class _ResidualQuantizer(FoldedModule):
    """(T, layers) -> (T, codebook_dim): the chosen entries, summed and projected."""

    entries: Tensor
    first_rows: Tensor
    projection: Tensor

    def __init__(self, config: CodecDecoderConfig, num_layers: int) -> None:
        super().__init__()
        vector_dim = config.codebook_dim // 2
        self.input_proj = nn.Conv1d(config.codebook_dim, vector_dim, 1, bias=False)  # published; the encoder's side
        self.output_proj = nn.Conv1d(vector_dim, config.codebook_dim, 1, bias=False)
        self.vq = _VectorQuantizers(config.codebook_size, vector_dim, num_layers)
        self._codebook_size = config.codebook_size
        self._num_layers = num_layers

    def fold(self) -> None:
        self._constant("entries", self.vq.entries())
        self._constant("first_rows", torch.arange(self._num_layers) * self._codebook_size)
        self._constant("projection", self.output_proj.weight[:, :, 0])
        del self.input_proj, self.output_proj, self.vq

    def forward(self, codes: Tensor) -> Tensor:
        summed = F.embedding_bag(codes + self.first_rows, self.entries, mode="sum")
        return F.linear(summed, self.projection)

    def projected_entries(self) -> Tensor:
        """(layers, size, codebook_dim)."""
        return F.linear(self.entries, self.projection).view(self._num_layers, self._codebook_size, -1)


class _VectorQuantizers(nn.Module):
    """Published nesting of the codebooks of one residual quantizer."""

    def __init__(self, size: int, dim: int, num_layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.ModuleDict({"_codebook": _Codebook(size, dim)}) for _ in range(num_layers))

    def entries(self) -> Tensor:
        """(layers · size, dim), layer after layer."""
        codebooks = [cast("_Codebook", cast("nn.ModuleDict", layer)["_codebook"]) for layer in self.layers]
        return torch.cat([codebook.entries() for codebook in codebooks])


class _Codebook(nn.Module):
    """A codebook as training left it: moving sums of vectors, and how many they are sums of."""

    def __init__(self, size: int, dim: int) -> None:
        super().__init__()
        self.embedding_sum = nn.Parameter(torch.empty(size, dim))
        self.cluster_usage = nn.Parameter(torch.empty(size))

    def entries(self) -> Tensor:
        return self.embedding_sum / self.cluster_usage.clamp(min=_USAGE_FLOOR)[:, None]


class ConvNeXt(nn.Module):
    """Mixes time within each channel, then channels within each row."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dwconv = CausalConv(dim, dim, 7, groups=dim)
        self.norm = nn.LayerNorm(dim, eps=_CONVNEXT_NORM_EPS)
        self.pwconv1 = nn.Linear(dim, 4 * dim)
        self.pwconv2 = nn.Linear(4 * dim, dim)
        self.gamma = nn.Parameter(torch.empty(dim))

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        y = self.norm(self.dwconv(x, state))
        y = self.pwconv2(F.gelu(self.pwconv1(y)))
        return torch.addcmul(x, y, self.gamma)


class CodecDecoderBlock(nn.Module):
    """Raises the rate, then three residual units that look back ever further."""

    def __init__(self, inputs: int, outputs: int, rate: int) -> None:
        super().__init__()
        self.block = nn.ModuleList(
            (
                SnakeBeta(inputs),
                CausalTransposedConv(inputs, outputs, 2 * rate, rate),
                *(ResidualUnit(outputs, dilation) for dilation in _DILATIONS),
            )
        )

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        activation, widen, *units = self.block
        x = widen(activation(x), state)
        for unit in units:
            x = unit(x, state)
        return x


class ResidualUnit(nn.Module):
    """Adds what it hears in the last rows to the row itself."""

    def __init__(self, dim: int, dilation: int) -> None:
        super().__init__()
        self.act1 = SnakeBeta(dim)
        self.conv1 = CausalConv(dim, dim, 7, dilation=dilation)
        self.act2 = SnakeBeta(dim)
        self.conv2 = PointwiseConv(dim, dim)

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        return self.conv2(self.act2(self.conv1(self.act1(x), state))).add_(x)
