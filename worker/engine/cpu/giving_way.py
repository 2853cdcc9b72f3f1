"""While a live stream would run dry, others skip their turn. Pure: time comes in.

On a CPU every row makes each frame slower for all, and the codec takes a core from the talker. The measure is the
listener's buffer: samples that were sent and are not played yet.
"""

from __future__ import annotations

from collections.abc import Iterable

from worker.engine.interface import Urgency
from worker.engine.requests.request_state import RequestState

LEAST_LEAD_S = 0.8
"""A chunk of a stream, 16 frames at most, and its pass of the codec take less, with prompts of others before them."""

LONGEST_PAUSE_S = 1.0
"""Then others have one turn, so that nothing waits for as long as anybody listens."""


class GivingWay:
    """Single-threaded: each lane has its own."""

    def __init__(self) -> None:
        self._since_s: float | None = None

    def holds(self, requests: Iterable[RequestState], now_s: float) -> bool:
        """Whether the others wait now. requests: all that are under way."""
        if not any(runs_short(request, now_s) for request in requests):
            self._since_s = None
            return False
        if self._since_s is None or now_s - self._since_s >= LONGEST_PAUSE_S:
            has_waited, self._since_s = self._since_s is not None, now_s
            return not has_waited
        return True


def runs_short(request: RequestState, now_s: float) -> bool:
    """Whether it is live speech whose listener has little left, and that has text to speak."""
    is_short = request.heard_until_s - now_s < LEAST_LEAD_S
    return request.urgency is Urgency.LIVE and is_short and not request.stands_still
