"""What speech costs."""

from __future__ import annotations


def cost_of_audio_hour(price_per_hour: float, audio_s_per_s: float) -> float:
    """In the currency of the price of an hour of what speaks, with that busy all the time."""
    return price_per_hour / audio_s_per_s
