"""One stream of blocks for several consumers, each in its own thread; the slowest sets the pace.

A single one takes them where they are made: a thread would only hand them on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import chain
from queue import Empty, Full, Queue
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


_Lane = Queue[bytes | Abandoned | None]
"""The blocks on their way to one consumer; None is behind the last."""


def fan_out(
    blocks: Iterable[bytes], consumers: Sequence[Callable[[Iterator[bytes]], T]], check: Callable[[], None]
) -> list[T]:
    """What the consumers return, in their order. Every consumer takes all blocks.

    check: called now and then while a slow consumer is waited for; what it raises ends everything. So does the first
    error of a consumer, or of `blocks`: the others get `Abandoned`, and their threads have ended on return.
    """
    if len(consumers) == 1:
        return [_taken_by(consumers[0], iter(blocks), check)]
    lanes = [_Lane(MOST_WAITING) for _ in consumers]
    with ThreadPoolExecutor(len(consumers), thread_name_prefix="fan-out") as pool:
        futures = [pool.submit(each, _blocks(lane)) for each, lane in zip(consumers, lanes, strict=True)]
        try:
            for block in chain(blocks, [None]):
                for lane, future in zip(lanes, futures, strict=True):
                    _put(block, lane, future, check)
            _await(futures, check)
        except BaseException as error:
            for lane in lanes:
                _abandon(lane)
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


def _put(block: bytes | None, lane: _Lane, future: Future[T], check: Callable[[], None]) -> None:
    while not future.done():
        with suppress(Full):
            return lane.put(block, timeout=CHECK_INTERVAL_S)
        check()
    raise _ConsumerEnded


def _await(futures: Sequence[Future[T]], check: Callable[[], None]) -> None:
    """Until all have ended well. Raises `_ConsumerEnded` as soon as one has not."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, CHECK_INTERVAL_S)
        if any(future.exception() is not None for future in done):
            raise _ConsumerEnded
        check()


def _abandon(lane: _Lane) -> None:
    with suppress(Empty):
        while True:
            lane.get_nowait()
    lane.put(Abandoned())


def _blocks(lane: _Lane) -> Iterator[bytes]:
    while isinstance(block := lane.get(), bytes):
        yield block
    if block is not None:
        raise block


def _first_error(futures: Sequence[Future[T]]) -> BaseException:
    """The error that is not merely the others' end."""
    wait(futures)
    errors = [error for future in futures if (error := future.exception()) is not None]
    causes = [error for error in errors if not isinstance(error, Abandoned)]
    return (causes or [RuntimeError(_ENDED_EARLY)])[0]
