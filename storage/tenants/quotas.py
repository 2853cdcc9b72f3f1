"""Tenants' quotas: one default, and individual limits for some. The functions in Redis see to it.

Jobs and their expected audio count until the job has ended, voices until they are deleted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from dataclasses import fields as dataclass_fields
from typing import cast

import redis

from storage.database.keys import RedisKeys, VoiceKeys
from storage.ids import TenantId
from storage.jobs.submissions import AdmissionLimits
from storage.runtime.config.settings import StorageSettings


@dataclass(frozen=True, slots=True)
class Quotas:
    """What a tenant may have, or has. audio_ms: expected audio of unfinished jobs."""

    jobs: int
    audio_ms: int
    voices: int


@dataclass(frozen=True, slots=True)
class OwnQuotas:
    """Of one tenant; None where those for all count."""

    jobs: int | None = None
    audio_ms: int | None = None
    voices: int | None = None


def quotas_of(settings: StorageSettings) -> Quotas:
    """Those for all."""
    return Quotas(jobs=settings.quota_jobs, audio_ms=settings.quota_audio_s * 1000, voices=settings.quota_voices)


def admission_limits(settings: StorageSettings) -> AdmissionLimits:
    """As the functions of jobs take them, with those of the whole system."""
    for_all = quotas_of(settings)
    return AdmissionLimits(
        tenant_jobs=for_all.jobs,
        tenant_audio_ms=for_all.audio_ms,
        total_jobs=settings.backlog_jobs,
        total_audio_ms=settings.backlog_audio_s * 1000,
    )


class QuotaStore:
    """Safe to share between threads, as the client is. for_all: for tenants without their own limits."""

    def __init__(self, redis: redis.Redis, for_all: Quotas, key_prefix: str = "rhapsode") -> None:
        self._redis = redis
        self._keys = RedisKeys(key_prefix)
        self._voice_keys = VoiceKeys(key_prefix)
        self._for_all = for_all

    def own(self, tenant: TenantId) -> OwnQuotas:
        """Raises `StoreUnavailable`, as everything here does."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("quotas", tenant)))
        # A release before had a limit of bytes, too.
        known = {each.name for each in dataclass_fields(OwnQuotas)}
        return OwnQuotas(**{name: int(value) for name, value in fields.items() if name in known})

    def in_force(self, own: OwnQuotas) -> Quotas:
        return replace(self._for_all, **_given(own))

    def set_own(self, tenant: TenantId, own: OwnQuotas) -> None:
        """In place of those it had; at once, for whatever is accepted from now on. What is held already stays."""
        given = _given(own)
        pipeline = self._redis.pipeline(transaction=True)
        pipeline.delete(self._keys.of("quotas", tenant))
        if given:
            pipeline.hset(self._keys.of("quotas", tenant), items=[part for pair in given.items() for part in pair])
        pipeline.execute()

    def held(self, tenant: TenantId) -> Quotas:
        pipeline = self._redis.pipeline(transaction=False)
        pipeline.hmget(self._keys.of("admission", tenant), ["jobs", "audio_ms"])
        pipeline.zcard(self._voice_keys.of("voices", tenant))
        (jobs, audio_ms), voices = cast("tuple[list[str | None], int]", pipeline.execute())
        return Quotas(int(jobs or 0), int(audio_ms or 0), voices)


def _given(own: OwnQuotas) -> Mapping[str, int]:
    return {name: value for name, value in asdict(own).items() if value is not None}
