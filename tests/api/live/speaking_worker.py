"""The live server of a worker on the fake engine, announced as a worker announces it: in this process, or in its own.

    python -m tests.api.live.speaking_worker NAME REDIS_URL BROKER_URL FOLDER SLOTS STEP_S [CERTIFICATE KEY]

serves until it is killed, which is what it is for, or leaves at SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import redis
from pydantic import SecretStr

from storage.database.connections import connect_redis
from storage.objects.local_store import LocalArtifactStore
from storage.objects.store import ArtifactStore
from storage.queue.model_registry import ModelRegistry
from storage.queue.worker_registry import WorkerRegistry, WorkerReport, WorkerRole
from storage.runtime.config.settings import StorageSettings
from storage.runtime.config.tls import server_context
from storage.voices.store import VoiceStore
from worker.engine.fake import FakeEngine
from worker.engine.settings import FakeEngineSettings
from worker.lifecycle.model_card import model_card
from worker.live.parts import LiveParts
from worker.live.server import LiveBinding, LiveServer
from worker.speech.quality.calibration.calibration_file import UNCALIBRATED
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

MODEL = "fake"
SECRET = "a-secret-for-tests-only"
MAX_VOICE_BYTES = 1 << 20


@dataclass(frozen=True)
class SpeakingWorker:
    name: str
    engine: FakeEngine
    server: LiveServer


@contextmanager
def speaking_worker(
    client: redis.Redis,
    artifacts: ArtifactStore,
    key_prefix: str = "rhapsode",
    *,
    name: str = "gpu-0",
    live_slots: int = 4,
    step_s: float = 0.001,
    binding: LiveBinding | None = None,
) -> Generator[SpeakingWorker]:
    """In this process: model card and worker report are in Redis while it serves."""
    engine = FakeEngine(FakeEngineSettings(slots=1, live_slots=live_slots, step_s=step_s))
    voices = VoiceResolver(VoiceStore(client, key_prefix), artifacts, engine, PromptCache(MAX_VOICE_BYTES))
    parts = LiveParts(
        name, MODEL, engine, voices, artifacts, lambda voice, language: UNCALIBRATED.bounds(language, voice)
    )
    server = LiveServer(parts, binding or LiveBinding(), lambda: 1000 * step_s)
    registry = WorkerRegistry(client, key_prefix)
    server.start()
    try:
        ModelRegistry(client, key_prefix).publish(model_card(MODEL, engine.info, ()))
        registry.report(
            WorkerReport(
                *(name, WorkerRole.GPU, "here", os.getpid(), "1", 0, 0),
                queue="speech.fake",
                model=MODEL,
                live=server.address(),
            )
        )
        yield SpeakingWorker(name, engine, server)
        registry.leave(name)
    finally:
        server.close()
        engine.close()


def _main(name: str, redis_url: str, broker_url: str, folder: str, slots: str, step_s: str, *tls: str) -> None:
    told_to_leave = threading.Event()

    def leave(number: int, frame: FrameType | None) -> None:
        told_to_leave.set()

    signal.signal(signal.SIGTERM, leave)
    binding = LiveBinding(tls=server_context(Path(tls[0]), Path(tls[1]))) if tls else None
    settings = StorageSettings(
        redis_url=SecretStr(redis_url),
        broker_url=SecretStr(broker_url),
        store=f"file://{folder}",
        url_secret=SecretStr(SECRET),
    )
    store = LocalArtifactStore(Path(folder), SECRET.encode(), min_free_bytes=0)
    with (
        connect_redis(settings) as client,
        speaking_worker(
            client,
            store,
            settings.key_prefix,
            name=name,
            live_slots=int(slots),
            step_s=float(step_s),
            binding=binding,
        ) as worker,
    ):
        sys.stdout.write(f"{worker.server.address().url}\n")
        sys.stdout.flush()
        told_to_leave.wait()


if __name__ == "__main__":
    _main(*sys.argv[1:])
