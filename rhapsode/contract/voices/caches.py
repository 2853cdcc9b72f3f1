"""The bodies of requests and answers about caches of voices: the public contract."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from rhapsode.contract.base import Answer, Choice, Metadata, Name, RequestBody, exactly_one
from rhapsode.contract.jobs.schedule import DAY_S, Retention
from rhapsode.contract.jobs.states import Priority
from rhapsode.contract.jobs.webhook import JobWebhookRequest

MAX_BULK_VOICES = 20_000

Mode = Literal["x_vector", "in_context"]
ShownState = Literal["pending", "processing", "ready", "failed", "stale"]


class CacheOrder(RequestBody):
    """Make one voice ready. `models`: all that clone, unless named. `force`: rebuild ready ones too."""

    force: bool = False
    models: list[Name] | None = Field(default=None, min_length=1, max_length=16)
    mode: Mode | None = None


class CacheFilter(RequestBody):
    """Voices by what their caches are; without `state` every voice of the tenant."""

    state: ShownState | None = None


class BulkCacheOrder(RequestBody):
    """Make many voices ready for one model: `voices` (ids or names), or a `filter`."""

    model_config = ConfigDict(json_schema_extra=exactly_one(voices="array", filter="object"))

    voices: list[Name] | None = Field(default=None, min_length=1, max_length=MAX_BULK_VOICES)
    filter: CacheFilter | None = None
    model: Name | None = None
    mode: Mode | None = None
    force: bool = False
    priority: Choice[Priority] = Priority.LOW
    retention_s: Retention = 7 * DAY_S
    metadata: Metadata = Field(default={})
    webhook: JobWebhookRequest | None = None

    @model_validator(mode="after")
    def _one_choice(self) -> Self:
        if (self.voices is None) == (self.filter is None):
            raise PydanticCustomError("not_allowed", "say `voices` or `filter`")
        return self


class Failure(Answer):
    """Why a voice could not be made ready."""

    code: str
    detail: str


class VoiceCache(Answer):
    """A voice made ready for one model in one mode.

    `stale`: made for another revision of the model, and not used. `bytes` and `sha256` are of the version that is
    served, which during a rebuild is the old one. `job`: the last that asked for a build.
    """

    object: Literal["voice_cache"] = "voice_cache"
    voice: str
    model: str
    mode: Mode
    state: ShownState
    content: str
    model_revision: str
    bytes: int | None
    sha256: str | None
    error: Failure | None
    job: str | None
    attempts: int
    requested_at: datetime
    finished_at: datetime | None
    build_s: float | None


class VoiceCacheList(Answer):
    data: tuple[VoiceCache, ...]
    next_cursor: str | None = None
    has_more: bool = False
