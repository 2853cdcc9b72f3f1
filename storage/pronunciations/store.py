"""Pronunciation dictionaries of all tenants, in Redis; the rules themselves are objects in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import redis

from storage.database.keys import RedisKeys
from storage.database.redis_errors import redis_errors_named
from storage.database.scripts import SERVER_CLOCK, hash_fields, linked_script, lua_source
from storage.errors import DictionaryNotFound, QuotaExceeded, refusal_of
from storage.ids import DictionaryId, TenantId
from storage.pronunciations.keys import PronunciationKeys
from storage.webhooks.lua_prelude import webhook_prelude

_SCRIPTS = ("pronunciation_add", "pronunciation_delete")

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
    """Safe to share between threads, as the client is.

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
        self._keys = PronunciationKeys(key_prefix)
        self._max_stored_bytes = "" if max_stored_bytes is None else max_stored_bytes
        job_keys = RedisKeys(key_prefix)
        tables = (job_keys.lua_table(), self._keys.lua_table(), clock, webhook_prelude(job_keys))
        shared = (*tables, lua_source("quota_prelude"))
        self._scripts = {name: linked_script(redis, job_keys.root, name, shared) for name in _SCRIPTS}

    def create(
        self, tenant: TenantId, dictionary: DictionaryId, name: str, version: NewVersion
    ) -> tuple[DictionaryRecord, int]:
        """A dictionary with its first version. Raises `QuotaExceeded`."""
        return self._run(tenant, dictionary, name, version)

    def add_version(
        self, tenant: TenantId, dictionary: DictionaryId, version: NewVersion
    ) -> tuple[DictionaryRecord, int]:
        """The record and the number given out. Raises `DictionaryNotFound` or `QuotaExceeded`."""
        return self._run(tenant, dictionary, "", version)

    def get(self, tenant: TenantId, dictionary: DictionaryId) -> DictionaryRecord:
        """Raises `DictionaryNotFound`."""
        with redis_errors_named():
            fields = cast("dict[str, str]", self._redis.hgetall(self._keys.dictionary(dictionary)))
        if fields.get("tenant") != tenant:
            raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")
        return _record(fields)

    def list(self, tenant: TenantId, after: str, limit: int) -> Sequence[DictionaryRecord]:
        """In order of age, behind the id `after` ("" begins)."""
        start = f"({after}" if after else "-"
        with redis_errors_named():
            found = self._redis.zrangebylex(self._keys.dictionaries(tenant), start, "+", start=0, num=limit)
            ids = cast("list[str]", found)
            pipeline = self._redis.pipeline(transaction=False)
            for each in ids:
                pipeline.hgetall(self._keys.dictionary(DictionaryId(each)))
            rows = cast("list[dict[str, str]]", pipeline.execute())
        # One that was deleted in between has no fields.
        return [_record(fields) for fields in rows if fields]

    def delete(self, tenant: TenantId, dictionary: DictionaryId) -> None:
        """Forget it; jobs keep what they took from it. Repeating it is no error."""
        with redis_errors_named():
            reply = self._scripts["pronunciation_delete"].run(dictionary, tenant)
        if reply[0] == "missing":
            raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")

    def _run(
        self, tenant: TenantId, dictionary: DictionaryId, name: str, version: NewVersion
    ) -> tuple[DictionaryRecord, int]:
        with redis_errors_named():
            reply = self._scripts["pronunciation_add"].run(
                dictionary,
                tenant,
                name,
                json.dumps(asdict(version)),
                version.upload,
                version.bytes,
                MAX_DICTIONARIES,
                MAX_VERSIONS,
                self._max_stored_bytes,
            )
        match reply[0]:
            case "missing":
                raise DictionaryNotFound(f"there is no pronunciation dictionary {dictionary}")
            case "full":
                most = MAX_VERSIONS if reply[1] == "versions" else MAX_DICTIONARIES
                raise QuotaExceeded(f"tenant_pronunciation_{reply[1]}", most, most)
            case "refused":
                raise refusal_of(reply[1:])
            case _:
                return _record(hash_fields(reply[2])), int(str(reply[1]))


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
