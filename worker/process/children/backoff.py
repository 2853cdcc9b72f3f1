"""How long to wait before a child is started again."""

from __future__ import annotations

FIRST_DELAY_S = 0.5
LONGEST_DELAY_S = 30.0


class Backoff:
    """Delays between starts: doubling while children end without having served anything."""

    def __init__(self) -> None:
        self._next_s = FIRST_DELAY_S

    def delay_s(self, *, served: bool) -> float:
        """After a child that ended; `served` if it finished at least one call."""
        if served:
            self._next_s = FIRST_DELAY_S
        delay_s = self._next_s
        self._next_s = min(2 * delay_s, LONGEST_DELAY_S)
        return delay_s
