"""From an uploaded file to the engine's voice data. Takes seconds; the result belongs into a cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from storage.audio.recording_verdict import RecordingRefused, RefusalCode
from storage.audio.recordings import DecodedRecording
from storage.errors import ArtifactMissing
from storage.narration.voice_reference import SourceKind, VoiceReference, VoiceSource, normalised_ref_text
from storage.objects.store import ArtifactStore
from worker.engine.errors import RequestRejected
from worker.engine.interface import Engine, ReferenceAudio, VoicePrompt, XVectorPrompt
from worker.errors import unusable
from worker.items.leases.persistence import StorePatience, until_available

Decode = Callable[[bytes], DecodedRecording]
"""`storage.audio.recordings.decode_recording`, or as many of it at a time as there is room for."""

_MEDIA = frozenset({RefusalCode.UNSUPPORTED_MEDIA, RefusalCode.UNREADABLE})


def encode_source(
    reference: VoiceReference, artifacts: ArtifactStore, decode: Decode, engine: Engine, held: StorePatience
) -> VoicePrompt:
    """The voice as this engine's checkpoint speaks with it.

    Raises `PermanentItemError` when this voice can never work here, `StoreUnavailable`, `EngineDied`, `WorkDropped`.
    """
    source = reference.source
    data = until_available(held, _source_bytes, source, artifacts)
    match source.kind:
        case SourceKind.EMBEDDING:
            return _from_embedding(data, engine)
        case SourceKind.RECORDING:
            ref_text = normalised_ref_text(reference.ref_text, reference.mode)
            return _from_recording(data, ref_text, decode, engine, held)


def _source_bytes(source: VoiceSource, artifacts: ArtifactStore) -> bytes:
    try:
        data = artifacts.get(source.key)
    except ArtifactMissing as error:
        raise unusable("voice_not_found", "the voice was deleted, and its recording with it") from error
    if hashlib.sha256(data).hexdigest() != source.sha256:
        raise unusable("internal", "the voice's recording in the store is damaged; upload it again")
    return data


def _from_embedding(data: bytes, engine: Engine) -> VoicePrompt:
    embedding = np.frombuffer(data, "<f4").astype(np.float32)
    if embedding.shape != (engine.info.speaker_dim,):
        raise unusable(
            "invalid_request",
            f"the voice's embedding has {embedding.size} values; {engine.info.model} needs {engine.info.speaker_dim}",
        )
    if not np.isfinite(embedding).all():
        raise unusable("invalid_request", "the voice's embedding is not finite")
    return XVectorPrompt(embedding)


def _from_recording(data: bytes, ref_text: str, decode: Decode, engine: Engine, held: StorePatience) -> VoicePrompt:
    try:
        recording = decode(data)
    except RecordingRefused as refused:
        code = "unsupported_media" if refused.code in _MEDIA else "invalid_request"
        raise unusable(code, refused.detail) from refused
    held.check()
    pcm = np.frombuffer(recording.pcm, np.float32).copy()  # torch takes none that cannot be written
    try:
        return engine.encode_voice(ReferenceAudio(pcm, recording.facts.sample_rate_hz, ref_text or None)).result()
    except RequestRejected as error:
        raise unusable("invalid_request", str(error)) from error
