"""A voice that a job names: found, loaded, made once for everybody, and never taken from a damaged file."""

from __future__ import annotations

import json
import random
import struct
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pytest

from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.narration.voice_reference import VoiceReference
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.voices.cache_file import decode_artifact
from storage.voices.records import CacheState, ClaimStatus, VoiceCacheRecord
from tests.storage.voices.voice_world import ALICE
from tests.threads import BoundedExecutor
from tests.worker.voices.reference_audio.sounds import file_of, tone
from tests.worker.voices.voice_studio import REF_TEXT, CountingEngine, VoiceStudio
from worker.engine.cores import usable_cores
from worker.engine.fake import FakeEngine
from worker.engine.interface import InContextPrompt, VoicePrompt, XVectorPrompt
from worker.engine.settings import FakeEngineSettings
from worker.errors import PermanentItemError
from worker.items.leases.keeper import DropReason, WorkDropped
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver


def same(one: VoicePrompt, other: VoicePrompt) -> bool:
    match one, other:
        case XVectorPrompt(left), XVectorPrompt(right):
            return np.array_equal(left, right)
        case InContextPrompt() as left, InContextPrompt() as right:
            return (
                np.array_equal(left.speaker_embedding, right.speaker_embedding)
                and np.array_equal(left.ref_code, right.ref_code)
                and left.ref_code.dtype == right.ref_code.dtype
                and (left.ref_text, left.ref_text_ids) == (right.ref_text, right.ref_text_ids)
            )
        case _:
            return False


def cache_of(voices: VoiceStudio, reference: VoiceReference) -> VoiceCacheRecord:
    (cache,) = voices.world.store.caches(ALICE, reference.voice)
    return cache


@pytest.mark.parametrize("mode", CacheMode)
def test_what_comes_from_the_store_is_what_the_recording_had_become(
    mode: CacheMode, voices: VoiceStudio, engine: CountingEngine
) -> None:
    ada = voices.upload(mode=mode)
    voices.request_cache(ada)

    made = voices.resolver.resolve(ada, voices.hold())
    loaded = voices.another_worker().resolve(ada, voices.hold())

    assert same(made, loaded)
    assert engine.encoded == 1
    assert isinstance(loaded, InContextPrompt if mode is CacheMode.IN_CONTEXT else XVectorPrompt)


def test_the_second_segment_asks_nothing(voices: VoiceStudio, redis_client: object) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    lease = voices.hold()
    first = voices.resolver.resolve(ada, lease)
    voices.artifacts.delete_prefix(keys.voice_prefix(ALICE, ada.voice))
    voices.client.flushall()

    assert voices.resolver.resolve(ada, lease) is first


def test_the_built_cache_is_served_with_its_facts(voices: VoiceStudio) -> None:
    ada = voices.upload()
    voices.request_cache(ada)

    voices.resolver.resolve(ada, voices.hold())

    cache = cache_of(voices, ada)
    assert cache.state is CacheState.READY
    assert cache.artifact is not None
    artifact = decode_artifact(voices.artifacts.get(cache.artifact.key), cache.artifact.sha256)
    header = artifact.header
    assert (header.content, header.model, header.mode) == (voices.content(ada), ada.model, CacheMode.IN_CONTEXT)
    assert header.model_revision == voices.engine.info.revision
    assert header.ref_text == REF_TEXT


def test_a_voice_without_a_cache_record_is_made_for_this_worker_alone(
    voices: VoiceStudio, engine: CountingEngine
) -> None:
    ada = voices.upload()

    voices.resolver.resolve(ada, voices.hold())
    voices.resolver.resolve(ada, voices.hold())

    assert engine.encoded == 1
    assert list(voices.artifacts.list("voice-caches/")) == []


def test_a_request_with_its_own_reference_text_keeps_it(voices: VoiceStudio) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    voices.resolver.resolve(ada, voices.hold())

    other = voices.resolver.resolve(replace(ada, ref_text="Good  night. "), voices.hold())
    bare = voices.resolver.resolve(replace(ada, mode=CacheMode.X_VECTOR, ref_text=""), voices.hold())

    assert isinstance(other, InContextPrompt)
    assert other.ref_text == "Good night."
    assert isinstance(bare, XVectorPrompt)


def test_an_embedding_needs_no_engine(voices: VoiceStudio, engine: CountingEngine) -> None:
    values = np.linspace(-1, 1, engine.info.speaker_dim, dtype=np.float32)
    ada = voices.upload_embedding(values)
    voices.request_cache(ada)

    voices.resolver.resolve(ada, voices.hold())
    loaded = voices.another_worker().resolve(ada, voices.hold())

    assert isinstance(loaded, XVectorPrompt)
    assert np.array_equal(loaded.speaker_embedding, values)
    assert engine.encoded == 0


