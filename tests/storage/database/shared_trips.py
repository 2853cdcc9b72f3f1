"""Round trips of shared calls that a test holds, counts, and lets fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

import redis

from storage.database.functions import Clock, FunctionCall, Functions
from storage.database.shared_calls import SharedCalls
from tests.threads import BoundedExecutor

T = TypeVar("T")
LONGEST_S = 20.0


class Trips(Functions):
    """sizes: calls of each trip so far. failures: what a trip ends in instead of answers, by its number from 0."""

    def __init__(self, client: redis.Redis, clock: Clock | None = None) -> None:
        super().__init__(client, "rhapsode", clock)
        self.sizes: list[int] = []
        self.failures: dict[int, BaseException] = {}
        self._may_go = threading.Event()
        self._may_go.set()

    def call_prepared(self, calls: Sequence[FunctionCall]) -> list[str | redis.RedisError]:
        failure = self.failures.get(len(self.sizes))
        self.sizes.append(len(calls))
        assert self._may_go.wait(LONGEST_S)
        if failure is not None:
            raise failure
        return super().call_prepared(calls)

    def together(
        self, shared: SharedCalls, threads: BoundedExecutor, calls: Sequence[Callable[[], T]]
    ) -> list[Future[T]]:
        """What comes of each; the first is on its way until all others wait behind it, in this order."""
        self._may_go.clear()
        trips = len(self.sizes)
        answers = [threads.submit(calls[0])]
        until(lambda: len(self.sizes) > trips)
        for place, call in enumerate(calls[1:], start=1):
            answers.append(threads.submit(call))
            until(lambda place=place: shared.num_waiting == place)
        self._may_go.set()
        return answers


def until(is_so: Callable[[], bool]) -> None:
    give_up_s = time.monotonic() + LONGEST_S
    while not is_so():
        assert time.monotonic() < give_up_s
        time.sleep(0.0005)
