"""What the API answers about voices, as frozen values. Fields a newer server adds are ignored."""

from __future__ import annotations

import enum
from datetime import datetime
from typing import Literal

from pydantic import Field

from rhapsode.client.resources import JobFailure, Resource

VoiceMode = Literal["x_vector", "in_context"]
"""From the speaker's embedding alone, or from the recording with its words."""


class VoiceConsent(Resource):
    """What was stated, by whose key, and when. ids: of the consents it was taken from; none if the voice brought it."""

    ids: tuple[str, ...] = ()
    statement: str
    actor: str
    at: datetime


class VoiceSample(Resource):
    """What the voice was made from; `url` needs the key."""

    kind: Literal["recording", "embedding"]
    media_type: str
    bytes: int
    sha256: str
    url: str
    duration_s: float | None = None


class Voice(Resource):
    """A voice that was uploaded (`own`), or one that a model brings along (`built_in`), which has no id.

    models: those that speak with it now. revision: one more with every new recording.
    """

    id: str | None = None
    kind: Literal["own", "built_in"]
    name: str
    models: tuple[str, ...] = ()
    language: str = "auto"
    description: str = ""
    ref_text: str = ""
    revision: int = 1
    sample: VoiceSample | None = None
    consent: VoiceConsent | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    metadata: dict[str, str] = Field(default_factory=dict[str, str])


class VoicePage(Resource):
    data: tuple[Voice, ...]
    has_more: bool = False
    next_cursor: str | None = None


class CacheState(enum.StrEnum):
    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"
    STALE = "stale"
    """Made for another revision of the model, and not used."""


class VoiceCache(Resource):
    """A voice made ready for one model in one mode; `bytes` and `sha256` are of the version that is served."""

    voice: str
    model: str
    mode: VoiceMode
    state: CacheState
    model_revision: str = ""
    bytes: int | None = None
    sha256: str | None = None
    error: JobFailure | None = None
    job: str | None = None
    attempts: int = 0
    requested_at: datetime | None = None
    finished_at: datetime | None = None
    build_s: float | None = None


class VoiceCachePage(Resource):
    data: tuple[VoiceCache, ...]
    has_more: bool = False
    next_cursor: str | None = None
