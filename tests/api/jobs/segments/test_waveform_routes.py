"""What a narration's waveform is drawn of, over HTTP."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from storage.ids import TenantId
from storage.objects.keys import segment, segments_prefix
from storage.segments.file import SegmentHeader, StoredSegment, encode_segment
from storage.segments.results import SegmentReport
from tests.api.harness import GPU_QUEUE, ServedApi, claim, job_id
from tests.api.jobs.segments.test_routes import RATE_HZ, planned

PEAKS = bytes(range(0, 250, 10))
"""Of a second."""


def speak(api: ServedApi, peaks: bytes, checks: int = 0) -> str:
    """Whatever is next; the digest of its file. checks: so many measures make the file's header long."""
    item = claim(api, GPU_QUEUE)
    index = int(item.lease.item)
    header = SegmentHeader(
        *(item.lease.job, index, item.lease.fence, "", 7, "eos", "small", "r1", RATE_HZ),
        checks={f"a_measure_with_a_long_name_{number}": 0.5 for number in range(checks)},
        peaks=base64.b64encode(peaks).decode(),
    )
    data = encode_segment(StoredSegment(header, b"\1\0" * RATE_HZ, b"\0\0" * 16, 16))
    api.objects.put(segment(item.lease.tenant, item.lease.job, index, item.lease.fence), data)
    sha256 = hashlib.sha256(data).hexdigest()
    api.jobs.commit_segment(item.lease, SegmentReport(RATE_HZ, RATE_HZ, 13, sha256, "eos", 50))
    return sha256


def waveform(api: ServedApi, job: dict[str, Any], **parameters: str | int) -> dict[str, Any]:
    answer = api.http.get(f"/v1/jobs/{job['id']}/waveform", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_is_done_has_its_peaks_and_what_is_not_is_left_out(api: ServedApi) -> None:
    job = planned(api)
    assert waveform(api, job)["data"] == []
    sha256 = speak(api, PEAKS)

    (found,) = waveform(api, job)["data"]

    assert (found["segment"], found["index"], found["sha256"]) == ("seg_000000", 0, sha256)
    assert base64.b64decode(found["peaks"]) == PEAKS


def test_a_header_that_is_longer_than_most_is_read_whole(api: ServedApi) -> None:
    job = planned(api)
    speak(api, PEAKS * 90, checks=60)

    (found,) = waveform(api, job)["data"]

    assert base64.b64decode(found["peaks"]) == PEAKS * 90


def test_segments_of_before_have_none(api: ServedApi) -> None:
    job = planned(api)
    speak(api, b"")

    assert [each["peaks"] for each in waveform(api, job)["data"]] == [None]


def test_a_segment_that_the_store_has_lost_is_a_gap_in_the_picture(api: ServedApi) -> None:
    job = planned(api)
    speak(api, PEAKS)
    speak(api, PEAKS)
    api.objects.delete_prefix(segments_prefix(TenantId("local"), job_id(job)))

    assert [each["peaks"] for each in waveform(api, job)["data"]] == [None, None]


def test_it_comes_in_pages(api: ServedApi) -> None:
    job = planned(api)
    speak(api, PEAKS)
    speak(api, PEAKS)

    first = waveform(api, job, limit=1)
    rest = waveform(api, job, limit=1, cursor=first["next_cursor"])

    assert [each["index"] for each in (*first["data"], *rest["data"])] == [0, 1]
    assert waveform(api, job, first=1)["data"] == rest["data"]
    assert (first["has_more"], rest["has_more"], rest["next_cursor"]) == (True, False, None)


def test_it_has_the_chapters(api: ServedApi) -> None:
    assert waveform(api, planned(api))["chapters"] == [{"title": "One", "first_segment": 0}]
