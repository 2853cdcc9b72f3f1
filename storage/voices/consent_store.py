"""Consents of all tenants, in Redis; their recordings are objects in the store."""

from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from typing import cast

import redis
from pydantic import TypeAdapter

from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK, Argument, hash_fields
from storage.errors import ConsentInUse, ConsentNotFound, refusal_of
from storage.ids import ConsentId, TenantId
from storage.voices.consents import ConsentPage, ConsentRecord, ConsentRecording, NewConsent
from storage.voices.keys import VoiceKeys
from storage.voices.lua_prelude import load_voice_script

MAX_CONSENTS = 100_000
"""Of one tenant: each takes about half a kilobyte of Redis, and its statement."""

_RECORDING: TypeAdapter[ConsentRecording] = TypeAdapter(ConsentRecording)
_SCRIPTS = ("consent_create", "consent_delete")


class ConsentStore:
    """Safe to share between threads, as the client is. Everything raises `StoreUnavailable`.

    max_stored_bytes: of a tenant without a limit of its own; None for as much as there is room for.
    """

    def __init__(
        self,
        redis: redis.Redis,
        key_prefix: str = "rhapsode",
        max_stored_bytes: int | None = None,
        clock: str = SERVER_CLOCK,
    ) -> None:
        self._redis = redis
        self._keys = VoiceKeys(key_prefix)
        self._max_stored_bytes = "" if max_stored_bytes is None else max_stored_bytes
        self._scripts = {name: load_voice_script(redis, key_prefix, name, clock) for name in _SCRIPTS}

    def create(self, consent: NewConsent) -> ConsentRecord:
        """Its recording lies in the store already. Raises `QuotaExceeded`."""
        num_bytes = consent.recording.bytes if consent.recording else 0
        limits = (MAX_CONSENTS, self._max_stored_bytes)
        reply = self._run("consent_create", consent.id, consent.tenant, *limits, num_bytes, *_fields(consent))
        if reply[0] == "refused":
            raise refusal_of(reply[1:])
        return _record(hash_fields(reply[1]), 0)

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
        reply = self._run("consent_delete", consent.id, consent.tenant, recording)
        if reply[0] == "missing":
            raise ConsentNotFound(consent.id)
        if reply[0] == "cited":
            raise ConsentInUse(consent.id, int(str(reply[1])))

    def _read(self, tenant: TenantId, consents: Sequence[ConsentId]) -> builtins.list[ConsentRecord | None]:
        with redis_errors_named():
            pipeline = self._redis.pipeline(transaction=False)
            for each in consents:
                pipeline.hgetall(self._keys.consent(each))
                pipeline.scard(self._keys.cited(each))
            rows = pipeline.execute()
        pairs = zip(cast("list[dict[str, str]]", rows[::2]), cast("list[int]", rows[1::2]), strict=True)
        return [_record(fields, voices) if fields.get("tenant") == tenant else None for fields, voices in pairs]

    def _run(self, script: str, *arguments: Argument) -> builtins.list[object]:
        with redis_errors_named():
            return cast("list[object]", self._scripts[script].run(*arguments))


def _fields(consent: NewConsent) -> list[str]:
    """Field, value, ... of what the creation alone decides; the script adds the rest."""
    fields = {
        "speaker": consent.speaker,
        "statement": consent.statement,
        "statement_sha256": consent.statement_sha256,
        "actor": consent.actor,
    }
    if consent.recording:
        fields["recording"] = _RECORDING.dump_json(consent.recording).decode()
    return [part for pair in fields.items() for part in pair]


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
