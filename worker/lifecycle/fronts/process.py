"""A front's process, started by `Fronts` alone: `python -m worker.lifecycle.fronts.process`.

It claims items and finishes them as the worker does, with its share of the engine's slots, and another interpreter. It
ends with the worker's channel, however the worker ends.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
import uuid
from contextlib import suppress

from storage.database.connections import connect_redis
from storage.jobs.work_items import WorkerIdentity
from storage.queue.celery_queue import TicketQueue, create_celery
from storage.runtime.config.file_limit import allow_files
from storage.runtime.observability.metrics import REGISTRY, Snapshot, export
from storage.runtime.observability.tracing import end_tracing
from worker.engine.heap import freeze
from worker.items.gpu_ticket import GpuTickets
from worker.items.leases.keeper import DropReason
from worker.lifecycle.beside import EndBeside, SessionBeside, StartBeside, serve_beside
from worker.lifecycle.fronts.fronts import RELEASE, FrontOrder, FrontState
from worker.lifecycle.preparing import FILES_OF_A_PLACE, OTHER_FILES, worker_services
from worker.lifecycle.speech_lane import START_ERRORS, postprocessor_of, speech_services
from worker.metrics import add_items
from worker.process.children.channel import Channel
from worker.process.children.program import end_with
from worker.speech.postprocessing.pool import PostProcessorPool

logger = logging.getLogger(__name__)

STATE_EVERY_S = 1.0


def main() -> None:
    serve_beside(RELEASE, FrontSession, START_ERRORS)


class FrontSession(SessionBeside):
    """With what runs items. Raises one of `START_ERRORS`."""

    def __init__(self, channel: Channel, door: socket.socket, start: StartBeside) -> None:
        settings = start.settings
        super().__init__(channel, door, start, "front")
        allow_files(FILES_OF_A_PLACE * settings.num_places + OTHER_FILES)
        redis = connect_redis(settings)
        identity = WorkerIdentity(start.name, uuid.uuid4().hex)
        tickets = TicketQueue(create_celery(settings, "rhapsode-front"))
        self._worker = worker_services(settings, redis, identity, tickets)
        self._pool = postprocessor_of(settings, self._worker)
        self._services = speech_services(settings, redis, self._worker, self._engine, self._pool)
        self._tickets = GpuTickets(self._services, settings.num_places // settings.num_fronts, self._send)
        self._goes_on = threading.Event()
        freeze()
        export(self._measure)
        tickets.send(self._worker.jobs.release_worker(identity))
        self._worker.leases.start()

    def serve(self) -> int:
        logger.info("front ready")
        threading.Thread(target=self._tell_states, name="front-states", daemon=True).start()
        while True:
            match self._channel.receive():
                case FrontOrder.ANSWER:
                    threading.Thread(target=self._answer, name="ticket", daemon=True).start()
                case FrontOrder.HOLD:
                    self._goes_on = threading.Event()
                    threading.Thread(target=self._hold, args=(self._goes_on,), name="hold", daemon=True).start()
                case FrontOrder.GO_ON:
                    self._goes_on.set()
                case FrontOrder.CLAIM_NOTHING:
                    self._worker.draining.set()
                case FrontOrder.CLAIM:
                    self._worker.draining.clear()
                case EndBeside(grace_s):
                    threading.Thread(target=end_with, args=(lambda: self._leave(grace_s),), daemon=True).start()
                case other:
                    raise TypeError(f"{type(other).__name__} is said by no worker")

    def _answer(self) -> None:
        try:
            self._tickets.answer()
        finally:
            self._send(FrontOrder.ANSWER)

    def _hold(self, goes_on: threading.Event) -> None:
        with self._worker.gate.alone():
            self._send(FrontOrder.HOLD)
            goes_on.wait()

    def _leave(self, grace_s: float) -> int:
        self._worker.closing.set()
        late = threading.Timer(grace_s, self._hand_back)
        late.daemon = True
        late.start()
        self._tickets.close()
        end_tracing()
        return 0

    def _hand_back(self) -> None:
        self._worker.leases.drop_all(DropReason.SHUTDOWN)
        if isinstance(self._pool, PostProcessorPool):
            self._pool.close()

    def _measure(self, snapshot: Snapshot) -> None:
        snapshot.add("rhapsode_leases_held", self._worker.leases.num_held)
        add_items(snapshot, self._services)

    def _tell_states(self) -> None:
        """Until the worker is gone."""
        with suppress(OSError):
            while True:
                self._send(FrontState(self._worker.leases.num_held, list(REGISTRY.collect())))
                time.sleep(STATE_EVERY_S)


if __name__ == "__main__":
    main()
