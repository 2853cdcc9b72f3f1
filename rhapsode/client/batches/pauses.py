"""How long to wait between two looks at a batch, and when to give up."""

from __future__ import annotations

import math
import time

from rhapsode.contract.batches import Batch
from rhapsode.errors import BatchWaitTimedOut

FIRST_PAUSE_S = 0.2
LAST_PAUSE_S = 5.0


class PollPauses:
    """Each a half longer than the one before, up to five seconds."""

    def __init__(self, timeout_s: float | None) -> None:
        self._timeout_s = math.inf if timeout_s is None else timeout_s
        self._until_s = time.monotonic() + self._timeout_s
        self._pause_s = FIRST_PAUSE_S

    def next_s(self, seen: Batch) -> float:
        """Raises `BatchWaitTimedOut`."""
        left_s = self._until_s - time.monotonic()
        if left_s <= 0:
            raise BatchWaitTimedOut(seen, self._timeout_s)
        pause_s, self._pause_s = self._pause_s, min(self._pause_s * 1.5, LAST_PAUSE_S)
        return min(pause_s, left_s)
