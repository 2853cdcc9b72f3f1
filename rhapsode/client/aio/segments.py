"""`client.segments`: the stretches a narration is made of, one by one.

await client.segments.edit(job, 12, text="Said otherwise.")
await client.wait(job)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from typing import Unpack

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.jobs import segment_calls
from rhapsode.client.jobs.segment_calls import SegmentFilter
from rhapsode.client.request_options import SegmentChanges
from rhapsode.client.resources import Job
from rhapsode.contract.segments import Segment, SegmentState, Sentence, Take
from rhapsode.contract.waveforms import Waveform

JobLike = Job | str
SegmentLike = Segment | str | int
"""A segment, its id (seg_000012) or its index."""


class AsyncSegments:
    """Where a job or a segment is named, its record or its id will do, for a segment also its index."""

    def __init__(self, send: AsyncSend) -> None:
        self._send = send

    def list(
        self,
        job: JobLike,
        states: Collection[SegmentState] = (),
        *,
        flagged: bool | None = None,
        page_size: int = 200,
    ) -> AsyncIterator[Segment]:
        """In the order of the narration, fetched page by page; none until the text is planned."""
        named, wanted = _job(job), SegmentFilter(states, flagged)
        return each_of(self._send, lambda cursor: segment_calls.list_segments(named, wanted, page_size, cursor))

    async def get(self, job: JobLike, segment: SegmentLike) -> Segment:
        return await self._send(segment_calls.get_segment(_job(job), _segment(segment)))

    async def edit(self, job: JobLike, segment: SegmentLike, **changes: Unpack[SegmentChanges]) -> Segment:
        """Say something else, or say it otherwise. A finished segment is generated again and the job assembled again.

        A job that failed, expired or was cancelled keeps the edit until it is retried. Raises `Conflict` while a worker
        speaks the segment.
        """
        return await self._send(segment_calls.edit_segment(_job(job), _segment(segment), changes))

    async def edit_sentence(self, job: JobLike, sentence: Sentence | str, text: str) -> Segment:
        """Say something else in place of one sentence (seg_000012.2); the segment that it stands in. As `edit`."""
        named = sentence if isinstance(sentence, str) else sentence.id
        return await self._send(segment_calls.edit_sentence(_job(job), named, text))

    async def regenerate(
        self, job: JobLike, segment: SegmentLike, *, seed: int | None = None, idempotency_key: str | None = None
    ) -> Segment:
        """Another take of the same text, with this seed or another than before."""
        call = segment_calls.regenerate_segment(_job(job), _segment(segment), seed, idempotency_key)
        return await self._send(call)

    async def takes(self, job: JobLike, segment: SegmentLike) -> tuple[Take, ...]:
        """The finished ones, the oldest first."""
        return await self._send(segment_calls.list_takes(_job(job), _segment(segment)))

    async def select(self, job: JobLike, segment: SegmentLike, take: int) -> Segment:
        """Put this take into the narration; nothing is spoken, the job is assembled again."""
        return await self._send(segment_calls.select_take(_job(job), _segment(segment), take))

    async def audio(
        self, job: JobLike, segment: SegmentLike, take: int | None = None, *, attempt: int | None = None
    ) -> bytes:
        """A WAV file: of the take in place, or of the one named. Raises `NotFound` while there is none.

        attempt: one that was rejected, of a segment that failed (`Segment.tried`).
        """
        return await self._send(segment_calls.segment_audio(_job(job), _segment(segment), take, attempt))

    async def waveform(self, job: JobLike) -> Waveform:
        """The peaks of each finished segment, to draw a waveform, and the chapters."""
        whole = await self._send(segment_calls.get_waveform(_job(job), None))
        found, cursor = [*whole.data], whole.next_cursor
        while cursor:
            page = await self._send(segment_calls.get_waveform(_job(job), cursor))
            found += page.data
            cursor = page.next_cursor
        return whole.model_copy(update={"data": tuple(found), "next_cursor": None, "has_more": False})


def _job(job: JobLike) -> str:
    return job if isinstance(job, str) else job.id


def _segment(segment: SegmentLike) -> str:
    return segment.id if isinstance(segment, Segment) else str(segment)
