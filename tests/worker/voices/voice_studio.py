"""A voice resolver on the real stores: uploads go in, leases are handed out, and encodings are counted."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
import redis

from rhapsode.contract.voices.modes import CacheMode, IfCacheMissing
from storage.ids import ContentKey, JobId, new_voice_id
from storage.jobs.work_items import Lease
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource
from storage.objects import keys
from storage.objects.store import ArtifactStore
from storage.voices.records import CacheRequest, CacheTarget, VoiceCreation, VoiceRecord
from tests.storage.voices.voice_world import ALICE, CONSENT, MODEL, VoiceWorld
from tests.worker.voices.reference_audio.sounds import file_of, tone
from worker.engine.fake import FakeEngine
from worker.engine.interface import Engine, ReferenceAudio, VoicePrompt
from worker.engine.settings import FakeEngineSettings
from worker.items.leases.keeper import HeldLease
from worker.voices.cache import PromptCache
from worker.voices.resolving import VoiceResolver

REF_TEXT = "Hello there."
MAX_BYTES = 1 << 20


class CountingEngine(FakeEngine):
    """`encoded` counts recordings; while `gate` is closed an encoding waits; `before_encode` is called first."""

    def __init__(self) -> None:
        super().__init__(FakeEngineSettings(slots=2, step_s=0.0))
        self.encoded = 0
        self.gate = threading.Event()
        self.gate.set()
        self.before_encode: Callable[[], None] = lambda: None

    def encode_voice(self, reference: ReferenceAudio) -> Future[VoicePrompt]:
        self.encoded += 1
        self.before_encode()
        assert self.gate.wait(60)
        return super().encode_voice(reference)


@dataclass
class VoiceStudio:
    client: redis.Redis
    artifacts: ArtifactStore
    engine: Engine
    max_bytes: int = MAX_BYTES
    world: VoiceWorld = field(init=False)
    resolver: VoiceResolver = field(init=False)

    def __post_init__(self) -> None:
        self.world = VoiceWorld(self.client)
        self.resolver = self.another_worker()

    def another_worker(self) -> VoiceResolver:
        """With nothing in memory."""
        return VoiceResolver(self.world.store, self.artifacts, self.engine, PromptCache(self.max_bytes))

    def upload(
        self, recording: bytes | None = None, mode: CacheMode = CacheMode.IN_CONTEXT, name: str = "Ada"
    ) -> VoiceReference:
        data = file_of(tone(1.2)) if recording is None else recording
        return self._create(data, SourceKind.RECORDING, mode, name)

    def upload_embedding(self, values: np.ndarray, name: str = "Ada") -> VoiceReference:
        return self._create(values.astype("<f4").tobytes(), SourceKind.EMBEDDING, CacheMode.X_VECTOR, name)

    def _create(self, data: bytes, kind: SourceKind, mode: CacheMode, name: str) -> VoiceReference:
        voice = new_voice_id()
        key = keys.voice_source(ALICE, voice, "1")
        self.artifacts.put(key, data)
        source = VoiceSource(kind, key, hashlib.sha256(data).hexdigest(), len(data), "audio/wav")
        text = REF_TEXT if mode is CacheMode.IN_CONTEXT else ""
        record = self.world.store.create(VoiceCreation(voice, ALICE, name, source, text, consent=CONSENT))
        return reference_to(record, mode)

    def content(self, reference: VoiceReference) -> ContentKey:
        return reference.content(ALICE, self.engine.info.revision)

    def request_cache(self, reference: VoiceReference, job: JobId | None = None) -> None:
        """Somebody wants the voice cached; a job sees to it."""
        target = CacheTarget(reference.voice, reference.model, reference.mode)
        revision = self.engine.info.revision
        wanted = CacheRequest(target, reference.revision, revision, self.content(reference))
        self.world.store.request_caches(ALICE, job or self.world.start_job(), [wanted])

    def hold(self, lease: Lease | None = None) -> HeldLease:
        """A lease as an item has it."""
        return HeldLease(lease or self.world.lease(self.world.start_job()), lease_s=1.0)


def reference_to(
    record: VoiceRecord, mode: CacheMode, if_missing: IfCacheMissing = IfCacheMissing.COMPUTE
) -> VoiceReference:
    text = record.ref_text if mode is CacheMode.IN_CONTEXT else ""
    return VoiceReference(record.id, record.name, record.revision, MODEL, mode, record.source, text, if_missing)
