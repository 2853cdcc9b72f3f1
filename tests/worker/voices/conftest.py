from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis

from storage.objects.local_store import LocalArtifactStore
from tests.worker.voices.voice_studio import CountingEngine, VoiceStudio


@pytest.fixture
def engine() -> Iterator[CountingEngine]:
    engine = CountingEngine()
    yield engine
    engine.close()


@pytest.fixture
def voices(redis_client: redis.Redis, local_store: LocalArtifactStore, engine: CountingEngine) -> VoiceStudio:
    return VoiceStudio(redis_client, local_store, engine)
