"""What others see of this worker: its reports, its slots, and whether it takes tickets."""

from __future__ import annotations

import threading
from collections.abc import Callable

from storage.database.redis_errors import StateRedis
from storage.jobs.work_queues import Lane
from storage.queue.celery_queue import TicketQueue
from storage.queue.worker_registry import WorkerRegistry, WorkerRole
from storage.queue.worker_slots import ANNOUNCE_INTERVAL_S, WorkerSlots
from worker.process.consumption import CHECK_INTERVAL_S, ConsumptionWatch, ask_for_restart
from worker.process.periodic import Periodic
from worker.process.reporting import ReadLoad, Reporting
from worker.process.signals import TicketConsumption
from worker.settings import WorkerSettings


class Presence:
    """Any thread may call.

    closing: set when the process is asked to leave. is_busy: whether the worker holds items. on_change: called when an
    operator stops or allows claims.
    """

    def __init__(
        self,
        settings: WorkerSettings,
        redis: StateRedis,
        name: str,
        tickets: TicketQueue,
        closing: threading.Event,
        is_busy: Callable[[], bool],
    ) -> None:
        is_gpu = settings.lane is Lane.GPU
        self._queue, self._name, self._closing = settings.queue, name, closing
        self._slots = WorkerSlots(redis, settings.key_prefix)
        self._places = 0
        self._reporting = Reporting(
            WorkerRegistry(redis, settings.key_prefix),
            name,
            WorkerRole(settings.lane.value),
            settings.queue,
            settings.model_name if is_gpu else None,
            tuple(settings.other_checkpoints) if is_gpu else (),
        )
        self._reporting.on_change = self._follow_wish
        self.on_change: Callable[[], None] = lambda: None
        self._consumption: TicketConsumption | None = None
        self._watch = ConsumptionWatch(settings.queue, tickets, lambda: is_busy() or self.is_leaving, ask_for_restart)
        self._periodic = (
            Periodic("consumption-watch", CHECK_INTERVAL_S, self._watch.check),
            Periodic("fleet", ANNOUNCE_INTERVAL_S, self.announce),
        )

    @property
    def draining(self) -> threading.Event:
        """Set while an operator wishes that nothing is claimed."""
        return self._reporting.draining

    @property
    def is_leaving(self) -> bool:
        return self._closing.is_set() or self.draining.is_set()

    def report(self, read_load: ReadLoad) -> None:
        """Now and every two seconds from now on."""
        self._reporting.begin(read_load)

    def start(self) -> None:
        for each in self._periodic:
            each.start()

    def close(self) -> None:
        self._reporting.close()
        for each in self._periodic:
            each.close()

    def saw_ticket(self) -> None:
        self._watch.seen()

    def consumes(self, consumption: TicketConsumption) -> None:
        """Celery takes tickets from now on."""
        self._consumption = consumption
        if self.draining.is_set():
            consumption.pause(self._queue)
        if not self._places:
            # A worker that speaks has offered its engine's slots already.
            self.offer(consumption.places)

    @property
    def takes_tickets(self) -> bool:
        return self._consumption is not None

    def end(self) -> None:
        """Take no more tickets, and end the process."""
        if self._consumption is not None:
            self._consumption.end()
        self.announce()

    def offer(self, places: int) -> None:
        """Tell the fleet how many items this worker can run at once."""
        self._places = places
        self.announce()

    def announce(self) -> None:
        """Raises `StoreUnavailable`."""
        if not self._places:
            return
        if self.is_leaving:
            self._slots.leave(self._queue, self._name)
        else:
            self._slots.announce(self._queue, self._name, self._places)

    def _follow_wish(self) -> None:
        if self._consumption is not None:
            if self.draining.is_set():
                self._consumption.pause(self._queue)
            else:
                self._consumption.resume(self._queue)
        self.on_change()
        self.announce()
