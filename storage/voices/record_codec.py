"""The records of voices and caches between their two forms: values here, hashes of strings in Redis. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pydantic import TypeAdapter

from rhapsode.contract.voices.modes import CacheMode
from storage.ids import ContentKey, JobId, TenantId, VoiceId
from storage.jobs.record import JobError
from storage.narration.voice_reference import VoiceSource
from storage.objects import keys
from storage.voices.records import (
    CacheArtifact,
    CacheState,
    CacheTarget,
    Consent,
    VoiceCacheRecord,
    VoiceCreation,
    VoiceRecord,
    VoiceUpdate,
)

_SOURCE = TypeAdapter(VoiceSource)
_CONSENT = TypeAdapter(Consent)
_METADATA = TypeAdapter(dict[str, str])
_ERROR = TypeAdapter(JobError)


def created_fields(voice: VoiceCreation) -> dict[str, str]:
    """What the creation alone decides; the function adds the rest."""
    fields = {
        "name": voice.name,
        "language": voice.language,
        "description": voice.description,
        "metadata": _METADATA.dump_json(voice.metadata).decode(),
        "source_key": voice.source.key,
    }
    return fields | source_fields(voice.source, voice.ref_text, voice.consent)


def source_fields(source: VoiceSource, ref_text: str, consent: Consent | None) -> dict[str, str]:
    """What comes with a recording."""
    fields = {"source": _SOURCE.dump_json(source).decode(), "ref_text": ref_text}
    if consent is not None:
        fields["consent"] = _CONSENT.dump_json(consent).decode()
    return fields


def changed_fields(changes: VoiceUpdate) -> dict[str, str]:
    fields = {
        "name": changes.name,
        "description": changes.description,
        "metadata": None if changes.metadata is None else _METADATA.dump_json(changes.metadata).decode(),
    }
    return {name: value for name, value in fields.items() if value is not None}


def decode_voice(fields: Mapping[str, str]) -> VoiceRecord:
    return VoiceRecord(
        id=VoiceId(fields["id"]),
        tenant=TenantId(fields["tenant"]),
        name=fields["name"],
        revision=int(fields["revision"]),
        source=_SOURCE.validate_json(fields["source"]),
        ref_text=fields["ref_text"],
        language=fields["language"],
        description=fields["description"],
        consent=_decode_consent(fields["consent"]) if "consent" in fields else None,
        created_at_ms=int(fields["created_at_ms"]),
        updated_at_ms=int(fields["updated_at_ms"]),
        metadata=_METADATA.validate_json(fields["metadata"]),
    )


def _decode_consent(document: str) -> Consent:
    """Releases before named consents by id; where one was a recording alone, the id is all that there is of it."""
    consent = _CONSENT.validate_json(document)
    return consent if consent.statement else replace(consent, statement=" ".join(json.loads(document)["ids"]))


def decode_cache(name: str, content: str, fields: Mapping[str, str]) -> VoiceCacheRecord:
    return VoiceCacheRecord(
        target=decode_target(name),
        content=ContentKey(content),
        model_revision=fields["model_revision"],
        state=CacheState(fields["state"]),
        artifact=decode_artifact_fields(TenantId(fields["tenant"]), ContentKey(content), fields),
        error=decode_error(fields["error"]) if "error" in fields else None,
        job=JobId(fields["job"]) if fields.get("job") else None,
        attempts=int(fields["attempts"]),
        requested_at_ms=int(fields["requested_at_ms"]),
        finished_at_ms=_optional_integer(fields, "finished_at_ms"),
        build_ms=_optional_integer(fields, "build_ms"),
    )


def decode_artifact_fields(
    tenant: TenantId, content: ContentKey, fields: Mapping[str, str | None]
) -> CacheArtifact | None:
    """What is served; None before the first build. The object's key follows from the rest."""
    version, sha256, num_bytes = (fields.get(name) for name in ("version", "sha256", "bytes"))
    if version is None or sha256 is None or num_bytes is None:
        return None
    key = keys.voice_cache(tenant, content, int(version))
    return CacheArtifact(key, sha256, int(num_bytes), int(version))


def decode_error(text: str) -> JobError:
    return _ERROR.validate_json(text)


def target_name(target: CacheTarget) -> str:
    return f"{target.voice}|{target.mode}|{target.model}"


def decode_target(name: str) -> CacheTarget:
    voice, mode, model = name.split("|", 2)
    return CacheTarget(VoiceId(voice), model, CacheMode(mode))


def _optional_integer(fields: Mapping[str, str], name: str) -> int | None:
    return int(fields[name]) if name in fields else None
