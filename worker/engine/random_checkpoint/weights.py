"""Named tensors under construction, and where their random numbers come from."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

Draws = Callable[[str, tuple[int, ...]], Tensor]
"""float32 of a shape, evenly drawn from 0 to 1; the same for a name each time."""


def drawn_on(device: torch.device, name: str, shape: tuple[int, ...]) -> Tensor:
    """By the device's own generator: seconds instead of minutes for a published size."""
    generator = torch.Generator(device).manual_seed(zlib.crc32(name.encode()))
    return torch.rand(shape, generator=generator, device=device)


class Weights:
    """Named tensors under construction; `tensors` is what goes to the file."""

    def __init__(self, draws: Draws, dtype: torch.dtype) -> None:
        self.tensors: dict[str, torch.Tensor] = {}
        self._draws = draws
        self._dtype = dtype

    def spread(self, name: str, *shape: int, std: float = 1.0, mean: float = 0.0) -> None:
        """Uniform numbers of the given mean and standard deviation."""
        drawn = self._draws(name, shape)
        self.tensors[name] = ((drawn - 0.5) * (math.sqrt(12.0) * std) + mean).to(self._dtype).cpu()

    def linear(self, name: str, outputs: int, *inputs: int, gain: float = 1.0) -> None:
        """A linear or convolution weight that keeps its input's variance, times gain squared."""
        self.spread(f"{name}.weight", outputs, *inputs, std=gain / math.sqrt(math.prod(inputs)))

    def bias(self, name: str, dim: int) -> None:
        self.spread(f"{name}.bias", dim, std=0.02)

    def affine(self, name: str, outputs: int, *inputs: int, gain: float = 1.0) -> None:
        self.linear(name, outputs, *inputs, gain=gain)
        self.bias(name, outputs)

    def transposed(self, name: str, inputs: int, outputs: int, kernel: int, stride: int) -> None:
        """A transposed convolution; kernel / stride taps meet in each output."""
        self.spread(f"{name}.weight", inputs, outputs, kernel, std=1 / math.sqrt(inputs * kernel / stride))
        self.bias(name, outputs)

    def norm(self, name: str, dim: int) -> None:
        self.spread(f"{name}.weight", dim, mean=1.0, std=0.1)

    def codebook(self, name: str, total: str, size: int, dim: int) -> None:
        """A codebook as the file keeps it: moving sums and moving counts, the entry is their quotient."""
        self.spread(f"{name}.cluster_usage", size, mean=1.0, std=0.25)
        self.spread(f"{name}.{total}", size, dim)
        self.tensors[f"{name}.{total}"] *= self.tensors[f"{name}.cluster_usage"][:, None]

    def snake(self, name: str, dim: int) -> None:
        self.spread(f"{name}.alpha", dim, std=0.3)
        self.spread(f"{name}.beta", dim, std=0.3)

    def write(self, path: Path) -> None:
        save_file({name: t.contiguous() for name, t in self.tensors.items()}, path, metadata={"format": "pt"})
