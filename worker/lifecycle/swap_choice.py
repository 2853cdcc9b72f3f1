"""Which model a worker should load next, judged by the waiting work. Pure.

What a swap costs decides how often there may be one. A worker serves a model at least nine times as long as the swap
took, so that swaps take at most a tenth of its time. If nothing waits for its current model, twice as long is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

STAY_COSTS = 9.0
IDLE_STAY_COSTS = 2.0
BEHIND_COSTS = 4.0
"""Workers that are behind by less have caught up nearly as soon without help."""

IDLE_S = 15.0
"""How long nothing has waited for the loaded model before another is loaded."""

BACKLOG_S = 300.0
"""How far the workers of another model are behind before one that idles joins them."""

PATIENCE_S = 900.0
"""How long something waits for a model that no worker serves before the only worker of another one puts that down with
work waiting.
"""


@dataclass(frozen=True, slots=True)
class ModelQueue:
    """What waits for a model.

    ready_items: could be claimed now. slots: of the workers that serve it. backlog_s: expected audio that is not
    spoken. pace: audio seconds that those workers speak in a second, 0 if that is not known. oldest_wait_s: the longest
    that a job has gone without a claim.
    """

    model: str
    ready_items: int
    slots: int
    backlog_s: float
    pace: float
    oldest_wait_s: float

    @property
    def behind_s(self) -> float:
        """What its workers need for the backlog; 0 if that is not known."""
        return self.backlog_s / self.pace if self.pace > 0 else 0.0


@dataclass(frozen=True, slots=True)
class OwnModel:
    """served_s: since it was loaded. cost_s: what the way to it took; 0 of the first. idle_s: for how long nothing has
    waited for it or was under way here. has_others: whether other workers serve it as well.
    """

    served_s: float
    cost_s: float
    idle_s: float
    has_others: bool


def choose(own: OwnModel, others: Iterable[ModelQueue]) -> str | None:
    """The model to load; None to stay.

    One that no worker serves comes first, the one that has waited longest; then the one whose workers are furthest
    behind, and that for a worker that idles.
    """
    is_idle = own.idle_s >= IDLE_S
    stay_costs = IDLE_STAY_COSTS if is_idle else STAY_COSTS
    if own.served_s < max(IDLE_S, stay_costs * own.cost_s):
        return None
    waiting = [each for each in others if each.ready_items]
    patience_s = IDLE_S if is_idle or own.has_others else PATIENCE_S
    unserved = [each for each in waiting if not each.slots and each.oldest_wait_s >= patience_s]
    if unserved:
        return max(unserved, key=lambda each: each.oldest_wait_s).model
    if not is_idle:
        return None
    far_s = max(BACKLOG_S, BEHIND_COSTS * own.cost_s)
    behind = [each for each in waiting if each.slots and each.behind_s >= far_s]
    return max(behind, key=lambda each: each.behind_s).model if behind else None
