"""What was read and what is told make one story: each event once and in order, however late it comes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from storage.ids import JobId
from storage.job_store.following.event import LoggedEvent, order_of
from storage.job_store.following.feed import KEPT, JobFeed
from storage.job_store.following.feeds import Follower, Sleep
from storage.job_store.following.reads import PAGE, EventReads
from storage.job_store.following.subscription import EventSubscription
from tests.property_tests import examples

JOB = JobId("job_1")

STEPS = ("append", "append many", "deliver", "deliver all", "lose", "subscribe", "look")

SCHEDULES = st.lists(st.tuples(st.sampled_from(STEPS), st.lists(st.sampled_from(STEPS[:-1]), max_size=4)), max_size=40)
"""Steps, each with those that come in between while a page is being read: half before Redis reads it, half behind."""


class ScriptedServer:
    """A log, and what is on its way to the feed: a subscription's confirmation, then every event, in order."""

    def __init__(self, feed: JobFeed) -> None:
        self.log: list[LoggedEvent] = []
        self.between: list[str] = []
        self._feed = feed
        self._is_subscribed = False
        self._on_its_way: deque[Callable[[], None]] = deque()

    def do(self, step: str) -> None:
        match step:
            case "append":
                self._append()
            case "append many":
                for _ in range(KEPT + 5):
                    self._append()
            case "deliver" if self._on_its_way:
                self._on_its_way.popleft()()
            case "deliver all":
                while self._on_its_way:
                    self._on_its_way.popleft()()
            case "lose":
                self._on_its_way.clear()
                self._is_subscribed = False
                self._feed.interrupt()
            case "subscribe" if not self._is_subscribed:
                self._is_subscribed = True
                self._on_its_way.append(self._feed.begin)
            case _:
                pass

    async def page(self, job_id: JobId, after: str) -> list[LoggedEvent]:
        between, self.between = self.between, []
        for step in between[: len(between) // 2]:
            self.do(step)
        page = [event for event in self.log if order_of(event.id) > order_of(after)][:PAGE]
        for step in between[len(between) // 2 :]:
            self.do(step)
        return page

    def _append(self) -> None:
        event = LoggedEvent(f"{len(self.log) // 3 + 1}-{len(self.log) % 3}", "job.segment.completed", 0, {})
        self.log.append(event)
        if self._is_subscribed:
            self._on_its_way.append(lambda: self._feed.tell(event))


class ScriptedReader:
    """Looks only when it is told to."""

    def __init__(self, server: ScriptedServer, feed: JobFeed) -> None:
        known: Any = server
        self._follower = Follower(feed, cast("EventReads", known), cast("EventSubscription", known), Sleep())
        feed.followers.add(self._follower)
        self.seen: list[LoggedEvent] = []

    async def look(self) -> None:
        while await self._follower.wait(0):
            while events := await self._follower.events(self.seen[-1].id if self.seen else "0"):
                self.seen += events


@settings(max_examples=examples(300))
@given(SCHEDULES)
def test_a_follower_sees_every_event_once_and_in_order(schedule: list[tuple[str, list[str]]]) -> None:
    async def play() -> None:
        feed = JobFeed(JOB)
        server = ScriptedServer(feed)
        reader = ScriptedReader(server, feed)
        for step, between in schedule:
            if step == "look":
                server.between = list(between)
                await reader.look()
                server.between = []
            else:
                server.do(step)
            assert reader.seen == server.log[: len(reader.seen)]
        for step in ("subscribe", "deliver all"):
            server.do(step)
        await reader.look()
        assert reader.seen == server.log, schedule

    asyncio.run(play())


def test_a_feed_holds_no_more_than_it_says() -> None:
    feed = JobFeed(JOB)
    feed.begin()

    for number in range(1, 3 * KEPT):
        feed.tell(LoggedEvent(f"{number}-0", "job.paused", 0, {}))

    assert len(feed.behind("0")) == KEPT
    assert feed.reaches_back_to(f"{2 * KEPT - 1}-0")
    assert not feed.reaches_back_to(f"{2 * KEPT - 2}-0")
