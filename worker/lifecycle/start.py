"""From the start of a worker process to its end: build the services, take back what a predecessor held, leave clean.

When Celery shuts down (see `signals`), tickets end at once and running items get some seconds to finish. The rest is
cancelled and handed back: the next worker starts on it immediately, and nothing counts as an attempt.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from storage.database.connections import connect_redis
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import Lane
from storage.queue.celery_queue import TicketQueue
from storage.runtime.config.settings import refusal
from storage.runtime.observability.metrics import export
from storage.runtime.observability.tracing import end_tracing
from worker.engine.errors import StartError
from worker.engine.heap import freeze
from worker.engine.model.pulled import ALIGNER, VOICES_MISSING
from worker.items.leases.keeper import DropReason
from worker.lifecycle.checkpoint_swaps import CheckpointSwaps
from worker.lifecycle.load import WorkerLoad
from worker.lifecycle.preparing import prepare_process, worker_services
from worker.lifecycle.presence import Presence
from worker.lifecycle.speech_lane import START_ERRORS, SpeechLane
from worker.process.signals import TicketConsumption
from worker.process.state_watch import hold_what_lost_something
from worker.process.successor import SUCCESSION
from worker.services import WorkerServices
from worker.settings import WorkerSettings

logger = logging.getLogger(__name__)

SHUTDOWN_GRACE_S = 20.0
"""How long running items may go on after SIGTERM. A segment takes seconds; supervisors wait at least 25 s."""

LIVE_GRACE_S = 15.0
"""How long live streams may go on after SIGTERM; then their API processes continue them with other workers."""


class WorkerProcess:
    """One worker between Celery's `worker_init` and `worker_shutdown`."""

    def __init__(self, settings: WorkerSettings, tickets: TicketQueue) -> None:
        self._settings = settings
        self._tickets = tickets
        self._closing_since_s: float | None = None
        self._redis = connect_redis(settings)
        boot_id = uuid.uuid4().hex
        self._identity = WorkerIdentity(settings.name_for(boot_id), boot_id)
        worker = worker_services(settings, self._redis, self._identity, tickets)
        self._closing, self._jobs, self._leases = worker.closing, worker.jobs, worker.leases
        name = self._identity.name
        self._presence = Presence(settings, self._redis, name, tickets, self._closing, self._holds_items)
        self._presence.on_change = self._follow_wish
        self._worker = replace(worker, draining=self._presence.draining)
        self._speech: SpeechLane | None = None
        self._answer: Callable[[], None] | None = None
        self._swaps: CheckpointSwaps | None = None
        if settings.lane is Lane.GPU and settings.other_checkpoints:
            self._swaps = CheckpointSwaps(
                settings, self._redis, name, self._presence, leave=self._leave_for, is_at_work=self._holds_items
            )

    def start(self) -> None:
        """Everything up to readiness. Raises `SystemExit` with one line if this worker cannot run."""
        try:
            prepare_process(self._settings, self._redis, self._identity.name)
            if self._swaps is not None:
                self._swaps.begin()
            worker = self._worker
            worker.artifacts.check()
            self._load(worker)
            hold_what_lost_something(self._redis, worker.artifacts, self._settings.key_prefix)
            freeze()
            load = WorkerLoad(worker, self._speech)
            export(load.measure)
            self._tickets.send(self._jobs.release_worker(self._identity))
            self._presence.report(load.now)
            self._join()
        except START_ERRORS as error:
            if self._swaps is not None:
                self._swaps.failed()
            self.stop()
            raise refusal(f"the {self._settings.lane} worker cannot start", error) from error
        self._leases.start()
        self._presence.start()
        if self._speech is not None:
            self._speech.start()
        logger.info("worker ready", extra={"lane": self._settings.lane, "worker": self._identity.name})

    def run_ticket(self) -> None:
        """One ticket of this process's queue."""
        self._presence.saw_ticket()
        if self._answer is None:
            raise RuntimeError("a ticket arrived before the worker had started")
        self._answer()

    def consumes(self, consumption: TicketConsumption) -> None:
        """From Celery's thread, once the first tickets may come."""
        self._presence.consumes(consumption)

    def begin_shutdown(self) -> None:
        """Claim nothing more; see that nothing runs beyond the grace period. Returns at once."""
        SUCCESSION.forbid()
        self._begin_leaving()

    def stop(self) -> None:
        """After the last ticket; returns after the last item."""
        self._closing.set()
        if self._speech is not None:
            self._speech.fronts.close()
            self._speech.end_items()
        self._leases.close()
        if self._speech is not None:
            self._speech.live.close(self._live_grace_left_s())
        if self._swaps is not None:
            self._swaps.close()
        self._presence.close()
        if self._speech is not None:
            self._speech.close()
        end_tracing()
        self._tickets.close()
        self._redis.close()

    def _load(self, worker: WorkerServices) -> None:
        """What answers the tickets of this lane. Raises one of `START_ERRORS`."""
        if not ALIGNER.is_dir():
            raise StartError(VOICES_MISSING)
        if self._settings.lane is Lane.GPU:
            self._speech = SpeechLane(self._settings, self._redis, worker)
            self._answer = self._speech.fronts.answer
            return
        # Here and not above: the other lane needs nothing of what this loads.
        from worker.items.cpu_ticket import run_cpu_ticket

        self._answer = partial(run_cpu_ticket, worker)

    def _join(self) -> None:
        """Offer the engine's slots at start. A CPU worker offers its places when it takes tickets."""
        if self._speech is None:
            return
        slots = self._speech.services.engine.info.slots
        self._presence.offer(slots)
        self._tickets.send(self._jobs.look_away(self._settings.queue, self._identity))
        if self._swaps is not None:
            self._swaps.arrived(slots)

    def _holds_items(self) -> bool:
        return self._leases.num_held > 0 or (self._speech is not None and self._speech.fronts.num_held > 0)

    def _leave_for(self, checkpoint: Path) -> bool:
        """End, and continue as a worker of this checkpoint; False while a live stream is open."""
        if self._speech is None or not self._presence.takes_tickets or not self._speech.live.refuse_if_idle():
            return False
        SUCCESSION.plan({"RHAPSODE_CHECKPOINT": str(checkpoint), "RHAPSODE_WORKER_NAME": self._identity.name})
        self._begin_leaving()
        self._presence.end()
        return True

    def _begin_leaving(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._closing_since_s = time.monotonic()
        self._follow_wish()
        if self._speech is not None:
            self._speech.fronts.begin_close(SHUTDOWN_GRACE_S)
        threading.Thread(target=self._drain, name="drain", daemon=True).start()

    def _drain(self) -> None:
        """Not cut short when nothing runs: a ticket may be between its look at `closing` and its claim. This thread
        is a daemon, so the process ends as soon as its tasks have."""
        time.sleep(SHUTDOWN_GRACE_S)
        if self._leases.num_held:
            logger.warning("handing back what still runs", extra={"held": self._leases.num_held})
            self._leases.drop_all(DropReason.SHUTDOWN)
            if self._speech is not None:
                self._speech.abandon_calls()

    def _follow_wish(self) -> None:
        if self._speech is not None:
            self._speech.fronts.claim_nothing(is_wished=self._presence.is_leaving)
            self._speech.live.refuse_new(is_leaving=self._presence.is_leaving)

    def _live_grace_left_s(self) -> float:
        """0 for a process that could not start: it has no streams."""
        if self._closing_since_s is None:
            return 0.0
        return max(0.0, self._closing_since_s + LIVE_GRACE_S - time.monotonic())
