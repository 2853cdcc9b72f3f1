"""Who listens to a job hears its first segment while it is spoken, and whatever was kept of it."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from contextlib import suppress

import numpy as np
import pytest

from storage.audio.tempo import stretched
from storage.audio.wav import streaming_wav_header
from storage.ids import JobId
from storage.jobs.work_items import ClaimedItem
from storage.jobs.work_queues import speech_queue
from storage.segments.timeline import num_margin_samples
from tests.api.harness import ServedApi
from tests.api.jobs.segments.heard_jobs import (
    GAP,
    RATE_HZ,
    claim_all,
    finish,
    listening,
    pcm,
    planned_job,
    speak,
    spoken,
)
from tests.api.live.speaking_worker import MODEL, SpeakingWorker, speaking_worker
from worker.engine.errors import EngineDied
from worker.engine.fake import NUM_CODEBOOKS, SAMPLES_PER_FRAME
from worker.engine.interface import OnAudio, SpeechChunk
from worker.live.edges import LeadingSilence
from worker.speech.audio.samples import to_bytes, to_samples
from worker.speech.openings import Opening

QUEUE = speech_queue(MODEL)
HEADER = streaming_wav_header(RATE_HZ)
MARGIN = bytes(2 * num_margin_samples(RATE_HZ))
AGAIN = bytes(2 * RATE_HZ // 2)
TEXT = "More than fits into one segment, so that the job is planned by a worker of its own. " * 12


@pytest.fixture
def worker(api: ServedApi) -> Generator[SpeakingWorker]:
    with speaking_worker(api.redis, api.objects) as worker:
        yield worker


def a_job(api: ServedApi, num_segments: int, speed: float = 1.0, **fields: object) -> JobId:
    return planned_job(api, num_segments, speed, text=TEXT, model=MODEL, voice="ada", **fields)


def opening_of(item: ClaimedItem, attempt: int = 1) -> Opening:
    return Opening(item.lease.fence, attempt, "The first segment of all.", "ada", "english")


def chunk(number: int) -> SpeechChunk:
    """A frame that is loud all over, unlike any other."""
    samples = np.full(SAMPLES_PER_FRAME, 0.1 + number / 100, np.float32)
    return SpeechChunk(samples, np.full((1, NUM_CODEBOOKS), number, np.int16))


def said(*numbers: int) -> bytes:
    """These chunks as they are heard: without the click of the decoder's start, and faded in."""
    pcm = LeadingSilence(RATE_HZ).take(np.concatenate([chunk(number).pcm for number in numbers]))
    return to_bytes(to_samples(pcm))


def say(on_audio: OnAudio | None, *numbers: int) -> None:
    assert on_audio is not None
    for number in numbers:
        on_audio(chunk(number))


def until_listened(worker: SpeakingWorker, job: JobId) -> None:
    give_up_s = time.monotonic() + 30
    while not worker.openings.is_listened_to(job):
        assert time.monotonic() < give_up_s, "nobody listens"
        time.sleep(0.01)


def until_left(worker: SpeakingWorker, job: JobId) -> None:
    give_up_s = time.monotonic() + 30
    while worker.openings.is_listened_to(job):
        assert time.monotonic() < give_up_s, "it is still listened to"
        time.sleep(0.01)


def test_the_first_segment_is_heard_before_it_is_stored_and_once(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 2)
    with listening(api, job) as listener:
        items = claim_all(api, 2, QUEUE)
        until_listened(worker, job)
        with worker.openings.speaking(job, opening_of(items[0])) as on_audio:
            say(on_audio, 1)
            listener.wait_for(len(HEADER + said(1)))
            heard_first = bytes(listener.heard)
            say(on_audio, 2, 3)
        until_left(worker, job)
        for item in items.values():
            speak(api, item)
        finish(api)
        heard = listener.end()

    assert heard_first == heard[: len(HEADER + said(1))]
    assert heard == HEADER + said(1, 2, 3) + MARGIN + GAP + pcm(1)


def test_what_was_heard_and_not_kept_is_followed_by_what_was(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 1)
    with listening(api, job) as listener:
        item = claim_all(api, 1, QUEUE)[0]
        until_listened(worker, job)
        with worker.openings.speaking(job, opening_of(item, attempt=1)) as on_audio:
            say(on_audio, 1, 2)
        with worker.openings.speaking(job, opening_of(item, attempt=2)) as on_audio:
            say(on_audio, 3)
        speak(api, item, attempt=2)
        finish(api)
        heard = listener.end()

    assert heard == HEADER + said(1, 2) + MARGIN + AGAIN + pcm(0)


