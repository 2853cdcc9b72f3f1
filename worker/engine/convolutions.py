"""A small stack of convolutions as numpy computes it; `training.aligner.model` has the same for training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

DILATIONS = (1, 2, 4, 1)
"""Of the residual layers, one after the other."""


@dataclass(frozen=True, slots=True)
class TapConvolution:
    """weight: (width * inputs, outputs), the taps one after the other. dilation: steps between taps."""

    weight: Floats
    bias: Floats
    width: int
    dilation: int

    def __call__(self, signal: Floats) -> Floats:
        """signal: (..., steps, inputs); as many steps come out, silence lies around them."""
        reach = self.width // 2 * self.dilation
        steps = signal.shape[-2]
        edges = [(0, 0)] * (signal.ndim - 2) + [(reach, reach), (0, 0)]
        padded = np.pad(signal, edges)
        taps = [padded[..., tap * self.dilation : tap * self.dilation + steps, :] for tap in range(self.width)]
        result: Floats = np.concatenate(taps, -1) @ self.weight + self.bias
        return result


@dataclass(frozen=True, slots=True)
class ConvolutionStack:
    """One layer that widens, residual layers, one that scores."""

    first: TapConvolution
    residual: tuple[TapConvolution, ...]
    last: TapConvolution

    def __call__(self, signal: Floats) -> Floats:
        """Scores, (..., steps, outputs)."""
        hidden = np.maximum(self.first(signal), 0)
        for layer in self.residual:
            hidden = hidden + np.maximum(layer(hidden), 0)
        return self.last(hidden)


def log_softmax(scores: Floats) -> Floats:
    """Logarithms of probabilities over the last axis."""
    shifted = scores - scores.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


def load_stack(tensors: Mapping[str, NDArray[np.float16]]) -> ConvolutionStack:
    """tensors: `<layer>.weight` (outputs, inputs, width) and `<layer>.bias` as torch has them, layers `first`,
    `residual.<n>`, `last`."""

    def layer(name: str, dilation: int = 1) -> TapConvolution:
        weight = tensors[f"{name}.weight"].astype(np.float32)
        flat = np.ascontiguousarray(weight.transpose(2, 1, 0).reshape(-1, weight.shape[0]))
        return TapConvolution(flat, tensors[f"{name}.bias"].astype(np.float32), weight.shape[2], dilation)

    residual = tuple(layer(f"residual.{number}", dilation) for number, dilation in enumerate(DILATIONS))
    return ConvolutionStack(layer("first"), residual, layer("last"))
