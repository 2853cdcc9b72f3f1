"""The recording of a voice as an object in the store."""

from __future__ import annotations

from typing import IO

from storage.audio.recording_verdict import RecordingFacts
from storage.narration.voice_reference import SourceKind, VoiceSource
from storage.objects.store import ArtifactStore

_PIECE_BYTES = 256 * 1024


def put_recording(artifacts: ArtifactStore, key: str, file: IO[bytes], facts: RecordingFacts) -> VoiceSource:
    """Store the whole of a file on disk as it came. facts: what decoding it has found. Raises as the store does."""
    file.seek(0)
    stored = artifacts.put_stream(key, iter(lambda: file.read(_PIECE_BYTES), b""))
    return VoiceSource(
        SourceKind.RECORDING,
        stored.key,
        stored.sha256,
        stored.bytes,
        facts.container.media_type,
        duration_s=round(facts.duration_s, 3),
        repairs=facts.repairs,
    )
