"""One stream of blocks for several consumers, each in its own thread; the slowest sets the pace.

A single one takes them where they are made.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

MOST_WAITING = 2
"""Blocks that a consumer may be behind."""

CHECK_INTERVAL_S = 0.5

_ENDED_EARLY = "a consumer ended before its blocks did"


class Abandoned(Exception):
    """What a consumer meets in place of its next block when there will be none."""


class _ConsumerEnded(Exception):
    """A consumer takes no more blocks; its future knows why."""


def fan_out(
    blocks: Iterable[bytes], consumers: Sequence[Callable[[Iterator[bytes]], T]], check: Callable[[], None]
) -> list[T]:
    """What the consumers return, in their order. Every consumer takes all blocks.

    check: called now and then while a slow consumer is waited for; what it raises ends everything. So does the first
    error of a consumer, or of `blocks`: the others get `Abandoned`, and their threads have ended on return.
    """
    if len(consumers) == 1:
        # One consumer alone takes the blocks: a thread would only hand them on.
        return [_taken_by(consumers[0], iter(blocks), check)]
    lanes = [_Lane() for _ in consumers]
    with ThreadPoolExecutor(len(consumers), thread_name_prefix="fan-out") as pool:
        futures = [pool.submit(_consume, each, lane) for each, lane in zip(consumers, lanes, strict=True)]
        try:
            _feed(blocks, lanes, check)
            _await(futures, check)
        except BaseException as error:
            for lane in lanes:
                lane.abandon()
            if isinstance(error, _ConsumerEnded):
                raise _first_error(futures) from None
            raise
        return [future.result() for future in futures]


def _taken_by(consumer: Callable[[Iterator[bytes]], T], blocks: Iterator[bytes], check: Callable[[], None]) -> T:
    result = consumer(_checked(blocks, check))
    if next(blocks, None) is not None:
        raise RuntimeError(_ENDED_EARLY)
    return result


def _checked(blocks: Iterable[bytes], check: Callable[[], None]) -> Iterator[bytes]:
    for block in blocks:
        check()
        yield block


def _feed(blocks: Iterable[bytes], lanes: Sequence[_Lane], check: Callable[[], None]) -> None:
    for block in blocks:
        for lane in lanes:
            lane.put(block, check)
    for lane in lanes:
        lane.put(None, check)


def _await(futures: Sequence[Future[T]], check: Callable[[], None]) -> None:
    """Until all have ended well. Raises `_ConsumerEnded` as soon as one has not."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, CHECK_INTERVAL_S)
        if any(future.exception() is not None for future in done):
            raise _ConsumerEnded
        check()


def _first_error(futures: Sequence[Future[T]]) -> BaseException:
    """The error that is not merely the others' end."""
    wait(futures)
    errors = [error for future in futures if (error := future.exception()) is not None]
    causes = [error for error in errors if not isinstance(error, Abandoned)]
    return (causes or [RuntimeError(_ENDED_EARLY)])[0]


def _consume(consumer: Callable[[Iterator[bytes]], T], lane: _Lane) -> T:
    try:
        return consumer(iter(lane))
    finally:
        lane.close()


class _Lane:
    """The blocks on their way to one consumer; None is the last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[bytes | None] = deque()
        self._is_abandoned = False
        self._is_closed = False

    def put(self, block: bytes | None, check: Callable[[], None]) -> None:
        with self._changed:
            while len(self._waiting) >= MOST_WAITING and not self._is_closed:
                self._changed.wait(CHECK_INTERVAL_S)
                check()
            if self._is_closed:
                raise _ConsumerEnded
            self._waiting.append(block)
            self._changed.notify_all()

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        with self._changed:
            self._is_abandoned = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[bytes]:
        while (block := self._take()) is not None:
            yield block

    def _take(self) -> bytes | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_abandoned)
            if self._is_abandoned:
                raise Abandoned
            block = self._waiting.popleft()
            self._changed.notify_all()
            return block
