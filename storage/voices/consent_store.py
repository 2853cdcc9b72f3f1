"""Consents of all tenants, in Redis; their recordings are objects in the store."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import cast

import redis
from pydantic import TypeAdapter

from storage.database.functions import Clock, Functions
from storage.database.redis_errors import redis_errors_named
from storage.database.voice_keys import VoiceKeys
from storage.errors import ConsentInUse, ConsentNotFound
from storage.ids import ConsentId, TenantId
from storage.voices.consents import ConsentPage, ConsentRecord, ConsentRecording, NewConsent

MAX_CONSENTS = 100_000
"""Of one tenant: each takes about half a kilobyte of Redis, and its statement."""

_RECORDING: TypeAdapter[ConsentRecording] = TypeAdapter(ConsentRecording)


class ConsentStore:
    """Safe to share between threads, as the client is. Everything raises `StoreUnavailable`.

    max_stored_bytes: of a tenant without a limit of its own; None for as much as there is room for.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        max_stored_bytes: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._redis = redis
        self._keys = VoiceKeys(key_prefix)
        self._max_stored_bytes = max_stored_bytes
        self._functions = Functions(redis, key_prefix, clock)

    def create(self, consent: NewConsent) -> ConsentRecord:
        """Its recording lies in the store already. Raises `QuotaExceeded`."""
        with redis_errors_named():
            reply = self._functions.call(
                "consent_create",
                consent=consent.id,
                tenant=consent.tenant,
                most_consents=MAX_CONSENTS,
                most_stored_bytes=self._max_stored_bytes,
                bytes=consent.recording.bytes if consent.recording else 0,
                fields=_fields(consent),
            )
        if reply.status == "refused":
            raise reply.refusal()
        return _record(reply.hash("record"), 0)

    def get(self, tenant: TenantId, consent: ConsentId) -> ConsentRecord:
        """Raises `ConsentNotFound`, also for another tenant's."""
        (found,) = self._read(tenant, [consent])
        if found is None:
            raise ConsentNotFound(consent)
        return found

    def list(self, tenant: TenantId, after: ConsentId | None, limit: int) -> ConsentPage:
        """The newest first; the next page comes after the last consent of this one."""
        bound = f"({after}" if after else "+"
        with redis_errors_named():
            ids = self._redis.zrevrangebylex(self._keys.consents(tenant), bound, "-", start=0, num=limit + 1)
        wanted = cast("list[ConsentId]", ids)
        # One may have been deleted meanwhile.
        found = tuple(each for each in self._read(tenant, wanted[:limit]) if each)
        return ConsentPage(found, has_more=len(wanted) > limit)

    def delete(self, consent: ConsentRecord) -> None:
        """Forget it; its recording is deleted with what else is discarded.

        Raises `ConsentInUse` while a voice rests on it, and `ConsentNotFound` if it is gone already.
        """
        recording = consent.recording.key if consent.recording else ""
        with redis_errors_named():
            reply = self._functions.call(
                "consent_delete", consent=consent.id, tenant=consent.tenant, recording=recording
            )
        if reply.status == "missing":
            raise ConsentNotFound(consent.id)
        if reply.status == "cited":
            raise ConsentInUse(consent.id, reply.number("voices"))

    def _read(self, tenant: TenantId, consents: Sequence[ConsentId]) -> builtins.list[ConsentRecord | None]:
        with redis_errors_named():
            pipeline = self._redis.pipeline(transaction=False)
            for each in consents:
                pipeline.hgetall(self._keys.consent(each))
                pipeline.scard(self._keys.cited(each))
            rows = pipeline.execute()
        pairs = zip(cast("list[dict[str, str]]", rows[::2]), cast("list[int]", rows[1::2]), strict=True)
        return [_record(fields, voices) if fields.get("tenant") == tenant else None for fields, voices in pairs]


def _fields(consent: NewConsent) -> dict[str, str]:
    """What the creation alone decides; the function adds the rest."""
    fields = {
        "speaker": consent.speaker,
        "statement": consent.statement,
        "statement_sha256": consent.statement_sha256,
        "actor": consent.actor,
    }
    if consent.recording:
        fields["recording"] = _RECORDING.dump_json(consent.recording).decode()
    return fields


def _record(fields: Mapping[str, str], num_voices: int) -> ConsentRecord:
    return ConsentRecord(
        id=ConsentId(fields["id"]),
        tenant=TenantId(fields["tenant"]),
        speaker=fields["speaker"],
        statement=fields["statement"],
        statement_sha256=fields["statement_sha256"],
        recording=_RECORDING.validate_json(fields["recording"]) if "recording" in fields else None,
        actor=fields["actor"],
        created_at_ms=int(fields["created_at_ms"]),
        num_voices=num_voices,
    )
