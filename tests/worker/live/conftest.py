from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import redis

from storage.objects.local_store import LocalArtifactStore
from tests.worker.voices.voice_studio import VoiceStudio
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED

LIVE_SLOTS = 4


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    engine = FakeEngine(FakeEngineSettings(slots=1, live_slots=LIVE_SLOTS, step_s=0.001))
    yield engine
    engine.close()


@pytest.fixture
def voices(redis_client: redis.Redis, local_store: LocalArtifactStore, engine: FakeEngine) -> VoiceStudio:
    return VoiceStudio(redis_client, local_store, engine)


@pytest.fixture
def parts(engine: FakeEngine, voices: VoiceStudio, local_store: LocalArtifactStore) -> LiveParts:
    return LiveParts(
        "gpu-0",
        "fake",
        engine,
        voices.resolver,
        local_store,
        lambda voice, language: UNCALIBRATED.bounds(language, voice),
    )


@pytest.fixture
def serve_live(parts: LiveParts) -> Iterator[Callable[..., LiveServer]]:
    """Start a server of the test's parts, or of others; all are closed at the end."""
    started: list[LiveServer] = []

    def start(binding: LiveBinding | None = None, own: LiveParts | None = None) -> LiveServer:
        server = LiveServer(own or parts, binding or LiveBinding(), lambda: 1.5)
        started.append(server)
        server.start()
        return server

    yield start
    for server in started:
        server.close()


@pytest.fixture
def server(serve_live: Callable[..., LiveServer]) -> LiveServer:
    return serve_live()
