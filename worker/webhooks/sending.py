"""Deliveries in an event loop: claimed many at a time, attempted side by side, settled as they end.

Each attempt has its place, so one that hangs delays no other: what ends before it is settled before it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rhapsode.contract.webhooks import DeliveryState
from storage.errors import StoreUnavailable
from storage.jobs.work_items import WorkerIdentity
from storage.runtime.config.failpoints import failpoint
from storage.runtime.observability.logs import delivery_fields
from storage.runtime.observability.metrics import counter, histogram
from storage.runtime.observability.tracing import span
from storage.webhooks.deliveries import CLAIM_BATCH, LEASE_S, WebhookQueue
from storage.webhooks.records import ClaimedDelivery, DeliveryRecord, DeliveryVerdict
from worker.items.leases.persistence import settle
from worker.webhooks.attempts import Sender, made_body

logger = logging.getLogger(__name__)

T = TypeVar("T")

VERDICT_PATIENCE_S = LEASE_S / 2


class Deliverer:
    """Of one event loop, in which `run` runs. claims: whether anything new may be claimed.

    slots: attempts at the same time, half of them at most at suspects. A receiver that hangs takes a slot for fifteen
    seconds; however many of them there are, they delay no other.
    """

    def __init__(
        self,
        queue: WebhookQueue,
        sender: Sender,
        worker: WorkerIdentity,
        slots: int,
        claims: Callable[[], bool],
    ) -> None:
        self._queue = queue
        self._sender = sender
        self._worker = worker
        self._slots, self._suspect_slots = slots, -(-slots // 2)
        self._claims = claims
        self._woken = asyncio.Event()
        self._calls: list[asyncio.Future[None]] = []
        self._ended: list[tuple[ClaimedDelivery, DeliveryVerdict]] = []
        self._attempts: set[asyncio.Task[None]] = set()
        self._under_way = 0
        self._suspects_under_way = 0
        # Redis is asked in a thread: while it is silent, attempts under way go on and are answered in time.
        self._asking = ThreadPoolExecutor(1, "webhook-queue")

    @property
    def num_under_way(self) -> int:
        """Claimed and not settled yet. Any thread may ask."""
        return self._under_way

    async def serve(self) -> None:
        """Claim what is due. Returns when a claim that began since has left nothing, or no place is free."""
        call = asyncio.get_running_loop().create_future()
        self._calls.append(call)
        self.wake()
        await call

    def wake(self) -> None:
        """Look what is due, and whether to go on at all."""
        self._woken.set()

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Until it is over, and everything under way is settled. May be called again after an error."""
        try:
            while True:
                self._woken.clear()
                if not await self._turn():
                    continue
                if self._under_way == 0 and is_over():
                    return
                await self._woken.wait()
        finally:
            self._answer(self._calls)

    async def close(self) -> None:
        """In the same event loop, after `run` has ended."""
        self._asking.shutdown()
        self._sender.http.close()

    async def _turn(self) -> bool:
        """Settle what ended, claim as much as there is room for; whether to wait for something to happen then."""
        calls, self._calls = self._calls, []
        is_done = await self._moved_on()
        if is_done:
            self._answer(calls)
        else:
            self._calls += calls
        return is_done

    async def _moved_on(self) -> bool:
        """What goes wrong is put off: the leases of what was claimed run out, and the janitor sends tickets again."""
        try:
            await self._settle()
            return await self._claim()
        except StoreUnavailable as error:
            logger.warning("deliveries put off", extra={"error": str(error)})
        except Exception:
            # The loop goes on for all others.
            logger.exception("deliveries put off unexpectedly")
        return not self._ended

    def _answer(self, calls: Sequence[asyncio.Future[None]]) -> None:
        for call in calls:
            if not call.done():
                call.set_result(None)

    async def _claim(self) -> bool:
        """Begin attempts; whether nothing more can be begun now. Raises `StoreUnavailable`."""
        room = min(self._slots - self._under_way, CLAIM_BATCH)
        if room <= 0 or not self._claims():
            return True
        suspects = self._suspect_slots - self._suspects_under_way
        deliveries, is_drained = await self._asked(
            lambda: self._queue.claim(
                self._worker, round(time.time() * 1000), most=room, most_suspects=max(0, min(room, suspects))
            )
        )
        await self._begin(deliveries)
        return is_drained

    async def _begin(self, deliveries: Sequence[ClaimedDelivery]) -> None:
        """With their bodies stored, in one call for all that have none yet. Raises `StoreUnavailable`."""
        made = {each.record.id: self._made(each) for each in deliveries}
        fresh = {delivery: body for delivery, body in made.items() if isinstance(body, str)}
        frozen = await self._asked(lambda: self._queue.freeze(fresh)) if fresh else {}
        for claimed in deliveries:
            fault = made[claimed.record.id]
            body = claimed.record.body or frozen.get(claimed.record.id)
            if isinstance(fault, Exception):
                self._hold(claimed)
                self._end(claimed, self._sender.given_up(claimed, fault))
            elif body is None:
                logger.warning("delivery forgotten", extra={"delivery": claimed.record.id})
            else:
                self._hold(claimed)
                self._start(claimed, body)

    def _made(self, claimed: ClaimedDelivery) -> str | Exception | None:
        try:
            return made_body(claimed.record)
        except Exception as error:
            # A fault of ours must not be retried every half minute without end.
            logger.exception("delivery failed unexpectedly", extra={"delivery": claimed.record.id})
            return error

    def _start(self, claimed: ClaimedDelivery, body: str) -> None:
        task = asyncio.create_task(self._attempt(claimed, body))
        self._attempts.add(task)
        task.add_done_callback(self._attempts.discard)

    async def _attempt(self, claimed: ClaimedDelivery, body: str) -> None:
        record = claimed.record
        with (
            delivery_fields(record.id, record.type, record.attempts + 1),
            span("webhook", record.trace, delivery=record.id, event=record.type, attempt=record.attempts + 1),
        ):
            try:
                verdict = await self._sender.attempt(claimed, body)
            except Exception as error:
                # As above.
                logger.exception("delivery failed unexpectedly")
                verdict = self._sender.given_up(claimed, error)
        failpoint("hook.after_post")
        self._end(claimed, verdict)

    def _hold(self, claimed: ClaimedDelivery) -> None:
        self._under_way += 1
        self._suspects_under_way += claimed.is_suspect

    def _end(self, claimed: ClaimedDelivery, verdict: DeliveryVerdict) -> None:
        self._ended.append((claimed, verdict))
        self._woken.set()

    async def _settle(self) -> None:
        """Raises `StoreUnavailable`."""
        while self._ended:
            batch, self._ended = self._ended[:CLAIM_BATCH], self._ended[CLAIM_BATCH:]
            try:
                states = await self._told(batch)
            finally:
                self._under_way -= len(batch)
                self._suspects_under_way -= sum(claimed.is_suspect for claimed, _ in batch)
            for (claimed, verdict), state in zip(batch, states, strict=True):
                attempted(verdict, state)
                _log(claimed.record, verdict, state)

    async def _told(self, batch: Sequence[tuple[ClaimedDelivery, DeliveryVerdict]]) -> list[DeliveryState | None]:
        return await self._asked(lambda: settle(VERDICT_PATIENCE_S, self._queue.done, batch))

    async def _asked(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._asking, call)


