"""Jobs that make their voices from uploads before they prepare them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import redis

from rhapsode.contract.jobs.states import JobState, Priority
from rhapsode.contract.voices.modes import CacheMode
from storage.ids import UploadId, new_job_id, new_upload_id, new_voice_id
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.voice_reference import VoiceCacheSpec
from storage.objects import keys
from storage.voices.plan import ListedRecording, decode_voice_plan, encode_voice_plan
from storage.voices.records import CacheState, Consent
from storage.voices.store import VoiceStore
from tests.storage.job_store.event_log import EventLog
from tests.worker.studio import SPEC, TENANT, Studio
from tests.worker.voices.reference_audio.sounds import file_of, tone

CONSENT = Consent("I am the speaker", TENANT, 1_700_000_000_000)


@pytest.fixture
def store(studio: Studio) -> VoiceStore:
    return studio.services.worker.voice_store


def uploaded(studio: Studio, recording: bytes) -> UploadId:
    upload = new_upload_id()
    studio.artifacts.put(keys.upload(TENANT, upload), recording)
    return upload


def listed(name: str, audio: UploadId, line: int = 1) -> ListedRecording:
    mode = CacheMode.IN_CONTEXT
    return ListedRecording(
        new_voice_id(), name, audio, line, SPEC.model, mode, CONSENT, "Hello there.", "English", "new"
    )


def submit(studio: Studio, voices: Sequence[ListedRecording]) -> JobRecord:
    job = new_job_id()
    key = keys.voice_list(TENANT, job)
    studio.artifacts.put(key, encode_voice_plan(voices))
    spec = VoiceCacheSpec(SPEC.model, studio.services.engine.info.revision, len(voices))
    return studio.jobs.submit(Submission(job, TENANT, spec, Priority.LOW, key, 0, 1_000 * len(voices), 3600)).job


def test_a_list_is_read_as_it_was_written() -> None:
    voices = (listed("Ada", UploadId("upl_1")), listed("Bo", UploadId("upl_2"), 7))

    assert decode_voice_plan(encode_voice_plan(voices)) == voices


def test_every_listed_recording_becomes_a_voice_that_is_ready(studio: Studio, store: VoiceStore) -> None:
    recordings = [file_of(tone(1.2 + n / 10)) for n in range(3)]
    voices = [listed(f"voice {n}", uploaded(studio, recording), n) for n, recording in enumerate(recordings)]
    job = submit(studio, voices)
    studio.run_one(CPU_QUEUE)
    # The job has its own copies by now: uploads live for a day.
    studio.artifacts.delete_prefix(keys.UPLOADS)

    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    for voice, recording in zip(voices, recordings, strict=True):
        record = store.get(TENANT, voice.voice)
        assert (record.name, record.ref_text, record.language, record.consent) == (
            voice.name,
            "Hello there.",
            "English",
            CONSENT,
        )
        assert studio.artifacts.get(record.source.key) == recording
        (cache,) = store.caches(TENANT, voice.voice)
        assert cache.state is CacheState.READY


def test_a_line_that_cannot_become_a_voice_fails_alone_and_says_which_it_is(
    studio: Studio, store: VoiceStore, redis_client: redis.Redis
) -> None:
    silence = uploaded(studio, file_of(np.zeros(30_000, np.float32)))
    good = listed("good", uploaded(studio, file_of(tone(1.2))), 3)
    job = submit(studio, [listed("silent", silence, 1), listed("absent", new_upload_id(), 2), good])

    studio.drain()

    record = studio.record(job)
    assert (record.state, record.segments.done, record.segments.failed) == (JobState.FAILED, 1, 2)
    reasons = [
        str(event.data["detail"]) for event in EventLog(redis_client).read(job.id) if event.type == "job.segment.failed"
    ]
    assert sorted(reason.partition(":")[0] for reason in reasons) == ["line 1", "line 2"]
    assert [voice.name for voice in store.list(TENANT, None, 10).voices] == ["good"]
    assert [entry.key for entry in studio.artifacts.list("voices/")] == [store.get(TENANT, good.voice).source.key]


def test_a_list_sent_again_finds_its_own_voices_and_nobody_elses(studio: Studio, store: VoiceStore) -> None:
    recording = file_of(tone(1.2))
    first = listed("Ada", uploaded(studio, recording))
    submit(studio, [first])
    studio.drain()

    again = submit(studio, [listed("Ada", uploaded(studio, recording))])
    other = submit(studio, [listed("ADA", uploaded(studio, file_of(tone(1.5))))])
    studio.drain()

    assert studio.record(again).state is JobState.SUCCEEDED
    assert studio.record(other).state is JobState.FAILED
    assert [voice.id for voice in store.list(TENANT, None, 10).voices] == [first.voice]
    assert len(list(studio.artifacts.list("voices/"))) == 1
