"""A job's first segment, heard while a worker speaks it.

Nothing has checked it then. Where the attempt that is heard is the one that was kept, the listener has heard the
segment. Where it is not, or was broken off, what is kept follows behind a short pause: a listener may hear words twice,
and never misses any.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from api.jobs.segments.heard import HeardSegment
from api.live.opening import HeardOpening
from storage.audio.tempo import FASTEST, SLOWEST, StretchedStream
from storage.segments.file import SegmentHeader

AGAIN_S = 0.5
"""Silence between what was heard in vain and what was kept."""


class EarlySegment:
    """`parts` once, then `rest`. speed: at which the segment is heard; one that cannot be had piece by piece waits."""

    def __init__(self, opening: HeardOpening, speed: float, limiter: CapacityLimiter) -> None:
        self._opening = opening
        self._speed = speed
        self._limiter = limiter
        self._was_heard = False

    async def parts(self, stored: Callable[[], Awaitable[bool]]) -> AsyncGenerator[HeardSegment]:
        """What comes of it before it is stored. stored: returns once it is, or will not be; raises what it does."""
        if not SLOWEST <= self._speed <= FASTEST:
            return
        waiting = asyncio.ensure_future(stored())
        try:
            await self._first_of(waiting)
            if self._opening.begun is None:
                return
            stretch = StretchedStream(self._opening.sample_rate_hz, self._speed) if self._speed != 1 else None
            async with aclosing(self._pieces()) as pieces:
                async for pcm in pieces:
                    made = pcm if stretch is None else await run_sync(stretch.add, pcm, limiter=self._limiter)
                    yield self._part(made)
            if stretch is not None:
                yield self._part(await run_sync(stretch.finish, limiter=self._limiter))
            await waiting
        finally:
            waiting.cancel()

    def rest(self, whole: HeardSegment, header: SegmentHeader, fence: int) -> Sequence[HeardSegment]:
        """What is to be heard behind `parts`. whole, header, fence: of what is stored."""
        rate_hz, begun = whole.sample_rate_hz, self._opening.begun
        if begun is None or not self._was_heard:
            return (whole,)
        if self._opening.is_whole and (begun.fence, begun.attempt) == (fence, header.attempt):
            return (HeardSegment(b"", whole.num_gap, rate_hz),)
        return (HeardSegment(b"", round(AGAIN_S * rate_hz), rate_hz), whole)

    async def _first_of(self, waiting: asyncio.Future[bool]) -> None:
        """Returns when something of it is heard, or when it is stored. Raises what `waiting` does."""
        moved = asyncio.ensure_future(self._opening.moved())
        try:
            await asyncio.wait((moved, waiting), return_when=asyncio.FIRST_COMPLETED)
        finally:
            moved.cancel()
        if waiting.done():
            waiting.result()

    async def _pieces(self) -> AsyncGenerator[bytes]:
        """To the end, which comes also of a worker that is lost."""
        while True:
            await self._opening.moved()
            pcm = self._opening.piece()
            if not pcm:
                return
            self._was_heard = True
            yield pcm

    def _part(self, pcm: bytes) -> HeardSegment:
        return HeardSegment(pcm, 0, self._opening.sample_rate_hz)