def _log(record: DeliveryRecord, verdict: DeliveryVerdict, state: DeliveryState | None) -> None:
    """Without the URL, whose query may hold a secret of the receiver's. What went well is for the metrics to tell."""
    level = logging.DEBUG if state is DeliveryState.DELIVERED else logging.INFO
    if not logger.isEnabledFor(level):
        return
    with delivery_fields(record.id, record.type, record.attempts + 1):
        logger.log(
            level,
            "webhook attempted",
            extra={
                "state": state or "lost",
                "target": record.target,
                "status": verdict.attempt.status,
                "reason": verdict.attempt.reason,
                "duration_ms": verdict.attempt.duration_ms,
                "retry_ms": verdict.retry_ms,
            },
        )


_ATTEMPTS = counter("rhapsode_webhook_attempts")
_DURATION = histogram("rhapsode_webhook_attempt_duration_seconds")


def attempted(verdict: DeliveryVerdict, state: DeliveryState | None) -> None:
    """state: the delivery's after it; None when the lease was over. The reason is one of a few words, never a text."""
    outcome = "lost" if state is None else "retried" if state is DeliveryState.PENDING else state.value
    reason = verdict.attempt.reason
    if reason == "status":
        reason = f"status_{(verdict.attempt.status or 0) // 100}xx"
    _ATTEMPTS.labels(outcome, reason).inc()
    _DURATION.observe(verdict.attempt.duration_ms / 1000)
