"""The API's door to live speech: a stream is opened here, placed at a worker with room, and again when that is lost."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager

from ulid import ULID

from api.http.problems.problem import HttpProblem, storage_unavailable
from api.live import measures
from api.live.accounts import Account, Accounts
from api.live.errors import WORKER_LOST, for_now, live_full, not_live, refusal, server_late, server_stopping
from api.live.lateness import Lateness
from api.live.link import WorkerLink
from api.live.patience import LivePatience
from api.live.shares import PlaceShares
from api.live.stream import Answer, HeardStream, StreamPlace, Unanswered
from api.live.workers import LiveWorkers
from storage.errors import StoreUnavailable
from storage.ids import TenantId
from storage.live.messages import FULL, WORKER_LEAVING, Opened, OpenRefused
from storage.live.orders import LiveOrder
from storage.queue.recent_models import RecentModels
from storage.queue.worker_registry import WorkerRegistry
from storage.runtime.config.tls import TlsFiles
from storage.runtime.observability.tracing import current_trace, span
from storage.runtime.watched import watched_task
from storage.tenants.live_streams import LiveStreamLedger

logger = logging.getLogger(__name__)

TICK_S = 0.05
"""How often the silence of workers is looked at."""

DANGER_LEAD_S = 0.3
"""A stream at a silent worker is moved once its listener has so little left."""

ANSWER_TIMEOUT_S = 60.0
"""For the answer of a worker that is there: one may have to make a voice ready first."""

STORE_PATIENCE_S = 2.0
"""For Redis: a listener waits."""

RESUME_EVERY_S = 0.05

MAX_SILENT_DEATHS = 3
"""Engines that died under a stream before it had another sample: it may well be what kills them."""

RETRY_AFTER_S = 1.0
LISTENERS_CHECKED_S = 1.0


class LiveSpeech:
    """For the event loop. is_stopping: no stream begins here any more."""

    def __init__(self, workers: LiveWorkers, accounts: Accounts, patience: LivePatience) -> None:
        self._workers = workers
        self._accounts = accounts
        self._patience = patience
        self._lateness = Lateness(patience.lateness_s)
        self._shares = PlaceShares()
        self.is_stopping = False
        self._streams: dict[str, HeardStream] = {}
        self._resuming: set[asyncio.Task[None]] = set()
        self._accounting: set[asyncio.Task[None]] = set()

    async def open(self, tenant: TenantId, order: LiveOrder, key: str = "") -> HeardStream:
        """A stream that a worker has taken; leave it as a context manager. key: the caller's API key, for its usage.

        Raises an `HttpProblem`: every place is taken (429), no worker speaks this model live, Redis is away or this
        process stops (503), or the order is wrong. Raises a `StorageError` too, such as `QuotaExceeded`.
        """
        asked_s = asyncio.get_running_loop().time()
        self.refuse_while_away()
        stream_id = f"live_{str(ULID()).lower()}"
        with span("live open", model=order.narration.model, stream=stream_id) as opening:
            account = Account(tenant, stream_id, key)
            traced = order.model_copy(update={"traceparent": order.traceparent or current_trace()})
            pace = self._patience.slowest_pace
            stream = HeardStream(
                stream_id, traced, account, asked_s, slowest_pace=pace, on_lost=self._lost, on_over=self._over
            )
            self._streams[stream_id] = stream
            measures.opened()
            try:
                await self._admit(stream)
            except BaseException:
                stream.cancel()
                raise
            opening.note(worker=stream.worker)
        return stream

    async def _admit(self, stream: HeardStream) -> None:
        """Ask Redis and a worker at the same time: a listener waits for the longer of the two. Raises what either does.

        It waits for Redis also after the caller leaves: its count must be reported again.
        """
        accounting = asyncio.create_task(self._account(stream.account))
        self._accounting.add(accounting)
        accounting.add_done_callback(self._accounted)
        placing = asyncio.create_task(self._place_first(stream))
        try:
            done, _ = await asyncio.wait((placing, accounting), return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            placing.cancel()

    def _accounted(self, accounting: asyncio.Task[None]) -> None:
        self._accounting.discard(accounting)
        if not accounting.cancelled():
            # Read the exception here: after a refusal or a lost caller, no other code does.
            accounting.exception()

    def refuse_while_away(self) -> None:
        """Raises the `HttpProblem` that this process stops, or that Redis is away, at once. From any thread: looking
        anything up there takes longer."""
        if self.is_stopping:
            raise server_stopping()
        if self._workers.is_store_away:
            raise storage_unavailable()

    def refuse_newcomers(self) -> None:
        """As `refuse_while_away`; raises an `HttpProblem` too while this process is late with its present streams.

        Call it for a connection or an order before it is accepted. From any thread.
        """
        self.refuse_while_away()
        if self._lateness.is_late:
            raise server_late()

    async def run(self) -> None:
        """Look after links and listeners, until cancelled."""
        loop = asyncio.get_running_loop()
        looked_s = checked_s = loop.time()
        worked_s = time.thread_time()
        while True:
            await asyncio.sleep(TICK_S)
            now_s = loop.time()
            work_s = time.thread_time()
            self._lateness.note(now_s - looked_s - TICK_S, now_s - looked_s, work_s - worked_s)
            worked_s = work_s
            measures.late(self._lateness.mean_s)
            # While this process stood still itself, the workers were not silent.
            passed_s = min(now_s - looked_s, 2 * TICK_S)
            looked_s = now_s
            for link in tuple(self._workers.links):
                link.pass_time(passed_s)
                if link.is_suspect:
                    self._leave_silent(link, now_s)
            if now_s - checked_s >= LISTENERS_CHECKED_S:
                checked_s = now_s
                for stream in tuple(self._streams.values()):
                    stream.check_listener(now_s)
                    self._forget_read(stream)

    async def drain(self, is_hurried: Callable[[], bool]) -> None:
        """Start no more streams, and wait for the running ones up to a limit. The others end with a reason."""
        self.is_stopping = True
        end_s = asyncio.get_running_loop().time() + self._patience.drain_s
        while self._is_heard() and asyncio.get_running_loop().time() < end_s and not is_hurried():
            await asyncio.sleep(TICK_S)
        self._end_all()

    def _is_heard(self) -> bool:
        return any(not (stream.is_over and stream.is_read) for stream in self._streams.values())

    def _end_all(self) -> None:
        for task in self._resuming:
            task.cancel()
        for stream in tuple(self._streams.values()):
            stream.fail("server_stopping", "this server is being stopped")

    async def close(self) -> None:
        """End every stream, and tell what they cost."""
        self._end_all()
        try:
            await self._accounts.tell()
        except StoreUnavailable as error:
            logger.warning("the last of the live streams were not accounted for", extra={"reason": str(error)})

    async def _account(self, account: Account) -> None:
        try:
            async with asyncio.timeout(STORE_PATIENCE_S):
                await self._accounts.open(account)
        except TimeoutError:
            raise storage_unavailable() from None

    async def _place_first(self, stream: HeardStream) -> None:
        """Raises a `HttpProblem`."""
        await self._workers.known(stream.model)
        self._leave_to_others(stream)
        refused: OpenRefused | None = None
        tried: set[WorkerLink] = set()
        while (link := self._choose(stream, tried)) is not None:
            tried.add(link)
            match await self._ask(stream, link):
                case Opened():
                    return
                case OpenRefused() as answer if answer.retry_after_s is not None:
                    refused, link.free = answer, 0
                case OpenRefused() as answer:
                    raise refusal(answer)
                case Unanswered():
                    continue
        raise self._no_place(stream, refused, tried)

    def _choose(self, stream: HeardStream, tried: Collection[WorkerLink]) -> WorkerLink | None:
        """None too where all that is left is known to be full, and one of these was asked."""
        candidates = self._fitting(stream, tried)
        if not candidates or (candidates[0].free <= 0 and tried):
            return None
        return candidates[0]

    def _no_place(self, stream: HeardStream, refused: OpenRefused | None, tried: Collection[WorkerLink]) -> HttpProblem:
        if refused is not None and refused.code not in (FULL, WORKER_LEAVING):
            return for_now(refused)
        if not tried and not self._workers.serves(stream.model):
            return not_live(stream.model)
        self._shares.refused(stream.model, stream.account.tenant)
        return live_full(RETRY_AFTER_S if refused is None else refused.retry_after_s or RETRY_AFTER_S)

    def _leave_to_others(self, stream: HeardStream) -> None:
        """Raises the `HttpProblem` that what is free is for tenants that have less and wait."""
        free = sum(max(0, link.free) for link in self._fitting(stream, ()))
        held = Counter(
            each.account.tenant
            for each in self._streams.values()
            if each is not stream and each.model == stream.model and not each.is_over
        )
        if self._shares.has_enough(stream.model, stream.account.tenant, held, free):
            raise live_full(RETRY_AFTER_S)

    async def _ask(self, stream: HeardStream, link: WorkerLink) -> Answer:
        """Have the stream begin or go on there; without a place if it does not."""
        place = stream.board(link)
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                answer = await place.answer
        except TimeoutError:
            answer = Unanswered.SILENT
        if isinstance(answer, Opened) and link.hello is not None:
            stream.settle_at(link.hello)
        elif stream.place is place:
            stream.leave()
        return answer

    def _leave_silent(self, link: WorkerLink, now_s: float) -> None:
        """Streams that would run dry there go elsewhere, if there is room; the one with the least left first."""
        places = [each for each in link.passengers if isinstance(each, StreamPlace)]
        for place in sorted(places, key=lambda each: each.stream.lead_s(now_s)):
            stream = place.stream
            if stream.lead_s(now_s) > DANGER_LEAD_S or not self._has_room_beside(link, stream):
                continue
            if place.answer.done():
                stream.lose(place, "worker_silent")
            else:
                place.settle(Unanswered.SILENT)

    def _has_room_beside(self, link: WorkerLink, stream: HeardStream) -> bool:
        others = self._fitting(stream, {link})
        return bool(others) and others[0].free > 0

    def _fitting(self, stream: HeardStream, without: Collection[WorkerLink]) -> Sequence[WorkerLink]:
        return self._workers.candidates(stream.model, stream.revision, is_strict=stream.is_strict, without=without)

    def _lost(self, stream: HeardStream, reason: str) -> None:
        measures.lost(reason)
        logger.info("a live stream lost its worker", extra={"stream": stream.id, "reason": reason})
        task = asyncio.create_task(self._resume_or_fail(stream, reason))
        self._resuming.add(task)
        task.add_done_callback(self._resuming.discard)

    async def _resume_or_fail(self, stream: HeardStream, reason: str) -> None:
        try:
            await self._resume(stream, reason)
        except Exception:
            # Without this its reader would never return.
            logger.exception("a live stream could not go on", extra={"stream": stream.id})
            stream.fail(WORKER_LOST, "the stream could not go on with another worker: an internal error")

    async def _resume(self, stream: HeardStream, reason: str) -> None:
        loop = asyncio.get_running_loop()
        lost_s = loop.time()
        give_up_s = lost_s + max(0.0, stream.lead_s(lost_s)) + self._patience.resume_s
        while not stream.is_over:
            if stream.silent_deaths >= MAX_SILENT_DEATHS:
                detail = f"the engine died {stream.silent_deaths} times before it made the next sound of this text"
                return stream.fail(WORKER_LOST, detail)
            if await self._resumed(stream):
                measures.resumed(reason)
                return None
            if loop.time() > give_up_s:
                detail = f"no worker resumed the speech within {self._patience.resume_s:g} s"
                return stream.fail(WORKER_LOST, detail)
            await asyncio.sleep(RESUME_EVERY_S)
        return None

    async def _resumed(self, stream: HeardStream) -> bool:
        tried: set[WorkerLink] = set()
        while not stream.is_over and (link := self._choose(stream, tried)) is not None:
            tried.add(link)
            answer = await self._ask(stream, link)
            if isinstance(answer, Opened):
                return True
            if isinstance(answer, OpenRefused):
                link.free = 0
                if answer.retry_after_s is None:
                    stream.fail(answer.code, answer.detail)
        return False

    def _over(self, stream: HeardStream) -> None:
        stream.account.is_over = True
        measures.over(stream)
        self._forget_read(stream)

    def _forget_read(self, stream: HeardStream) -> None:
        if stream.is_over and stream.is_read:
            self._streams.pop(stream.id, None)


@asynccontextmanager
async def open_live(
    registry: WorkerRegistry, models: RecentModels, ledger: LiveStreamLedger, tls: TlsFiles, patience: LivePatience
) -> AsyncGenerator[LiveSpeech]:
    """Connects in the background: an API that starts before its workers finds them when they come."""
    workers = LiveWorkers(registry, models, tls.context())
    accounts = Accounts(ledger)
    speech = LiveSpeech(workers, accounts, patience)
    tasks = [
        watched_task("live-workers", workers.run),
        watched_task("live-accounts", accounts.run),
        watched_task("live-speech", speech.run),
    ]
    try:
        yield speech
    finally:
        for task in tasks[1:]:
            task.cancel()
        await speech.close()
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await workers.close()
