"""A job is heard from its first finished segment on, in order, until it ends."""

from __future__ import annotations

import io
import time
import wave

import av
import httpx
import pytest

from reading.plan.plan import Plan, PlanSegment, encode_plan
from storage.audio.tempo import stretched
from storage.audio.wav import streaming_wav_header
from storage.jobs.record import JobError
from storage.jobs.work_items import PlanResult
from storage.jobs.work_queues import CPU_QUEUE
from storage.objects import keys
from storage.segments.timeline import num_gap_samples
from tests.api.harness import GPU_QUEUE, ServedApi, claim, job_id
from tests.api.jobs.segments.heard_jobs import (
    GAP,
    PAUSE_S,
    RATE_HZ,
    claim_all,
    finish,
    listening,
    pcm,
    planned_job,
    speak,
    speak_together,
    spoken,
)


def test_segments_are_heard_in_order_as_they_are_finished_and_the_stream_ends_with_the_job(api: ServedApi) -> None:
    job = planned_job(api, 3)
    header = streaming_wav_header(RATE_HZ)

    with listening(api, job) as listener:
        items = claim_all(api, 3)
        speak(api, items[0])
        listener.wait_for(len(header + pcm(0)))
        speak(api, items[2])
        time.sleep(0.1)
        assert bytes(listener.heard).startswith(header + pcm(0))
        assert len(listener.heard) <= len(header + pcm(0) + GAP)
        speak(api, items[1])
        listener.wait_for(len(header + spoken(0, 1, 2)))
        finish(api)
        heard = listener.end()

    assert heard == header + spoken(0, 1, 2)


def test_a_listener_may_come_before_the_text_is_planned(api: ServedApi) -> None:
    job = job_id(api.submit())

    with listening(api, job) as listener:
        item = claim(api, CPU_QUEUE)
        api.objects.put(keys.plan(item.lease), encode_plan(Plan((PlanSegment(0, 0, 1, "One.", 0.0),))))
        api.jobs.commit_plan(item.lease, PlanResult(keys.plan(item.lease), 1, 3_000))
        speak(api, claim(api, GPU_QUEUE))
        finish(api)
        heard = listener.end()

    assert heard == streaming_wav_header(RATE_HZ) + pcm(0)


def test_a_job_that_has_succeeded_is_a_wav_of_known_length(api: ServedApi) -> None:
    job = planned_job(api, 2)
    for item in claim_all(api, 2).values():
        speak(api, item)
    finish(api)

    answer = api.http.get(f"/v1/jobs/{job}/audio", headers={"Range": "bytes=10-20"})

    assert answer.status_code == 200
    assert answer.headers["Content-Length"] == str(len(answer.content))
    assert (answer.headers["Content-Type"], answer.headers["Accept-Ranges"]) == ("audio/wav", "none")
    with wave.open(io.BytesIO(answer.content)) as reader:
        assert reader.readframes(reader.getnframes()) == spoken(0, 1)


def test_a_job_is_heard_at_its_speed_and_stored_as_it_was_spoken(api: ServedApi) -> None:
    job = planned_job(api, 2, speed=1.25)
    for item in claim_all(api, 2).values():
        speak(api, item)
    finish(api)

    answer = api.http.get(f"/v1/jobs/{job}/audio")

    heard = [stretched(pcm(index), RATE_HZ, 1.25) for index in range(2)]
    gap = bytes(2 * num_gap_samples(PAUSE_S, RATE_HZ, 1.25))
    assert answer.headers["Content-Length"] == str(len(answer.content))
    with wave.open(io.BytesIO(answer.content)) as reader:
        assert reader.readframes(reader.getnframes()) == gap.join(heard)
    rows = api.http.get(f"/v1/jobs/{job}/segments").json()["data"]
    assert [row["duration_s"] for row in rows] == [0.4, 0.4]
    assert rows[1]["start_s"] - rows[0]["start_s"] == pytest.approx((0.5 + PAUSE_S - 0.06) / 1.25, abs=1e-3)
    alone = api.http.get(f"/v1/jobs/{job}/segments/{rows[1]['id']}/audio")
    with wave.open(io.BytesIO(alone.content)) as reader:
        assert reader.readframes(reader.getnframes()) == heard[1]
    assert alone.headers["ETag"] == f'"{rows[1]["sha256"]}-1.25"'


@pytest.mark.parametrize(
    ("accept", "media_type"), [("audio/mpeg", "audio/mpeg"), ("audio/ogg;q=1, */*;q=0.1", "audio/ogg")]
)
def test_the_accept_header_chooses_the_format(api: ServedApi, accept: str, media_type: str) -> None:
    job = planned_job(api, 2)
    for item in claim_all(api, 2).values():
        speak(api, item)
    finish(api)

    answer = api.http.get(f"/v1/jobs/{job}/audio", headers={"Accept": accept})

    assert answer.headers["Content-Type"] == media_type
    with av.open(io.BytesIO(answer.content), mode="r") as container:
        stream = container.streams.audio[0]
        seconds = sum(frame.samples for frame in container.decode(stream)) / stream.rate
    assert seconds == pytest.approx(len(spoken(0, 1)) / 2 / RATE_HZ, abs=0.08)


