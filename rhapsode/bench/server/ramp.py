"""How the most streams that a server carries are found: by doubling, then by halving what is between. Pure."""

from __future__ import annotations

from collections.abc import Mapping

NEAR = 8
"""An eighth of what is carried: nearer is within what two runs differ by."""


def next_streams(tried: Mapping[int, bool], most: int) -> int | None:
    """The number to try next, of 1 to `most`; None once it is known. tried: whether each of them was carried.

    What lies above a number that was not carried is not tried, even if some of it was by chance.
    """
    failed = min((streams for streams, is_carried in tried.items() if not is_carried), default=most + 1)
    carried = max((streams for streams, is_carried in tried.items() if is_carried and streams < failed), default=0)
    if failed - carried <= max(1, carried // NEAR):
        return None
    return min(most, 2 * carried or 1) if failed > most else (carried + failed) // 2
