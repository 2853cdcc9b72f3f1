"""What tests of voices share: recordings, a model that clones, and the upload."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np

from rhapsode.contract.voices.modes import CacheMode
from storage.ids import TenantId
from storage.jobs.work_items import ClaimedItem, Lease, PlanResult
from storage.jobs.work_queues import CPU_QUEUE, speech_queue
from storage.narration.voice_reference import VoiceCacheSpec, VoiceReference
from storage.objects import keys
from storage.queue.model_registry import ModelCard
from storage.voices.cache_file import ArtifactHeader, VoiceArtifact, encode_artifact, float_tensor
from storage.voices.plan import decode_voice_plan
from storage.voices.records import CacheArtifact, CacheRequest, CacheTarget, ClaimStatus
from storage.voices.store import VoiceStore
from tests.api.harness import LEASE_S, WORKER, ServedApi

DIMENSION = 8

BASE = ModelCard(
    name="base",
    revision="b1",
    task="base",
    speakers=(),
    languages=("English", "German"),
    default_language=None,
    sample_rate_hz=24_000,
    samples_per_frame=1920,
    num_codebooks=16,
    max_text_tokens=1024,
    speaker_dim=DIMENSION,
    voice_modes=("x_vector", "in_context"),
)

CONSENT = "I am the speaker and agree."
EMBEDDING = np.linspace(-1, 1, DIMENSION, dtype="<f4")


def recording(duration_s: float = 1.5, pitch_hz: float = 220.0, rate_hz: int = 8_000) -> bytes:
    """A WAV file of a hummed note."""
    times = np.arange(round(duration_s * rate_hz)) / rate_hz
    samples = np.round(8_000 * np.sin(2 * np.pi * pitch_hz * times)).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as wav:
        wav.setnchannels(1)
        wav.setsampwidth(2)
        wav.setframerate(rate_hz)
        wav.writeframes(samples.tobytes())
    return file.getvalue()


def upload(api: ServedApi, name: str = "Ada", audio: bytes | None = None, **fields: str) -> dict[str, Any]:
    """A voice from a recording."""
    form = {"name": name, "consent": CONSENT, "ref_text": "Hello there.", **fields}
    files = {"audio_sample": ("sample.wav", audio or recording(), "audio/wav")}
    answer = api.http.post("/v1/voices", data=form, files=files)
    assert answer.status_code == 201, answer.text
    return answer.json()


def upload_embedding(
    api: ServedApi, name: str = "Eve", values: np.ndarray = EMBEDDING, model: str = "base"
) -> dict[str, Any]:
    files = {"speaker_embedding": ("eve.f32", values.astype("<f4").tobytes(), "application/octet-stream")}
    answer = api.http.post("/v1/voices", data={"name": name, "consent": CONSENT, "model": model}, files=files)
    assert answer.status_code == 201, answer.text
    return answer.json()


def build_all(api: ServedApi, card: ModelCard = BASE) -> int:
    """Play the workers of this model until no cache is to be built; how many were."""
    num_built = 0
    while item := api.jobs.claim(CPU_QUEUE, WORKER, LEASE_S).item:
        spec = item.spec
        assert isinstance(spec, VoiceCacheSpec)
        voices = references(api, item)
        store = VoiceStore(api.redis)
        wanted = [request_of(voice, card) for voice in voices]
        store.request_caches(item.lease.tenant, item.lease.job, wanted, rebuild=spec.rebuild)
        api.jobs.commit_plan(item.lease, PlanResult(item.input_key, len(voices), 1_000))
    while item := api.jobs.claim(speech_queue(card.name), WORKER, LEASE_S).item:
        voice = references(api, item)[int(item.lease.item)]
        build(api, voice, item.lease, card)
        api.jobs.commit_voice(item.lease, 5)
        num_built += 1
    return num_built


def references(api: ServedApi, item: ClaimedItem) -> list[VoiceReference]:
    """The voices of an item's plan, which are all stored already."""
    voices: list[VoiceReference] = []
    for voice in decode_voice_plan(api.objects.get(item.input_key)):
        assert isinstance(voice, VoiceReference)
        voices.append(voice)
    return voices


def build(api: ServedApi, voice: VoiceReference, lease: Lease, card: ModelCard = BASE) -> None:
    """What a worker does with a voice that it finds unbuilt; nothing with one that is ready."""
    store = VoiceStore(api.redis)
    content = voice.content(lease.tenant, card.revision)
    if store.claim_build(content, lease).status is not ClaimStatus.BUILD:
        return
    header = ArtifactHeader(content, card.name, card.revision, card.revision, CacheMode.X_VECTOR)
    data = encode_artifact(VoiceArtifact(header, float_tensor(tuple(EMBEDDING.tolist()))))
    stored = api.objects.put(keys.voice_cache(lease.tenant, content, lease.fence), data)
    store.commit_build(content, lease, CacheArtifact(stored.key, stored.sha256, stored.bytes, lease.fence), 5)


def request_of(voice: VoiceReference, card: ModelCard = BASE) -> CacheRequest:
    target = CacheTarget(voice.voice, voice.model, voice.mode)
    return CacheRequest(target, voice.revision, card.revision, voice.content(TenantId("local"), card.revision))