def test_a_job_that_ends_while_it_is_heard_is_heard_to_the_end_of_what_there_is(api: ServedApi) -> None:
    job = planned_job(api, 3)
    items = claim_all(api, 3)
    speak(api, items[0])
    speak(api, items[2])
    with listening(api, job) as listener:
        listener.wait_for(len(streaming_wav_header(RATE_HZ) + pcm(0) + GAP))
        api.http.post(f"/v1/jobs/{job}/cancel")
        api.jobs.extend([items[1].lease], 1)
        heard = listener.end()

    assert heard == streaming_wav_header(RATE_HZ) + pcm(0) + GAP + pcm(2)


def test_of_a_failed_job_what_is_there_is_played_and_the_answer_says_what_is_not(api: ServedApi) -> None:
    job = planned_job(api, 4)
    items = claim_all(api, 4)
    for index in (1, 3):
        speak(api, items[index])
    api.jobs.fail(items[0].lease, JobError("segment_quality", "it said nothing", 0))
    shown = api.http.get(f"/v1/jobs/{job}").json()

    answer = api.http.get(shown["links"]["audio"])
    compressed = api.http.get(shown["links"]["audio"], headers={"Accept": "audio/mpeg"})

    assert (shown["state"], answer.status_code) == ("failed", 200)
    assert answer.headers["X-Audio-Partial"] == compressed.headers["X-Audio-Partial"] == "2/4"
    assert answer.headers["X-Segments-Missing"] == "seg_000000, seg_000002"
    assert answer.headers["Content-Length"] == str(len(answer.content))
    with wave.open(io.BytesIO(answer.content)) as reader:
        assert reader.readframes(reader.getnframes()) == spoken(1, 3)


def test_a_listener_who_leaves_is_forgotten(api: ServedApi) -> None:
    job = planned_job(api, 2)
    items = claim_all(api, 2)
    speak(api, items[0])
    with httpx.stream("GET", f"{api.url}/v1/jobs/{job}/audio", timeout=60) as answer:
        next(answer.iter_raw())

    speak(api, items[1])
    finish(api)
    assert api.http.get(f"/v1/jobs/{job}/audio").status_code == 200


def test_a_listener_who_does_not_listen_holds_up_no_other_and_misses_nothing(api: ServedApi) -> None:
    num_segments = 300  # seven megabytes: more than the buffers of a connection
    job = planned_job(api, num_segments)
    with httpx.stream("GET", f"{api.url}/v1/jobs/{job}/audio", timeout=60) as idle, listening(api, job) as listener:
        for _ in range(num_segments):
            speak(api, claim(api, GPU_QUEUE))
        finish(api)
        heard = listener.end()
        late = b"".join(idle.iter_raw())

    assert heard == late == streaming_wav_header(RATE_HZ) + spoken(*range(num_segments))


def test_a_segment_that_is_not_what_was_recorded_breaks_the_stream_off(api: ServedApi) -> None:
    job = planned_job(api, 1)
    item = claim(api, GPU_QUEUE)
    speak(api, item)
    finish(api)
    key = keys.segment(item.lease.tenant, job, 0, item.lease.fence)
    data = bytearray(api.objects.get(key))
    data[-1] ^= 1
    api.objects.delete(key)
    api.objects.put(key, bytes(data))

    with pytest.raises(httpx.RemoteProtocolError):
        api.http.get(f"/v1/jobs/{job}/audio")


def test_packed_segments_are_heard_as_any_until_their_pack_is_gone(api: ServedApi) -> None:
    job = planned_job(api, 3)
    items = claim_all(api, 3)
    key = speak_together(api, items[2], items[1])
    speak(api, items[0])
    finish(api)

    whole = api.http.get(f"/v1/jobs/{job}/audio")
    single = api.http.get(f"/v1/jobs/{job}/segments/1/audio")
    assert whole.content.endswith(spoken(0, 1, 2))
    assert single.content.endswith(pcm(1))

    api.objects.delete(key)
    lost = api.http.get(f"/v1/jobs/{job}/segments/1/audio")

    assert (lost.status_code, lost.json()["code"]) == (409, "segment_damaged")
    assert lost.json()["detail"].startswith("seg_000001 is not in the store any more; assemble the job again")
    assert api.http.get(f"/v1/jobs/{job}/segments/0/audio").content.endswith(pcm(0))


def test_what_cannot_be_heard_is_refused(api: ServedApi) -> None:
    job = api.submit()
    api.http.post(f"/v1/jobs/{job['id']}/cancel")

    ended = api.http.get(job["links"]["audio"])
    other = api.http.get(f"/v1/jobs/{job['id']}/audio", headers={"Accept": "text/html"})
    unknown = api.http.get("/v1/jobs/job_01hzzzzzzzzzzzzzzzzzzzzzzz/audio")

    assert (ended.status_code, ended.json()["code"]) == (409, "state_conflict")
    assert other.status_code == 406
    assert unknown.status_code == 404
