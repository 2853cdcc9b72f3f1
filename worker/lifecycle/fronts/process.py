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
from worker.lifecycle.beside import Session
from worker.lifecycle.fronts.fronts import RELEASE, EndFront, FrontState, Order, StartFront
from worker.lifecycle.preparing import files_of, worker_services
from worker.lifecycle.speech_lane import START_ERRORS, postprocessor_of, speech_services
from worker.metrics import add_items
from worker.process.children.channel import Channel
from worker.process.children.program import begin_program, end_with
from worker.speech.postprocessing.pool import PostProcessorPool

logger = logging.getLogger(__name__)

STATE_EVERY_S = 1.0


def main() -> None:
    channel, door = begin_program(RELEASE)
    start = channel.receive()
    assert isinstance(start, StartFront)  # noqa: S101  (our own worker wrote it)
    try:
        session = FrontSession(channel, door.stream, start)
    except START_ERRORS as error:
        logger.error("a front cannot start: %s", error)
        return
    end_with(session.serve)


class FrontSession(Session):
    """With what runs items. Raises one of `START_ERRORS`."""

    def __init__(self, channel: Channel, door: socket.socket, start: StartFront) -> None:
        settings = start.settings
        super().__init__(channel, door, settings, start.name, "front", start.info)
        allow_files(files_of(settings))
        redis = connect_redis(settings)
        identity = WorkerIdentity(start.name, uuid.uuid4().hex)
        tickets = TicketQueue(create_celery(settings, "rhapsode-front"))
        self._worker = worker_services(settings, redis, identity, tickets, threading.Event(), threading.Event())
        self._pool = postprocessor_of(settings, self._worker)
        self._services = speech_services(settings, redis, self._worker, self._engine, self._pool)
        self._tickets = GpuTickets(self._services, settings.num_places // settings.num_fronts, self._send)
        self._goes_on = threading.Event()
        freeze()
        export(self._measure)
        tickets.send(self._worker.jobs.release_worker(identity))
        self._worker.leases.start()

    def serve(self) -> int:
        """Until the worker is gone, or `_leave` ends the process."""
        logger.info("front ready")
        threading.Thread(target=self._take_lines, name="engine-lines", daemon=True).start()
        threading.Thread(target=self._tell_states, name="front-states", daemon=True).start()
        while True:
            match self._channel.receive():
                case Order.ANSWER:
                    threading.Thread(target=self._answer, name="ticket", daemon=True).start()
                case Order.HOLD:
                    self._goes_on.clear()
                    threading.Thread(target=self._hold, name="hold", daemon=True).start()
                case Order.GO_ON:
                    self._goes_on.set()
                case Order.CLAIM_NOTHING:
                    self._worker.draining.set()
                case Order.CLAIM:
                    self._worker.draining.clear()
                case EndFront(grace_s):
                    threading.Thread(target=end_with, args=(lambda: self._leave(grace_s),), daemon=True).start()
                case other:
                    raise TypeError(f"{type(other).__name__} is said by no worker")

    def _answer(self) -> None:
        try:
            self._tickets.answer()
        finally:
            self._send(Order.ANSWER)

    def _hold(self) -> None:
        with self._worker.gate.alone():
            self._send(Order.HOLD)
            self._goes_on.wait()

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
