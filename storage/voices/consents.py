"""Consents of speakers to be cloned: a statement, a recording of it, or both, with who laid it down and when. Pure.

A consent never changes. It cannot be deleted while a voice rests on it.
"""

from __future__ import annotations

from dataclasses import dataclass

from storage.ids import ConsentId, TenantId


@dataclass(frozen=True, slots=True)
class ConsentRecording:
    """The words as they were spoken. media_type: of the container."""

    key: str
    sha256: str
    bytes: int
    media_type: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class NewConsent:
    """statement: "" where the recording says it all. statement_sha256: of its UTF-8, "" where there is none.

    actor: whose key laid it down; the tenant's name where that key has no id.
    """

    id: ConsentId
    tenant: TenantId
    speaker: str
    statement: str
    statement_sha256: str
    recording: ConsentRecording | None
    actor: str


@dataclass(frozen=True, slots=True)
class ConsentRecord:
    """A consent as Redis holds it. num_voices: that rest on it now."""

    id: ConsentId
    tenant: TenantId
    speaker: str
    statement: str
    statement_sha256: str
    recording: ConsentRecording | None
    actor: str
    created_at_ms: int
    num_voices: int


@dataclass(frozen=True, slots=True)
class ConsentPage:
    consents: tuple[ConsentRecord, ...]
    has_more: bool