def test_while_another_worker_builds_a_segment_makes_its_own(voices: VoiceStudio, engine: CountingEngine) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    builder = voices.world.claim(voices.content(ada), voices.world.jobs[-1])
    assert builder.is_mine

    voices.resolver.resolve(ada, voices.hold())

    assert engine.encoded == 1
    assert cache_of(voices, ada).state is CacheState.PROCESSING


def test_segments_that_start_together_encode_a_voice_once(voices: VoiceStudio, engine: CountingEngine) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    engine.gate.clear()

    with BoundedExecutor(6) as threads:
        segments = [threads.submit(voices.resolver.resolve, ada, voices.hold()) for _ in range(6)]
        engine.gate.set()
        prompts = [segment.result(60) for segment in segments]

    assert engine.encoded == 1
    assert len({id(prompt) for prompt in prompts}) == 1


def test_a_voice_deleted_during_its_build_leaves_nothing_behind(voices: VoiceStudio, engine: CountingEngine) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    engine.before_encode = lambda: voices.world.store.delete(ALICE, ada.voice)

    voices.resolver.resolve(ada, voices.hold())

    assert list(voices.artifacts.list("voice-caches/")) == []
    assert voices.world.store.find_artifact(ALICE, voices.content(ada)) is None


def test_a_dropped_item_ends_its_build_without_a_verdict(voices: VoiceStudio) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    held = voices.hold()
    held.drop(DropReason.ABORTED)

    with pytest.raises(WorkDropped):
        voices.resolver.resolve(ada, held)

    voices.world.lose(held.lease)
    assert cache_of(voices, ada).state is CacheState.PENDING


# What cannot work


@pytest.mark.parametrize(
    ("recording", "code", "reason"),
    [
        (file_of(tone(0.4)), "invalid_request", "0.40 s"),
        (file_of(np.zeros(20_000, np.float32)), "invalid_request", "silent"),
        (b"RIFF\xff\xff\xff\xffWAVE", "unsupported_media", "damaged"),
    ],
)
def test_a_recording_that_cannot_become_a_voice_fails_its_cache_with_the_reason(
    recording: bytes, code: str, reason: str, voices: VoiceStudio
) -> None:
    ada = voices.upload(recording)
    voices.request_cache(ada)

    with pytest.raises(PermanentItemError, match=reason):
        voices.resolver.resolve(ada, voices.hold())

    cache = cache_of(voices, ada)
    assert cache.state is CacheState.FAILED
    assert cache.error is not None
    assert cache.error.code == code
    assert reason in cache.error.detail


def test_a_job_that_waits_for_a_failed_cache_fails_and_one_that_computes_tries_itself(
    voices: VoiceStudio, engine: CountingEngine
) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    builder = voices.world.claim(voices.content(ada), voices.world.jobs[-1])
    voices.world.fail(builder)

    with pytest.raises(PermanentItemError, match="no speech in it"):
        voices.resolver.resolve(replace(ada, if_missing=IfCacheMissing.WAIT), voices.hold())
    voices.resolver.resolve(ada, voices.hold())

    assert engine.encoded == 1


def test_an_embedding_of_another_width_is_refused(voices: VoiceStudio) -> None:
    ada = voices.upload_embedding(np.ones(3, np.float32))

    with pytest.raises(PermanentItemError, match="has 3 values"):
        voices.resolver.resolve(ada, voices.hold())


def test_a_recording_that_is_not_the_recorded_one_is_not_used(voices: VoiceStudio) -> None:
    ada = voices.upload()
    damage(voices.artifacts, ada.source.key, b"RIFF" + bytes(100))

    with pytest.raises(PermanentItemError, match="damaged"):
        voices.resolver.resolve(ada, voices.hold())


# Damaged caches


def damage(artifacts: ArtifactStore, key: str, data: bytes) -> None:
    artifacts.delete(key)
    artifacts.put(key, data)


def ready(voices: VoiceStudio) -> tuple[VoiceReference, str]:
    """A voice with a cache, and the cache's key."""
    ada = voices.upload()
    voices.request_cache(ada)
    voices.another_worker().resolve(ada, voices.hold())
    artifact = cache_of(voices, ada).artifact
    assert artifact is not None
    return ada, artifact.key


