"""Every request about the segments of a job as a value. No I/O: both clients send these.

All are safe to repeat: another take is ordered under an idempotency key.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import quote

from rhapsode.client.calls import ApiCall, job_path, resource
from rhapsode.client.plain_json import json_object
from rhapsode.client.request_options import SegmentChanges
from rhapsode.contract.segments import Segment, SegmentList, SegmentState, Take, TakeList
from rhapsode.contract.waveforms import Waveform

WAVEFORM_PAGE = 200
"""The most that the server gives at once."""


@dataclass(frozen=True, slots=True)
class SegmentFilter:
    """Which segments to list. flagged: those that were kept although they did not pass, or those that passed."""

    states: Collection[SegmentState] = ()
    flagged: bool | None = None

    def params(self) -> list[tuple[str, str]]:
        chosen = [("state", state.value) for state in sorted(self.states)]
        return chosen if self.flagged is None else [*chosen, ("flagged", "true" if self.flagged else "false")]


def list_segments(job_id: str, wanted: SegmentFilter, page_size: int, cursor: str | None) -> ApiCall[SegmentList]:
    params = [*wanted.params(), ("limit", str(page_size))]
    if cursor:
        params.append(("cursor", cursor))
    return ApiCall("GET", f"{job_path(job_id)}/segments", resource(SegmentList), params=tuple(params))


def get_segment(job_id: str, segment: str) -> ApiCall[Segment]:
    return ApiCall("GET", segment_path(job_id, segment), resource(Segment))


def edit_segment(job_id: str, segment: str, changes: SegmentChanges) -> ApiCall[Segment]:
    return ApiCall("PATCH", segment_path(job_id, segment), resource(Segment), body=json_object(changes))


def edit_sentence(job_id: str, sentence: str, text: str) -> ApiCall[Segment]:
    path = f"{job_path(job_id)}/sentences/{quote(sentence, safe='')}"
    return ApiCall("PATCH", path, resource(Segment), body={"text": text})


def regenerate_segment(job_id: str, segment: str, seed: int | None, idempotency_key: str | None) -> ApiCall[Segment]:
    path = f"{segment_path(job_id, segment)}/regenerate"
    headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
    return ApiCall("POST", path, resource(Segment), headers=headers, body={} if seed is None else {"seed": seed})


def list_takes(job_id: str, segment: str) -> ApiCall[tuple[Take, ...]]:
    read = resource(TakeList)
    return ApiCall("GET", f"{segment_path(job_id, segment)}/takes", lambda response: read(response).data)


def select_take(job_id: str, segment: str, take: int) -> ApiCall[Segment]:
    return ApiCall("POST", f"{segment_path(job_id, segment)}/takes/{take}/select", resource(Segment))


def segment_audio(job_id: str, segment: str, take: int | None, attempt: int | None = None) -> ApiCall[bytes]:
    """A WAV file. attempt: one that was rejected, of a segment that failed."""
    chosen = {"take": take, "attempt": attempt}
    params = tuple((name, str(number)) for name, number in chosen.items() if number is not None)
    path = f"{segment_path(job_id, segment)}/audio"
    return ApiCall("GET", path, lambda response: response.content, params=params)


def get_waveform(job_id: str, cursor: str | None) -> ApiCall[Waveform]:
    params = (("limit", str(WAVEFORM_PAGE)), *([("cursor", cursor)] if cursor else []))
    return ApiCall("GET", f"{job_path(job_id)}/waveform", resource(Waveform), params=params)


def segment_path(job_id: str, segment: str) -> str:
    return f"{job_path(job_id)}/segments/{quote(segment, safe='')}"
