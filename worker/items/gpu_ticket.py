"""A ticket of the lane that speaks: it wakes this worker, which looks for items by itself until it finds none.

A poll claims as many items as the engine will soon have room for, in one call. Each runs in its own thread. So a busy
worker takes no tickets, and needs none: what becomes ready while one looks sends none (`claim_several`).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from storage.errors import StoreUnavailable
from storage.job_store.leases import Look
from storage.jobs.batches import BatchSpec
from storage.jobs.tickets import Tickets
from storage.jobs.work_items import QUARANTINE_SUSPICIONS, ClaimedItem
from storage.narration.spec import NarrationSpec
from storage.narration.voice_reference import VoiceCacheSpec
from storage.runtime.config.failpoints import failpoint
from worker.errors import NotYet
from worker.items.dispatch import TICKET_LIFE_S, run_item
from worker.items.leases.claim_ahead import LOOK_AGAIN_S
from worker.items.leases.keeper import HeldLease
from worker.items.voices import run_voice_item
from worker.items.whole import ending_of
from worker.services import SpeechServices
from worker.synthesis.item import run_segment

logger = logging.getLogger(__name__)

MOST_CLAIMED = 16
"""Items of one look: a millisecond or two of the server's time, and a share that leaves others theirs."""

PAUSE_S = 0.005
"""From one poll to the next; twice as long after each empty one. What becomes ready meanwhile is claimed together."""

EMPTY_LOOKS = 3
"""One behind the other, after which the worker waits for a ticket."""

OTHER_WORKER_S = 5.0
"""When an item is offered again that this worker could not take; only a fleet of unequal workers comes to that."""


class GpuTickets:
    """Answers the tickets of a worker that speaks. places: items that are under way at the same time.

    hand_over: of a process that runs no suspects (see `quarantine`), who takes them with their leases. `close` once
    nothing shall be claimed any more.
    """

    def __init__(
        self, services: SpeechServices, places: int, hand_over: Callable[[ClaimedItem], None] | None = None
    ) -> None:
        self._services = services
        self._hand_over = hand_over
        self._threads = _ItemThreads(places, self._run)
        self._awake = threading.Lock()

    def answer(self) -> None:
        """Look for items until there are none, or this worker shall claim none."""
        # A second ticket was sent behind the last look of the first one, and looks itself.
        with self._awake:
            self._look_on(time.monotonic() + TICKET_LIFE_S)

    def take(self, item: ClaimedItem) -> None:
        """Run what another process has claimed."""
        self._threads.run(item)

    def close(self) -> None:
        """Returns when the last item has ended."""
        with self._awake:  # what a look under way claims runs as well
            self._threads.close()

    def _look_on(self, until_s: float) -> None:
        # The first poll is the last one if it finds nothing: the ticket was not needed.
        is_woken, num_empty = True, EMPTY_LOOKS - 1
        while room := self._room(until_s):
            found = self._found(Look(self._services.worker.queue, room, is_woken, is_last=num_empty + 1 == EMPTY_LOOKS))
            if found is None:
                return
            is_woken, num_empty = False, 0 if found else num_empty + 1
            if num_empty == EMPTY_LOOKS:
                return
            time.sleep(PAUSE_S * 2**num_empty)
        self._look_away()

    def _room(self, until_s: float) -> int:
        """Places that were taken for items; 0 once this ticket is over."""
        free = self._threads.wait(lambda: self._services.worker.claims, until_s)
        if not free:
            return 0
        most = min(free, MOST_CLAIMED)
        return self._services.ahead.take(most, lambda: self._services.worker.claims, until_s - time.monotonic())

    def _found(self, look: Look) -> int | None:
        """How many items were claimed; they run. None if Redis does not answer."""
        services = self._services
        items: tuple[ClaimedItem, ...] = ()
        try:
            claims = services.worker.jobs.claim_several(look, services.worker.identity, services.worker.lease_s)
            items = claims.items
        except StoreUnavailable as error:
            # The janitor sends another ticket once Redis answers again.
            logger.warning("nothing claimed", extra={"queue": services.worker.queue, "error": str(error)})
            return None
        finally:
            services.ahead.claimed(look.room, [item.lease for item in items])
        failpoint("claim.after")
        services.worker.tickets.send(claims.tickets)
        for item in items:
            if self._hand_over is None or item.suspicions < QUARANTINE_SUSPICIONS:
                self.take(item)
            else:
                services.ahead.give_back(item.lease)
                self._hand_over(item)
        return len(items)

    def _look_away(self) -> None:
        services = self._services
        try:
            tickets = services.worker.jobs.look_away(services.worker.queue, services.worker.identity)
        except StoreUnavailable as error:
            logger.warning("still taken for awake", extra={"queue": services.worker.queue, "error": str(error)})
            return
        services.worker.tickets.send(tickets)

    def _run(self, item: ClaimedItem) -> None:
        self._services.worker.tickets.send(run_speech_item(item, self._services))


class _ItemThreads:
    """A thread for each item under way. call: what it does."""

    def __init__(self, number: int, call: Callable[[ClaimedItem], None]) -> None:
        self._call = call
        self._executor = ThreadPoolExecutor(number, thread_name_prefix="item")
        self._changed = threading.Condition()
        self._free = number

    def wait(self, claims: Callable[[], bool], until_s: float) -> int:
        """How many are free, at least one; 0 if nothing shall be claimed any more, or it is later than `until_s`."""
        with self._changed:
            while claims():
                if self._free > 0:
                    return self._free
                left_s = until_s - time.monotonic()
                if left_s <= 0:
                    return 0
                self._changed.wait(min(left_s, LOOK_AGAIN_S))
        return 0

    def run(self, item: ClaimedItem) -> None:
        with self._changed:
            self._free -= 1
        self._executor.submit(self._run, item)

    def close(self) -> None:
        self._executor.shutdown()

    def _run(self, item: ClaimedItem) -> None:
        try:
            self._call(item)
        except Exception:
            # The lease runs out, and the item is another worker's.
            logger.exception("an item ended in no known way", extra={"job": item.lease.job, "item": item.lease.item})
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify()


def run_speech_item(item: ClaimedItem, services: SpeechServices) -> Tickets:
    """Speak, or prepare, a claimed item; returns the tickets to send."""
    try:
        return run_item(item, services.worker, lambda item, held: _run_gpu_item(item, held, services))
    finally:
        services.ahead.give_back(item.lease)


def _run_gpu_item(item: ClaimedItem, held: HeldLease, services: SpeechServices) -> Tickets:
    match item.spec:
        case VoiceCacheSpec() as spec:
            # It takes none of the slots.
            services.ahead.give_back(item.lease)
            return run_voice_item(item, spec, held, services)
        case BatchSpec():
            raise RuntimeError("batches are no work of a GPU")
        case NarrationSpec() as spec:
            _leave_to_strict_workers(spec, services)
            if item.plan_document:
                # A job of one segment has none to store it with.
                return run_segment(item, held, services, ending_of(item, services))
            with services.packer.under_way(item.lease):
                return run_segment(item, held, services)


def _leave_to_strict_workers(spec: NarrationSpec, services: SpeechServices) -> None:
    """Raises `NotYet` where this worker's engine cannot keep what was promised: another one of the model can."""
    if spec.request.is_strict and not services.engine.info.is_strict:
        raise NotYet(OTHER_WORKER_S)