def damages(good: bytes) -> dict[str, bytes]:
    flipped = bytearray(good)
    flipped[-3] ^= 4
    (length,) = struct.unpack_from("<Q", good)
    table = json.loads(good[8 : 8 + length])
    table["x_vector"]["shape"] = [2**40]
    lying = json.dumps(table).encode()
    return {
        "flipped bit": bytes(flipped),
        "cut": good[: len(good) // 2],
        "empty": b"",
        "huge header": struct.pack("<Q", 2**40) + good[8:],
        "lying shape": struct.pack("<Q", len(lying)) + lying + good[8 + length :],
        "noise": random.Random(1).randbytes(len(good)),
    }


@pytest.mark.parametrize("kind", ["flipped bit", "cut", "empty", "huge header", "lying shape", "noise", "missing"])
def test_a_damaged_cache_is_built_anew_once_and_then_fails(
    kind: str, voices: VoiceStudio, engine: CountingEngine
) -> None:
    ada, key = ready(voices)
    spoil(voices, key, kind)

    rebuilt = voices.another_worker().resolve(ada, voices.hold())

    assert engine.encoded == 2
    assert same(rebuilt, voices.another_worker().resolve(ada, voices.hold()))
    successor = cache_of(voices, ada).artifact
    assert successor is not None
    assert successor.key != key
    spoil(voices, successor.key, kind)
    with pytest.raises(PermanentItemError, match="damaged, and so was its successor"):
        voices.another_worker().resolve(replace(ada, if_missing=IfCacheMissing.WAIT), voices.hold())
    cache = cache_of(voices, ada)
    assert cache.state is CacheState.FAILED
    assert engine.encoded == 2


def spoil(voices: VoiceStudio, key: str, kind: str) -> None:
    if kind == "missing":
        voices.artifacts.delete(key)
    else:
        damage(voices.artifacts, key, damages(voices.artifacts.get(key))[kind])


def test_a_cache_under_another_voices_name_is_not_taken(voices: VoiceStudio, engine: CountingEngine) -> None:
    ada, key = ready(voices)
    grace = voices.upload(file_of(tone(1.5)), name="Grace")
    voices.request_cache(grace)
    voices.another_worker().resolve(grace, voices.hold())
    other = cache_of(voices, grace).artifact
    assert other is not None
    damage(voices.artifacts, other.key, voices.artifacts.get(key))

    prompt = voices.another_worker().resolve(grace, voices.hold())

    assert engine.encoded == 3
    assert not same(prompt, voices.another_worker().resolve(ada, voices.hold()))


# Preparing caches in bulk


def test_preparing_builds_looks_and_waits_its_turn(voices: VoiceStudio, engine: CountingEngine) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    builder = voices.world.claim(voices.content(ada), voices.world.jobs[-1])

    assert voices.resolver.prepare(ada, voices.hold()) is ClaimStatus.BUSY
    voices.world.lose(builder.lease)
    assert voices.resolver.prepare(ada, voices.hold()) is ClaimStatus.BUILD
    assert voices.resolver.prepare(ada, voices.hold()) is ClaimStatus.READY

    assert engine.encoded == 1
    assert voices.resolver.cache.stats().voices == 0


def test_no_more_recordings_are_prepared_at_a_time_than_there_are_places(
    voices: VoiceStudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worker.voices.resolving.usable_cores", lambda: 2)
    resolver = VoiceResolver(voices.world.store, voices.artifacts, voices.engine, PromptCache(1 << 20))

    place = resolver.place_to_prepare
    with place() as first, place() as second, place() as third:
        places = (first, second, third)
    with place() as later:
        assert later

    assert places == (True, True, False)


def test_an_engine_of_many_slots_has_places_for_a_quarter_of_them(voices: VoiceStudio) -> None:
    slots = 4 * (usable_cores() + 1)
    engine = FakeEngine(FakeEngineSettings(slots=slots))
    resolver = VoiceResolver(voices.world.store, voices.artifacts, engine, PromptCache(1 << 20))

    with ExitStack() as taken:
        places = [taken.enter_context(resolver.place_to_prepare()) for _ in range(slots)]
    engine.close()

    assert places.count(True) == slots // 4


def test_preparing_replaces_a_damaged_cache(voices: VoiceStudio) -> None:
    ada, key = ready(voices)
    spoil(voices, key, "cut")

    assert voices.resolver.prepare(ada, voices.hold()) is ClaimStatus.BUILD


def test_preparing_a_voice_that_was_deleted_fails_its_item(voices: VoiceStudio) -> None:
    ada = voices.upload()
    voices.request_cache(ada)
    voices.world.store.delete(ALICE, ada.voice)

    with pytest.raises(PermanentItemError, match="deleted or changed"):
        voices.resolver.prepare(ada, voices.hold())
