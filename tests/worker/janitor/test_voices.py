"""What voices leave behind in the store, and what must never be taken for it."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

import pytest
import redis

from storage.objects import keys
from storage.objects.local_store import LocalArtifactStore
from storage.voices.records import CacheArtifact, NewRecording, VoiceRecord
from storage.voices.store import VoiceStore
from tests.storage.voices.voice_world import ALICE, VoiceWorld, content_of, new_voice, source_of
from worker.janitor.voices import ORPHAN_AGE_S, VoiceJanitor


@pytest.fixture
def world(redis_client: redis.Redis) -> VoiceWorld:
    return VoiceWorld(redis_client)


@pytest.fixture
def janitor(world: VoiceWorld, local_store: LocalArtifactStore, redis_client: redis.Redis) -> VoiceJanitor:
    return VoiceJanitor(world.store, local_store)


def create(store: VoiceStore, objects: LocalArtifactStore) -> VoiceRecord:
    voice = new_voice()
    objects.put(voice.source.key, b"hello")
    return store.create(voice)


def age_everything(folder: Path) -> None:
    long_ago = time.time() - ORPHAN_AGE_S - 60
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (long_ago, long_ago))


def keys_of(objects: LocalArtifactStore) -> list[str]:
    return [entry.key for entry in objects.list("")]


def test_what_was_discarded_is_deleted(
    world: VoiceWorld, janitor: VoiceJanitor, local_store: LocalArtifactStore
) -> None:
    ada = create(world.store, local_store)
    world.store.delete(ALICE, ada.id)
    assert keys_of(local_store) == [ada.source.key]

    janitor.delete_discarded()
    janitor.delete_discarded()

    assert keys_of(local_store) == []


def test_a_recording_that_is_replaced_is_kept_for_its_last_readers(
    world: VoiceWorld, janitor: VoiceJanitor, local_store: LocalArtifactStore
) -> None:
    ada = create(world.store, local_store)
    new = source_of("other", keys.voice_source(ALICE, ada.id, "2"))
    local_store.put(new.key, b"other")
    world.store.replace(ALICE, ada.id, NewRecording(1, new, "", None))

    janitor.delete_discarded()

    assert keys_of(local_store) == [ada.source.key, new.key]


def test_recordings_that_no_voice_points_at_go_after_a_day(
    world: VoiceWorld, janitor: VoiceJanitor, local_store: LocalArtifactStore, tmp_path: Path
) -> None:
    ada, eve = create(world.store, local_store), world.store.create(new_voice("Eve"))
    local_store.put(keys.voice_source(ALICE, ada.id, "2"), b"never committed")
    local_store.put(eve.source.key, b"hello")
    world.store.delete(ALICE, eve.id)

    janitor.sweep_recordings()
    assert len(keys_of(local_store)) == 3
    age_everything(tmp_path)
    janitor.sweep_recordings()

    assert keys_of(local_store) == [ada.source.key]


def test_recordings_of_an_unknown_voice_are_only_reported(
    world: VoiceWorld,
    janitor: VoiceJanitor,
    local_store: LocalArtifactStore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ada = create(world.store, local_store)
    world.client.flushdb()
    age_everything(tmp_path)

    with caplog.at_level(logging.WARNING):
        janitor.sweep_recordings()

    assert keys_of(local_store) == [ada.source.key]
    assert "recordings of an unknown voice" in caplog.text


def test_caches_that_no_worker_serves_go_after_a_day(
    world: VoiceWorld, janitor: VoiceJanitor, local_store: LocalArtifactStore, tmp_path: Path
) -> None:
    ada = world.create("Ada", "hello")
    assert ada is not None
    content = content_of(ada)
    world.request(ada, world.start_job())
    builder = world.claim(content, world.jobs[-1])
    served = local_store.put(keys.voice_cache(ALICE, content, builder.lease.fence), b"cache")
    builder.stored = CacheArtifact(served.key, served.sha256, served.bytes, builder.lease.fence)
    assert world.commit(builder)
    local_store.put(keys.voice_cache(ALICE, content, 77), b"too late")

    janitor.sweep_caches()
    assert len(keys_of(local_store)) == 2
    age_everything(tmp_path)
    janitor.sweep_caches()

    assert keys_of(local_store) == [served.key]
