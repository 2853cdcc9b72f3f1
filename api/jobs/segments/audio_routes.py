"""`GET /v1/jobs/{id}/audio`: the finished segments in order, and those to come as they come."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from anyio.to_thread import run_sync
from fastapi import APIRouter, Depends, Header
from fastapi.responses import StreamingResponse

from api.dependencies import KnownJobId, Services, Tenant
from api.http.problems.problem import problem
from api.jobs.answers.segment_ids import segment_id
from api.jobs.segments.following import PlayedSegment, SegmentFollower
from api.jobs.segments.planned_job import plan_of
from api.services.container import ApiServices
from rhapsode.contract.jobs.output import AudioFormat, OutputFormat
from rhapsode.contract.jobs.states import JobState
from storage.audio.encoding import AudioEncoder, Outbox, live_encoder
from storage.audio.wav import BYTES_PER_SAMPLE, streaming_wav_header, wav_header
from storage.errors import StorageError
from storage.jobs.record import JobRecord
from storage.narration.audio_formats import default_bitrate_kbps
from storage.narration.spec import NarrationSpec
from storage.objects.stored_segments import segment_key
from storage.segments.results import SegmentResult
from storage.segments.timeline import Pacing, num_gap_samples, num_stretched, pause_after_s

STREAMED: dict[AudioFormat, tuple[str, ...]] = {
    AudioFormat.WAV: ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"),
    AudioFormat.MP3: ("audio/mpeg", "audio/mp3"),
    AudioFormat.OPUS: ("audio/ogg", "audio/opus", "application/ogg"),
}
"""Formats that can be sent before their end is known, by the media types that ask for them; the first is sent."""


def choose_format(accept: str | None) -> AudioFormat:
    """That with the highest q in an Accept header (RFC 9110); of equals WAV, then MP3. Raises `HttpProblem` (406)."""
    if not (accept or "").strip():
        return AudioFormat.WAV
    ranges = [_media_range(part) for part in (accept or "").split(",") if part.strip()]
    qualities = {form: _quality(names, ranges) for form, names in STREAMED.items()}
    best = max(qualities, key=lambda form: qualities[form])
    if qualities[best] <= 0:
        known = ", ".join(names[0] for names in STREAMED.values())
        raise problem("invalid_request", f"a job streams as {known}", status=406, title="Not acceptable")
    return best


def _media_range(part: str) -> tuple[str, float]:
    """Type and q. A q that is no number counts as 1, as if it were absent."""
    name, *parameters = (piece.strip().lower() for piece in part.split(";"))
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key.strip() == "q":
            try:
                return name, min(1.0, max(0.0, float(value)))
            except ValueError:
                return name, 1.0
    return name, 1.0


def _quality(names: tuple[str, ...], ranges: list[tuple[str, float]]) -> float:
    """The most specific range that fits counts; the names of one format are one type."""
    group = f"{names[0].partition('/')[0]}/*"
    for wanted in (names, (group,), ("*/*",)):
        found = [quality for media_range, quality in ranges if media_range in wanted]
        if found:
            return max(found)
    return 0.0


logger = logging.getLogger(__name__)

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

PIECE_BYTES = 64 * 1024
"""Sent at once: small enough that a listener who has gone is noticed soon."""

MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class Hearing:
    """A stream that may begin: the job is this tenant's and has something to hear, now or later.

    there: the segments of a job that has ended; None while some may still come. missing: those that it lacks.
    num_samples: of what is there.
    """

    record: JobRecord
    form: AudioFormat
    pacing: Pacing
    there: Mapping[int, SegmentResult] | None = None
    missing: Sequence[int] = ()
    num_samples: int | None = None


async def _hearing(
    tenant: Tenant, services: Services, job_id: KnownJobId, accept: Annotated[str | None, Header()] = None
) -> Hearing:
    """Whatever can be refused is refused here, while there is still a status to refuse it with."""
    form = choose_format(accept)
    record = await run_sync(services.jobs.store.get, tenant, job_id)
    if not isinstance(record.spec, NarrationSpec) or record.spec.request.validate_only:
        raise problem("state_conflict", "this job makes no speech")
    pacing = Pacing.of(record.spec.request.output)
    if record.state.is_terminal and record.segments.done == 0:
        raise problem("state_conflict", f"the job is {record.state} and no segment of it was finished")
    if not record.state.is_terminal:
        # Read again from memory when the stream begins.
        await run_sync(plan_of, services, record)
        return Hearing(record, form, pacing)
    return await run_sync(_ended, services, record, form, pacing)


def _ended(services: ApiServices, record: JobRecord, form: AudioFormat, pacing: Pacing) -> Hearing:
    """What is known of the end: a WAV of known length says so."""
    there = {result.index: result for result in services.jobs.store.segment_results(record.tenant, record.id)}
    segments = plan_of(services, record).segments
    missing = [planned.index for planned in segments if planned.index not in there]
    first = min(there.values(), key=lambda result: result.index)
    # A store that does not answer is said now: once the stream has begun, it is waited for.
    services.artifacts.stat(segment_key(record.tenant, record.id, first))
    if record.state is JobState.SUCCEEDED and missing:
        # An edit came in between: from here on it is a job that goes on.
        return Hearing(record, form, pacing)
    num_samples = sum(
        num_stretched(result.num_samples, pacing.speed_of(planned))
        + num_gap_samples(pause_after_s(planned, result.finish_reason), record.sample_rate_hz, pacing.speed)
        for planned in segments
        if (result := there.get(planned.index))
    )
    return Hearing(record, form, pacing, there, missing, num_samples)


def _partial_headers(hearing: Hearing) -> dict[str, str]:
    """Of a job that ended without some of its segments: how many, and which ones, as far as a header may be long."""
    if hearing.there is None or not hearing.missing:
        return {}
    listed = ", ".join(segment_id(index) for index in hearing.missing[:MOST_LISTED])
    return {
        "X-Audio-Partial": f"{len(hearing.there)}/{len(hearing.there) + len(hearing.missing)}",
        "X-Segments-Missing": f"{listed}, ..." if len(hearing.missing) > MOST_LISTED else listed,
    }


@router.get(
    "/{job_id}/audio",
    response_class=StreamingResponse,
    responses={200: {"content": {names[0]: {} for names in STREAMED.values()}}},
)
async def hear_job(services: Services, hearing: Annotated[Hearing, Depends(_hearing)]) -> StreamingResponse:
    """What is finished, in the order of the text, from the beginning; then each segment as it is finished.

    `Accept` chooses audio/wav (the default), audio/mpeg or audio/ogg (Opus). It is sent as fast as it is taken, at the
    model's own level and sample rate, at the job's speed and with its pauses. It waits for a segment that is not
    finished though later ones are, and ends with the job. Of a job that failed, expired or was cancelled, what is there
    is played without what is missing: `X-Audio-Partial` says how many segments of how many, `X-Segments-Missing` which
    ones are not there (the first 100). A new take of an earlier segment plays for the next listener.
    Ranges are not served: every request starts at the beginning. A stream that is broken off was not whole.
    """
    follower = SegmentFollower(services, hearing.record, hearing.pacing, hearing.there)
    headers = {"Cache-Control": "no-store", "Accept-Ranges": "none", "Vary": "Accept", "X-Accel-Buffering": "no"}
    headers |= _partial_headers(hearing)
    if hearing.form is not AudioFormat.WAV:
        body = _encoded(services, hearing.form, follower.segments())
    elif hearing.num_samples is None:
        body = _wav(streaming_wav_header, follower.segments())
    else:
        header = wav_header(hearing.num_samples, hearing.record.sample_rate_hz)
        headers["Content-Length"] = str(len(header) + BYTES_PER_SAMPLE * hearing.num_samples)
        body = _wav(lambda _: header, follower.segments())
    pieces = _cut_small(_logged(body, hearing.record))
    return StreamingResponse(pieces, media_type=STREAMED[hearing.form][0], headers=headers)


async def _cut_small(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for data in body:
        for start in range(0, len(data), PIECE_BYTES):
            yield data[start : start + PIECE_BYTES]


async def _logged(pieces: AsyncIterator[bytes], record: JobRecord) -> AsyncIterator[bytes]:
    """The status is long sent: only breaking off tells the listener that something is missing."""
    try:
        async for piece in pieces:
            yield piece
    except StorageError as error:
        logger.warning("audio stream broken off", extra={"job_id": record.id, "error": str(error)})
        raise


async def _wav(header: Callable[[int], bytes], segments: AsyncIterator[PlayedSegment]) -> AsyncIterator[bytes]:
    """header: of a file at this sample rate."""
    is_first = True
    async for segment in segments:
        if is_first:
            yield header(segment.sample_rate_hz)
            is_first = False
        yield segment.pcm
        for data in _silence(segment.num_gap):
            yield data


async def _encoded(
    services: ApiServices, form: AudioFormat, segments: AsyncIterator[PlayedSegment]
) -> AsyncIterator[bytes]:
    outbox = Outbox()
    encoder: AudioEncoder | None = None
    async for segment in segments:
        if encoder is None:
            rate_hz = segment.sample_rate_hz
            wanted = OutputFormat(type=form, bitrate_kbps=default_bitrate_kbps(form, rate_hz))
            encoder = live_encoder(wanted, rate_hz, outbox)
        await run_sync(_encode, encoder, segment, limiter=services.jobs.encoders)
        yield outbox.take()
    if encoder is not None:
        encoder.finish()
    yield outbox.take()


def _encode(encoder: AudioEncoder, segment: PlayedSegment) -> None:
    encoder.write(segment.pcm)
    for silence in _silence(segment.num_gap):
        encoder.write(silence)


def _silence(num_samples: int) -> list[bytes]:
    """Zeros, in pieces that share one piece of memory."""
    num_bytes = num_samples * BYTES_PER_SAMPLE
    whole, rest = divmod(num_bytes, PIECE_BYTES)
    return [_ZEROS] * whole + [_ZEROS[:rest]]


_ZEROS = bytes(PIECE_BYTES)
