"""A job's segments in the order of the text, each as soon as it is finished.

It waits for the next one however many after it are done already, and for as long as the job may still make it. A job
that has ended has no more to come: what is there is played, over the holes. A segment is taken as it is in place when
its turn comes (or up to `READ_AHEAD` turns earlier); takes made later are for the next listener.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from anyio import sleep
from anyio.to_thread import run_sync

from api.jobs.answers.waiting import SILENCE_S
from api.services.container import ApiServices
from reading.plan.plan import Plan, PlanSegment
from storage.audio.tempo import stretched
from storage.errors import JobGone, JobNotFound, StoreUnavailable
from storage.job_store.following.feeds import Follower
from storage.jobs.record import JobRecord
from storage.objects.stored_segments import read_segment_file
from storage.segments.file import StoredSegment, decode_segment
from storage.segments.results import SegmentResult
from storage.segments.timeline import Pacing, num_gap_samples, pause_after_s

logger = logging.getLogger(__name__)

T = TypeVar("T")

READ_AHEAD = 32

STALL_S = 60.0
"""While the store does not answer, a listener waits: its player has a buffer."""

STALL_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True)
class PlayedSegment:
    """What is played of a segment. pcm: 16-bit samples, little-endian. num_gap: samples of silence after them."""

    pcm: bytes
    num_gap: int
    sample_rate_hz: int


class SegmentFollower:
    """One listener's way through a job.

    known: of a job that has ended, all that is played and nothing beside it; None of one that may go on.
    """

    def __init__(
        self, services: ApiServices, record: JobRecord, pacing: Pacing, known: Mapping[int, SegmentResult] | None
    ) -> None:
        self._services = services
        self._record = record
        self._pacing = pacing
        self._is_all_known = known is not None
        self._known = dict(known or {})

    async def segments(self) -> AsyncIterator[PlayedSegment]:
        """Ends with the job, or when the server stops. Raises a `StorageError` if a segment cannot be read.

        A store that does not answer is waited for.
        """
        shares = self._services.live.shares
        with shares.held(self._record.tenant), self._services.jobs.events.following(self._record.id) as follower:
            async for segment in self._segments(follower):
                yield segment

    async def _segments(self, follower: Follower) -> AsyncIterator[PlayedSegment]:
        plan = await self._plan(follower)
        if plan is None:
            return
        total = len(plan.segments)
        for planned in plan.segments:
            if not await self._comes(follower, planned.index, total):
                if self._record.state.is_terminal:
                    continue
                return
            segment = await self._patiently(partial(self._read, self._known.pop(planned.index)))
            yield await run_sync(self._heard, segment, planned, limiter=self._services.jobs.encoders)

    def _heard(self, segment: StoredSegment, planned: PlanSegment) -> PlayedSegment:
        rate_hz = segment.header.sample_rate_hz
        pcm = stretched(bytes(segment.pcm), rate_hz, self._pacing.speed_of(planned))
        pause_s = pause_after_s(planned, segment.header.finish_reason)
        return PlayedSegment(pcm, num_gap_samples(pause_s, rate_hz, self._pacing.speed), rate_hz)

    async def _plan(self, follower: Follower) -> Plan | None:
        while not self._record.is_planned:
            if not await self._may_come(follower):
                return None
        return await self._patiently(partial(self._services.jobs.plans.of, self._record))

    async def _comes(self, follower: Follower, index: int, total: int) -> bool:
        """Once it is known whether the segment is there, or will not be."""
        if self._is_all_known:
            return index in self._known
        while index not in self._known:
            # What comes is looked for after the state was read: a job's last segment is committed before its end.
            may_come = not self._record.state.is_terminal
            await self._read_ahead(index, total)
            if index in self._known:
                break
            if not may_come or not await self._may_come(follower):
                return False
        return True

    async def _read_ahead(self, index: int, total: int) -> None:
        indices = range(index, min(index + READ_AHEAD, total))
        self._known = await run_sync(self._services.jobs.segments.results, self._record.id, indices)

    async def _may_come(self, follower: Follower) -> bool:
        """Wait for something to happen; False if the server stops or the job is gone."""
        await follower.wait(SILENCE_S)
        if self._services.jobs.events.is_stopping:
            return False
        follower.looked()
        try:
            self._record = await run_sync(self._services.jobs.store.get, self._record.tenant, self._record.id)
        except (JobGone, JobNotFound):
            return False
        return True

    async def _patiently(self, read: Callable[[], T]) -> T:
        give_up_s = time.monotonic() + STALL_S
        while True:
            try:
                return await run_sync(read)
            except StoreUnavailable as error:
                if time.monotonic() >= give_up_s:
                    raise
                logger.warning("a listener waits", extra={"job_id": self._record.id, "error": str(error)})
            await sleep(STALL_PAUSE_S)

    def _read(self, result: SegmentResult) -> StoredSegment:
        record = self._record
        return decode_segment(read_segment_file(self._services.artifacts, record.tenant, record.id, result))
