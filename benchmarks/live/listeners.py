"""Listeners in real time, one stream after the other, and what all of them heard."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.api.served_api import ServedApi
from benchmarks.live.listening import Playback, hear, seconds_of

APART_S = 0.1
"""Between the first words of two listeners."""


@dataclass
class Heard:
    """Of all listeners together. wrong: streams whose bytes were not those of the undisturbed one."""

    streams: int = 0
    audio_s: float = 0.0
    longest_gap_s: float = 0.0
    gaps: int = 0
    wrong: int = 0
    broken: Counter[str] = field(default_factory=Counter[str])

    def row(self) -> dict[str, object]:
        return {
            "streams": self.streams,
            "audio_h": round(self.audio_s / 3600, 2),
            "broken": dict(self.broken),
            "gaps": self.gaps,
            "longest_gap_ms": round(1000 * self.longest_gap_s),
            "wrong_bytes": self.wrong,
        }


@dataclass(frozen=True)
class Listening:
    """What is listened to, until when on the monotonic clock. digests: of each order's bytes; none: not looked at."""

    api: ServedApi
    orders: Sequence[dict[str, object]]
    until_s: float
    heard: Heard
    digests: Sequence[str] = ()

    async def run(self, number: int) -> None:
        """So many listeners, to their ends."""
        await asyncio.gather(*(self._listener(first) for first in range(number)))

    async def _listener(self, first: int) -> None:
        await asyncio.sleep(APART_S * first)
        number = first
        while time.monotonic() < self.until_s:
            await self._one(number % len(self.orders))
            number += 1

    async def _one(self, which: int) -> None:
        playback = Playback()
        told = await hear(self.api, self.orders[which], playback)
        heard = self.heard
        heard.streams += 1
        heard.gaps += playback.gaps
        heard.longest_gap_s = max(heard.longest_gap_s, playback.gap_s)
        if isinstance(told, str):
            heard.broken[told] += 1
            await asyncio.sleep(0.5)
            return
        heard.audio_s += seconds_of(told)
        heard.wrong += bool(self.digests) and hashlib.sha256(told).hexdigest() != self.digests[which]
