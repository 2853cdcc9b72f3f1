"""The records of voices and caches between their two forms: values here, hashes of strings in Redis. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from pydantic import TypeAdapter
from pydantic_core import from_json

from rhapsode.contract.voices.modes import CacheMode
from storage.ids import ContentKey, TenantId, VoiceId
from storage.jobs.record import JobError
from storage.narration.voice_reference import VoiceSource
from storage.objects import keys
from storage.voices.records import (
    CacheArtifact,
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
_VOICE = TypeAdapter(VoiceRecord)
_CACHE = TypeAdapter(VoiceCacheRecord)


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
    told = {
        "source": from_json(fields["source"]),
        "consent": _decode_consent(fields["consent"]) if "consent" in fields else None,
        "metadata": from_json(fields["metadata"]),
    }
    return _VOICE.validate_python({**fields, **told})


def _decode_consent(document: str) -> Consent:
    """Releases before named consents by id; where one was a recording alone, the id is all that there is of it."""
    consent = _CONSENT.validate_json(document)
    return consent if consent.statement else replace(consent, statement=" ".join(json.loads(document)["ids"]))


def decode_cache(name: str, content: str, fields: Mapping[str, str]) -> VoiceCacheRecord:
    told = {
        "target": decode_target(name),
        "content": content,
        "artifact": decode_artifact_fields(TenantId(fields["tenant"]), ContentKey(content), fields),
        "error": from_json(fields["error"]) if "error" in fields else None,
        "job": fields.get("job") or None,
    }
    return _CACHE.validate_python({**fields, **told})


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
