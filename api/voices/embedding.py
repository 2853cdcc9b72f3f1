"""A voice's speaker embedding: the one that was uploaded, or the one in a ready cache."""

from __future__ import annotations

import hashlib
import json
import struct
from dataclasses import dataclass

from starlette.responses import Response

from api.http.problems.problem import invalid_field, not_ready
from api.services.container import ApiServices
from rhapsode.contract.voices import voices as voice_schemas
from rhapsode.contract.voices.modes import CacheMode
from storage.errors import ArtifactMissing
from storage.narration.voice_reference import SourceKind
from storage.voices.cache_file import (
    ArtifactFormatError,
    ArtifactHeader,
    VoiceArtifact,
    decode_artifact,
    encode_artifact,
    float_tensor,
    tensor_values,
)
from storage.voices.records import CacheArtifact, VoiceCacheRecord, VoiceRecord

SAFETENSORS = "application/octet-stream"
UPLOADED = "uploaded"
"""In place of the revision of a checkpoint, where an embedding does not say which one it came from."""


@dataclass(frozen=True, slots=True)
class SpeakerEmbedding:
    """values: float32 (D,) of `model`. model_revision: None for an embedding that was uploaded."""

    model: str
    model_revision: str | None
    values: tuple[float, ...]


def embedding_of(services: ApiServices, record: VoiceRecord, model: str | None) -> SpeakerEmbedding:
    """For `model`, or for whichever there is one. Raises a `Problem` if no cache is ready."""
    source = record.source
    if source.kind is SourceKind.EMBEDDING:
        if model not in (None, source.model):
            raise invalid_field("/model", "wrong_model", f"{record.name} has an embedding of {source.model} only")
        data = services.artifacts.get(source.key)
        return SpeakerEmbedding(source.model, None, struct.unpack(f"<{source.num_values}f", data))
    caches = services.voices.caches(record.tenant, record.id)
    ready = [(cache, cache.artifact) for cache in caches if cache.artifact and model in (None, cache.target.model)]
    if not ready:
        raise not_ready(f"{record.name} has no ready cache{f' for {model}' if model else ''}; POST …/cache first", 5.0)
    return _read(services, record, *max(ready, key=lambda pair: pair[0].finished_at_ms or 0))


def embedding_answer(record: VoiceRecord, embedding: SpeakerEmbedding, *, as_json: bool) -> Response:
    if as_json:
        body = voice_schemas.VoiceEmbedding(
            voice=record.id,
            model=embedding.model,
            model_revision=embedding.model_revision,
            dimension=len(embedding.values),
            values=tuple(embedding.values),
        )
        return Response(body.model_dump_json(), media_type="application/json")
    filename = f'attachment; filename="{record.id}-{embedding_digest(embedding)}.safetensors"'
    return Response(_exported(embedding), media_type=SAFETENSORS, headers={"Content-Disposition": filename})


def embedding_digest(embedding: SpeakerEmbedding) -> str:
    return hashlib.sha256(json.dumps(embedding.values).encode()).hexdigest()[:8]


def _read(
    services: ApiServices, record: VoiceRecord, cache: VoiceCacheRecord, stored: CacheArtifact
) -> SpeakerEmbedding:
    try:
        artifact = decode_artifact(services.artifacts.get(stored.key), stored.sha256)
    except (ArtifactMissing, ArtifactFormatError) as error:
        # It was replaced a moment ago, or is damaged; a worker that finds a damaged one builds it again.
        raise not_ready(f"the cache of {record.name} cannot be read now: {error}", 5.0) from error
    return SpeakerEmbedding(cache.target.model, cache.model_revision, tensor_values(artifact.x_vector))


def _exported(embedding: SpeakerEmbedding) -> bytes:
    """The x-vector alone, in the format of caches; what this gives out, `POST /v1/voices` takes."""
    header = ArtifactHeader(
        content=hashlib.sha256(json.dumps(embedding.values).encode()).hexdigest(),
        model=embedding.model,
        model_revision=embedding.model_revision or UPLOADED,
        codec_revision=embedding.model_revision or UPLOADED,
        mode=CacheMode.X_VECTOR,
    )
    return encode_artifact(VoiceArtifact(header, float_tensor(embedding.values)))
