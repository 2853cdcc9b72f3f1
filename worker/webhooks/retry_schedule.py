"""When a delivery that was not taken is tried again. Pure.

Standard Webhooks' schedule, about three days in all. The delays are 0, 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h
and 24 h after the previous attempt.
"""

from __future__ import annotations

import random
import time
from email.utils import parsedate_to_datetime

DELAYS_S = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)

JITTER = 0.2
"""Share of a delay by which it is longer or shorter, so that what failed together does not come back together."""

LONGEST_RETRY_AFTER_S = 24 * 3600.0

ASKS_FOR_PEACE = frozenset({429, 503})
"""Statuses whose Retry-After is respected."""


def retry_delay_s(delays_s: tuple[float, ...], tries: int, wished_s: float | None) -> float | None:
    """Seconds until the next attempt; None when there is none.

    tries: attempts so far, the one that just failed among them. wished_s: what the receiver asked for, which makes a
    delay longer and never shorter.
    """
    if tries > len(delays_s):
        return None
    delay_s = delays_s[tries - 1] * random.uniform(1 - JITTER, 1 + JITTER)
    return max(delay_s, wished_s or 0.0)


def wished_delay_s(status: int, retry_after: str | None) -> float | None:
    """What the receiver's Retry-After asks for, up to a day; None if it asks for nothing that can be understood."""
    if status not in ASKS_FOR_PEACE or retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(min(int(text[:12]), int(LONGEST_RETRY_AFTER_S)))
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return min(max(0.0, moment.timestamp() - time.time()), LONGEST_RETRY_AFTER_S)
