"""Jobs that prepare voices, run by hand: plan, items, outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest
import redis

from reading.drafting.warnings import TextWarning
from rhapsode.contract.jobs.states import JobState, Priority
from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import VoiceId, new_job_id, new_voice_id
from storage.job_store.control import JobControl
from storage.jobs.record import JobRecord
from storage.jobs.submissions import Submission
from storage.jobs.work_items import WorkerIdentity
from storage.jobs.work_queues import CPU_QUEUE
from storage.narration.voice_reference import SourceKind, VoiceCacheSpec, VoiceReference, VoiceSource
from storage.objects import keys
from storage.voices.cache_file import decode_artifact
from storage.voices.plan import encode_voice_plan
from storage.voices.records import CacheState, VoiceCacheRecord, VoiceCreation
from storage.voices.store import VoiceStore
from tests.worker.studio import GPU_QUEUE, SPEC, TENANT, Studio
from tests.worker.voices.reference_audio.sounds import file_of, tone

RECORDING = file_of(tone(1.2))


@pytest.fixture
def store(studio: Studio) -> VoiceStore:
    return studio.services.worker.voice_store


def upload(studio: Studio, name: str, recording: bytes = RECORDING) -> VoiceReference:
    voice = new_voice_id()
    stored = studio.artifacts.put(keys.voice_source(TENANT, voice, "1"), recording)
    source = VoiceSource(SourceKind.RECORDING, stored.key, stored.sha256, stored.bytes, "audio/wav")
    studio.services.worker.voice_store.create(VoiceCreation(voice, TENANT, name, source, "Hello there."))
    return VoiceReference(voice, name, 1, SPEC.model, CacheMode.IN_CONTEXT, source, "Hello there.")


def prepare(studio: Studio, voices: Sequence[VoiceReference], *, rebuild: bool = False) -> JobRecord:
    """A job over these voices, not yet run."""
    job = new_job_id()
    revision = studio.services.engine.info.revision
    key = keys.voice_list(TENANT, job)
    studio.artifacts.put(key, encode_voice_plan(voices))
    spec = VoiceCacheSpec(SPEC.model, revision, len(voices), rebuild)
    cost = 1_000 * len(voices)
    return studio.jobs.submit(Submission(job, TENANT, spec, Priority.LOW, key, 0, cost, retention_s=3600)).job


def cache_of(store: VoiceStore, voice: VoiceReference) -> VoiceCacheRecord:
    (cache,) = store.caches(TENANT, voice.voice)
    return cache


def test_every_voice_of_a_job_becomes_ready(studio: Studio, store: VoiceStore) -> None:
    voices = [upload(studio, f"voice {n}", file_of(tone(1.2 + n / 10))) for n in range(3)]
    job = prepare(studio, voices)
    studio.run_one(CPU_QUEUE)
    assert [cache_of(store, voice).state for voice in voices] == [CacheState.PENDING] * 3

    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    for voice in voices:
        cache = cache_of(store, voice)
        assert (cache.state, cache.job, cache.attempts) == (CacheState.READY, job.id, 1)
        assert cache.artifact is not None
        artifact = decode_artifact(studio.artifacts.get(cache.artifact.key), cache.artifact.sha256)
        assert artifact.header.content == cache.content


def test_a_voice_that_cannot_be_cloned_fails_alone(studio: Studio, store: VoiceStore) -> None:
    good, bad = upload(studio, "good"), upload(studio, "bad", file_of(np.zeros(30_000, np.float32)))
    job = prepare(studio, [bad, good])

    record = studio.drained(job)

    assert (record.state, record.segments.done, record.segments.failed) == (JobState.FAILED, 1, 1)
    assert record.warnings == (TextWarning("invalid_request", "bad: the recording is silent", segment=0),)
    assert cache_of(store, good).state is CacheState.READY
    failed = cache_of(store, bad)
    assert failed.state is CacheState.FAILED
    assert failed.error is not None
    assert "silent" in failed.error.detail


def test_a_retried_job_builds_what_failed_and_nothing_else(
    studio: Studio, store: VoiceStore, redis_client: redis.Redis
) -> None:
    good, late = upload(studio, "good"), upload(studio, "late", file_of(tone(1.4)))
    recording = studio.artifacts.get(late.source.key)
    studio.artifacts.delete(late.source.key)
    job = prepare(studio, [good, late])
    studio.drain()
    assert (studio.record(job).state, studio.record(job).segments.done) == (JobState.FAILED, 1)
    first = cache_of(store, good).finished_at_ms

    studio.artifacts.put(late.source.key, recording)
    JobControl(redis_client).retry(TENANT, job.id)
    ended = studio.drained(job)

    assert (ended.state, ended.segments.done, ended.segments.failed) == (JobState.SUCCEEDED, 2, 0)
    assert cache_of(store, late).state is CacheState.READY
    assert cache_of(store, good).finished_at_ms == first
    assert studio.jobs.audit_counters() == ()


def test_what_is_ready_is_not_built_again_unless_a_rebuild_is_asked_for(studio: Studio, store: VoiceStore) -> None:
    voice = upload(studio, "Ada")
    prepare(studio, [voice])
    studio.drain()
    first = cache_of(store, voice).artifact

    prepare(studio, [voice])
    studio.drain()
    assert cache_of(store, voice).artifact == first

    prepare(studio, [voice], rebuild=True)
    studio.drain()
    second = cache_of(store, voice).artifact
    assert first is not None
    assert second is not None
    assert second.fence > first.fence


def test_a_voice_deleted_before_its_turn_fails_its_item_and_stays_deleted(studio: Studio, store: VoiceStore) -> None:
    voice = upload(studio, "Ada")
    job = prepare(studio, [voice])
    studio.run_one(CPU_QUEUE)
    store.delete(TENANT, voice.voice)

    studio.drain()

    assert studio.record(job).segments.failed == 1
    assert list(studio.artifacts.list("voice-caches/")) == []


def test_an_item_that_finds_every_place_taken_goes_back_and_costs_no_attempt(studio: Studio, store: VoiceStore) -> None:
    voice = upload(studio, "Ada")
    job = prepare(studio, [voice])
    studio.run_one(CPU_QUEUE)

    with ExitStack() as others:
        while others.enter_context(studio.services.voices.place_to_prepare()):
            pass
        studio.run_one(GPU_QUEUE)

    assert studio.jobs.ready_counts()[GPU_QUEUE] == 0
    assert studio.record(job).segments.running == 0
    assert studio.record(job).retries == 0
    assert cache_of(store, voice).state is CacheState.PENDING


def test_an_item_that_found_no_place_gets_that_of_the_next_voice_that_leaves(studio: Studio, store: VoiceStore) -> None:
    voices = [upload(studio, name, file_of(tone(1.2 + len(name) / 10))) for name in ("Ada", "Beatrice")]
    job = prepare(studio, voices)
    studio.run_one(CPU_QUEUE)
    with ExitStack() as others:
        while others.enter_context(studio.services.voices.place_to_prepare()):
            pass
        studio.run_one(GPU_QUEUE)
    assert cache_of(store, voices[0]).state is CacheState.PENDING

    studio.run_one(GPU_QUEUE)
    studio.run_one(GPU_QUEUE)

    assert [cache_of(store, voice).state for voice in voices] == [CacheState.READY] * 2
    assert studio.record(job).state is JobState.SUCCEEDED


def test_an_item_waits_for_a_build_of_another(studio: Studio, store: VoiceStore) -> None:
    voice = upload(studio, "Ada")
    job = prepare(studio, [voice, voice])
    studio.run_one(CPU_QUEUE)
    other = studio.jobs.claim(GPU_QUEUE, WorkerIdentity("other", "1"), 30).item
    assert other is not None
    content = voice.content(TENANT, studio.services.engine.info.revision)
    store.claim_build(content, other.lease)

    studio.run_one(GPU_QUEUE)

    record = studio.record(job)
    assert (record.segments.done, record.segments.failed, record.retries) == (0, 0, 0)
    assert studio.jobs.audit_counters() == ()


def test_a_narration_that_waits_starts_when_its_voice_is_ready(studio: Studio, store: VoiceStore) -> None:
    voice = upload(studio, "Ada")
    preparation = prepare(studio, [voice])
    waiting = replace(voice, if_missing=IfCacheMissing.WAIT)
    studio.run_one(CPU_QUEUE)
    job = studio.submit(spec=replace(SPEC.asking(voice="Ada"), own_voice=waiting))
    studio.run_one(CPU_QUEUE)
    assert studio.record(job).segments.total == 0

    studio.drain()
    assert studio.record(preparation).state is JobState.SUCCEEDED
    while not studio.jobs.reap().retries_due:
        pass
    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert studio.services.voices.cache.stats().loads == 1


def test_a_narration_whose_voice_failed_while_it_waited_fails_with_the_reason(studio: Studio) -> None:
    voice = upload(studio, "Ada", file_of(np.zeros(30_000, np.float32)))
    prepare(studio, [voice])
    studio.drain()

    waiting = replace(voice, if_missing=IfCacheMissing.WAIT)
    job = studio.submit(spec=replace(SPEC.asking(voice="Ada"), own_voice=waiting))
    record = studio.drained(job)

    assert record.error is not None
    assert record.error.code == "voice_cache_failed"
    assert "silent" in record.error.detail


def test_a_narration_speaks_with_the_embedding_it_brought_along(studio: Studio, store: VoiceStore) -> None:
    dimension = studio.services.engine.info.speaker_dim
    stored = studio.artifacts.put("jobs/local/brought/speaker.f32", np.ones(dimension, "<f4").tobytes())
    media_type = "application/octet-stream"
    source = VoiceSource(SourceKind.EMBEDDING, stored.key, stored.sha256, stored.bytes, media_type, model=SPEC.model)
    brought = VoiceReference(VoiceId(""), "speaker_embedding", 0, SPEC.model, CacheMode.X_VECTOR, source)

    job = studio.submit(spec=replace(SPEC.asking(voice=brought.name), own_voice=brought))
    studio.drain()

    assert studio.record(job).state is JobState.SUCCEEDED
    assert list(studio.artifacts.list("voice-caches/")) == []
    assert store.list_caches(TENANT, lambda _: True, None, 10).entries == ()
