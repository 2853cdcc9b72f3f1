"""Voices and their caches: the records, the states and what enters and leaves their store. Pure.

A voice is an uploaded recording or embedding. A cache is that voice made ready for one model in one mode.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from rhapsode.contract.voices.modes import CacheMode
from storage.ids import ContentKey, JobId, TenantId, VoiceId
from storage.jobs.record import JobError
from storage.narration.voice_reference import VoiceSource


class CacheState(enum.StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Consent:
    """The speaker's permission: what was stated, whose key said so (its tenant where it has no id), when (Unix ms).

    Of a release before, the statement may be the id of a consent that was a recording alone.
    """

    statement: str
    actor: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class VoiceCreation:
    """A voice to be created; its source lies in the store already. The time is the server's."""

    id: VoiceId
    tenant: TenantId
    name: str
    source: VoiceSource
    ref_text: str = ""
    language: str = "auto"
    description: str = ""
    consent: Consent | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class VoiceRecord:
    """A voice as Redis holds it.

    revision: 1 at first, one more with every new recording. ref_text: what the recording says, "" if unknown.
    consent: of the speaker; None where no recording was cloned (blends of consented voices carry theirs).
    """

    id: VoiceId
    tenant: TenantId
    name: str
    revision: int
    source: VoiceSource
    ref_text: str
    language: str
    description: str
    consent: Consent | None
    created_at_ms: int
    updated_at_ms: int
    metadata: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class CacheTarget:
    """Which cache of a voice: for one model, in one mode."""

    voice: VoiceId
    model: str
    mode: CacheMode


@dataclass(frozen=True, slots=True)
class CacheRequest:
    """One cache wanted.

    revision: the voice's; the request is refused if it has moved on. model_revision: of the checkpoint in the content.
    """

    target: CacheTarget
    revision: int
    model_revision: str
    content: ContentKey


@dataclass(frozen=True, slots=True)
class CacheArtifact:
    """A stored cache. `fence`: of the lease under which it was built; larger is newer."""

    key: str
    sha256: str
    bytes: int
    fence: int


@dataclass(frozen=True, slots=True)
class VoiceCacheRecord:
    """A cache as Redis holds it; times are Unix ms of the Redis server.

    artifact: the version that is served; also while a forced rebuild runs, and after one that failed.
    error: why the last build failed. job: the last that asked for a build.
    """

    target: CacheTarget
    content: ContentKey
    model_revision: str
    state: CacheState
    artifact: CacheArtifact | None
    error: JobError | None
    job: JobId | None
    attempts: int
    requested_at_ms: int
    finished_at_ms: int | None = None
    build_ms: int | None = None


@dataclass(frozen=True, slots=True)
class VoiceUpdate:
    """What may be changed without a new recording; None leaves a field as it is."""

    name: str | None = None
    description: str | None = None
    metadata: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class NewRecording:
    """Another source for a voice, in place of the one of `revision`."""

    revision: int
    source: VoiceSource
    ref_text: str
    consent: Consent | None


class RequestOutcome(enum.StrEnum):
    """What became of a request for a cache; the first four are the state it is in now."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    """Asked before by the same job."""

    MISSING = "missing"
    """There is no such voice."""

    MOVED = "moved"
    """The voice has another recording now."""

    ENDED = "ended"
    """The job that asked is not under way."""


class ClaimStatus(enum.StrEnum):
    BUILD = "build"
    """The build is the caller's: put the artifact, then `commit_build` or `fail_build`."""

    READY = "ready"
    """It is there already."""

    BUSY = "busy"
    """Another live lease builds it."""

    FAILED = "failed"
    """The last build failed for good and was not asked for again."""

    UNKNOWN = "unknown"
    """No cache of this content is kept; build for your own use and store nothing."""


@dataclass(frozen=True, slots=True)
class BuildClaim:
    """`artifact` with READY, `error` with FAILED."""

    status: ClaimStatus
    artifact: CacheArtifact | None = None
    error: JobError | None = None
