"""The workers that speak live, as the registry has them. Each of their addresses has a link of this process.

Looked up every second in the background, so that no stream waits for it. While Redis is away the links stay as they
are: what runs goes on, and only new streams are refused, whose tenants' limits nothing can tell.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from api.live.link import WorkerLink
from storage.errors import StoreUnavailable
from storage.queue.recent_models import RecentModels
from storage.queue.worker_registry import ListedWorker, WorkerRegistry, WorkerState
from storage.runtime.watched import watched_task

logger = logging.getLogger(__name__)

REFRESH_S = 1.0
LATE_S = 2.0
"""For which Redis may not answer before new streams are refused."""

SOONEST_S = 0.1
"""From one look to the next, however many streams find no worker."""

GREETING_S = 2.0
"""How long a stream waits for a worker that has just come: for a look at the registry, and for the worker to answer."""


class LiveWorkers:
    """For the event loop."""

    def __init__(self, registry: WorkerRegistry, models: RecentModels, tls: ssl.SSLContext) -> None:
        """models: looked at whenever the registry is."""
        self._registry = registry
        self._models = models
        self._tls = tls
        self._links: dict[tuple[str, str], WorkerLink] = {}
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._is_wanted = asyncio.Event()
        self._looks_begun = self._looks_ended = 0
        self._thread = CapacityLimiter(1)
        self._is_store_away = False
        self._asked_store_s: float | None = None

    @property
    def is_store_away(self) -> bool:
        """Redis did not answer the last look, or has not answered this one for a while. Any thread may ask."""
        asked_s = self._asked_store_s
        is_late = asked_s is not None and time.monotonic() - asked_s > LATE_S
        return self._is_store_away or is_late

    @property
    def links(self) -> Iterable[WorkerLink]:
        return self._links.values()

    async def run(self) -> None:
        """Keep the table, until cancelled. Links go on until `close`."""
        while True:
            self._is_wanted.clear()
            await self._look()
            await asyncio.sleep(SOONEST_S)
            with suppress(TimeoutError):
                async with asyncio.timeout(REFRESH_S - SOONEST_S):
                    await self._is_wanted.wait()

    async def close(self) -> None:
        """End all links. Call it after `run` has ended."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def known(self, model: str) -> None:
        """Returns when a worker speaks this model, or when all that a look finds which begins now have said what they
        speak or had time to. `/readyz` may have announced one before this process has looked again.
        """
        if self.serves(model):
            return
        looks = self._looks_begun
        self._is_wanted.set()
        give_up_s = asyncio.get_running_loop().time() + GREETING_S
        while asyncio.get_running_loop().time() < give_up_s and not self.serves(model):
            if self._looks_ended > looks and all(link.is_open for link in self.links):
                return
            await asyncio.sleep(0.01)

    def candidates(
        self, model: str, revision: str, *, is_strict: bool, without: Collection[WorkerLink]
    ) -> Sequence[WorkerLink]:
        """Those that could take a stream of this model, the one with the most room first; those without are last.

        revision: "" for any.
        """
        fitting = [
            link
            for link in self._links.values()
            if link not in without and _fits(link, model, revision, is_strict=is_strict)
        ]
        return sorted(fitting, key=_preference)

    def serves(self, model: str) -> bool:
        return any(link.hello is not None and link.hello.model == model for link in self.links)

    async def _look(self) -> None:
        self._looks_begun += 1
        self._asked_store_s = time.monotonic()
        try:
            listed = await run_sync(self._read, limiter=self._thread)
        except StoreUnavailable as error:
            if not self._is_store_away:
                logger.warning("the registry of workers cannot be read", extra={"reason": str(error)})
            self._is_store_away = True
        else:
            self._is_store_away = False
            self._adopt(listed)
        finally:
            self._asked_store_s = None
        self._looks_ended = self._looks_begun

    def _read(self) -> Sequence[ListedWorker]:
        self._models.look()
        return self._registry.list()

    def _adopt(self, listed: Sequence[ListedWorker]) -> None:
        there = {(live.url, live.token): (worker, live) for worker in listed for live in worker.report.addresses}
        for key, (worker, live) in there.items():
            if key not in self._links:
                link = self._links[key] = WorkerLink(worker.report.name, live, self._tls)
                self._tasks[key] = watched_task("live-link", link.run)
            self._links[key].is_draining = worker.state in (WorkerState.DRAINING, WorkerState.DRAINED)
        for key in self._links.keys() - there.keys():
            # One that Redis has forgotten may well be there: it says itself when it goes.
            if not self._links[key].is_open:
                self._tasks.pop(key).cancel()
                del self._links[key]


def _fits(link: WorkerLink, model: str, revision: str, *, is_strict: bool) -> bool:
    hello = link.hello
    return (
        hello is not None
        and link.takes_streams
        and hello.model == model
        and revision in ("", hello.revision)
        and (link.address.is_strict or not is_strict)
    )


def _preference(link: WorkerLink) -> tuple[bool, float, float, float]:
    """Several processes choose at the same time: where all is equal, chance decides."""
    slots = link.hello.live_slots if link.hello is not None else 0
    return (link.free <= 0, -link.free / max(1, slots), link.step_ms, random.random())
