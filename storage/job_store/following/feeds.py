"""Following jobs: what happens to them reaches all who wait for it in this process, over one connection to Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Protocol, Self

import redis.asyncio

from storage.ids import JobId
from storage.job_store.following.event import LoggedEvent
from storage.job_store.following.feed import JobFeed
from storage.job_store.following.reads import PAGE, EventReads
from storage.job_store.following.subscription import EventSubscription
from storage.runtime.observability.metrics import gauge
from storage.runtime.watched import watched_task

CANCEL_AGAIN_S = 0.2

_FOLLOWERS = gauge("rhapsode_followers")


class Sleeper(Protocol):
    """How a follower waits."""

    async def sleep(self, wait_s: float) -> bool:
        """Until it is woken; False if the time was over."""
        ...

    def wake(self) -> None:
        """One that sleeps."""
        ...


class Sleep:
    """With nothing but news to wait for."""

    __slots__ = ("_woken",)

    def __init__(self) -> None:
        self._woken: asyncio.Future[bool] | None = None

    async def sleep(self, wait_s: float) -> bool:
        loop = asyncio.get_running_loop()
        self._woken = loop.create_future()
        timer = loop.call_later(wait_s, self._time_is_over)
        try:
            return await self._woken
        finally:
            timer.cancel()
            self._woken = None

    def wake(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(True)

    def _time_is_over(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(False)


class Follower:
    """One reader's way through a job's events, in one task: looks at what there is, and waits for more. Is to be
    entered, and follows until it is left.
    """

    __slots__ = ("_feed", "_has_read", "_is_woken", "_reads", "_seen", "_sleeper", "_subscription")

    def __init__(self, feed: JobFeed, reads: EventReads, subscription: EventSubscription, sleeper: Sleeper) -> None:
        self._feed = feed
        self._reads = reads
        self._subscription = subscription
        self._seen = feed.changes
        self._has_read = 0
        """The round of the feed in which the log was read to its end."""
        self._is_woken = False
        self._sleeper = sleeper

    def __enter__(self) -> Self:
        self._feed.followers.add(self)
        _FOLLOWERS.inc()
        return self

    def __exit__(self, *_: object) -> None:
        _FOLLOWERS.dec()
        self._feed.followers.remove(self)
        self._subscription.left(self._feed)

    async def events(self, after: str) -> list[LoggedEvent] | None:
        """Those behind `after`, or the first of them; None while Redis does not tell, and they are not known.

        Raises `StoreUnavailable`, or `ValueError` if `after` is no event id.
        """
        feed = self._feed
        self.looked()
        if not feed.is_told:
            return None
        if self._has_read == feed.round and feed.reaches_back_to(after):
            return feed.behind(after)
        current = feed.round
        page = await self._reads.page(feed.job_id, after)
        if len(page) < PAGE:
            self._has_read = current
        return page

    async def newest(self) -> LoggedEvent | None:
        """The log's last; None while it is not known, or if there is no log. Raises `StoreUnavailable`."""
        feed = self._feed
        self.looked()
        if feed.newest is not None:
            return feed.newest
        if not feed.is_told:
            return None
        read = await self._reads.newest(feed.job_id)
        return feed.newest or read

    def looked(self) -> None:
        """Events from now on are newer than a job record that is read now."""
        self._seen = self._feed.changes

    async def wait(self, wait_s: float) -> bool:
        """Until there is something to look at that there was not at the last look; False if not within `wait_s`."""
        is_early = self._has_news() or await self._sleeper.sleep(wait_s)
        has_news, self._is_woken = self._has_news(), False
        return has_news or is_early

    def wake(self) -> None:
        """Also ahead of the wait."""
        self._is_woken = True
        self._sleeper.wake()

    def _has_news(self) -> bool:
        return self._is_woken or self._feed.changes != self._seen


class EventFeeds:
    """For the event loop. Connects when the first job is followed."""

    def __init__(self, client: redis.asyncio.Redis, key_prefix: str = "rhapsode") -> None:
        self.reads = EventReads(client, key_prefix)
        self._subscription = EventSubscription(client, key_prefix)
        self.is_stopping = False

    def stop(self) -> None:
        """From now on no reader is to wait, which `is_stopping` says; those that do look again. Idempotent: every
        connection of a server that stops calls it.
        """
        if not self.is_stopping:
            self.is_stopping = True
            self._subscription.each_feed(JobFeed.wake)

    def following(self, job_id: JobId, sleeper: Sleeper | None = None) -> Follower:
        """To be entered at once: a feed that has no follower is let go. sleeper: where there is more to wait for."""
        return Follower(self._subscription.feed(job_id), self.reads, self._subscription, sleeper or Sleep())

    async def run(self) -> None:
        """Until cancelled."""
        await self._subscription.run()


@asynccontextmanager
async def open_event_feeds(client: redis.asyncio.Redis, key_prefix: str = "rhapsode") -> AsyncGenerator[EventFeeds]:
    feeds = EventFeeds(client, key_prefix)
    running = watched_task("event-feeds", feeds.run)
    try:
        yield feeds
    finally:
        # More than once: a cancellation in the client library's `asyncio.wait_for` may be lost in Python 3.11.
        while not running.done():
            running.cancel()
            await asyncio.wait((running,), timeout=CANCEL_AGAIN_S)
