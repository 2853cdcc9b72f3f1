"""Drawing codes from logits, many rows at once.

A draw is `argmax(logits / temperature + Gumbel noise)` over the entries that the filters leave, which is a draw from
the filtered softmax. The noise is a pure function of (seed, frame, codebook, vocabulary index), without generator
state. So a request's draws do not depend on its batch, its row or a restart.

Nothing here reads a tensor back to the host. Filters are applied in the order penalty, temperature, top-k, top-p.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from worker.engine.interface import TokenSampling

# The output function of SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014),
# whose counter form is stateless. Constants as signed 64-bit numbers; the products wrap.
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_MIX_1 = 0xBF58476D1CE4E5B9 - (1 << 64)
_MIX_2 = 0x94D049BB133111EB - (1 << 64)
_FRAME_STRIDE = 0xD1342543DE82EF95 - (1 << 64)

# Upstream generates with `min_new_tokens=2`: the end cannot be drawn for the first two frames.
MIN_FRAMES = 2

# Every uniform (k + 0.5) / 2^23 has an exact fp32 representation below 1, so its double logarithm is finite.
_UNIFORM_BITS = 23


@dataclass(frozen=True, slots=True)
class Argmax:
    """No row draws: the most likely entry."""


@dataclass(frozen=True, slots=True)
class TopK:
    """Some row draws, none has a top-p. `width`: the largest k of any row."""

    width: int


@dataclass(frozen=True, slots=True)
class TopP:
    """Some row has a top-p: the whole vocabulary is sorted."""


Draw = Argmax | TopK | TopP
"""The cheapest computation that serves every row of a step; the host knows it from the requests alone."""


def draw_for(rows: Iterable[TokenSampling], vocab_size: int) -> Draw:
    drawing = [row for row in rows if row.temperature > 0]
    if not drawing:
        return Argmax()
    if any(row.top_p < 1 for row in drawing):
        return TopP()
    return TopK(max(effective_k(row, vocab_size) for row in drawing))


class RowSampling:
    """Sampling parameters of every row, on the device.

    inverse_temperature, noise_scale, top_p: float32 (rows,); top_k: int64 (rows,). A row that takes the most likely
    entry has scale 0, temperature 1 and no filters.
    """

    def __init__(self, num_rows: int, vocab_size: int, device: torch.device) -> None:
        self.inverse_temperature = torch.ones(num_rows, dtype=torch.float32, device=device)
        self.noise_scale = torch.zeros(num_rows, dtype=torch.float32, device=device)
        self.top_k = torch.full((num_rows,), vocab_size, dtype=torch.int64, device=device)
        self.top_p = torch.ones(num_rows, dtype=torch.float32, device=device)
        self._vocab_size = vocab_size

    def set(self, row: int, sampling: TokenSampling) -> None:
        draws = sampling.temperature > 0
        self.inverse_temperature[row] = 1 / sampling.temperature if draws else 1.0
        self.noise_scale[row] = 1.0 if draws else 0.0
        self.top_k[row] = effective_k(sampling, self._vocab_size) if draws else self._vocab_size
        self.top_p[row] = sampling.top_p if draws else 1.0

    def move(self, source: int, target: int) -> None:
        for tensor in (self.inverse_temperature, self.noise_scale, self.top_k, self.top_p):
            tensor[target] = tensor[source]

    def at(self, rows: Tensor) -> StepSampling:
        """rows: int64 (B,)."""
        return StepSampling(
            self.inverse_temperature[rows].unsqueeze(1),
            self.noise_scale[rows].unsqueeze(1),
            self.top_k[rows].unsqueeze(1),
            self.top_p[rows].unsqueeze(1),
        )


@dataclass(frozen=True, slots=True)
class StepSampling:
    """The rows of one step; all (B, 1)."""

    inverse_temperature: Tensor
    noise_scale: Tensor
    top_k: Tensor
    top_p: Tensor


class NoiseTable:
    """Gumbel noise for all codebooks of a frame at once.

    Lane = (codebook, vocabulary index); `lanes` holds one 64-bit counter per lane.
    """

    def __init__(self, vocab_sizes: Iterable[int], device: torch.device) -> None:
        self.vocab_sizes = tuple(vocab_sizes)
        counters = [
            (codebook << 32) + torch.arange(size, dtype=torch.int64) + 1
            for codebook, size in enumerate(self.vocab_sizes)
        ]
        self._lanes = (torch.cat(counters) * _GOLDEN).to(device)

    def at(self, seeds: Tensor, frames: Tensor) -> tuple[Tensor, ...]:
        """seeds, frames: int64 (B,) -> one float32 (B, vocab_size) per codebook."""
        start = _mix(_mix(seeds) + frames * _FRAME_STRIDE)
        bits = _mix(start.unsqueeze(1) + self._lanes)
        uniform = _shift_right(bits, 64 - _UNIFORM_BITS).to(torch.float32).add_(0.5).mul_(2.0**-_UNIFORM_BITS)
        gumbel = uniform.log_().neg_().log_().neg_()
        return gumbel.split(self.vocab_sizes, dim=1)


def sample(logits: Tensor, noise: Tensor, rows: StepSampling, draw: Draw) -> tuple[Tensor, Tensor]:
    """logits, noise: float32 (B, V) -> indices int64 (B,), and the winning scores (B,), non-finite in a sick row.

    `noise` is not looked at when the draw is `Argmax`.
    """
    if isinstance(draw, Argmax):
        scores, indices = logits.max(dim=-1)
        return indices, scores
    scaled = logits * rows.inverse_temperature
    threshold = _top_k_threshold(scaled, rows, draw) if isinstance(draw, TopK) else _top_p_threshold(scaled, rows)
    # A NaN compares false with any threshold, so it stays and wins the maximum: the sick row shows.
    perturbed = torch.addcmul(scaled, noise, rows.noise_scale).masked_fill_(scaled < threshold, -math.inf)
    scores, indices = perturbed.max(dim=-1)
    return indices, scores


def penalise_repetition(logits: Tensor, present: Tensor, penalty: Tensor) -> Tensor:
    """Entries drawn before lose likelihood: positive logits are divided, negative ones multiplied.

    logits (B, V), present: bool (B, V), penalty (B, 1).
    """
    return torch.where(present, torch.where(logits > 0, logits / penalty, logits * penalty), logits)


def _top_k_threshold(scaled: Tensor, rows: StepSampling, draw: TopK) -> Tensor:
    """The k-th largest value of each row, (B, 1); entries equal to it stay, as upstream has it."""
    width = min(draw.width, scaled.shape[-1])
    largest = torch.topk(scaled, width, dim=-1).values
    # A row that only shares the batch with drawing ones may have a larger k than any of them: no filter for it.
    threshold = largest.gather(1, (rows.top_k - 1).clamp_max(width - 1))
    return torch.where(rows.top_k > width, -math.inf, threshold)


def _top_p_threshold(scaled: Tensor, rows: StepSampling) -> Tensor:
    """The smallest value of each row that top-k and then top-p keep, (B, 1).

    Top-p keeps an entry while the probability of all larger ones is below p, so at least the largest.
    """
    ordered = scaled.sort(dim=-1, descending=True).values
    ranks = torch.arange(ordered.shape[-1], device=ordered.device)
    ordered_kept = ordered.masked_fill(ranks >= rows.top_k, -math.inf)
    probabilities = ordered_kept.softmax(dim=-1)
    before = probabilities.cumsum(dim=-1) - probabilities
    in_nucleus = (before < rows.top_p) | (rows.top_p >= 1)
    count = (in_nucleus & (ranks < rows.top_k)).sum(dim=-1, keepdim=True)
    return ordered.gather(1, (count - 1).clamp_min(0))


def effective_k(sampling: TokenSampling, vocab_size: int) -> int:
    return sampling.top_k if 0 < sampling.top_k < vocab_size else vocab_size


def _mix(z: Tensor) -> Tensor:
    z = (z ^ _shift_right(z, 30)) * _MIX_1
    z = (z ^ _shift_right(z, 27)) * _MIX_2
    return z ^ _shift_right(z, 31)


def _shift_right(z: Tensor, bits: int) -> Tensor:
    """Logical shift: torch has only the arithmetic one."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)
