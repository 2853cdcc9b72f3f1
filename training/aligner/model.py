"""A small stack of convolutions for training; `worker.engine.convolutions` computes the same with numpy."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from worker.engine.convolutions import DILATIONS

_WIDTH = 5


class TrainedStack(nn.Module):
    """inputs, outputs: channels."""

    def __init__(self, inputs: int, channels: int, outputs: int) -> None:
        super().__init__()
        self.first = _convolution(inputs, channels, 1)
        self.residual = nn.ModuleList(_convolution(channels, channels, dilation) for dilation in DILATIONS)
        self.last = nn.Conv1d(channels, outputs, 1)

    def forward(self, signal: Tensor) -> Tensor:
        """signal: (batch, inputs, steps). Scores, (batch, outputs, steps)."""
        hidden = torch.relu(self.first(signal))
        for layer in self.residual:
            hidden = hidden + torch.relu(layer(hidden))
        scores: Tensor = self.last(hidden)
        return scores


def _convolution(inputs: int, outputs: int, dilation: int) -> nn.Conv1d:
    return nn.Conv1d(inputs, outputs, _WIDTH, dilation=dilation, padding=_WIDTH // 2 * dilation)


def num_parameters(model: nn.Module) -> int:
    return sum(each.numel() for each in model.parameters())
