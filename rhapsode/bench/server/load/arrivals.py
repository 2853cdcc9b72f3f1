"""When requests of an open loop are due, whether or not those before were answered. Pure."""

from __future__ import annotations

import random
from typing import Literal

Pattern = Literal["poisson", "even"]


def arrivals(pattern: Pattern, rate: float, seconds: float, seed: int) -> list[float]:
    """In seconds from the beginning, all of them below `seconds`, in order. rate: of requests a second.

    The same for the same seed; of two lengths, the shorter is the beginning of the longer.
    """
    if pattern == "even":
        count = int(seconds * rate)
        return [number / rate for number in range(count + 1) if number / rate < seconds]
    chance = random.Random(f"{seed}/{rate}")
    due_s: list[float] = []
    at_s = chance.expovariate(rate)
    while at_s < seconds:
        due_s.append(at_s)
        at_s += chance.expovariate(rate)
    return due_s
