"""What a decoder in training is judged by."""

from __future__ import annotations

import pytest
import torch

from training.codec.listening_losses import Discriminator, PeriodDiscriminator, discriminator_loss

PERIOD = 5


@pytest.mark.parametrize("size", [1_920, 1_921])
def test_every_part_judges_a_sound_of_any_length(size: int) -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(channels=2)

    judged = discriminator(torch.randn(2, 1, size))

    assert len(judged) == len(discriminator.parts)
    assert all(len(score) == 2 for score, _ in judged)
    assert all(bool(score.isfinite().all()) for score, _ in judged)


@torch.no_grad()
def test_phases_of_a_period_are_judged_apart() -> None:
    torch.manual_seed(0)
    part = PeriodDiscriminator(PERIOD, channels=2)
    sound = torch.randn(1, 1, 400 * PERIOD)
    other = sound.clone()
    other[..., 3::PERIOD] *= -1

    changed = (part(sound)[0] != part(other)[0]).any(2).flatten()

    assert changed.tolist() == [phase == 3 for phase in range(PERIOD)]


def test_all_parts_learn_to_tell_two_sounds_apart() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(channels=2)

    judged = discriminator(torch.randn(4, 1, 1_920))
    discriminator_loss([s[:2] for s, _ in judged], [s[2:] for s, _ in judged]).backward()

    # The two sides of the hinge pull at a score's offset with equal force, so the last biases may have no gradient.
    weights = [(name, p.grad) for name, p in discriminator.named_parameters() if p.ndim > 1]
    assert [name for name, gradient in weights if gradient is None or not gradient.any()] == []
