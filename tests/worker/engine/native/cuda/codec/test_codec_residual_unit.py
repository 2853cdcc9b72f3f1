"""The fused residual unit is the two convolutions that it replaces."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

from worker.engine.native.cuda.codec.causal_conv import ConvWeights, Outputs
from worker.engine.native.cuda.codec.residual_unit import fits_one_program, residual_unit
from worker.engine.native.cuda.codec.snake import SnakeTable

HALF_TURN = 3.141592653589793


def wave(x: torch.Tensor, table: SnakeTable) -> torch.Tensor:
    return x + torch.sin(x * table.half_turns * HALF_TURN).square() * table.amplitude


def random_snake(random: torch.Generator, num_channels: int) -> SnakeTable:
    turns, gain = torch.rand(2, num_channels, generator=random, device=random.device)
    return SnakeTable(0.1 + turns, 0.1 + gain)


@pytest.mark.parametrize("num_channels", [96, 192])
def test_it_gives_what_two_convolutions_give(device: torch.device, random: torch.Generator, num_channels: int) -> None:
    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=random, device=device)

    rows, dilation = 70, 3
    look_back = ConvWeights(
        normal(7, num_channels, num_channels) / (7 * num_channels) ** 0.5, normal(num_channels), dilation, num_channels
    )
    mix = ConvWeights(normal(1, num_channels, num_channels) / num_channels**0.5, normal(num_channels), 1, num_channels)
    between, following = random_snake(random, num_channels), random_snake(random, num_channels)
    inputs = normal(2, look_back.rows_back + rows, num_channels)
    residual = normal(2, rows, num_channels)
    plain, active = torch.full_like(residual, torch.nan), torch.full_like(residual, torch.nan)

    residual_unit(inputs, look_back, between, mix, residual, Outputs(plain, active, following))

    kernel = look_back.taps.permute(2, 1, 0)
    heard = F.conv1d(inputs.transpose(1, 2), kernel, look_back.bias, dilation=dilation).transpose(1, 2)
    expected = wave(heard, between) @ mix.taps[0] + mix.bias + residual
    torch.testing.assert_close(plain, expected, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(active, wave(expected, following), atol=1e-4, rtol=1e-4)


def test_only_widths_that_it_was_measured_for_use_it() -> None:
    assert fits_one_program(torch.empty(1, 1, 96, dtype=torch.float16))
    assert fits_one_program(torch.empty(1, 1, 192, dtype=torch.float16))
    assert not fits_one_program(torch.empty(1, 1, 384, dtype=torch.float16))
    assert not fits_one_program(torch.empty(1, 1, 18, dtype=torch.float16))
    assert not fits_one_program(torch.empty(1, 1, 96))
