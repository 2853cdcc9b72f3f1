"""`client.segments`: the stretches a narration is made of, one by one.

await client.segments.edit(job, 12, text="Said otherwise.")
await client.wait(job)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Unpack

from rhapsode.client.aio.sending import AsyncSend, each_of
from rhapsode.client.calls import IDEMPOTENCY_KEY, ApiCall, content, entries, given, job_path, path_of, resource
from rhapsode.client.plain_json import json_object
from rhapsode.client.request_options import SegmentChanges
from rhapsode.client.resources import Job
from rhapsode.contract.segments import Segment, SegmentList, SegmentState, Sentence, Take, TakeList
from rhapsode.contract.waveforms import Waveform

WAVEFORM_PAGE = 200
"""The most that the server gives at once."""

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
        chosen = [("state", state.value) for state in sorted(states)]
        chosen += [] if flagged is None else [("flagged", "true" if flagged else "false")]
        params = (*chosen, *given(limit=page_size))
        return each_of(self._send, ApiCall("GET", f"{job_path(job)}/segments", resource(SegmentList), params=params))

    async def get(self, job: JobLike, segment: SegmentLike) -> Segment:
        return await self._send(ApiCall("GET", _path(job, segment), resource(Segment)))

    async def edit(self, job: JobLike, segment: SegmentLike, **changes: Unpack[SegmentChanges]) -> Segment:
        """Say something else, or say it otherwise. A finished segment is generated again and the job assembled again.

        A job that failed, expired or was cancelled keeps the edit until it is retried. Raises `Conflict` while a worker
        speaks the segment.
        """
        return await self._send(ApiCall("PATCH", _path(job, segment), resource(Segment), body=json_object(changes)))

    async def edit_all(
        self,
        job: JobLike,
        segments: Iterable[SegmentLike],
        *,
        voice: str | None = None,
        takes: Sequence[int] | None = None,
        pronunciations: Mapping[str, str] | None = None,
    ) -> tuple[Segment, ...]:
        """Give up to 1,000 segments another voice, earlier takes, or ways to say words. All change, or none.

        pronunciations: words and how they are said. Raises `Conflict` while a worker speaks one of them.
        """
        rules = [{"grapheme": word, "alias": said} for word, said in (pronunciations or {}).items()] or None
        named = [_id(each) for each in segments]
        body = json_object({"segments": named, "voice": voice, "takes": takes, "pronunciations": rules})
        return await self._send(
            ApiCall("PATCH", f"{job_path(job)}/segments", entries(resource(SegmentList)), body=body)
        )

    async def edit_sentence(self, job: JobLike, sentence: Sentence | str, text: str) -> Segment:
        """Say something else in place of one sentence (seg_000012.2); the segment that it stands in. As `edit`."""
        path = path_of(f"{job_path(job)}/sentences", sentence)
        return await self._send(ApiCall("PATCH", path, resource(Segment), body={"text": text}))

    async def regenerate(
        self, job: JobLike, segment: SegmentLike, *, seed: int | None = None, idempotency_key: str | None = None
    ) -> Segment:
        """Another take of the same text, with this seed or another than before."""
        path, body = f"{_path(job, segment)}/regenerate", json_object({"seed": seed})
        headers = {IDEMPOTENCY_KEY: idempotency_key} if idempotency_key else {}
        return await self._send(ApiCall("POST", path, resource(Segment), headers=headers, body=body))

    async def takes(self, job: JobLike, segment: SegmentLike) -> tuple[Take, ...]:
        """The finished ones, the oldest first."""
        return await self._send(ApiCall("GET", f"{_path(job, segment)}/takes", entries(resource(TakeList))))

    async def select(self, job: JobLike, segment: SegmentLike, take: int) -> Segment:
        """Put this take into the narration; nothing is spoken, the job is assembled again."""
        return await self._send(ApiCall("POST", f"{_path(job, segment)}/takes/{take}/select", resource(Segment)))

    async def keep(self, job: JobLike, segment: SegmentLike, attempt: int) -> Segment:
        """Take a rejected attempt of a failed segment (`Segment.tried`); retry the job for its files."""
        return await self._send(ApiCall("POST", f"{_path(job, segment)}/attempts/{attempt}/select", resource(Segment)))

    async def audio(
        self, job: JobLike, segment: SegmentLike, take: int | None = None, *, attempt: int | None = None
    ) -> bytes:
        """A WAV file: of the take in place, or of the one named. Raises `NotFound` while there is none.

        attempt: one that was rejected, of a segment that failed (`Segment.tried`).
        """
        params = given(take=take, attempt=attempt)
        return await self._send(ApiCall("GET", f"{_path(job, segment)}/audio", content, params=params))

    async def waveform(self, job: JobLike) -> Waveform:
        """The peaks of each finished segment, to draw a waveform, and the chapters."""
        path, limit = f"{job_path(job)}/waveform", given(limit=WAVEFORM_PAGE)
        whole = await self._send(ApiCall("GET", path, resource(Waveform), params=limit))
        found, cursor = [*whole.data], whole.next_cursor
        while cursor:
            page = await self._send(ApiCall("GET", path, resource(Waveform), params=(*limit, ("cursor", cursor))))
            found += page.data
            cursor = page.next_cursor
        return whole.model_copy(update={"data": tuple(found), "next_cursor": None, "has_more": False})


def _path(job: JobLike, segment: SegmentLike) -> str:
    return path_of(f"{job_path(job)}/segments", _id(segment))


def _id(segment: SegmentLike) -> str:
    return segment.id if isinstance(segment, Segment) else str(segment)
