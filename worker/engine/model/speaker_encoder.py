"""A voice as one vector: ECAPA-TDNN (Desplanques et al., 2020) over log mel rows.

Parameters carry the published names. Recordings of different lengths go side by side: each is mirrored at its own ends,
and whatever is taken over the time of a recording is taken over its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from worker.engine.model.config import ConfigFields
from worker.engine.model.mel import NUM_BANDS, SAMPLE_RATE_HZ
from worker.engine.model.padded_batch import PaddedBatch

_VARIANCE_FLOOR = 1e-12


@dataclass(frozen=True, slots=True)
class SpeakerEncoderConfig:
    """The defaults are the published encoder's: its configuration file names only `embedding_dim`."""

    embedding_dim: int
    channels: tuple[int, ...] = (512, 512, 512, 512, 1536)
    kernel_sizes: tuple[int, ...] = (5, 3, 3, 3, 1)
    dilations: tuple[int, ...] = (1, 2, 3, 4, 1)
    attention_channels: int = 128
    res2net_scale: int = 8
    se_channels: int = 128

    @property
    def min_rows(self) -> int:
        """Mel rows that the widest mirrored edge needs."""
        return 1 + max(_edge(k, d) for k, d in zip(self.kernel_sizes, self.dilations, strict=True))


def speaker_encoder_config_from(fields: ConfigFields) -> SpeakerEncoderConfig:
    """The `speaker_encoder_config` section. Raises CheckpointError naming the field."""
    fields.require(sample_rate=SAMPLE_RATE_HZ)
    if fields.has("mel_dim"):
        fields.require(mel_dim=NUM_BANDS)
    sizes, lists = ("attention_channels", "res2net_scale", "se_channels"), ("channels", "kernel_sizes", "dilations")
    # A published file names none of these.
    given: dict[str, Any] = {name: fields.integers(f"enc_{name}") for name in lists if fields.has(f"enc_{name}")}
    given |= {name: fields.integer(f"enc_{name}") for name in sizes if fields.has(f"enc_{name}")}
    config = SpeakerEncoderConfig(fields.integer("enc_dim"), **given)
    if not len(config.channels) == len(config.kernel_sizes) == len(config.dilations) >= 3:
        raise fields.wrong("enc_channels", "needs a kernel size and a dilation for each of at least three stages")
    if config.channels[-1] != sum(config.channels[1:-1]):
        raise fields.wrong("enc_channels", "should end in the sum of those between its first and its last")
    return config


class SpeakerEncoder(nn.Module):
    """Log mel rows (B, T, 128) into embeddings (B, D). Each recording has at least the configuration's `min_rows`."""

    def __init__(self, config: SpeakerEncoderConfig) -> None:
        super().__init__()
        wide = config.channels[-1]
        shapes = zip(config.channels, config.kernel_sizes, config.dilations, strict=True)
        (first, *middle, last) = shapes
        inputs = [first[0], *(channels for channels, _, _ in middle)]
        self.blocks = nn.ModuleList(
            (
                _Tdnn(NUM_BANDS, *first),
                *(_SeRes2Net(width, *shape, config) for width, shape in zip(inputs, middle, strict=False)),
            )
        )
        self.mfa = _Tdnn(wide, *last)
        self.asp = _AttentivePooling(wide, config.attention_channels)
        self.fc = nn.Conv1d(2 * wide, config.embedding_dim, 1)

    def forward(self, log_mel: Tensor, batch: PaddedBatch) -> Tensor:
        first, *middle = self.blocks
        x = first(log_mel.transpose(1, 2), batch)
        outputs: list[Tensor] = []
        for block in middle:
            x = block(x, batch)
            outputs.append(x)
        pooled = self.asp(self.mfa(torch.cat(outputs, dim=1), batch), batch)
        return self.fc(pooled)[:, :, 0]


class _Tdnn(nn.Module):
    """(B, inputs, T) -> (B, outputs, T), mirrored at the edges."""

    def __init__(self, inputs: int, outputs: int, kernel_size: int, dilation: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel_size, dilation=dilation)
        self._edge = _edge(kernel_size, dilation)

    def forward(self, x: Tensor, batch: PaddedBatch) -> Tensor:
        return F.relu(self.conv(batch.mirrored(x, self._edge)))


class _SeRes2Net(nn.Module):
    def __init__(
        self, inputs: int, outputs: int, kernel_size: int, dilation: int, config: SpeakerEncoderConfig
    ) -> None:
        super().__init__()
        self.tdnn1 = _Tdnn(inputs, outputs, 1, 1)
        self.res2net_block = _Res2Net(outputs, kernel_size, dilation, config.res2net_scale)
        self.tdnn2 = _Tdnn(outputs, outputs, 1, 1)
        self.se_block = _SqueezeExcitation(outputs, config.se_channels)

    def forward(self, x: Tensor, batch: PaddedBatch) -> Tensor:
        wide = self.res2net_block(self.tdnn1(x, batch), batch)
        return x + self.se_block(self.tdnn2(wide, batch), batch)


class _Res2Net(nn.Module):
    """Groups of channels in a chain: each sees its own and the result of the one before; the first passes through."""

    def __init__(self, channels: int, kernel_size: int, dilation: int, scale: int) -> None:
        super().__init__()
        width = channels // scale
        self.blocks = nn.ModuleList(_Tdnn(width, width, kernel_size, dilation) for _ in range(scale - 1))

    def forward(self, x: Tensor, batch: PaddedBatch) -> Tensor:
        untouched, second, *others = x.chunk(len(self.blocks) + 1, dim=1)
        first_block, *other_blocks = self.blocks
        results = [untouched, first_block(second, batch)]
        for block, group in zip(other_blocks, others, strict=True):
            results.append(block(group + results[-1], batch))
        return torch.cat(results, dim=1)


class _SqueezeExcitation(nn.Module):
    """Scales each channel by what the whole recording says about it."""

    def __init__(self, channels: int, narrow: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv1d(channels, narrow, 1)
        self.conv2 = nn.Conv1d(narrow, channels, 1)

    def forward(self, x: Tensor, batch: PaddedBatch) -> Tensor:
        summary = F.relu(self.conv1(batch.mean(x)))
        return x * torch.sigmoid(self.conv2(summary))


class _AttentivePooling(nn.Module):
    """(B, C, T) -> (B, 2C, 1): mean and deviation over time, weighted by attention."""

    def __init__(self, channels: int, attention_channels: int) -> None:
        super().__init__()
        self.tdnn = _Tdnn(3 * channels, attention_channels, 1, 1)
        self.conv = nn.Conv1d(attention_channels, channels, 1)

    def forward(self, x: Tensor, batch: PaddedBatch) -> Tensor:
        even = batch.inside / batch.lengths
        context = torch.cat((x, *(statistic.expand_as(x) for statistic in _mean_and_deviation(x, even))), dim=1)
        scores = self.conv(torch.tanh(self.tdnn(context, batch)))
        weights = torch.softmax(scores.masked_fill(~batch.inside, -torch.inf), dim=2)
        return torch.cat(_mean_and_deviation(x, weights), dim=1)


def _mean_and_deviation(x: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    mean = (weights * x).sum(dim=2, keepdim=True)
    variance = (weights * (x - mean).square()).sum(dim=2, keepdim=True)
    return mean, variance.clamp(min=_VARIANCE_FLOOR).sqrt()


def _edge(kernel_size: int, dilation: int) -> int:
    return dilation * (kernel_size - 1) // 2