def test_an_opening_that_breaks_off_is_followed_by_the_whole_segment(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 1)
    with listening(api, job) as listener:
        item = claim_all(api, 1, QUEUE)[0]
        until_listened(worker, job)
        with suppress(EngineDied), worker.openings.speaking(job, opening_of(item)) as on_audio:
            say(on_audio, 1, 2)
            raise EngineDied("as engines do")
        speak(api, item)
        finish(api)
        heard = listener.end()

    assert heard == HEADER + said(1, 2) + AGAIN + pcm(0)


def test_the_opening_of_a_worker_that_is_gone_is_followed_by_the_whole_segment(api: ServedApi) -> None:
    with speaking_worker(api.redis, api.objects) as worker:
        job = a_job(api, 1)
        with listening(api, job) as listener:
            item = claim_all(api, 1, QUEUE)[0]
            until_listened(worker, job)
            with worker.openings.speaking(job, opening_of(item)) as on_audio:
                say(on_audio, 1, 2)
                listener.wait_for(len(HEADER + said(1, 2)))
                worker.server.close()
            speak(api, item)
            finish(api)
            heard = listener.end()

    assert heard == HEADER + said(1, 2) + AGAIN + pcm(0)


def test_a_listener_who_comes_later_hears_it_from_the_beginning(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 1)
    item = claim_all(api, 1, QUEUE)[0]
    with worker.openings.speaking(job, opening_of(item)) as on_audio:
        say(on_audio, 1, 2)
        with listening(api, job) as listener:
            listener.wait_for(len(HEADER + said(1, 2)))
            say(on_audio, 3)
            listener.wait_for(len(HEADER + said(1, 2, 3)))
            speak(api, item)
            finish(api)
            worker.server.close()
            heard = listener.end()

    # The connection ended before the engine did: all of it is heard again.
    assert heard == HEADER + said(1, 2, 3) + AGAIN + pcm(0)


def test_beside_other_jobs_a_listener_who_comes_later_hears_it_once_from_the_beginning_when_it_is_stored(
    api: ServedApi, worker: SpeakingWorker
) -> None:
    job = a_job(api, 2)
    items = claim_all(api, 2, QUEUE)
    other = JobId("job_of_another")
    with worker.openings.speaking(other, None), worker.openings.speaking(job, opening_of(items[0])) as on_audio:
        assert on_audio is None, "chunks are made that no listener hears"
        with listening(api, job) as listener:
            until_listened(worker, job)
            speak(api, items[0])
            listener.wait_for(len(HEADER + pcm(0)))
            speak(api, items[1])
            finish(api)
            heard = listener.end()

    assert heard == HEADER + spoken(0, 1)


def test_it_is_heard_at_the_speed_of_the_job(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 1, speed=1.25)
    numbers = range(1, 9)
    with listening(api, job) as listener:
        item = claim_all(api, 1, QUEUE)[0]
        until_listened(worker, job)
        with worker.openings.speaking(job, opening_of(item)) as on_audio:
            say(on_audio, *numbers)
        until_left(worker, job)
        speak(api, item)
        finish(api)
        heard = listener.end()

    assert heard == HEADER + stretched(said(*numbers) + MARGIN, RATE_HZ, 1.25)


@pytest.mark.parametrize("quality", [{"on_exhausted": "fail"}, {"on_exhausted": "silence"}])
def test_of_a_job_that_rather_has_none_than_what_did_not_pass_only_what_passed_is_heard(
    api: ServedApi, worker: SpeakingWorker, quality: dict[str, object]
) -> None:
    job = a_job(api, 1, quality=quality)
    with listening(api, job) as listener:
        item = claim_all(api, 1, QUEUE)[0]
        with worker.openings.speaking(job, opening_of(item)) as on_audio:
            say(on_audio, 1, 2)
        speak(api, item)
        finish(api)
        heard = listener.end()

    assert heard == HEADER + pcm(0)


def test_other_codecs_carry_it_too(api: ServedApi, worker: SpeakingWorker) -> None:
    job = a_job(api, 1)
    with api.http.stream("GET", f"/v1/jobs/{job}/audio", headers={"Accept": "audio/mpeg"}) as answer:
        item = claim_all(api, 1, QUEUE)[0]
        until_listened(worker, job)
        with worker.openings.speaking(job, opening_of(item)) as on_audio:
            say(on_audio, *range(1, 20))
            first = next(answer.iter_raw())
            assert not json.loads(api.http.get(f"/v1/jobs/{job}").content)["progress"]["segments"]["done"]
        speak(api, item)
        finish(api)

    assert first[:3] == b"ID3" or first[0] == 0xFF
