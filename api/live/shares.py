"""Live places are divided among tenants: who has a share of them leaves the last ones to those who were refused."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable

from storage.ids import TenantId

WAITING_S = 5.0
"""For which a tenant that was refused a place counts as one that waits. Clients ask again within a second."""


class PlaceShares:
    """Of one process: each process sees the streams and refusals of its callers."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused: dict[tuple[str, TenantId], float] = {}

    def refused(self, model: str, tenant: TenantId) -> None:
        self._refused[model, tenant] = self._clock()

    def has_enough(self, model: str, tenant: TenantId, held: Counter[TenantId], free: int) -> bool:
        """Whether what is free belongs to tenants that wait. held: streams of this model, by tenant."""
        waiting = self._waiting(model) - {tenant}
        if not waiting or free > len(waiting):
            return False
        tenants = held.keys() | waiting | {tenant}
        share = math.ceil((held.total() + free) / len(tenants))
        return held[tenant] >= share and any(held[each] < share for each in waiting)

    def _waiting(self, model: str) -> set[TenantId]:
        since_s = self._clock() - WAITING_S
        self._refused = {each: at_s for each, at_s in self._refused.items() if at_s > since_s}
        return {tenant for asked, tenant in self._refused if asked == model}
