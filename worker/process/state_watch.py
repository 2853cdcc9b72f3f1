"""Notice that Redis lost something, and bring it back before anything is claimed.

An older copy of this state (a backup, a file without its last second, a lagging replica) is reconciled at once. An
empty or another Redis is not: it may be the wrong one, and a backup would bring back more than the journal knows
(voices, keys). Then claims wait for an operator.
"""

from __future__ import annotations

import logging

from storage.database.redis_errors import StateRedis
from storage.objects.store import ArtifactStore
from storage.queue.celery_queue import TicketQueue
from storage.recovery.reconcile import Reconciler
from storage.recovery.state_guard import StateFinding, StateGuard

logger = logging.getLogger(__name__)

BEHIND = "Redis is older than the object store says, and what it lost is being brought back"
STRANGE = (
    "Redis is empty, or another one than the object store belongs to: start Redis on its data, or bring back the jobs "
    "that the store knows of with `rhapsode reconcile`"
)


class StateWatch:
    """The janitor's."""

    def __init__(self, guard: StateGuard, reconciler: Reconciler, tickets: TicketQueue) -> None:
        self._guard = guard
        self._reconciler = reconciler
        self._tickets = tickets
        self._run_id: str | None = None

    def watch_state(self) -> None:
        """Raises `StoreUnavailable`, `ArtifactCorrupt`, `JournalUnreadable` or `AuditOvertaken`: claims stay held, if
        they were, and the next call starts from the beginning.
        """
        match self._guard.look():
            case StateFinding.NEW:
                self._guard.count_on()
            case StateFinding.WHOLE:
                self._go_on()
            case StateFinding.BEHIND:
                self._bring_back()
            case StateFinding.STRANGE:
                if self._guard.hold(STRANGE):
                    logger.error("nothing is claimed", extra={"reason": STRANGE})

    def _go_on(self) -> None:
        run_id, is_held = self._guard.server_run(), self._guard.held() is not None
        # The last writes of a server that was started may be missing in its file; the journal has them.
        if (is_held or run_id != self._run_id) and self._reconciler.misses_a_job():
            self._bring_back()
        self._run_id = run_id
        if is_held:
            self._guard.release()
        self._guard.count_on()

    def _bring_back(self) -> None:
        self._guard.hold(BEHIND)
        logger.warning("nothing is claimed", extra={"reason": BEHIND})
        restored = marked = mended = 0
        cursor = None
        while True:
            step = self._reconciler.step(cursor)
            restored += step.jobs_restored
            marked += step.jobs_marked
            mended += step.counters_mended
            self._tickets.send(step.tickets)
            cursor = step.next_cursor
            if cursor is None:
                break
        logger.warning(
            "Redis is whole again",
            extra={"jobs_restored": restored, "jobs_marked": marked, "counters_mended": mended},
        )


def hold_what_lost_something(client: StateRedis, artifacts: ArtifactStore, key_prefix: str) -> None:
    """For a worker that starts, perhaps before any janitor: it claims nothing from a Redis that lost something.

    Raises `StoreUnavailable`, `ArtifactCorrupt` or `JournalUnreadable`.
    """
    guard = StateGuard(client, artifacts, key_prefix)
    why = {StateFinding.BEHIND: BEHIND, StateFinding.STRANGE: STRANGE}.get(guard.look())
    if why is None and Reconciler(client, artifacts, key_prefix).misses_a_job():
        why = BEHIND
    if why and guard.hold(why):
        logger.warning("nothing is claimed", extra={"reason": why})
