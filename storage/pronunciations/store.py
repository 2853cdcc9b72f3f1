"""Pronunciation dictionaries of all tenants, in Redis; the rules themselves are objects in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import redis

from storage.database.functions import Clock, Functions
from storage.database.hashes import read_hashes
from storage.database.keys import PronunciationKeys
from storage.errors import DictionaryNotFound, QuotaExceeded
from storage.ids import DictionaryId, TenantId

MAX_DICTIONARIES = 1_000
MAX_VERSIONS = 1_000
"""Of one tenant, and of one dictionary: a version takes about 200 bytes of Redis."""


@dataclass(frozen=True, slots=True)
class NewVersion:
    """Rules that lie in the store already. upload: the id in their key. language: BCP 47, or "" if not said."""

    upload: str
    num_rules: int
    bytes: int
    sha256: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class VersionRecord:
    version: int
    upload: str
    num_rules: int
    bytes: int
    sha256: str
    language: str
    created_at_ms: int


@dataclass(frozen=True, slots=True)
class DictionaryRecord:
    """versions: oldest first; there is at least one."""

    id: DictionaryId
    tenant: TenantId
    name: str
    created_at_ms: int
    versions: tuple[VersionRecord, ...]

    def version(self, number: int) -> VersionRecord | None:
        return self.versions[number - 1] if 1 <= number <= len(self.versions) else None


class PronunciationStore:
    """Safe to share between threads, as the client is."""

    def __init__(self, redis: redis.Redis, key_prefix: str = "rhapsode", clock: Clock | None = None) -> None:
        self._redis = redis
        self._keys = PronunciationKeys(key_prefix)
        self._call = Functions(redis, key_prefix, clock).call

    def add(
        self, tenant: TenantId, dictionary: DictionaryId, version: NewVersion, name: str = ""
    ) -> tuple[DictionaryRecord, int]:
        """The record with another version, and its number. name: of a new dictionary, whose first version this is.

        Raises `DictionaryNotFound` or `QuotaExceeded`.
        """
        reply = self._call(
            "pronunciation_add",
            dictionary=dictionary,
            tenant=tenant,
            name=name,
            version=asdict(version),
            most_dictionaries=MAX_DICTIONARIES,
            most_versions=MAX_VERSIONS,
        )
        match reply.status:
            case "missing":
                raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")
            case "full":
                limit = reply.text("limit")
                most = MAX_VERSIONS if limit == "versions" else MAX_DICTIONARIES
                raise QuotaExceeded(f"tenant_pronunciation_{limit}", most, most)
            case _:
                return _record(reply.hash("record")), reply.number("version")

    def get(self, tenant: TenantId, dictionary: DictionaryId) -> DictionaryRecord:
        """Raises `DictionaryNotFound`."""
        fields = cast("dict[str, str]", self._redis.hgetall(self._keys.of("dictionary", dictionary)))
        if fields.get("tenant") != tenant:
            raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")
        return _record(fields)

    def list(self, tenant: TenantId, after: str, limit: int) -> Sequence[DictionaryRecord]:
        """In order of age, behind the id `after` ("" begins)."""
        start = f"({after}" if after else "-"
        found = self._redis.zrangebylex(self._keys.of("dictionaries", tenant), start, "+", start=0, num=limit)
        rows = read_hashes(self._redis, (self._keys.of("dictionary", each) for each in cast("list[str]", found)))
        # One that was deleted in between has no fields.
        return [_record(fields) for fields in rows if fields]

    def delete(self, tenant: TenantId, dictionary: DictionaryId) -> None:
        """Forget it; jobs keep what they took from it. Repeating it is no error."""
        reply = self._call("pronunciation_delete", dictionary=dictionary, tenant=tenant)
        if reply.status == "missing":
            raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")


def _record(fields: Mapping[str, str]) -> DictionaryRecord:
    latest = int(fields["latest"])
    versions = (json.loads(fields[f"v{number}"]) for number in range(1, latest + 1))
    return DictionaryRecord(
        id=DictionaryId(fields["id"]),
        tenant=TenantId(fields["tenant"]),
        name=fields["name"],
        created_at_ms=int(fields["created_at_ms"]),
        versions=tuple(VersionRecord(version=number, **each) for number, each in enumerate(versions, 1)),
    )
