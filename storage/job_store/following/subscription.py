"""The one connection over which Redis tells a process what happens to the jobs that are followed in it.

Channels are named as the logs are, a job each, so a process receives events of its jobs only. A lost connection
is made again for as long as the subscription runs; what happened meanwhile is in the logs.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import cast

import redis.asyncio
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from storage.database.keys import RedisKeys
from storage.ids import JobId
from storage.job_store.following.event import told_event
from storage.job_store.following.feed import JobFeed
from storage.runtime.observability.metrics import counter

logger = logging.getLogger(__name__)

_LOSSES = counter("rhapsode_follow_losses")

SILENCE_S = 10.0
"""After which the server is asked whether it is there, and after as much again it is not."""

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
"""Between two attempts at a connection."""


class EventSubscription:
    """For the event loop."""

    def __init__(self, client: redis.asyncio.Redis, key_prefix: str) -> None:
        self._pool = client.connection_pool
        self._keys = RedisKeys(key_prefix)
        self._feeds: dict[str, JobFeed] = {}
        self._unsettled: set[str] = set()
        """Channels that are to be looked at: subscribed, or let go."""
        self._subscribed: set[str] = set()
        self._has_unsettled = asyncio.Event()

    def feed(self, job_id: JobId) -> JobFeed:
        """The one of this job; there is one for as long as it has followers."""
        channel = self._keys.of("events", job_id)
        if channel not in self._feeds:
            self._feeds[channel] = JobFeed(job_id)
            self._settle(channel)
        return self._feeds[channel]

    def left(self, feed: JobFeed) -> None:
        """A follower has gone; the last one takes the subscription along."""
        if not feed.followers:
            self._settle(self._keys.of("events", feed.job_id))

    def each_feed(self, act: Callable[[JobFeed], None]) -> None:
        for feed in tuple(self._feeds.values()):
            act(feed)

    async def run(self) -> None:
        """Until cancelled."""
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                await self._listen()
            except* (RedisError, OSError) as errors:
                was_told = any(feed.is_told for feed in self._feeds.values())
                pause_s = FIRST_PAUSE_S if was_told else min(LONGEST_PAUSE_S, 2 * pause_s)
                level = logging.DEBUG if pause_s == LONGEST_PAUSE_S else logging.WARNING
                _LOSSES.inc()
                logger.log(level, "the event subscription failed", extra={"error": str(errors.exceptions[0])})
            finally:
                # Also after an error of another kind: then this is called again, see `watched_task`.
                self._interrupt()
            await asyncio.sleep(pause_s)

    async def _listen(self) -> None:
        """Until the connection is lost: raises that."""
        # A server that is away costs no connection before any job is followed.
        await self._has_unsettled.wait()
        connection = await self._pool.get_connection()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_settled(connection))
                try:
                    await self._read(connection)
                finally:
                    await connection.disconnect(nowait=True)
        finally:
            # Only after both tasks have ended: another user of the pool may connect it again.
            await self._pool.release(connection)

    async def _read(self, connection: AbstractConnection) -> None:
        is_asked = False
        while True:
            told = await connection.read_response(timeout=SILENCE_S, push_request=True)
            if told is not None:
                is_asked = False
                self._take(told)
            elif is_asked:
                raise RedisConnectionError(f"silent for {2 * SILENCE_S:.0f} s")
            else:
                is_asked = True
                await connection.send_command("PING", check_health=False)

    def _take(self, told: object) -> None:
        # The answer to a question whether it is there is no list.
        if not isinstance(told, list):
            return
        kind, channel, what = cast("list[str]", told)[:3]
        feed = self._feeds.get(channel)
        if feed is None:
            return
        if kind == "message":
            feed.tell(told_event(what))
        elif kind == "subscribe":
            feed.begin()
            self.left(feed)

    def _settle(self, channel: str) -> None:
        self._unsettled.add(channel)
        self._has_unsettled.set()

    async def _keep_settled(self, connection: AbstractConnection) -> None:
        """All that came together goes together, to a server that answers in order. Ends with the connection also where
        the client library swallows a cancellation, as `asyncio.wait_for` of Python 3.11 does in it.
        """
        while connection.is_connected:
            await self._has_unsettled.wait()
            self._has_unsettled.clear()
            unsettled, self._unsettled = self._unsettled, set[str]()
            joined = [channel for channel in unsettled if channel in self._feeds and channel not in self._subscribed]
            left = [channel for channel in unsettled if self._is_to_leave(channel)]
            for channel in left:
                del self._feeds[channel]
            self._subscribed.difference_update(left)
            self._subscribed.update(joined)
            for command, channels in (("SUBSCRIBE", joined), ("UNSUBSCRIBE", left)):
                # What is sent on a lost connection makes another, which nothing is read from.
                if channels and connection.is_connected:
                    await connection.send_command(command, *channels, check_health=False)

    def _is_to_leave(self, channel: str) -> bool:
        """Not before it was confirmed: a confirmation on its way would be taken for that of the next subscription."""
        feed = self._feeds.get(channel)
        return feed is not None and feed.is_told and not feed.followers

    def _interrupt(self) -> None:
        """Nothing is subscribed any more; what is not followed is let go."""
        self._subscribed.clear()
        self._feeds = {channel: feed for channel, feed in self._feeds.items() if feed.followers}
        self.each_feed(JobFeed.interrupt)
        self._unsettled = set(self._feeds)
        if self._unsettled:
            self._has_unsettled.set()
