"""Work on several threads, whose results come in the order of what is worked on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def in_order(work: Callable[[A], B], inputs: Iterable[A], num_threads: int, name: str) -> Iterator[B]:
    """At most `num_threads` results wait for the caller. What `work` raises is raised in its place in the order."""
    pool = ThreadPoolExecutor(num_threads, thread_name_prefix=name)
    waiting: deque[Future[B]] = deque()
    try:
        for each in inputs:
            waiting.append(pool.submit(work, each))
            if len(waiting) > num_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
