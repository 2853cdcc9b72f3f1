"""The one kernel that only training runs: as plain torch in double precision, there and back."""

from __future__ import annotations

import torch
from torch import Tensor

from training.codec.decoder_model import snake_beta

CHANNELS, LENGTH = 5, 2_500
"""More than two blocks, the last one not full."""


def value_and_gradients(device: str, dtype: torch.dtype) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    drawn = [torch.randn(shape, generator=generator) for shape in ((3, CHANNELS, LENGTH), (CHANNELS,), (CHANNELS,))]
    x, alpha, beta = (one.to(device, dtype).requires_grad_() for one in drawn)
    made = snake_beta(x, alpha, beta)
    (made * torch.linspace(0, 1, LENGTH, dtype=torch.float64).to(device, dtype)).sum().backward()
    gradients = [one.grad for one in (x, alpha, beta) if one.grad is not None]
    return [made.detach(), *gradients]


def test_snake_and_its_gradients_are_those_of_plain_torch() -> None:
    expected = value_and_gradients("cpu", torch.float64)

    found = value_and_gradients("cuda", torch.float32)

    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.cpu().double(), other, rtol=1e-5, atol=1e-5 * float(other.abs().max()))
