"""The event loop of a deliverer: a thread of its own, which Celery's threads ask to serve."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Overdue

from storage.runtime.watched import watched_thread
from worker.webhooks.sending import Deliverer

TICKET_LIFE_S = 60.0
"""How long one ticket waits while deliveries go on: far below the broker's visibility timeout."""


class DeliveryLoop:
    """`start` it, `close` it once. Any thread may call."""

    def __init__(self, deliverer: Deliverer) -> None:
        self._deliverer = deliverer
        # With a factory it leaves the event loop of the calling thread alone.
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing = threading.Event()
        self._thread = watched_thread("webhook-loop", self._run, self._closing)

    def start(self) -> None:
        self._loop = self._runner.get_loop()
        self._thread.start()

    def serve(self) -> None:
        """Returns when nothing more is due, or no place is free, or a ticket's life is over."""
        if self._loop is None or self._closing.is_set():
            return
        served: Future[None] = asyncio.run_coroutine_threadsafe(self._deliverer.serve(), self._loop)
        try:
            served.result(TICKET_LIFE_S)
        except Overdue:
            served.cancel()

    def close(self) -> None:
        """Returns when everything under way is settled. Idempotent."""
        if self._loop is None or self._closing.is_set():
            return
        self._closing.set()
        self._loop.call_soon_threadsafe(self._deliverer.wake)
        self._thread.join()
        with self._runner:
            self._runner.run(self._deliverer.close())

    def _run(self) -> None:
        """Started again, it goes on in the same event loop, with the attempts that are under way."""
        self._runner.run(self._deliverer.run(self._closing.is_set))
